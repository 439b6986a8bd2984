#include "code.hpp"

#include <algorithm>
#include <queue>
#include <stdexcept>
#include <utility>

namespace seal::native {

Code::Code(std::span<const std::uint8_t> lengths) : words_(lengths.size()), order_(lengths.size()) {
    if (lengths.empty()) throw std::invalid_argument("a code needs a symbol");
    for (const auto length : lengths) {
        if (length > kMaxLength) throw std::invalid_argument("a code is too long");
        ++leaves_[length];
        levels_ = std::max<unsigned>(levels_, length);
    }
    slots_[0] = 1;
    for (unsigned level = 0; level <= levels_; ++level) {
        if (leaves_[level] > slots_[level]) throw std::invalid_argument("code lengths do not fit");
        const std::uint32_t inner = slots_[level] - leaves_[level];
        first_leaf_[level + 1] = first_leaf_[level] + leaves_[level];
        first_node_[level + 1] = first_node_[level] + inner;
        if (inner > lengths.size() || inner > 1U << 29)
            throw std::invalid_argument("code lengths do not fit");
        slots_[level + 1] = 4 * inner;
    }
    // Two slots at most stay empty on the last level: symbols are merged in fours.
    if (slots_[levels_] - leaves_[levels_] > 2 || (levels_ == 0 && lengths.size() != 1))
        throw std::invalid_argument("code lengths leave slots empty");
    slots_[levels_] = leaves_[levels_];

    auto next = first_leaf_;
    for (Dense dense = 0; dense < lengths.size(); ++dense) order_[next[lengths[dense]]++] = dense;
    for (unsigned level = 0; level <= levels_; ++level) {
        for (std::uint32_t slot = 0; slot < leaves_[level]; ++slot) {
            std::uint64_t digits = 0;
            std::uint32_t at = slot;
            for (unsigned above = level; above > 0; --above) {
                digits = digits << 2 | (at & 3U);
                at = (at >> 2) + leaves_[above - 1];
            }
            Codeword& word = words_[leaf(level, slot)];
            word.digits = digits;
            word.length = level;
        }
    }
}

std::vector<std::uint8_t> huffman_lengths(std::span<const std::uint64_t> weights) {
    const std::size_t n = weights.size();
    // Weight and number; numbers make ties, and so the code, the same each time. Empty leaves fill up
    // the first merger, the lowest one.
    using Item = std::pair<std::uint64_t, std::uint64_t>;
    std::priority_queue<Item, std::vector<Item>, std::greater<>> queue;
    const std::size_t n_empty = n > 1 ? (3 - (n - 1) % 3) % 3 : 0;
    const std::size_t n_leaves = n + n_empty;
    for (std::size_t k = 0; k < n_leaves; ++k) queue.emplace(k < n ? weights[k] : 0, k);
    std::vector<std::uint64_t> parent(n_leaves + n_leaves / 3 + 1);
    std::uint64_t number = n_leaves;
    while (queue.size() > 1) {
        std::uint64_t weight = 0;
        for (int k = 0; k < 4; ++k) {
            weight += queue.top().first;
            parent[queue.top().second] = number;
            queue.pop();
        }
        queue.emplace(weight, number++);
    }
    // Parents have higher numbers than their children: one pass from the root down.
    std::vector<std::uint8_t> depth(number, 0);
    for (std::uint64_t k = number - 1; k-- > 0;) depth[k] = depth[parent[k]] + 1;
    depth.resize(n);
    return depth;
}

}  // namespace seal::native
