#include "published.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <new>
#include <stdexcept>

#include "../mapping.hpp"

namespace seal::sdsl {
namespace {

constexpr unsigned kMaxLevels = 20;             // a million symbols: more than any vocabulary has
constexpr std::uint64_t kMaxRows = 1ULL << 32;  // so that a row takes 4 bytes
constexpr std::uint64_t kSuperblock = 4096;     // arguments of a block of select_support_mcl

[[noreturn]] void fail(const std::string& path, const std::string& what) {
    throw std::runtime_error(path + " " + what);
}

/// A vector as sdsl-lite writes it. Its words need not be aligned.
struct Vector {
    std::uint64_t n_bits = 0;
    std::uint8_t width = 0;
    const std::byte* words = nullptr;

    [[nodiscard]] std::uint64_t word(std::uint64_t i) const {
        std::uint64_t value = 0;
        std::memcpy(&value, words + 8 * i, 8);
        return value;
    }
    [[nodiscard]] std::uint64_t entry(std::uint64_t i) const {
        const std::uint64_t at = i * width;
        const unsigned shift = at % 64;
        std::uint64_t value = word(at / 64) >> shift;
        if (shift + width > 64) value |= word(at / 64 + 1) << (64 - shift);
        return width == 64 ? value : value & ((1ULL << width) - 1);
    }
};

/// Takes a file apart from its front; never passes its end.
class Parser {
  public:
    Parser(std::span<const std::byte> bytes, const std::string& path) : rest_(bytes), path_(path) {}

    template <class T>
    T number() {
        T value = 0;
        std::memcpy(&value, take(sizeof(T)), sizeof(T));
        return value;
    }

    /// `width` 0: it is in the file.
    Vector vector(std::uint8_t width) {
        Vector found;
        found.n_bits = number<std::uint64_t>();
        found.width = width == 0 ? number<std::uint8_t>() : width;
        if (found.width == 0 || found.width > 64 || found.n_bits % found.width != 0) damaged();
        const std::uint64_t n_words = found.n_bits / 64 + (found.n_bits % 64 != 0 ? 1 : 0);
        if (n_words > rest_.size() / 8) damaged();
        found.words = take(8 * n_words);
        return found;
    }

    /// A select_support_mcl over `n_bits` bits.
    void select(std::uint64_t n_bits) {
        const auto n_arguments = number<std::uint64_t>();
        if (n_arguments > n_bits) damaged();
        if (n_arguments == 0) return;
        const std::uint64_t n_blocks = (n_arguments + kSuperblock - 1) / kSuperblock;
        vector(0);
        const Vector kinds = vector(1);
        if (kinds.n_bits != 0 && kinds.n_bits != n_blocks) damaged();
        for (std::uint64_t i = 0; i < n_blocks; ++i) vector(0);
    }

    void end() const {
        if (!rest_.empty()) damaged();
    }

    [[noreturn]] void damaged() const {
        fail(path_,
             "is not a whole csa_wt_int<> of sdsl-lite: its sizes and its length do not agree; it is "
             "truncated, damaged or of another kind");
    }

  private:
    const std::byte* take(std::uint64_t n) {
        if (n > rest_.size()) damaged();
        const std::byte* at = rest_.data();
        rest_ = rest_.subspan(n);
        return at;
    }

