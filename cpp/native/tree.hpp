// A Huffman-shaped wavelet tree with four children a node, over the Burrows-Wheeler transform, and the
// questions to it; tree_data.hpp has its parts.
//
// Batches go through the tree level by level, and what the next level needs is fetched into the cache
// while others are at work: a step costs the memory's throughput and not its latency.
//
// The bytes may come from a damaged file. Nothing in here reads outside of the spans it was given: what
// is read from them is compared with the sizes of the nodes, which come from checked tables.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "alphabet.hpp"
#include "code.hpp"
#include "tree_data.hpp"

namespace seal::native {

/// One step of a batch: in, a symbol and an interval of the sequence; out, the ranks of the symbol at
/// both ends.
struct Step {
    Dense symbol;
    std::uint32_t lo;
    std::uint32_t hi;
};

/// A symbol of the sequence and its rank: how often it occurs before.
struct Access {
    Dense symbol;
    std::uint32_t rank;
};

/// A distinct symbol of interval `owner`, with its ranks at both ends.
struct Found {
    std::uint32_t owner;
    Dense symbol;
    std::uint32_t lo;
    std::uint32_t hi;
};

class Tree {
  public:
    /// `weights[k]`: occurrences of symbol k. The spans have the sizes that TreeData gives.
    Tree(const Code& code, std::span<const std::uint64_t> weights, std::span<const Block> blocks,
         std::span<const Counts> supers, std::span<const Counts> bases);

    /// lo and hi become ranks, in place; equal when the symbol does not occur between them. Needs
    /// lo <= hi <= length. Throws std::runtime_error when the data are damaged, as the others do.
    void step(std::span<Step> steps) const;

    /// out[i] = symbol and rank at positions[i], each below the length.
    void access(std::span<const std::uint32_t> positions, std::span<Access> out) const;

    /// The distinct symbols of the intervals [lo, hi) of `ranges`, by owner and, within one, ascending.
    [[nodiscard]] std::vector<Found> distinct(std::span<const Step> ranges) const;

  private:
    struct Node {
        std::uint64_t start;  // of its digits among all
        Counts base;          // before start
        std::uint32_t size;   // digits
        std::uint32_t unused;
    };
    static_assert(sizeof(Node) == 32);

    struct Item;  // of a batch under way
    struct Range;

    void prefetch(std::uint64_t position) const;
    [[nodiscard]] std::uint32_t rank(std::uint64_t position, unsigned digit) const;
    [[nodiscard]] Counts ranks(std::uint64_t position) const;
    [[nodiscard]] unsigned digit(std::uint64_t position) const;
    [[nodiscard]] std::uint32_t weight(Dense symbol) const { return weights_[symbol]; }
    void step_chunk(std::span<Step> steps) const;
    void access_chunk(std::span<const std::uint32_t> positions, std::span<Access> out) const;
    void expand(unsigned level, std::span<const Range> from, std::vector<Range>& inner,
                std::vector<Found>& leaves) const;

    const Code& code_;
    std::vector<std::uint32_t> weights_;
    std::vector<Node> nodes_;
    std::span<const Block> blocks_;
    std::span<const Counts> supers_;
};

}  // namespace seal::native
