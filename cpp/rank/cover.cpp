#include "cover.hpp"

#include <algorithm>

namespace seal::rank {

Cover::Cover(const Query& query)
    : query_(query), seen_(query.n_ids()), keys_(query.n_keys()), unigrams_(query.n_unigrams()) {}

double Cover::score(std::span<const Occurrence> keys, std::span<const Unigram> unigrams,
                    std::size_t length, std::vector<Part>& parts, std::vector<Place>* places) {
    parts.clear();
    if (places != nullptr) places->clear();
    occupied_.assign(length, 0);
    seen_.clear();
    take_keys(keys, parts, places);
    take_unigrams(unigrams, parts, places);
    // The sum runs over the parts in their order, so that equal documents have equal scores.
    double total = 0.0;
    for (const Part& part : parts) total += part.share;
    return total;
}

void Cover::take_keys(std::span<const Occurrence> keys, std::vector<Part>& parts,
                      std::vector<Place>* places) {
    for (std::size_t i = 0; i < keys.size();) {
        const std::uint32_t key = keys[i].key;
        const std::size_t length = query_.length(key);
        free_ends_.clear();
        for (; i < keys.size() && keys[i].key == key; ++i) {
            if (is_free(keys[i].end, length)) free_ends_.push_back(keys[i].end);
        }
        if (free_ends_.empty()) continue;
        const auto ids = query_.ids(key);
        const auto n_new = std::ranges::count_if(ids, [&](std::uint32_t id) { return !seen_.has(id); });
        const double fresh = static_cast<double>(n_new) / static_cast<double>(ids.size());
        const double share = query_.power(key) * (1.0 - query_.beta() + query_.beta() * fresh);
        if (!(share > 0.0)) continue;
        for (const std::uint32_t end : free_ends_) {
            std::fill_n(occupied_.begin() + static_cast<std::ptrdiff_t>(end - length), length, 1);
        }
        for (const std::uint32_t id : ids) seen_.add(id);
        parts.push_back({key, share});
        if (places == nullptr) continue;
        for (const std::uint32_t end : free_ends_) places->push_back({key, end});
    }
}

bool Cover::is_free(std::size_t end, std::size_t length) const {
    const auto last = occupied_.begin() + static_cast<std::ptrdiff_t>(end);
    return std::find(last - static_cast<std::ptrdiff_t>(length), last, 1) == last;
}

void Cover::take_unigrams(std::span<const Unigram> unigrams, std::vector<Part>& parts,
                          std::vector<Place>* places) {
    unigrams_.clear();
    free_types_.clear();
    for (const auto& [number, position] : unigrams) {
        if (!occupied_[position] && unigrams_.add(number)) free_types_.push_back(number);
    }
    std::ranges::sort(free_types_);
    for (const std::uint32_t number : free_types_) {
        const std::uint32_t id = query_.unigram_id(number);
        double share = query_.unigram_weight(number);
        if (id != Query::kNone && seen_.has(id)) share *= 1.0 - query_.beta();
        if (!(share > 0.0)) continue;
        const auto part = static_cast<std::uint32_t>(query_.n_keys()) + number;
        parts.push_back({part, share});
        if (places == nullptr) continue;
        for (const auto& found : unigrams) {
            if (found.number == number && !occupied_[found.position]) {
                places->push_back({part, found.position + 1});
            }
        }
    }
}

double Cover::bound(double known, std::span<const Occurrence> keys, std::span<const Unigram> unigrams) {
    keys_.clear();
    unigrams_.clear();
    double total = known;
    for (const auto& occurrence : keys) {
        if (keys_.add(occurrence.key)) total += query_.power(occurrence.key);
    }
    for (const auto& unigram : unigrams) {
        if (unigrams_.add(unigram.number)) total += query_.unigram_weight(unigram.number);
    }
    return total;
}

}  // namespace seal::rank
