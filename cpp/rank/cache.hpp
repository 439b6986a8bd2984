// Streams that were read already, in a fixed amount of memory, for all queries and threads.
//
// A ring of 16-bit words into which documents are written one after another, the newest over the
// oldest; and a table of buckets that says where in the ring a document is. A place that has been
// written over is told by its number, which only grows, so nothing is ever deleted.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <shared_mutex>
#include <span>
#include <vector>

#include "ranking.hpp"

namespace seal::rank {

class Cache {
  public:
    /// At most `n_bytes` of memory, a ninth of it at once and the rest as it fills; 0 keeps nothing.
    explicit Cache(std::size_t n_bytes);

    struct Found {
        std::vector<std::int64_t> documents;
        std::vector<std::int64_t> offsets = {0};
        std::vector<Symbol> symbols;
        std::vector<std::int64_t> absent;
    };

    /// The streams of those documents that are here, and the others' numbers; each in the order given.
    [[nodiscard]] Found get(std::span<const std::int64_t> documents) const;

    /// Keeps streams; those that are here already or are longer than the ring allows are passed over.
    void put(const Texts& texts);

    [[nodiscard]] std::size_t size_in_bytes() const;

  private:
    static constexpr std::size_t kWays = 8;  // places of a bucket

    struct Place {
        std::int64_t document = -1;
        std::uint32_t n_symbols = 0;
        bool wide = false;       // two words a symbol
        std::uint64_t word = 0;  // the number of its first word, all words ever written counted
    };

    [[nodiscard]] std::size_t bucket(std::int64_t document) const;
    [[nodiscard]] const Place* find(std::int64_t document) const;
    [[nodiscard]] bool is_kept(const Place& place) const;
    void put_one(std::int64_t document, std::span<const Symbol> stream);
    void copy(const Place& place, Symbol* out) const;

    std::size_t n_words_ = 0;
    std::size_t n_buckets_ = 0;
    std::unique_ptr<std::uint16_t[]> words_;
    std::unique_ptr<Place[]> places_;
    std::uint64_t written_ = 0;
    mutable std::shared_mutex mutex_;
};

}  // namespace seal::rank
