// Integers of `width` bits each, in words of 64 bits, lowest bits first.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>
#include <vector>

namespace seal {

[[nodiscard]] inline std::uint64_t packed_words(std::uint64_t n, unsigned width) {
    return (n * width + 63) / 64;
}

[[nodiscard]] inline unsigned bits_for(std::uint64_t largest) {
    return std::max(1U, static_cast<unsigned>(std::bit_width(largest)));
}

/// Puts `width` bits of a value, the others being 0, at a bit of words that are 0 there.
inline void put_bits(std::vector<std::uint64_t>& words, std::uint64_t bit, unsigned width,
                     std::uint64_t value) {
    const std::uint64_t shift = bit % 64;
    words[bit / 64] |= value << shift;
    if (shift + width > 64) words[bit / 64 + 1] |= value >> (64 - shift);
}

inline void pack(std::vector<std::uint64_t>& words, std::uint64_t index, unsigned width,
                 std::uint64_t value) {
    put_bits(words, index * width, width, value);
}

[[nodiscard]] inline std::uint64_t unpack(std::span<const std::uint64_t> words, std::uint64_t index,
                                          unsigned width) {
    const std::uint64_t bit = index * width;
    const std::uint64_t shift = bit % 64;
    std::uint64_t value = words[bit / 64] >> shift;
    if (shift + width > 64) value |= words[bit / 64 + 1] << (64 - shift);
    return value & ((std::uint64_t{1} << width) - 1);
}

}  // namespace seal
