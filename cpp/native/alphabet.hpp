// The symbols that occur in a segment, as dense ranks 0, 1, 2, ... in ascending order, and where each
// symbol's rows begin.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "../engine.hpp"

namespace seal::native {

using Dense = std::uint32_t;

class Alphabet {
  public:
    /// `symbols` ascend strictly and are not 0; symbol k occurs `counts[k]` times. Row 0 is the
    /// sentinel's, so that the first symbol's rows begin at row 1. Throws std::invalid_argument.
    Alphabet(std::span<const Symbol> symbols, std::span<const std::uint32_t> counts);

    [[nodiscard]] Dense size() const { return static_cast<Dense>(symbols_.size()); }
    [[nodiscard]] Symbol symbol(Dense dense) const { return symbols_[dense]; }
    /// Rows of the suffixes that begin with the symbol: [first(dense), first(dense + 1)).
    [[nodiscard]] Row first(Dense dense) const { return first_[dense]; }
    [[nodiscard]] std::uint64_t count(Dense dense) const { return first_[dense + 1] - first_[dense]; }
    /// Rank of a symbol; size() when it does not occur.
    [[nodiscard]] Dense dense(Symbol symbol) const;

  private:
    std::vector<Symbol> symbols_;
    std::vector<std::uint32_t> first_;  // [size + 1]
    std::vector<Dense> table_;          // by symbol, where symbols are small enough
};

}  // namespace seal::native
