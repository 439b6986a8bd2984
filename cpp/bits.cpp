#include "bits.hpp"

#include <algorithm>
#include <bit>

namespace seal {
namespace {

[[nodiscard]] inline std::uint64_t ones_of(std::uint64_t word) {
    return static_cast<std::uint64_t>(std::popcount(word));
}

/// The place of the k-th one of a word that has more than k.
[[nodiscard]] inline std::uint64_t place_of(std::uint64_t word, std::uint64_t k) {
    std::uint64_t place = 0;
    for (std::uint64_t half = 32; half > 0; half /= 2) {
        const std::uint64_t lower = word & ((std::uint64_t{1} << half) - 1);
        if (const std::uint64_t n = ones_of(lower); k >= n) {
            k -= n;
            word >>= half;
            place += half;
        } else {
            word = lower;
        }
    }
    return place;
}

}  // namespace

Bits::Bits(std::uint64_t size, bool all) : size_(size), blocks_(size / kBits + 1) {
    for (Block& block : blocks_) block.words.fill(all ? ~std::uint64_t{0} : 0);
    if (!all) return;
    Block& last = blocks_.back();
    const std::uint64_t kept = size % kBits;  // nothing from `size` on
    for (std::uint64_t k = 0; k < kWords; ++k) {
        const std::uint64_t n = kept > 64 * k ? std::min<std::uint64_t>(64, kept - 64 * k) : 0;
        last.words[k] = n == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << n) - 1;
    }
}

std::uint64_t& Bits::word(std::uint64_t number) {
    return blocks_[number / kBits].words[number % kBits / 64];
}

void Bits::insert(std::uint64_t number) {
    word(number) |= std::uint64_t{1} << (number % kBits % 64);
}

void Bits::erase(std::uint64_t number) {
    word(number) &= ~(std::uint64_t{1} << (number % kBits % 64));
}

void Bits::count() {
    ones_ = 0;
    hints_.clear();
    for (std::uint64_t at = 0; at < blocks_.size(); ++at) {
        Block& block = blocks_[at];
        block.before = ones_;
        for (const std::uint64_t word : block.words) ones_ += ones_of(word);
        while (hints_.size() * kStride < ones_) hints_.push_back(at);
    }
    hints_.push_back(blocks_.size() - 1);
}

bool Bits::contains(std::uint64_t number) const {
    return blocks_[number / kBits].words[number % kBits / 64] >> (number % kBits % 64) & 1U;
}

std::uint64_t Bits::rank(std::uint64_t number) const {
    const Block& block = blocks_[number / kBits];
    const std::uint64_t place = number % kBits;
    std::uint64_t n = block.before;
    for (std::uint64_t k = 0; k < place / 64; ++k) n += ones_of(block.words[k]);
    return n + ones_of(block.words[place / 64] & ((std::uint64_t{1} << (place % 64)) - 1));
}

std::uint64_t Bits::select(std::uint64_t k) const {
    const auto first = blocks_.begin() + static_cast<std::ptrdiff_t>(hints_[k / kStride]);
    const auto last = blocks_.begin() + static_cast<std::ptrdiff_t>(hints_[k / kStride + 1]) + 1;
    // The last block with no more than k ones before it.
    const auto after = std::upper_bound(first + 1, last, k,
                                        [](std::uint64_t n, const Block& b) { return n < b.before; });
    const Block& block = *(after - 1);
    std::uint64_t left = k - block.before;
    std::uint64_t at = 0;
    for (; ones_of(block.words[at]) <= left; ++at) left -= ones_of(block.words[at]);
    const auto number = static_cast<std::uint64_t>(after - 1 - blocks_.begin());
    return number * kBits + 64 * at + place_of(block.words[at], left);
}

std::uint64_t Bits::size_in_bytes() const {
    return blocks_.size() * sizeof(Block) + hints_.size() * sizeof(std::uint64_t);
}

}  // namespace seal
