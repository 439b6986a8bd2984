// The extension module seal_ir._rank: types, release of the GIL and exceptions, nothing else.
// The Python side is documented in seal_ir/_rank.pyi.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>
#include "../arrays.hpp"

#include "../store/store.hpp"
#include "cache.hpp"
#include "ranking.hpp"
#include "taken.hpp"

namespace {

using namespace seal;
using rank::Cache;
using rank::Ranking;
using store::TokenStores;

using Floats = Input<double, nb::shape<-1>>;
using FloatsOut = nb::ndarray<nb::numpy, double, nb::shape<-1>>;

/// Arrays of Python that live as long as the call that reads them.
struct QueryIn {
    Symbols symbols;
    Ints offsets;
    Floats powers;
    Symbols unigrams;
    Floats unigram_weights;
    double beta;
};

[[nodiscard]] rank::QueryArrays as_arrays(const QueryIn& query) {
    return {as_span(query.symbols),  as_span(query.offsets),         as_span(query.powers),
            as_span(query.unigrams), as_span(query.unigram_weights), query.beta};
}

void make(Ranking* place, const QueryIn& query, const Ints& offsets, const Pairs& rows,
          const Ints& further, bool best_only, std::size_t n_hits) {
    const nb::gil_scoped_release released;
    std::vector<std::int64_t> documents(rows.shape(0));
    std::vector<std::int64_t> ends(rows.shape(0));
    for (std::size_t i = 0; i < documents.size(); ++i) {
        documents[i] = rows.data()[2 * i];
        ends[i] = rows.data()[2 * i + 1];
    }
    new (place) Ranking(as_arrays(query), {as_span(offsets), documents, ends}, as_span(further),
                        best_only ? Ranking::Score::kMax : Ranking::Score::kSum, n_hits);
}

[[nodiscard]] IntsOut ints(std::vector<std::int64_t>&& values) {
    const std::size_t n = values.size();
    return as_array<IntsOut>(std::move(values), {n});
}

[[nodiscard]] IntsOut next(Ranking& ranking, std::size_t limit) {
    std::vector<std::int64_t> documents;
    {
        const nb::gil_scoped_release released;
        documents = ranking.next(limit);
    }
    return ints(std::move(documents));
}

void score(Ranking& ranking, const Ints& documents, const Ints& offsets, const Symbols& symbols) {
    const nb::gil_scoped_release released;
    ranking.score({as_span(documents), as_span(offsets), as_span(symbols)});
}

void score_stored(Ranking& ranking, const TokenStores& stores, std::size_t limit) {
    const nb::gil_scoped_release released;
    ranking.score_stored(stores, limit);
}

using HitArrays = nb::typed<nb::tuple, IntsOut, FloatsOut, IntsOut, IntsOut, FloatsOut>;

[[nodiscard]] HitArrays hits(const Ranking& ranking) {
    std::vector<std::int64_t> documents, offsets = {0}, numbers;
    std::vector<double> scores, shares;
    {
        const nb::gil_scoped_release released;
        for (const rank::Hit& hit : ranking.hits()) {
            documents.push_back(hit.document);
            scores.push_back(hit.score);
            for (const rank::Part& part : hit.parts) {
                numbers.push_back(part.number);
                shares.push_back(part.share);
            }
            offsets.push_back(static_cast<std::int64_t>(numbers.size()));
        }
    }
    const std::size_t n = scores.size();
    const std::size_t n_parts = shares.size();
    return nb::borrow<HitArrays>(nb::make_tuple(ints(std::move(documents)),
                                                as_array<FloatsOut>(std::move(scores), {n}),
                                                ints(std::move(offsets)), ints(std::move(numbers)),
                                                as_array<FloatsOut>(std::move(shares), {n_parts})));
}

using TakenArrays = nb::typed<nb::tuple, double, IntsOut, FloatsOut, IntsOut, IntsOut, IntsOut>;

[[nodiscard]] TakenArrays taken(const QueryIn& query, bool best_only, const Symbols& symbols) {
    rank::Taken found;
    {
        const nb::gil_scoped_release released;
        found = rank::taken(as_arrays(query), best_only ? Ranking::Score::kMax : Ranking::Score::kSum,
                            as_span(symbols));
    }
    std::vector<std::int64_t> numbers, offsets = {0}, ends;
    std::vector<double> shares;
    for (const rank::Part& part : found.parts) {
        numbers.push_back(part.number);
        shares.push_back(part.share);
        while (ends.size() < found.places.size() && found.places[ends.size()].number == part.number) {
            ends.push_back(found.places[ends.size()].end);
        }
        offsets.push_back(static_cast<std::int64_t>(ends.size()));
    }
    const std::size_t n = shares.size();
    return nb::borrow<TakenArrays>(nb::make_tuple(
        found.score, ints(std::move(numbers)), as_array<FloatsOut>(std::move(shares), {n}),
        ints(std::move(offsets)), ints(std::move(ends)), ints({found.held.begin(), found.held.end()})));
}

using CachedArrays = nb::typed<nb::tuple, IntsOut, IntsOut, SymbolsOut, IntsOut>;

[[nodiscard]] CachedArrays get(const Cache& cache, const Ints& documents) {
    Cache::Found found;
    {
        const nb::gil_scoped_release released;
        found = cache.get(as_span(documents));
    }
    const std::size_t n = found.symbols.size();
    return nb::borrow<CachedArrays>(nb::make_tuple(
        ints(std::move(found.documents)), ints(std::move(found.offsets)),
        as_array<SymbolsOut>(std::move(found.symbols), {n}), ints(std::move(found.absent))));
}

void put(Cache& cache, const Ints& documents, const Ints& offsets, const Symbols& symbols) {
    const nb::gil_scoped_release released;
    cache.put({as_span(documents), as_span(offsets), as_span(symbols)});
}

void write_tokens(const std::string& path, const Symbols& symbols, const Ints& starts,
                  Symbol boundary) {
    const nb::gil_scoped_release released;
    store::write(path, as_span(symbols), as_unsigned(starts), boundary);
}

[[nodiscard]] std::unique_ptr<TokenStores> open_stores(const std::vector<std::string>& paths,
                                                       const std::vector<std::optional<Ints>>& live) {
    std::vector<store::Live> numbers;
    for (const auto& of_store : live) {
        numbers.emplace_back();
        if (of_store) {
            const auto values = as_unsigned(*of_store);
            numbers.back().emplace(values.begin(), values.end());
        }
    }
    const nb::gil_scoped_release released;
    return std::make_unique<TokenStores>(paths, std::move(numbers));
}

[[nodiscard]] std::pair<IntsOut, SymbolsOut> extract(const TokenStores& stores, const Ints& documents) {
    Streams found;
    {
        const nb::gil_scoped_release released;
        found = stores.extract(as_unsigned(documents));
    }
    const std::size_t n = found.symbols.size();
    const std::size_t n_offsets = found.offsets.size();
    return {as_array<IntsOut>(std::move(found.offsets), {n_offsets}),
            as_array<SymbolsOut>(std::move(found.symbols), {n})};
}

[[nodiscard]] IntsOut value_lengths(const TokenStores& stores, Symbol start, Symbol end,
                                    bool first_only) {
    std::vector<std::int64_t> counts;
    {
        const nb::gil_scoped_release released;
        counts = stores.value_lengths(start, end, first_only);
    }
    return ints(std::move(counts));
}

}  // namespace

