// Some documents of an engine, as if there were no others.
//
// A row is live if its occurrence lies in a live document. The live rows of an n-gram are renumbered
// without the others, so that ranges have no holes: their width is the exact count, and everything that
// is computed from them is that of an index of the live documents alone. A range of live rows becomes
// the narrowest range of all rows around them, is extended by the engine behind, and comes back as
// live rows: what lies between stands for other documents, and so does all that it extends to.
//
// The same serves deletions (the rest is live) and searching in some documents only.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "bits.hpp"
#include "engine.hpp"

namespace seal {

class LiveEngine final : public Engine {
  public:
    enum class Named { kLive, kDead };

    /// The view of `engine`, which must outlive it, with the documents that are named live or dead.
    /// Walks through the named ones, in threads where they are many: a step for each symbol. Throws std::out_of_range for documents that
    /// do not exist, and std::runtime_error if the engine's data are damaged.
    LiveEngine(const Engine& engine, std::span<const std::uint64_t> documents, Named named);

    [[nodiscard]] Row n_rows() const override { return rows_.ones(); }
    [[nodiscard]] std::uint64_t n_documents() const override { return documents_.ones(); }
    [[nodiscard]] Symbol boundary() const override { return engine_.boundary(); }
    [[nodiscard]] std::vector<std::pair<std::string, std::uint64_t>> size_in_bytes() const override;

    void extend(std::span<const Range> ranges, std::span<const Symbol> symbols,
                std::span<Range> out) const override;
    void verify(std::span<const Range> ranges, std::span<const Symbol> candidates, std::size_t width,
                std::span<Range> out) const override;
    [[nodiscard]] Successors successors(std::span<const Range> ranges) const override;
    void locate(std::span<const Row> rows, std::span<Position> out) const override;
    [[nodiscard]] Streams extract(std::span<const std::uint64_t> documents) const override;
    [[nodiscard]] std::vector<Row> rows(std::span<const std::uint64_t> documents) const override;

  private:
    [[nodiscard]] Range outer(const Range& range) const;
    [[nodiscard]] std::vector<Range> outer(std::span<const Range> ranges) const;
    [[nodiscard]] std::vector<std::uint64_t> outer(std::span<const std::uint64_t> documents) const;
    [[nodiscard]] Range live(const Range& range) const;

    const Engine& engine_;
    Bits rows_;  // the sentinel's among them
    Bits documents_;
};

}  // namespace seal
