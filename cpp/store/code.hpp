// Codes of symbols by how frequent they are: three bits that name one of eight classes, then as many
// bits as the class is wide. Class 0 has the 2^width most frequent symbols, class 1 the next ones, ...
//
// On text this comes within a quarter of a bit of the entropy of single tokens, and a code is read
// without a branch.
#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace seal::store {

constexpr unsigned kClassBits = 3;
constexpr std::size_t kClasses = std::size_t{1} << kClassBits;
constexpr unsigned kMaxWidth = 32;  // of a rank

using Widths = std::array<std::uint8_t, kClasses>;

/// The widths that make all codes together shortest, those of classes that are not needed 0; the first
/// ones in lexical order where several do. Widths ascend. `counts`: how often the symbol of each rank
/// occurs, descending.
[[nodiscard]] Widths shortest(std::span<const std::uint64_t> counts);

/// The first rank of each class.
[[nodiscard]] std::array<std::uint64_t, kClasses> first_ranks(const Widths& widths);

}  // namespace seal::store
