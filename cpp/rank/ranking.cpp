#include "ranking.hpp"

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <string>

namespace seal::rank {

namespace {

// Sums of the same numbers in another order differ by less than this part of them.
constexpr double kRounding = 1e-12;
constexpr std::size_t kAhead = 4;  // documents whose memory is on its way while one is scored

std::vector<std::uint32_t> without_rows(const Rows& rows, std::size_t n_keys) {
    const auto& offsets = rows.offsets;
    if (offsets.size() != n_keys + 1 || offsets.front() != 0 || !std::ranges::is_sorted(offsets) ||
        offsets.back() != static_cast<std::int64_t>(rows.documents.size()) ||
        rows.documents.size() != rows.ends.size()) {
        throw std::invalid_argument("row offsets do not cut " + std::to_string(rows.documents.size()) +
                                    " documents and " + std::to_string(rows.ends.size()) +
                                    " ends into " + std::to_string(n_keys) + " keys");
    }
    std::vector<std::uint32_t> keys;
    for (std::size_t key = 0; key < n_keys; ++key) {
        if (offsets[key] == offsets[key + 1]) keys.push_back(static_cast<std::uint32_t>(key));
    }
    return keys;
}

}  // namespace

Ranking::Ranking(const QueryArrays& query, const Rows& rows, std::span<const std::int64_t> further,
                 Score kind, std::size_t n_hits)
    : query_(query),
      kind_(kind),
      n_hits_(n_hits),
      unlocated_(without_rows(rows, query_.n_keys())),
      finder_(query_, unlocated_),
      cover_(query_) {
    if (n_hits == 0) throw std::invalid_argument("n_hits is 0; it must be at least 1");
    group(rows);
    add(further);
    set_bounds();
}

void Ranking::group(const Rows& rows) {
    struct Row {
        std::int64_t document;
        Occurrence occurrence;
    };
    std::vector<Row> sorted;
    sorted.reserve(rows.documents.size());
    for (std::uint32_t key = 0; key < query_.n_keys(); ++key) {
        for (auto i = static_cast<std::size_t>(rows.offsets[key]);
             i < static_cast<std::size_t>(rows.offsets[key + 1]); ++i) {
            const std::int64_t end = rows.ends[i];
            if (end < static_cast<std::int64_t>(query_.length(key)) ||
                end > std::numeric_limits<std::int32_t>::max()) {
                throw std::invalid_argument("ends[" + std::to_string(i) + "] is " +
                                            std::to_string(end) + ", no place for a key of " +
                                            std::to_string(query_.length(key)) + " symbols");
            }
            sorted.push_back({rows.documents[i], {key, static_cast<std::uint32_t>(end)}});
        }
    }
    std::ranges::stable_sort(sorted, {}, &Row::document);  // keys ascend already
    occurrences_.reserve(sorted.size());
    for (std::size_t i = 0; i < sorted.size(); ++i) {
        const auto number = static_cast<std::uint32_t>(i);
        if (i == 0 || sorted[i].document != sorted[i - 1].document) {
            candidates_.push_back({sorted[i].document, number, number, 0.0, 0.0});
        }
        candidates_.back().last = number + 1;
        occurrences_.push_back(sorted[i].occurrence);
    }
}

void Ranking::add(std::span<const std::int64_t> further) {
    if (kind_ == Score::kMax && !further.empty() && unlocated_.empty()) {
        throw std::invalid_argument(std::to_string(further.size()) +
                                    " further documents, and every key was located");
    }
    const std::size_t n_located = candidates_.size();
    for (std::size_t i = 0; i < further.size(); ++i) {
        const auto known = std::span(candidates_).first(n_located);  // by document
        if ((i > 0 && further[i - 1] >= further[i]) ||
            std::ranges::binary_search(known, further[i], {}, &Candidate::document)) {
            throw std::invalid_argument("further[" + std::to_string(i) + "] is document " +
                                        std::to_string(further[i]) +
                                        ", which is not above the one before or holds a located key");
        }
        candidates_.push_back({further[i], 0, 0, 0.0, 0.0});
    }
}

void Ranking::set_bounds() {
    double rest = 0.0;  // what a text could add
    for (const std::uint32_t key : unlocated_) rest += query_.power(key);
    for (std::size_t i = 0; i < query_.n_unigrams(); ++i) rest += query_.unigram_weight(i);
    for (Candidate& candidate : candidates_) {
        const auto keys = located(candidate);
        if (kind_ == Score::kMax) {
            candidate.known =
                keys.empty() ? -std::numeric_limits<double>::infinity() : query_.power(keys[0].key);
            candidate.bound = needs_text(candidate) ? query_.power(unlocated_[0]) : candidate.known;
        } else {
            candidate.known = cover_.bound(0.0, keys, {});
            candidate.bound = (candidate.known + rest) * (1.0 + kRounding);
        }
    }
    std::ranges::stable_sort(candidates_, [](const Candidate& a, const Candidate& b) {
        return a.bound != b.bound ? a.bound > b.bound : a.known > b.known;
    });
}

std::span<const Occurrence> Ranking::located(const Candidate& candidate) const {
    return std::span(occurrences_).subspan(candidate.first, candidate.last - candidate.first);
}

bool Ranking::needs_text(const Candidate& candidate) const {
    if (kind_ == Score::kSum) return !finder_.empty();
    const auto keys = located(candidate);
    return keys.empty() || (!unlocated_.empty() && unlocated_[0] < keys[0].key);
}

double Ranking::first_score(const Candidate& candidate) {
    if (kind_ == Score::kMax) return candidate.known;
    const auto keys = located(candidate);
    parts_.clear();
    if (keys.empty()) return 0.0;
    const std::size_t length = std::ranges::max(keys, {}, &Occurrence::end).end;
    return cover_.score(keys, {}, length, parts_);
}

double Ranking::least() const {
    return best_.size() < n_hits_ ? -std::numeric_limits<double>::infinity() : best_.top();
}

std::vector<std::int64_t> Ranking::next(std::size_t limit) {
    pending_.clear();
    while (at_ < candidates_.size() && pending_.size() < limit) {
        const Candidate& candidate = candidates_[at_];
        if (candidate.bound < least()) {
            at_ = candidates_.size();
            break;
        }
        ++at_;
        if (needs_text(candidate)) {
            pending_.push_back(candidate);
        } else {
            score_known(candidate);
        }
    }
    std::ranges::sort(pending_, {}, &Candidate::document);
    std::vector<std::int64_t> documents;
    documents.reserve(pending_.size());
    for (const Candidate& candidate : pending_) documents.push_back(candidate.document);
    return documents;
}

void Ranking::score(const Texts& texts) {
    const auto& offsets = texts.offsets;
    if (offsets.size() != texts.documents.size() + 1 || offsets.front() != 0 ||
        !std::ranges::is_sorted(offsets) ||
        offsets.back() != static_cast<std::int64_t>(texts.symbols.size())) {
        throw std::invalid_argument("offsets do not cut " + std::to_string(texts.symbols.size()) +
                                    " symbols into " + std::to_string(texts.documents.size()) +
                                    " documents");
    }
    for (std::size_t i = 0; i < texts.documents.size(); ++i) {
        const auto found =
            std::ranges::lower_bound(pending_, texts.documents[i], {}, &Candidate::document);
        if (found == pending_.end() || found->document != texts.documents[i]) {
            throw std::invalid_argument("document " + std::to_string(texts.documents[i]) +
                                        " was not asked for");
        }
        const auto first = static_cast<std::size_t>(offsets[i]);
        score_one(*found,
                  texts.symbols.subspan(first, static_cast<std::size_t>(offsets[i + 1]) - first));
    }
}

void Ranking::score_stored(const store::TokenStores& stores, std::size_t limit) {
    const auto n = static_cast<std::int64_t>(stores.n_documents());
    std::vector<Symbol> stream;
    while (!next(limit).empty()) {
        if (pending_.front().document < 0 || pending_.back().document >= n) {
            throw std::invalid_argument("candidates are documents " +
                                        std::to_string(pending_.front().document) + " to " +
                                        std::to_string(pending_.back().document) + ", and " +
                                        std::to_string(n) + " are stored");
        }
        for (std::size_t i = 0; i < pending_.size(); ++i) {
            if (i + kAhead < pending_.size()) {
                const auto [store, number] =
                    stores.find(static_cast<std::uint64_t>(pending_[i + kAhead].document));
                store.prefetch(number);
            }
            const auto [store, number] = stores.find(static_cast<std::uint64_t>(pending_[i].document));
            stream.clear();
            store.read(number, stream);
            score_one(pending_[i], stream);
        }
    }
}

/// `keys_` holds what was found in the stream.
void Ranking::check(const Candidate& candidate, std::span<const Symbol> stream) const {
    const auto known = located(candidate);
    const auto document = [&] { return "document " + std::to_string(candidate.document); };
    if (kind_ == Score::kMax && known.empty() && keys_.empty()) {
        throw std::invalid_argument(document() + " holds no key");
    }
    if (!known.empty() && std::ranges::max(known, {}, &Occurrence::end).end > stream.size()) {
        throw std::invalid_argument(document() + " has " + std::to_string(stream.size()) +
                                    " symbols, and a key was located beyond");
    }
}

void Ranking::score_one(const Candidate& candidate, std::span<const Symbol> stream) {
    const auto known = located(candidate);
    finder_.find(stream, keys_, unigrams_);
    check(candidate, stream);
    if (kind_ == Score::kMax) {
        std::uint32_t best = known.empty() ? keys_[0].key : known[0].key;
        for (const Occurrence& occurrence : keys_) best = std::min(best, occurrence.key);
        parts_.assign(1, {best, query_.power(best)});
        settle(candidate, query_.power(best));
        return;
    }
    // Most documents are far from the n-th best, and their parts need not be worked out.
    if (cover_.bound(candidate.known, keys_, unigrams_) * (1.0 + kRounding) < least()) return;
    keys_.insert(keys_.end(), known.begin(), known.end());
    std::ranges::sort(keys_);
    settle(candidate, cover_.score(keys_, unigrams_, stream.size(), parts_));
}

void Ranking::score_known(const Candidate& candidate) {
    if (kind_ == Score::kMax) parts_.assign(1, {located(candidate)[0].key, candidate.known});
    settle(candidate, first_score(candidate));
}

void Ranking::settle(const Candidate& candidate, double score) {
    if (score < least()) return;
    hits_.push_back({candidate.document, score, parts_});
    best_.push(score);
    if (best_.size() > n_hits_) best_.pop();
    if (hits_.size() < crowded_) return;
    std::erase_if(hits_, [&](const Hit& hit) { return hit.score < least(); });
    crowded_ = std::max(crowded_, 2 * hits_.size());
}

std::vector<Hit> Ranking::hits() const {
    std::vector<Hit> found;
    std::ranges::copy_if(hits_, std::back_inserter(found),
                         [&](const Hit& hit) { return hit.score >= least(); });
    std::ranges::sort(found, [](const Hit& a, const Hit& b) {
        return a.score != b.score ? a.score > b.score : a.document < b.document;
    });
    return found;
}

}  // namespace seal::rank
