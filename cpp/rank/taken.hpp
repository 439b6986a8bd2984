// What one document's score is made of, with the places: for explanations, not for ranking.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cover.hpp"
#include "query.hpp"
#include "ranking.hpp"

namespace seal::rank {

struct Taken {
    double score = 0.0;               // the sum of the shares, in their order
    std::vector<Part> parts;          // in the order they were taken
    std::vector<Place> places;        // part by part
    std::vector<std::uint32_t> held;  // all keys that occur, taken or not, ascending
};

/// What a `Ranking` adds up for a document with this stream, and where. For kMax the part is the best
/// key that occurs, at all its places; a document without a key has no part.
[[nodiscard]] Taken taken(const QueryArrays& query, Ranking::Score kind,
                          std::span<const Symbol> stream);

}  // namespace seal::rank