    std::span<const std::byte> rest_;
    const std::string& path_;
};

/// Number of ones among the bits [lo, hi).
[[nodiscard]] std::uint64_t count_ones(const std::uint64_t* words, std::uint64_t lo, std::uint64_t hi) {
    if (lo == hi) return 0;
    const std::uint64_t first = lo / 64;
    const std::uint64_t last = (hi - 1) / 64;
    const std::uint64_t head = ~0ULL << lo % 64;
    const std::uint64_t tail = ~0ULL >> (63 - (hi - 1) % 64);
    if (first == last) return std::popcount(words[first] & head & tail);
    std::uint64_t n = std::popcount(words[first] & head) + std::popcount(words[last] & tail);
    for (std::uint64_t i = first + 1; i < last; ++i) n += std::popcount(words[i]);
    return n;
}

using Starts = std::vector<std::vector<std::uint32_t>>;

/// Where the nodes of each level start, counted from the level's start; the last level is the leaves'.
/// A node is as large as the bits above it say, so that all of them tile their level whatever they say.
[[nodiscard]] Starts node_starts(const PublishedLayout& layout) {
    Starts starts{{0}};
    for (unsigned level = 0; level < layout.levels; ++level) {
        const auto& nodes = starts.back();
        const std::uint64_t base = level * layout.n_rows;
        std::vector<std::uint32_t> children(2 * nodes.size());
        for (std::size_t i = 0; i < nodes.size(); ++i) {
            const std::uint64_t end = i + 1 < nodes.size() ? nodes[i + 1] : layout.n_rows;
            const std::uint64_t ones = count_ones(layout.tree, base + nodes[i], base + end);
            children[2 * i] = nodes[i];
            children[2 * i + 1] = static_cast<std::uint32_t>(end - ones);
        }
        starts.push_back(std::move(children));
    }
    return starts;
}

/// LF of all rows, ascending: the tree is stable and its leaves ascend, so that a row's place among the
/// leaves is its LF. `starts` is used up.
[[nodiscard]] std::vector<std::uint32_t> find_lf(const PublishedLayout& layout, Starts& starts) {
    std::vector<std::uint32_t> lf(layout.n_rows);
    for (std::uint32_t& place : lf) {
        std::size_t node = 0;
        for (unsigned level = 0; level < layout.levels; ++level) {
            const std::uint64_t bit = level * layout.n_rows + starts[level][node]++;
            node = 2 * node + (layout.tree[bit / 64] >> bit % 64 & 1U);
        }
        place = starts.back()[node]++;
    }
    return lf;
}

}  // namespace

PublishedLayout published_layout(std::span<const std::byte> bytes, const std::string& path) {
    Parser parser(bytes, path);
    PublishedLayout layout;
    layout.n_rows = parser.number<std::uint64_t>();
    layout.sigma = parser.number<std::uint64_t>();
    const Vector tree = parser.vector(1);
    // 24 bytes into the pages of a map, so that it is aligned.
    layout.tree = reinterpret_cast<const std::uint64_t*>(tree.words);
    parser.vector(64);
    parser.select(tree.n_bits);
    parser.select(tree.n_bits);
    layout.levels = parser.number<std::uint32_t>();
    const bool bounded = layout.n_rows > 1 && layout.levels > 0 && layout.sigma <= layout.n_rows;
    if (!bounded || tree.n_bits / layout.levels != layout.n_rows || tree.n_bits % layout.levels != 0) {
        parser.damaged();
    }
    if (layout.n_rows >= kMaxRows || layout.levels > kMaxLevels) {
        fail(path, "has " + std::to_string(layout.n_rows) + " rows and symbols of " +
                       std::to_string(layout.levels) + " bits; at most " +
                       std::to_string(kMaxRows - 1) + " and " + std::to_string(kMaxLevels) +
                       " can be read");
    }
    const Vector samples = parser.vector(0);
    parser.vector(0);
    if (samples.n_bits / samples.width != (layout.n_rows + 31) / 32) {
        fail(path, "has no sample at every 32nd row, as csa_wt_int<> has them; it is of another kind");
    }
    parser.number<std::uint64_t>();  // the alphabet's sd_vector: size, width, low, high
    parser.number<std::uint8_t>();
    parser.vector(0);
    const Vector high = parser.vector(1);
    parser.select(high.n_bits);
    parser.select(high.n_bits);
    const Vector counts = parser.vector(0);
    const auto sigma = parser.number<std::uint64_t>();
    parser.end();
    if (sigma != layout.sigma || counts.n_bits / counts.width != sigma + 1) parser.damaged();
    for (std::uint64_t i = 0; i <= sigma; ++i) layout.counts.push_back(counts.entry(i));
    return layout;
}

void check_published(const std::string& path) {
    const Mapping file(path);
    (void)published_layout(file.bytes(), path);
}

Published::Published(const std::string& path) : path_(path) {
    try {
        const Mapping file(path);
        const PublishedLayout layout = published_layout(file.bytes(), path);
        Starts starts = node_starts(layout);
        const auto& leaves = starts.back();
        for (std::size_t symbol = 0; symbol < leaves.size(); ++symbol) {
            const std::uint64_t end = symbol + 1 < leaves.size() ? leaves[symbol + 1] : layout.n_rows;
            if (end == leaves[symbol]) continue;
            symbols_.push_back(static_cast<Symbol>(symbol));
            firsts_.push_back(leaves[symbol]);
        }
        const bool one_sentinel = leaves[0] == 0 && leaves[1] == 1;
        if (!one_sentinel || symbols_.size() != layout.sigma || layout.counts.back() != layout.n_rows ||
            !std::equal(firsts_.begin(), firsts_.end(), layout.counts.begin())) {
            fail(path,
                 "is damaged: its wavelet tree does not hold the symbols that its alphabet counts");
        }
        lf_ = find_lf(layout, starts);
    } catch (const std::bad_alloc&) {
        fail(path, "needs more memory to be read than there is: 4 bytes a token");
    }
}

Symbol Published::symbol_of(std::uint32_t row) const {
    return symbols_[std::ranges::upper_bound(firsts_, row) - firsts_.begin() - 1];
}

std::vector<Symbol> Published::read(std::uint64_t n) {
    const std::lock_guard<std::mutex> alone(walk_);
    std::vector<Symbol> out(std::min(n, lf_.size() - 1 - n_read_));
    for (Symbol& symbol : out) {
        row_ = lf_[row_];
        if (row_ == 0) {
            fail(path_, "is damaged: its text ends after " + std::to_string(n_read_) + " of " +
                            std::to_string(lf_.size() - 1) + " tokens");
        }
        symbol = symbol_of(row_);
        ++n_read_;
    }
    return out;
}

}  // namespace seal::sdsl
