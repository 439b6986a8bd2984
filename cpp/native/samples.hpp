// Where rows lie in the text: sampled positions, and the documents that positions belong to.
//
// Row r stands for the suffix of the reversed text that begins at `suffix` in [0, n). Its first symbol
// is, in reading order, at position n - 1 - suffix, so that an n-gram found at this row ends before
// n - suffix.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "../engine.hpp"
#include "../packed.hpp"

namespace seal::native {

/// 480 bits and the number of ones before them: one cache line.
struct alignas(64) MarkBlock {
    static constexpr std::uint64_t kBits = 480;

    std::uint32_t before;
    std::array<std::uint32_t, 15> words;

    [[nodiscard]] bool test(unsigned offset) const { return words[offset / 32] >> (offset % 32) & 1U; }
    /// Ones in front of a bit, those of earlier blocks included.
    [[nodiscard]] std::uint32_t rank(unsigned offset) const;
};
static_assert(sizeof(MarkBlock) == 64);

/// Suffixes that are multiples of `rate` are kept, in the order of their rows; a row is marked where
/// its suffix is. At rate 1 all are kept and there are no marks.
struct SampleData {
    std::vector<MarkBlock> marks;
    std::vector<std::uint64_t> values;  // suffix / rate, packed
};

[[nodiscard]] inline std::uint64_t n_samples(std::uint64_t n, std::uint32_t rate) {
    return (n - 1) / rate + 1;
}
[[nodiscard]] inline unsigned sample_width(std::uint64_t n, std::uint32_t rate) {
    return bits_for((n - 1) / rate);
}
[[nodiscard]] inline std::uint64_t n_mark_blocks(std::uint64_t n_rows, std::uint32_t rate) {
    return rate == 1 ? 0 : n_rows / MarkBlock::kBits + 1;
}

/// Positions to documents: one entry in 128 positions says which document is there, and the starts of
/// the documents around it say the rest.
class Documents {
  public:
    static constexpr std::uint64_t kStride = 128;

    /// `starts` [n_documents + 1], the last one the length of the text; `directory`: document at each
    /// multiple of kStride, and n_documents - 1 at the end.
    Documents(std::span<const std::uint32_t> starts, std::span<const std::uint32_t> directory)
        : starts_(starts), directory_(directory) {}

    [[nodiscard]] std::uint64_t size() const { return starts_.size() - 1; }
    /// Start of a document and of the next. Throws std::runtime_error if the data are damaged.
    [[nodiscard]] Range extent(std::uint64_t document) const;
    /// The document at a position below the length of the text. Throws likewise.
    [[nodiscard]] std::uint64_t at(std::uint64_t position) const;

    [[nodiscard]] static std::uint64_t n_entries(std::uint64_t n) {
        return (n + kStride - 1) / kStride + 1;
    }
    [[nodiscard]] static std::vector<std::uint32_t> make_directory(
        std::span<const std::uint64_t> starts, std::uint64_t n);

  private:
    std::span<const std::uint32_t> starts_;
    std::span<const std::uint32_t> directory_;
};

}  // namespace seal::native
