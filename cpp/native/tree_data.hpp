// What the wavelet tree is made of, as the file holds it, and how it is built of a sequence.
//
// Each level holds, node by node, one two-bit digit for every row that gets that far: 5.5 digits a
// token for English text in 50,000 tokens. Digits lie in blocks of 64 bytes, one cache line, that begin
// with the number of each digit before the block; a rank reads one line.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "code.hpp"

namespace seal::native {

struct alignas(64) Block {
    static constexpr std::uint64_t kDigits = 224;

    std::array<std::uint16_t, 4> before;  // of each digit, since the superblock began
    std::array<std::uint64_t, 7> words;   // 32 digits each, the first one lowest
};
static_assert(sizeof(Block) == 64);

/// Counts of the four digits. Differences are all that counts, so that they may wrap around.
using Counts = std::array<std::uint32_t, 4>;

/// Digits of all levels one after another.
struct TreeData {
    // 57,344 digits: Block::before stays below 2^16.
    static constexpr std::uint64_t kBlocksPerSuper = 256;

    std::vector<Block> blocks;   // one more than the digits need: a rank at the end reads it
    std::vector<Counts> supers;  // before each superblock
    std::vector<Counts> bases;   // by node: before its first digit

    [[nodiscard]] static std::uint64_t n_blocks(std::uint64_t n_digits) {
        return n_digits / Block::kDigits + 1;
    }
    [[nodiscard]] static std::uint64_t n_supers(std::uint64_t n_digits) {
        return (n_blocks(n_digits) + kBlocksPerSuper - 1) / kBlocksPerSuper;
    }
};

/// Number of digits of the tree over a text whose symbol k occurs `weights[k]` times.
[[nodiscard]] std::uint64_t n_digits(const Code& code, std::span<const std::uint64_t> weights);

/// The tree of a sequence of dense symbols (uint16 or uint32), which is used up.
template <class T>
[[nodiscard]] TreeData build_tree(const Code& code, std::vector<T>&& sequence);

}  // namespace seal::native
