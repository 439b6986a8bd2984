#include "tree.hpp"

#include <algorithm>
#include <bit>
#include <stdexcept>

namespace seal::native {
namespace {

constexpr std::uint64_t kLow = 0x5555555555555555U;  // the low bit of each digit
constexpr std::size_t kChunk = 128;  // as many lines are under way at once, or twice that
constexpr std::size_t kAhead = 12;   // fetched ahead where nodes come in order

[[noreturn]] void fail() {
    throw std::runtime_error("the wavelet tree is damaged");
}

/// Ones where a digit equals the one that `pattern` repeats.
[[nodiscard]] inline std::uint64_t equal(std::uint64_t word, std::uint64_t pattern) {
    const std::uint64_t different = word ^ pattern;
    return ~(different | different >> 1) & kLow;
}

constexpr std::array<std::uint64_t, 4> kPatterns = {0, kLow, kLow << 1, ~std::uint64_t{0}};

}  // namespace

struct Tree::Item {
    std::uint32_t lo;
    std::uint32_t hi;
    std::uint32_t node;  // within its level
    std::uint32_t index;
    Codeword word;
};

struct Tree::Range {
    std::uint32_t owner;
    std::uint32_t node;  // within its level
    std::uint32_t lo;
    std::uint32_t hi;
};

Tree::Tree(const Code& code, std::span<const std::uint64_t> weights, std::span<const Block> blocks,
           std::span<const Counts> supers, std::span<const Counts> bases)
    : code_(code),
      weights_(weights.begin(), weights.end()),
      nodes_(code.n_nodes()),
      blocks_(blocks),
      supers_(supers) {
    // Sizes from the leaves up; starts from left to right.
    std::vector<std::uint32_t> below;
    for (unsigned level = code.levels() + 1; level-- > 0;) {
        std::vector<std::uint32_t> sizes(code.slots(level));
        for (std::uint32_t slot = 0; slot < sizes.size(); ++slot) {
            if (slot < code.leaves(level)) {
                sizes[slot] = weights_[code.leaf(level, slot)];
                continue;
            }
            const std::uint32_t node = slot - code.leaves(level);
            const std::size_t end = std::min<std::size_t>(4 * node + 4, below.size());
            for (std::size_t child = 4 * node; child < end; ++child) sizes[slot] += below[child];
            nodes_[code.first_node(level) + node].size = sizes[slot];
        }
        below = std::move(sizes);
    }
    std::uint64_t start = 0;
    for (std::size_t k = 0; k < nodes_.size(); ++k) {
        nodes_[k].start = start;
        nodes_[k].base = bases[k];
        start += nodes_[k].size;
    }
}

inline void Tree::prefetch(std::uint64_t position) const {
    __builtin_prefetch(&blocks_[position / Block::kDigits]);
}

inline std::uint32_t Tree::rank(std::uint64_t position, unsigned digit) const {
    const std::uint64_t at = position / Block::kDigits;
    const auto offset = static_cast<unsigned>(position % Block::kDigits);
    const Block& block = blocks_[at];
    const std::uint64_t pattern = kPatterns[digit];
    int n = 0;
    unsigned k = 0;
    for (; k < offset / 32; ++k) n += std::popcount(equal(block.words[k], pattern));
    if (const unsigned rest = offset % 32; rest > 0) {
        const std::uint64_t mask = (std::uint64_t{1} << (2 * rest)) - 1;
        n += std::popcount(equal(block.words[k], pattern) & mask);
    }
    return supers_[at / TreeData::kBlocksPerSuper][digit] + block.before[digit] +
           static_cast<unsigned>(n);
}

inline Counts Tree::ranks(std::uint64_t position) const {
    const std::uint64_t at = position / Block::kDigits;
    const auto offset = static_cast<unsigned>(position % Block::kDigits);
    const Block& block = blocks_[at];
    unsigned low = 0;
    unsigned high = 0;
    unsigned both = 0;
    const auto add = [&](std::uint64_t word, std::uint64_t mask) {
        const std::uint64_t a = word & mask;
        const std::uint64_t b = word >> 1 & mask;
        low += static_cast<unsigned>(std::popcount(a));
        high += static_cast<unsigned>(std::popcount(b));
        both += static_cast<unsigned>(std::popcount(a & b));
    };
    unsigned k = 0;
    for (; k < offset / 32; ++k) add(block.words[k], kLow);
    if (const unsigned rest = offset % 32; rest > 0)
        add(block.words[k], kLow & ((std::uint64_t{1} << (2 * rest)) - 1));
    const Counts& super = supers_[at / TreeData::kBlocksPerSuper];
    return {super[0] + block.before[0] + offset - low - high + both,
            super[1] + block.before[1] + low - both, super[2] + block.before[2] + high - both,
            super[3] + block.before[3] + both};
}

inline unsigned Tree::digit(std::uint64_t position) const {
    const auto offset = static_cast<unsigned>(position % Block::kDigits);
    const std::uint64_t word = blocks_[position / Block::kDigits].words[offset / 32];
    return static_cast<unsigned>(word >> (2 * (offset % 32))) & 3U;
}

void Tree::step(std::span<Step> steps) const {
    if (code_.levels() == 0) return;  // every row has the one symbol: ranks are positions
    for (std::size_t i = 0; i < steps.size(); i += kChunk) {
        step_chunk(steps.subspan(i, std::min(kChunk, steps.size() - i)));
    }
}

void Tree::step_chunk(std::span<Step> steps) const {
    std::array<Item, kChunk> items;  // those that are still on their way
    std::size_t n = 0;
    for (std::size_t i = 0; i < steps.size(); ++i) {
        const Step& step = steps[i];
        if (step.hi > nodes_[0].size || step.lo > step.hi) fail();
        if (step.lo == step.hi) continue;
        items[n++] = {step.lo, step.hi, 0, static_cast<std::uint32_t>(i), code_.word(step.symbol)};
        prefetch(step.lo);
        prefetch(step.hi);
    }
    for (unsigned level = 0; n > 0; ++level) {
        const Node* nodes = &nodes_[code_.first_node(level)];
        const Node* next = &nodes_[std::min(code_.first_node(level + 1), code_.n_nodes() - 1)];
        const std::uint32_t leaves = code_.leaves(level + 1);
        std::size_t n_left = 0;
        for (std::size_t k = 0; k < n; ++k) {
            Item item = items[k];
            const Node& node = nodes[item.node];
            const unsigned digit = item.word.digit(level);
            const std::uint32_t lo = rank(node.start + item.lo, digit) - node.base[digit];
            const std::uint32_t hi = rank(node.start + item.hi, digit) - node.base[digit];
            Step& step = steps[item.index];
            const bool last = item.word.length == level + 1;
            std::uint32_t size = 0;
            if (last) {
                size = weight(step.symbol);
            } else {
                item.node = 4 * item.node + digit - leaves;
                size = next[item.node].size;
            }
            if (lo > hi || hi > size) fail();
            if (last || lo == hi) {
                step.lo = lo;
                step.hi = hi;
                continue;
            }
            const std::uint64_t start = next[item.node].start;
            prefetch(start + lo);
            prefetch(start + hi);
            item.lo = lo;
            item.hi = hi;
            items[n_left++] = item;
        }
        n = n_left;
    }
}

void Tree::access(std::span<const std::uint32_t> positions, std::span<Access> out) const {
    if (code_.levels() == 0) {
        for (std::size_t i = 0; i < positions.size(); ++i) out[i] = {0, positions[i]};
        return;
    }
    for (std::size_t i = 0; i < positions.size(); i += kChunk) {
        const std::size_t n = std::min(kChunk, positions.size() - i);
        access_chunk(positions.subspan(i, n), out.subspan(i, n));
    }
}

void Tree::access_chunk(std::span<const std::uint32_t> positions, std::span<Access> out) const {
    std::array<Item, kChunk> items;
    std::size_t n = positions.size();
    for (std::size_t i = 0; i < n; ++i) {
        if (positions[i] >= nodes_[0].size) fail();
        items[i] = {positions[i], 0, 0, static_cast<std::uint32_t>(i), {}};
        prefetch(positions[i]);
    }
    for (unsigned level = 0; n > 0; ++level) {
        const Node* nodes = &nodes_[code_.first_node(level)];
        const std::uint32_t leaves = code_.leaves(level + 1);
        const std::uint32_t slots = code_.slots(level + 1);
        const std::uint32_t first = code_.first_node(level + 1);
        std::size_t n_left = 0;
        for (std::size_t k = 0; k < n; ++k) {
            Item item = items[k];
            const Node& node = nodes[item.node];
            const std::uint64_t position = node.start + item.lo;
            const unsigned d = digit(position);
            const std::uint32_t place = rank(position, d) - node.base[d];
            const std::uint32_t slot = 4 * item.node + d;
            if (slot >= slots) fail();
            if (slot < leaves) {
                const Dense symbol = code_.leaf(level + 1, slot);
                if (place >= weight(symbol)) fail();
                out[item.index] = {symbol, place};
                continue;
            }
            item.node = slot - leaves;
            const Node& child = nodes_[first + item.node];
            if (place >= child.size) fail();
            prefetch(child.start + place);
            item.lo = place;
            items[n_left++] = item;
        }
        n = n_left;
    }
}

void Tree::expand(unsigned level, std::span<const Range> from, std::vector<Range>& inner,
                  std::vector<Found>& leaves) const {
    const Node* nodes = &nodes_[code_.first_node(level)];
    const std::uint32_t n_leaves = code_.leaves(level + 1);
    const std::uint32_t n_slots = code_.slots(level + 1);
    const std::uint32_t first = code_.first_node(level + 1);
    const auto add = [&](const Range& range, unsigned digit, std::uint32_t lo, std::uint32_t hi) {
        const std::uint32_t slot = 4 * range.node + digit;
        if (slot >= n_slots || lo > hi) fail();
        if (slot < n_leaves) {
            const Dense symbol = code_.leaf(level + 1, slot);
            if (hi > weight(symbol)) fail();
            leaves.push_back({range.owner, symbol, lo, hi});
        } else {
            if (hi > nodes_[first + slot - n_leaves].size) fail();
            inner.push_back({range.owner, slot - n_leaves, lo, hi});
        }
    };
    for (std::size_t i = 0; i < from.size(); ++i) {
        if (i + kAhead < from.size()) {
            const Range& ahead = from[i + kAhead];
            prefetch(nodes[ahead.node].start + ahead.lo);
            prefetch(nodes[ahead.node].start + ahead.hi);
        }
        const Range& range = from[i];
        const Node& node = nodes[range.node];
        if (range.hi - range.lo == 1) {  // one row, one symbol: half the work
            const std::uint64_t position = node.start + range.lo;
            const unsigned d = digit(position);
            const std::uint32_t lo = rank(position, d) - node.base[d];
            add(range, d, lo, lo + 1);
            continue;
        }
        const Counts at_lo = ranks(node.start + range.lo);
        const Counts at_hi = ranks(node.start + range.hi);
        for (unsigned d = 0; d < 4; ++d) {
            const std::uint32_t lo = at_lo[d] - node.base[d];
            const std::uint32_t hi = at_hi[d] - node.base[d];
            if (lo != hi) add(range, d, lo, hi);
        }
    }
}

namespace {

/// Sorts what was found in one range, each symbol once: by comparing where that is little, else by
/// marking symbols in a bit vector and counting the marks before each.
void sort_symbols(std::span<Found> found, std::vector<std::uint64_t>& marks, std::vector<Found>& copy,
                  std::size_t n_symbols) {
    constexpr std::size_t kFew = 96;
    if (found.size() <= kFew) {
        std::ranges::sort(found, {}, &Found::symbol);
        return;
    }
    marks.assign(n_symbols / 64 + 1, 0);
    for (const Found& item : found) marks[item.symbol / 64] |= std::uint64_t{1} << (item.symbol % 64);
    std::vector<std::uint32_t> before(marks.size());
    std::uint32_t n = 0;
    for (std::size_t k = 0; k < marks.size(); ++k) {
        before[k] = n;
        n += static_cast<std::uint32_t>(std::popcount(marks[k]));
    }
    if (n != found.size()) fail();  // a symbol twice
    copy.assign(found.begin(), found.end());
    for (const Found& item : copy) {
        const std::uint64_t below = (std::uint64_t{1} << (item.symbol % 64)) - 1;
        const auto rank = static_cast<std::uint32_t>(std::popcount(marks[item.symbol / 64] & below));
        found[before[item.symbol / 64] + rank] = item;
    }
}

}  // namespace

std::vector<Found> Tree::distinct(std::span<const Step> ranges) const {
    std::vector<Range> level_ranges;
    std::vector<Range> next;
    std::vector<Found> leaves;
    for (std::size_t i = 0; i < ranges.size(); ++i) {
        const auto [symbol, lo, hi] = ranges[i];
        if (lo > hi || (code_.levels() > 0 && hi > nodes_[0].size)) fail();
        if (lo == hi) continue;
        const auto owner = static_cast<std::uint32_t>(i);
        if (code_.levels() == 0) {
            leaves.push_back({owner, 0, lo, hi});
        } else {
            level_ranges.push_back({owner, 0, lo, hi});
        }
    }
    for (unsigned level = 0; !level_ranges.empty(); ++level) {
        next.clear();
        expand(level, level_ranges, next, leaves);
        std::swap(level_ranges, next);
    }
    // Group by owner; each level's leaves are in that order already.
    std::vector<std::size_t> offsets(ranges.size() + 1, 0);
    for (const Found& item : leaves) ++offsets[item.owner + 1];
    for (std::size_t i = 0; i < ranges.size(); ++i) offsets[i + 1] += offsets[i];
    std::vector<Found> grouped(leaves.size());
    std::vector<std::size_t> fill(offsets.begin(), offsets.end() - 1);
    for (const Found& item : leaves) grouped[fill[item.owner]++] = item;
    std::vector<std::uint64_t> marks;
    for (std::size_t i = 0; i < ranges.size(); ++i) {
        const std::span<Found> own(grouped.data() + offsets[i], offsets[i + 1] - offsets[i]);
        sort_symbols(own, marks, leaves, weights_.size());
    }
    return grouped;
}

}  // namespace seal::native
