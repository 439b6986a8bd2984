#include "code.hpp"

#include <algorithm>
#include <limits>
#include <vector>

namespace seal::store {
namespace {

/// Tries all ascending widths, but for those that cannot be shorter than what was found.
class Search {
  public:
    explicit Search(std::span<const std::uint64_t> counts) {
        sums_.reserve(counts.size() + 1);
        sums_.push_back(0);
        for (const std::uint64_t count : counts) sums_.push_back(sums_.back() + count);
        visit(0, 0, 0, 0);
    }

    [[nodiscard]] Widths best() const { return best_; }

  private:
    /// Chooses class `at` and those behind it; `bits` are spent on the ranks below `first`.
    void visit(std::size_t at, unsigned least, std::uint64_t first, std::uint64_t bits) {
        const std::uint64_t n_ranks = sums_.size() - 1;
        if (first == n_ranks) {
            if (bits < n_bits_) {
                n_bits_ = bits;
                best_ = widths_;
            }
            return;
        }
        if (at == kClasses) return;
        const std::uint64_t left = sums_[n_ranks] - sums_[first];
        for (unsigned width = least; width <= kMaxWidth; ++width) {
            if (bits + left * (kClassBits + width) >= n_bits_) break;  // no later class is narrower
            const std::uint64_t end = std::min(n_ranks, first + (std::uint64_t{1} << width));
            if (at + 1 == kClasses && end < n_ranks) continue;
            widths_[at] = static_cast<std::uint8_t>(width);
            visit(at + 1, width + 1, end, bits + (sums_[end] - sums_[first]) * (kClassBits + width));
            widths_[at] = 0;
        }
    }

    std::vector<std::uint64_t> sums_;
    Widths widths_{};
    Widths best_{};
    std::uint64_t n_bits_ = std::numeric_limits<std::uint64_t>::max();
};

}  // namespace

Widths shortest(std::span<const std::uint64_t> counts) {
    return Search(counts).best();
}

std::array<std::uint64_t, kClasses> first_ranks(const Widths& widths) {
    std::array<std::uint64_t, kClasses> first{};
    for (std::size_t at = 1; at < kClasses; ++at) {
        first[at] = first[at - 1] + (std::uint64_t{1} << widths[at - 1]);
    }
    return first;
}

}  // namespace seal::store
