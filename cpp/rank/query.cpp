#include "query.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace seal::rank {

namespace {

void check(const QueryArrays& arrays) {
    const auto& offsets = arrays.offsets;
    if (offsets.size() != arrays.powers.size() + 1 || offsets.front() != 0 ||
        offsets.back() != static_cast<std::int64_t>(arrays.symbols.size())) {
        throw std::invalid_argument("offsets do not cut " + std::to_string(arrays.symbols.size()) +
                                    " symbols into " + std::to_string(arrays.powers.size()) + " keys");
    }
    for (std::size_t key = 0; key + 1 < offsets.size(); ++key) {
        if (offsets[key] >= offsets[key + 1]) {
            throw std::invalid_argument("key " + std::to_string(key) + " has no symbols");
        }
    }
    if (arrays.unigrams.size() != arrays.unigram_weights.size()) {
        throw std::invalid_argument(std::to_string(arrays.unigrams.size()) + " unigrams have " +
                                    std::to_string(arrays.unigram_weights.size()) + " weights");
    }
    for (std::size_t i = 1; i < arrays.unigrams.size(); ++i) {
        if (arrays.unigrams[i - 1] >= arrays.unigrams[i]) {
            throw std::invalid_argument("unigrams[" + std::to_string(i) +
                                        "] is not above the one before");
        }
    }
}

}  // namespace

Query::Query(const QueryArrays& arrays)
    : symbols_(arrays.symbols.begin(), arrays.symbols.end()),
      powers_(arrays.powers.begin(), arrays.powers.end()),
      unigrams_(arrays.unigrams.begin(), arrays.unigrams.end()),
      unigram_weights_(arrays.unigram_weights.begin(), arrays.unigram_weights.end()),
      beta_(arrays.beta) {
    check(arrays);
    offsets_.assign(arrays.offsets.begin(), arrays.offsets.end());
    std::vector<Symbol> known = symbols_;
    std::ranges::sort(known);
    known.erase(std::ranges::unique(known).begin(), known.end());
    n_ids_ = known.size();
    const auto find = [&](Symbol symbol) {
        const auto found = std::ranges::lower_bound(known, symbol);
        if (found == known.end() || *found != symbol) return kNone;
        return static_cast<std::uint32_t>(found - known.begin());
    };
    id_offsets_.push_back(0);
    for (std::size_t key = 0; key < n_keys(); ++key) {
        for (const Symbol symbol : symbols(key)) ids_.push_back(find(symbol));
        const auto first = ids_.begin() + static_cast<std::ptrdiff_t>(id_offsets_.back());
        std::sort(first, ids_.end());
        ids_.erase(std::unique(first, ids_.end()), ids_.end());
        id_offsets_.push_back(ids_.size());
    }
    for (const Symbol symbol : unigrams_) unigram_ids_.push_back(find(symbol));
}

}  // namespace seal::rank