NB_MODULE(_rank, module) {
    // An interactive session ends with results of its own alive: nothing is lost.
    nb::set_leak_warnings(false);
    module.def("write_tokens", &write_tokens, "path"_a, "symbols"_a.noconvert(), "starts"_a.noconvert(),
               "boundary"_a);
    nb::class_<TokenStores>(module, "TokenStores")
        .def_static("open", &open_stores, "paths"_a, "live"_a)
        .def_prop_ro("n_documents", &TokenStores::n_documents)
        .def_prop_ro("sizes", &TokenStores::sizes)
        .def("extract", &extract, "documents"_a.noconvert())
        .def("value_lengths", &value_lengths, "start"_a, "end"_a, "first_only"_a);
    nb::class_<QueryIn>(module, "Query")
        .def(nb::init<Symbols, Ints, Floats, Symbols, Floats, double>(), "symbols"_a.noconvert(),
             "offsets"_a.noconvert(), "powers"_a.noconvert(), "unigrams"_a.noconvert(),
             "unigram_weights"_a.noconvert(), "beta"_a);
    module.def("taken", &taken, "query"_a, "best_only"_a, "symbols"_a.noconvert());
    nb::class_<Ranking>(module, "Ranking")
        .def("__init__", &make, "query"_a, "offsets"_a.noconvert(), "rows"_a.noconvert(),
             "further"_a.noconvert(), "best_only"_a, "n_hits"_a)
        .def_prop_ro("n_candidates", &Ranking::n_candidates)
        .def("next", &next, "limit"_a)
        .def("score", &score, "documents"_a.noconvert(), "offsets"_a.noconvert(),
             "symbols"_a.noconvert())
        .def("score_stored", &score_stored, "stores"_a, "limit"_a)
        .def("hits", &hits);
    nb::class_<Cache>(module, "Cache")
        .def(nb::init<std::size_t>(), "n_bytes"_a)
        .def("size_in_bytes", &Cache::size_in_bytes)
        .def("get", &get, "documents"_a.noconvert())
        .def("put", &put, "documents"_a.noconvert(), "offsets"_a.noconvert(), "symbols"_a.noconvert());
}
