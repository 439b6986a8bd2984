// Finds in one pass over a document what no index was asked for: keys that were not located, and
// unigrams.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "query.hpp"

namespace seal::rank {

/// A key in a document, by the end of the occurrence (exclusive).
struct Occurrence {
    std::uint32_t key;
    std::uint32_t end;

    friend auto operator<=>(const Occurrence&, const Occurrence&) = default;
};

/// A unigram, by its number in the query, and where it is.
struct Unigram {
    std::uint32_t number;
    std::uint32_t position;
};

class Finder {
  public:
    /// Looks for `keys` and for all unigrams of the query.
    Finder(const Query& query, std::span<const std::uint32_t> keys);

    [[nodiscard]] bool empty() const { return nodes_.empty() && n_used_ == 0; }

    /// All occurrences, in the order of their starts, instead of what the vectors held.
    void find(std::span<const Symbol> stream, std::vector<Occurrence>& keys,
              std::vector<Unigram>& unigrams);

  private:
    static constexpr std::uint32_t kNone = Query::kNone;

    struct Start {  // of a key or a unigram
        Symbol symbol = 0;
        std::uint32_t unigram = kNone;
        std::uint32_t node = kNone;

        [[nodiscard]] bool used() const { return unigram != kNone || node != kNone; }
    };
    struct Child {
        Symbol symbol;
        std::uint32_t node;
    };
    struct Node {  // of the tree of keys; its depth is the length of the n-gram
        std::uint32_t key = kNone;
        std::vector<Child> children;
    };

    void find_starts(std::span<const Symbol> stream);
    [[nodiscard]] std::size_t slot(Symbol symbol) const;
    Start& start(Symbol symbol);
    void add(std::span<const Symbol> symbols, std::uint32_t key);
    void follow(std::uint32_t node, std::span<const Symbol> stream, std::size_t end,
                std::vector<Occurrence>& keys) const;

    // Four of five tokens start nothing: 8 KiB of bits say so from the nearest cache.
    std::array<std::uint64_t, 1024> maybe_{};
    std::vector<Start> starts_;  // open addressing; the size is a power of two
    std::size_t n_used_ = 0;
    std::vector<Node> nodes_;
    std::vector<std::uint32_t> positions_;  // in the document at hand, where something may start
    std::size_t n_positions_ = 0;
};

}  // namespace seal::rank
