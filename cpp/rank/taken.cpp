#include "taken.hpp"

#include <algorithm>
#include <numeric>

#include "finder.hpp"

namespace seal::rank {

Taken taken(const QueryArrays& arrays, Ranking::Score kind, std::span<const Symbol> stream) {
    const Query query(arrays);
    std::vector<std::uint32_t> all(query.n_keys());
    std::iota(all.begin(), all.end(), 0U);
    std::vector<Occurrence> keys;
    std::vector<Unigram> unigrams;
    Finder(query, all).find(stream, keys, unigrams);
    std::ranges::sort(keys);
    Taken found;
    for (const Occurrence& occurrence : keys) {
        if (found.held.empty() || found.held.back() != occurrence.key) {
            found.held.push_back(occurrence.key);
        }
    }
    if (kind == Ranking::Score::kSum) {
        found.score = Cover(query).score(keys, unigrams, stream.size(), found.parts, &found.places);
    } else if (!keys.empty()) {
        const std::uint32_t best = keys[0].key;
        found.score = query.power(best);
        found.parts.push_back({best, found.score});
        for (const Occurrence& occurrence : keys) {
            if (occurrence.key == best) found.places.push_back({best, occurrence.end});
        }
    }
    return found;
}

}  // namespace seal::rank
