// The engines of all segments as one: every question goes to those that it concerns, in one call.
//
// An n-gram has a range in each segment: of n n-grams and S segments, range i * S + s is that of n-gram i
// in segment s. Documents are numbered one segment after the other. What an engine refuses is refused
// here in the same way; an n-gram costs nothing in a segment where its range is empty.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine.hpp"

namespace seal {

/// The successors of a batch of n-grams, with no place for segments in which they do not occur: those of
/// n-gram i are the symbols [offsets[i], offsets[i + 1]), ascending; the n-gram extended by symbols[j]
/// has the ranges[k] in segments[k] (ascending) for k in [firsts[j], firsts[j + 1]), none of them empty.
struct SparseSuccessors {
    std::vector<std::uint64_t> offsets;
    std::vector<Symbol> symbols;
    std::vector<std::uint64_t> firsts;
    std::vector<std::uint32_t> segments;
    std::vector<Range> ranges;
};

/// out[i * n_segments + s]: the range of successor which[i] in segment s, empty where it has none. Needs
/// the symbols no more.
void take(const SparseSuccessors& found, std::size_t n_segments, std::span<const std::uint64_t> which,
          std::span<Range> out);

/// The occurrences of n-gram i are the positions [offsets[i], offsets[i + 1]), by segment and row.
struct Located {
    std::vector<std::uint64_t> offsets;
    std::vector<Position> positions;
};

class Segments {
  public:
    /// The engines must outlive this; there is at least one.
    explicit Segments(std::span<const Engine* const> engines);

    [[nodiscard]] std::size_t size() const { return engines_.size(); }
    [[nodiscard]] std::uint64_t n_documents() const { return bases_.back(); }

    /// Each n-gram with one symbol appended: out[i * S + s].
    void extend(std::span<const Range> ranges, std::span<const Symbol> symbols,
                std::span<Range> out) const;

    /// Each n-gram with each of its `width` candidates appended: out[(i * width + j) * S + s].
    void verify(std::span<const Range> ranges, std::span<const Symbol> candidates, std::size_t width,
                std::span<Range> out) const;

    [[nodiscard]] SparseSuccessors successors(std::span<const Range> ranges) const;

    [[nodiscard]] Located locate(std::span<const Range> ranges) const;

    [[nodiscard]] Streams extract(std::span<const std::uint64_t> documents) const;

  private:
    struct Asked;

    /// The n-grams that have rows in each segment.
    [[nodiscard]] std::vector<Asked> asked(std::span<const Range> ranges) const;

    std::vector<const Engine*> engines_;
    std::vector<std::uint64_t> bases_;  // documents before each segment, and all
};

}  // namespace seal
