// The published configuration as a baseline to measure against: sdsl-lite's `csa_wt_int<>`, searched as
// the published system searches it, one range at a time. For benchmarks and differential tests only.
//
// Every operation tells the CPU time of the calling thread that its loop took, so that neither Python
// nor the conversion of arguments is in it.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "../engine.hpp"

namespace seal::sdsl {

struct PublishedIndex;

/// Symbols [offsets[i], offsets[i + 1]) are n-gram i.
struct Ngrams {
    std::span<const std::uint64_t> offsets;
    std::span<const Symbol> symbols;
};

/// Writes an index as the published system does in memory: `construct_im`, 30 to 40 bytes a symbol.
/// `symbols` is the text in reading order; it is stored reversed. Throws std::invalid_argument when it
/// is empty or holds a 0, std::runtime_error when the file cannot be written.
void build_published(const std::string& path, std::span<const Symbol> symbols);

class Baseline {
  public:
    /// Loads a file of build_published with sdsl-lite's own loader, after its sizes were checked.
    /// Throws std::runtime_error as published_layout does.
    explicit Baseline(const std::string& path);
    ~Baseline();

    [[nodiscard]] Row n_rows() const;
    /// CPU seconds that sdsl-lite's loader took.
    [[nodiscard]] double load_seconds() const { return load_seconds_; }

    /// out[i] = rows of n-gram i with symbols[i] appended: one step each, from a range that the caller
    /// kept.
    [[nodiscard]] double extend(std::span<const Range> ranges, std::span<const Symbol> symbols,
                                std::span<Range> out) const;

    /// out[i] = rows of n-gram i, walked from its first symbol: what the published system does for each
    /// beam at every step.
    [[nodiscard]] double find(const Ngrams& ngrams, std::span<Range> out) const;

    /// What follows each n-gram, as the published system asks: its rows are walked from scratch, then
    /// three vectors as long as the alphabet are made for it. counts[i] = distinct symbols.
    [[nodiscard]] double successors(const Ngrams& ngrams, std::span<std::uint64_t> counts) const;

    /// Documents by bisection over `starts` (ascending, the first 0) of where each row's suffix begins.
    [[nodiscard]] double locate(std::span<const Row> rows, std::span<const std::uint64_t> starts,
                                std::span<Position> out) const;

    /// Streams of documents, in reading order, by position in the text.
    [[nodiscard]] double extract(std::span<const std::uint64_t> documents,
                                 std::span<const std::uint64_t> starts, Streams& out) const;

  private:
    [[nodiscard]] Range walk(std::span<const Symbol> ngram) const;

    std::unique_ptr<const PublishedIndex> index_;
    double load_seconds_ = 0;
};

}  // namespace seal::sdsl
