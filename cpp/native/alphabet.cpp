#include "alphabet.hpp"

#include <algorithm>
#include <limits>
#include <stdexcept>

namespace seal::native {
namespace {

// Vocabularies are far below it; beyond it a table by symbol would cost more than a search.
constexpr Symbol kMaxTable = 1U << 22;

}  // namespace

Alphabet::Alphabet(std::span<const Symbol> symbols, std::span<const std::uint32_t> counts)
    : symbols_(symbols.begin(), symbols.end()), first_(symbols.size() + 1) {
    if (symbols.empty() || symbols.size() != counts.size())
        throw std::invalid_argument("an alphabet needs symbols and a count of each");
    std::uint64_t row = 1;
    for (std::size_t k = 0; k < symbols.size(); ++k) {
        if (symbols[k] == 0 || (k > 0 && symbols[k] <= symbols[k - 1]))
            throw std::invalid_argument("the symbols of the alphabet do not ascend");
        first_[k] = static_cast<std::uint32_t>(row);
        row += counts[k];
        if (counts[k] == 0 || row > std::numeric_limits<std::uint32_t>::max())
            throw std::invalid_argument("the counts of the alphabet make no sense");
    }
    first_.back() = static_cast<std::uint32_t>(row);
    if (symbols_.back() >= kMaxTable) return;
    table_.assign(symbols_.back() + 1, size());
    for (Dense k = 0; k < size(); ++k) table_[symbols_[k]] = k;
}

Dense Alphabet::dense(Symbol symbol) const {
    if (!table_.empty()) return symbol < table_.size() ? table_[symbol] : size();
    const auto found = std::ranges::lower_bound(symbols_, symbol);
    if (found == symbols_.end() || *found != symbol) return size();
    return static_cast<Dense>(found - symbols_.begin());
}

}  // namespace seal::native
