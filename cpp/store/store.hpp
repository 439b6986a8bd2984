// The streams of a segment's documents, each read from where it lies, without the FM-index.
//
// Member functions may be called from several threads at once. They throw std::out_of_range for
// documents that do not exist, and std::runtime_error where the file turns out to be damaged: nothing
// that it says is used as a place before it has been compared with the bounds of the file.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "file.hpp"

namespace seal::store {

class TokenStore {
  public:
    /// Throws std::runtime_error if the file cannot be read, is of another kind or version, or damaged.
    explicit TokenStore(const std::string& path);

    [[nodiscard]] std::uint64_t n_documents() const { return file_.header().n_documents; }
    [[nodiscard]] std::uint64_t n_tokens() const { return file_.header().n; }

    /// Lets the memory be fetched in which a document's codes begin. The document must exist.
    void prefetch(std::uint64_t document) const;

    /// Appends a document's stream to `out`, up to the first `last` in it where that is not 0, and
    /// returns the number of its symbols. The document must exist.
    std::size_t read(std::uint64_t document, std::vector<Symbol>& out, Symbol last = 0) const;

  private:
    struct Class {
        std::uint64_t mask;
        std::uint64_t first;   // rank
        std::uint64_t length;  // of a code, in bits
    };

    [[nodiscard]] Range extent(std::uint64_t document) const;
    [[noreturn]] void fail(std::uint64_t document) const;

    MappedFile file_;
    std::array<Class, kClasses> classes_{};
};

/// Ascending numbers of the documents of a store that count; none: all of them.
using Live = std::optional<std::vector<std::uint64_t>>;

/// The stores of consecutive segments as one; live documents are numbered through, as if there were no
/// others.
class TokenStores {
  public:
    /// Throws std::invalid_argument where a store has no such documents; else as TokenStore.
    TokenStores(const std::vector<std::string>& paths, std::vector<Live> live);
    explicit TokenStores(const std::vector<std::string>& paths)
        : TokenStores(paths, std::vector<Live>(paths.size())) {}
    TokenStores(const TokenStores&) = delete;
    TokenStores& operator=(const TokenStores&) = delete;

    [[nodiscard]] std::uint64_t n_documents() const { return bases_.back(); }
    /// All documents and tokens of each store, live or not.
    [[nodiscard]] std::vector<std::pair<std::uint64_t, std::uint64_t>> sizes() const;

    /// The streams of documents, in the order given.
    [[nodiscard]] Streams extract(std::span<const std::uint64_t> documents) const;

    /// How many values that stand between `start` and `end` have each length, the end included. With
    /// `first_only` every document has one value, and is read no further.
    [[nodiscard]] std::vector<std::int64_t> value_lengths(Symbol start, Symbol end,
                                                          bool first_only) const;

    /// The store of a live document, and its number there.
    [[nodiscard]] std::pair<const TokenStore&, std::uint64_t> find(std::uint64_t document) const;

  private:
    [[nodiscard]] std::uint64_t n_live(std::size_t store) const;
    [[nodiscard]] std::uint64_t physical(std::size_t store, std::uint64_t number) const;

    std::vector<std::unique_ptr<const TokenStore>> stores_;
    std::vector<Live> live_;
    std::vector<std::uint64_t> bases_ = {0};
};

}  // namespace seal::store
