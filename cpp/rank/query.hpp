// The keys of one query as arrays, and what is known of them before any document is seen.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace seal::rank {

using Symbol = std::uint32_t;

/// What a query is made of. Key i is symbols[offsets[i]:offsets[i + 1]] and adds at most powers[i] to a
/// document; keys come by descending weight, which is the order in which they are taken.
struct QueryArrays {
    std::span<const Symbol> symbols;
    std::span<const std::int64_t> offsets;
    std::span<const double> powers;
    std::span<const Symbol> unigrams;  // ascending
    std::span<const double> unigram_weights;
    double beta = 0.0;
};

/// A copy of these arrays, checked. Distinct symbols of keys get small ids, so that sets of them are
/// arrays.
class Query {
  public:
    static constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();

    /// std::invalid_argument: the arrays do not fit each other.
    explicit Query(const QueryArrays& arrays);

    [[nodiscard]] std::size_t n_keys() const { return powers_.size(); }
    [[nodiscard]] std::size_t n_unigrams() const { return unigrams_.size(); }
    [[nodiscard]] std::size_t n_ids() const { return n_ids_; }
    [[nodiscard]] double beta() const { return beta_; }
    [[nodiscard]] double power(std::size_t key) const { return powers_[key]; }
    [[nodiscard]] Symbol unigram(std::size_t i) const { return unigrams_[i]; }
    [[nodiscard]] double unigram_weight(std::size_t i) const { return unigram_weights_[i]; }
    [[nodiscard]] std::size_t length(std::size_t key) const {
        return offsets_[key + 1] - offsets_[key];
    }

    [[nodiscard]] std::span<const Symbol> symbols(std::size_t key) const {
        return std::span(symbols_).subspan(offsets_[key], length(key));
    }

    /// Ids of the distinct symbols of a key.
    [[nodiscard]] std::span<const std::uint32_t> ids(std::size_t key) const {
        return std::span(ids_).subspan(id_offsets_[key], id_offsets_[key + 1] - id_offsets_[key]);
    }

    /// Id of a unigram's symbol; kNone if no key holds it.
    [[nodiscard]] std::uint32_t unigram_id(std::size_t i) const { return unigram_ids_[i]; }

  private:
    std::vector<Symbol> symbols_;
    std::vector<std::size_t> offsets_;
    std::vector<double> powers_;
    std::vector<Symbol> unigrams_;
    std::vector<double> unigram_weights_;
    double beta_;
    std::vector<std::uint32_t> ids_;
    std::vector<std::size_t> id_offsets_;
    std::vector<std::uint32_t> unigram_ids_;
    std::size_t n_ids_ = 0;
};

}  // namespace seal::rank
