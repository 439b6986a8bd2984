// A canonical Huffman code with four digits: the shape of the wavelet tree.
//
// Only the length of each symbol's code is chosen freely; everything else follows. On each level the
// slots (the children of the inner nodes above) are numbered from the left; leaves come first, in
// ascending order of their symbols, then the inner nodes. So a node is found from a slot by
// subtraction, and no pointers are kept.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "alphabet.hpp"

namespace seal::native {

/// The digits of a symbol's code: digit k is bits [2k, 2k + 2).
struct Codeword {
    std::uint64_t digits : 56;
    std::uint64_t length : 8;

    [[nodiscard]] unsigned digit(unsigned level) const {
        return static_cast<unsigned>(digits >> (2 * level)) & 3U;
    }
};
static_assert(sizeof(Codeword) == 8);

class Code {
  public:
    static constexpr unsigned kMaxLength = 28;  // Codeword's bits; 2^31 symbols need 26 at most

    /// The code with these lengths. Throws std::invalid_argument if there is none.
    explicit Code(std::span<const std::uint8_t> lengths);

    /// Length of the longest code; 0 where a single symbol occurs, whose code is empty.
    [[nodiscard]] unsigned levels() const { return levels_; }
    [[nodiscard]] Codeword word(Dense dense) const { return words_[dense]; }
    /// Leaves on a level, levels() included: slots below it are leaves, the others inner nodes.
    [[nodiscard]] std::uint32_t leaves(unsigned level) const { return leaves_[level]; }
    /// Slots on a level: leaves and inner nodes.
    [[nodiscard]] std::uint32_t slots(unsigned level) const { return slots_[level]; }
    /// Number of the first inner node of a level among those of all levels.
    [[nodiscard]] std::uint32_t first_node(unsigned level) const { return first_node_[level]; }
    [[nodiscard]] std::uint32_t n_nodes() const { return first_node_[levels_]; }
    /// The symbol of a leaf.
    [[nodiscard]] Dense leaf(unsigned level, std::uint32_t slot) const {
        return order_[first_leaf_[level] + slot];
    }

  private:
    unsigned levels_ = 0;
    std::vector<Codeword> words_;
    std::vector<Dense> order_;  // by length, then by symbol
    std::array<std::uint32_t, kMaxLength + 2> leaves_{}, slots_{}, first_leaf_{}, first_node_{};
};

/// Lengths of an optimal code for symbols that occur `weights[k]` times each; the same for the same
/// weights.
[[nodiscard]] std::vector<std::uint8_t> huffman_lengths(std::span<const std::uint64_t> weights);

}  // namespace seal::native
