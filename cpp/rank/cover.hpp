// The intersective score of one document (the paper's equation 4): keys in descending weight, none over
// an earlier one, then unigrams at the positions that are left.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "finder.hpp"
#include "query.hpp"

namespace seal::rank {

/// A share of a document's score: of key `number`, or of unigram `number - n_keys`.
struct Part {
    std::uint32_t number;
    double share;
};

/// Where part `number` took tokens: the exclusive end of an occurrence.
struct Place {
    std::uint32_t number;
    std::uint32_t end;
};

/// A set of numbers below n that is emptied in constant time.
class Marks {
  public:
    explicit Marks(std::size_t n) : marks_(n, 0) {}

    void clear() {
        if (++now_ == 0) {  // after 2^32 documents
            marks_.assign(marks_.size(), 0);
            now_ = 1;
        }
    }
    [[nodiscard]] bool has(std::size_t i) const { return marks_[i] == now_; }

    /// Whether it was not in yet.
    bool add(std::size_t i) {
        if (has(i)) return false;
        marks_[i] = now_;
        return true;
    }

  private:
    std::vector<std::uint32_t> marks_;
    std::uint32_t now_ = 1;
};

/// Scores one document after another; keeps its working memory.
class Cover {
  public:
    explicit Cover(const Query& query);

    /// The score of a document of `length` symbols, and its parts in the order they were taken: keys,
    /// then unigrams by symbol. `keys` must be sorted; every occurrence lies within the document.
    /// `places`, where wanted, gets all that the parts took, part by part in their order.
    double score(std::span<const Occurrence> keys, std::span<const Unigram> unigrams,
                 std::size_t length, std::vector<Part>& parts, std::vector<Place>* places = nullptr);

    /// No less than the score: every key and unigram once, in full.
    [[nodiscard]] double bound(double known, std::span<const Occurrence> keys,
                               std::span<const Unigram> unigrams);

  private:
    void take_keys(std::span<const Occurrence> keys, std::vector<Part>& parts,
                   std::vector<Place>* places);
    void take_unigrams(std::span<const Unigram> unigrams, std::vector<Part>& parts,
                       std::vector<Place>* places);
    [[nodiscard]] bool is_free(std::size_t end, std::size_t length) const;

    const Query& query_;
    Marks seen_;      // C: symbols of the keys taken so far, by id
    Marks keys_;      // of bound()
    Marks unigrams_;  // each type once
    std::vector<std::uint8_t> occupied_;
    std::vector<std::uint32_t> free_ends_;
    std::vector<std::uint32_t> free_types_;
};

}  // namespace seal::rank
