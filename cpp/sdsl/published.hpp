// The published system's index file, read without trusting a byte of it.
//
// It is what sdsl-lite's `store_to_file` writes of a `csa_wt_int<>` with its default arguments:
// little-endian, a vector as its length in bits, its width in a byte where that is not fixed, and its
// 64-bit words:
//
//     wavelet tree   u64 size, u64 sigma, bits [size * levels], rank (64-bit vector), two selects,
//                    u32 levels
//     samples        two vectors of any width: of the suffix array, of its inverse
//     alphabet       u64, u8, vector, bits, two selects; cumulative counts (vector); u64 sigma
//
// sdsl-lite's own loader believes all sizes, and its queries all tables. Reading needs the tree's bits
// only: they give LF of every row, and walking LF from the sentinel gives the text. So nothing else is
// used, but all of it must be there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "../engine.hpp"

namespace seal::sdsl {

/// What the bytes of a file say, checked against one another and against its length.
struct PublishedLayout {
    std::uint64_t n_rows = 0;
    std::uint64_t sigma = 0;
    unsigned levels = 0;
    const std::uint64_t* tree = nullptr;  // n_rows * levels bits
    std::vector<std::uint64_t> counts;    // sigma + 1 cumulative counts of the symbols that occur
};

/// Throws std::runtime_error when `bytes`, the file `path`, is no such file or is damaged.
[[nodiscard]] PublishedLayout published_layout(std::span<const std::byte> bytes,
                                               const std::string& path);

class Published {
  public:
    /// Maps the file and finds LF of every row: 4 bytes of memory per row, time linear in rows.
    /// Throws std::runtime_error when the file is absent, no such file, or damaged.
    explicit Published(const std::string& path);

    /// One more than there are symbols in the text.
    [[nodiscard]] Row n_rows() const { return lf_.size(); }
    /// Number of distinct symbols, the sentinel excepted.
    [[nodiscard]] std::uint64_t n_symbols() const { return symbols_.size() - 1; }

    /// The next symbols of the text, in the order opposite to the stored one: at most `n`, none at its
    /// end. Throws std::runtime_error when the text ends before all rows were visited: the file is
    /// damaged.
    [[nodiscard]] std::vector<Symbol> read(std::uint64_t n);

  private:
    [[nodiscard]] Symbol symbol_of(std::uint32_t row) const;

    std::string path_;
    std::vector<std::uint32_t> lf_;
    std::vector<Symbol> symbols_;        // that occur, ascending
    std::vector<std::uint32_t> firsts_;  // the first row that begins with each
    std::mutex walk_;
    std::uint32_t row_ = 0;
    std::uint64_t n_read_ = 0;
};

/// Throws std::runtime_error when the file is absent or its sizes do not agree; reads no more than
/// sizes.
void check_published(const std::string& path);

}  // namespace seal::sdsl
