// The best documents for one query: candidates by their located keys, texts asked for in batches.
#pragma once

#include <cstdint>
#include <queue>
#include <span>
#include <vector>

#include "../store/store.hpp"
#include "cover.hpp"
#include "finder.hpp"
#include "query.hpp"

namespace seal::rank {

/// Where keys were located: key i at the rows [offsets[i], offsets[i + 1]). A key without rows was not
/// located: it is looked for in the texts of the candidates.
struct Rows {
    std::span<const std::int64_t> offsets;
    std::span<const std::int64_t> documents;
    std::span<const std::int64_t> ends;
};

/// Streams one after another: that of documents[i] is symbols[offsets[i]:offsets[i + 1]].
struct Texts {
    std::span<const std::int64_t> documents;
    std::span<const std::int64_t> offsets;
    std::span<const Symbol> symbols;
};

struct Hit {
    std::int64_t document;
    double score;
    std::vector<Part> parts;
};

class Ranking {
  public:
    enum class Score { kSum, kMax };  // the intersective score, or the best key's power

    /// Candidates are the documents of `rows`, and the `further` ones, ascending, which hold no located
    /// key and, for kMax, one or more of the others. std::invalid_argument: the arrays do not fit each other.
    Ranking(const QueryArrays& query, const Rows& rows, std::span<const std::int64_t> further,
            Score kind, std::size_t n_hits);
    Ranking(const Ranking&) = delete;
    Ranking& operator=(const Ranking&) = delete;

    [[nodiscard]] std::size_t n_candidates() const { return candidates_.size(); }

    /// Up to `limit` documents whose texts are wanted next, ascending; empty at the end. Candidates
    /// come in descending order of a bound on their scores, and end where no bound reaches the n-th
    /// best score.
    [[nodiscard]] std::vector<std::int64_t> next(std::size_t limit);

    /// Scores documents that the last `next` named. std::invalid_argument: it named no such document, a
    /// located key lies outside of its text, or for kMax the text holds no key.
    void score(const Texts& texts);

    /// All that `next` names, `limit` at a time, read from where they are stored. Throws
    /// std::runtime_error where these are damaged, std::invalid_argument as `score` does, and where
    /// they do not hold all candidates.
    void score_stored(const store::TokenStores& stores, std::size_t limit);

    /// The n best, and all that tie with the last of them; by descending score, then document.
    [[nodiscard]] std::vector<Hit> hits() const;

  private:
    struct Candidate {
        std::int64_t document;
        std::uint32_t first;  // of its occurrences
        std::uint32_t last;
        double known;  // kSum: powers of its located keys; kMax: the best of them, -inf for none
        double bound;
    };

    void group(const Rows& rows);
    void add(std::span<const std::int64_t> further);
    void set_bounds();
    [[nodiscard]] std::span<const Occurrence> located(const Candidate& candidate) const;
    [[nodiscard]] bool needs_text(const Candidate& candidate) const;
    [[nodiscard]] double least() const;
    [[nodiscard]] double first_score(const Candidate& candidate);
    void check(const Candidate& candidate, std::span<const Symbol> stream) const;
    void score_one(const Candidate& candidate, std::span<const Symbol> stream);
    void score_known(const Candidate& candidate);
    void settle(const Candidate& candidate, double score);

    Query query_;
    Score kind_;
    std::size_t n_hits_;
    std::vector<std::uint32_t> unlocated_;
    Finder finder_;
    Cover cover_;
    std::vector<Occurrence> occurrences_;  // by candidate, then by key
    std::vector<Candidate> candidates_;
    std::size_t at_ = 0;
    std::vector<Candidate> pending_;  // by document
    std::priority_queue<double, std::vector<double>, std::greater<>> best_;
    std::vector<Hit> hits_;
    std::size_t crowded_ = 4096;  // hits to hold before those that fell behind are dropped
    // Working memory of one document.
    std::vector<Occurrence> keys_;
    std::vector<Unigram> unigrams_;
    std::vector<Part> parts_;
};

}  // namespace seal::rank
