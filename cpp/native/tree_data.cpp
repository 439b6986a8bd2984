#include "tree_data.hpp"

#include <utility>

namespace seal::native {
namespace {

/// Appends digits to blocks.
class DigitWriter {
  public:
    explicit DigitWriter(std::uint64_t n_digits) {
        data_.blocks.resize(TreeData::n_blocks(n_digits));
        data_.supers.reserve(TreeData::n_supers(n_digits));
        begin_block();
    }
    void begin_node() { data_.bases.push_back(total_); }
    void push(unsigned digit) {
        Block& block = data_.blocks[block_];
        block.words[offset_ / 32] |= std::uint64_t{digit} << (2 * (offset_ % 32));
        ++total_[digit];
        if (++offset_ == Block::kDigits) {
            ++block_;
            offset_ = 0;
            begin_block();
        }
    }
    [[nodiscard]] TreeData take() { return std::move(data_); }

  private:
    void begin_block() {
        if (block_ % TreeData::kBlocksPerSuper == 0) data_.supers.push_back(total_);
        for (unsigned d = 0; d < 4; ++d) {
            data_.blocks[block_].before[d] =
                static_cast<std::uint16_t>(total_[d] - data_.supers.back()[d]);
        }
    }

    TreeData data_;
    Counts total_{};
    std::uint64_t block_ = 0;
    unsigned offset_ = 0;
};

}  // namespace

std::uint64_t n_digits(const Code& code, std::span<const std::uint64_t> weights) {
    std::uint64_t n = 0;
    for (Dense k = 0; k < weights.size(); ++k) n += weights[k] * code.word(k).length;
    return n;
}

template <class T>
TreeData build_tree(const Code& code, std::vector<T>&& sequence) {
    std::uint64_t total = 0;
    for (const T symbol : sequence) total += code.word(symbol).length;
    DigitWriter writer(total);
    std::vector<T> next;
    std::vector<T> current = std::move(sequence);
    // The symbols of a level lie node by node; those of a node part into its children, in order.
    std::vector<std::uint64_t> sizes = {current.size()};  // of the level's inner nodes
    for (unsigned level = 0; level < code.levels(); ++level) {
        const std::uint32_t leaves = code.leaves(level + 1);
        std::vector<std::uint64_t> children(4 * sizes.size(), 0);  // sizes by slot
        std::uint64_t at = 0;
        for (std::size_t node = 0; node < sizes.size(); ++node) {
            writer.begin_node();
            for (const std::uint64_t end = at + sizes[node]; at < end; ++at) {
                const unsigned digit = code.word(current[at]).digit(level);
                writer.push(digit);
                ++children[4 * node + digit];
            }
        }
        const std::size_t n_slots = code.slots(level + 1);
        std::vector<std::uint64_t> fill(n_slots, 0);
        std::uint64_t n_inner = 0;
        for (std::size_t slot = leaves; slot < n_slots; ++slot) {
            fill[slot] = n_inner;
            n_inner += children[slot];
        }
        next.resize(n_inner);
        at = 0;
        for (std::size_t node = 0; node < sizes.size(); ++node) {
            for (const std::uint64_t end = at + sizes[node]; at < end; ++at) {
                const std::size_t slot = 4 * node + code.word(current[at]).digit(level);
                if (slot >= leaves) next[fill[slot]++] = current[at];
            }
        }
        sizes.assign(children.begin() + leaves,
                     children.begin() + static_cast<std::ptrdiff_t>(n_slots));
        std::swap(current, next);
    }
    return writer.take();
}

template TreeData build_tree(const Code& code, std::vector<std::uint16_t>&& sequence);
template TreeData build_tree(const Code& code, std::vector<std::uint32_t>&& sequence);

}  // namespace seal::native
