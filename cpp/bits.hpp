// A set of numbers below a bound, with the two questions that renumbering needs: how many are smaller
// than a number, and which is the k-th.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace seal {

/// Filled number by number, then counted once; from then on const, and shared between threads.
class Bits {
  public:
    /// The numbers below `size`: all of them, or none.
    Bits(std::uint64_t size, bool all);

    void insert(std::uint64_t number);
    void erase(std::uint64_t number);
    /// To be called after the last change and before any question.
    void count();

    [[nodiscard]] std::uint64_t size() const { return size_; }
    [[nodiscard]] std::uint64_t ones() const { return ones_; }
    [[nodiscard]] bool contains(std::uint64_t number) const;
    /// How many are smaller than `number`, which is at most `size`.
    [[nodiscard]] std::uint64_t rank(std::uint64_t number) const;
    /// The k-th smallest, k below `ones`.
    [[nodiscard]] std::uint64_t select(std::uint64_t k) const;
    [[nodiscard]] std::uint64_t size_in_bytes() const;

  private:
    static constexpr std::uint64_t kWords = 7;
    static constexpr std::uint64_t kBits = 64 * kWords;
    static constexpr std::uint64_t kStride = 512;  // ones between two hints

    struct alignas(64) Block {  // one cache line
        std::uint64_t before;   // ones in earlier blocks
        std::array<std::uint64_t, kWords> words;
    };
    static_assert(sizeof(Block) == 64);

    [[nodiscard]] std::uint64_t& word(std::uint64_t number);

    std::uint64_t size_;
    std::uint64_t ones_ = 0;
    std::vector<Block> blocks_;
    std::vector<std::uint64_t> hints_;  // the block of every kStride-th one, and the last block
};

}  // namespace seal
