// The batched interface of an FM-index over token symbols. No Python, no sdsl in here.
//
// The indexed text of a segment is the concatenation of its document streams, reversed, so that a
// backward-search step APPENDS a symbol to an n-gram. A stream starts with `boundary`, which occurs
// nowhere else in it. Rows are suffix-array rows; ranges are half-open [lo, hi), empty when lo == hi.
// Every engine returns empty ranges as [0, 0), so that all give the same rows.
//
// Const member functions may be called from several threads at once. They throw std::out_of_range
// for rows, ranges or documents that do not exist, naming the value and the bound, and
// std::invalid_argument for spans of lengths that do not match (the words are in checks.hpp).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace seal {

using Symbol = std::uint32_t;
using Row = std::uint64_t;

struct Range {
    Row lo;
    Row hi;
};

/// Where an n-gram ends: `end` counts symbols from the start of the document's stream, so that an
/// occurrence of an n-gram of k symbols covers [end - k, end).
struct Position {
    std::uint64_t document;
    std::uint64_t end;
};

/// Distinct next symbols of a batch of ranges, in compressed-row form: the successors of range i are
/// the entries [offsets[i], offsets[i + 1]), ascending by symbol; ranges[j] is the n-gram extended by
/// symbols[j], so that ranges[j].hi - ranges[j].lo is its count.
struct Successors {
    std::vector<std::uint64_t> offsets;
    std::vector<Symbol> symbols;
    std::vector<Range> ranges;
};

/// Streams of a batch of documents in reading order: document i is symbols[offsets[i], offsets[i + 1]).
struct Streams {
    std::vector<std::uint64_t> offsets;
    std::vector<Symbol> symbols;
};

class Engine {
  public:
    virtual ~Engine() = default;

    /// Number of rows: all symbols of all streams and one sentinel. [0, n_rows) is the empty n-gram.
    [[nodiscard]] virtual Row n_rows() const = 0;
    [[nodiscard]] virtual std::uint64_t n_documents() const = 0;
    /// The symbol that starts each stream.
    [[nodiscard]] virtual Symbol boundary() const = 0;
    /// Bytes of each part.
    [[nodiscard]] virtual std::vector<std::pair<std::string, std::uint64_t>> size_in_bytes() const = 0;

    /// out[i] = rows of n-gram i with symbols[i] appended; empty when it does not occur. `boundary`
    /// extends only the empty n-gram: nothing crosses into the next document.
    virtual void extend(std::span<const Range> ranges, std::span<const Symbol> symbols,
                        std::span<Range> out) const = 0;

    /// out[i * width + j] = rows of n-gram i with candidate j of row i appended (a beam's candidates).
    virtual void verify(std::span<const Range> ranges, std::span<const Symbol> candidates,
                        std::size_t width, std::span<Range> out) const = 0;

    /// All symbols that follow each n-gram inside its document; never `boundary`, except after the
    /// empty n-gram.
    [[nodiscard]] virtual Successors successors(std::span<const Range> ranges) const = 0;

    /// out[i] = document and end of the occurrence that row i stands for. The row of the sentinel
    /// (the whole text's end) stands for none: std::out_of_range.
    virtual void locate(std::span<const Row> rows, std::span<Position> out) const = 0;

    [[nodiscard]] virtual Streams extract(std::span<const std::uint64_t> documents) const = 0;

    /// The rows of every symbol of the documents, in reading order, one document after the other: the
    /// k-th row of a document, from 1, is located at end k.
    [[nodiscard]] virtual std::vector<Row> rows(std::span<const std::uint64_t> documents) const = 0;
};

}  // namespace seal
