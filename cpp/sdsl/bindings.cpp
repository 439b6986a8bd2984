// The extension module seal_ir._sdsl: types, release of the GIL and exceptions, nothing else.
// The Python side is documented in seal_ir/_sdsl.pyi.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>

#include <cstring>
#include <memory>
#include <utility>

#include "baseline.hpp"
#include "build.hpp"
#include "engine.hpp"
#include "published.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

using seal::Baseline;
using seal::Range;
using seal::SdslEngine;
using seal::Symbol;

template <class T, class Shape>
using Input = nb::ndarray<const T, Shape, nb::c_contig, nb::device::cpu>;
using Ints = Input<std::int64_t, nb::shape<-1>>;
using Pairs = Input<std::int64_t, nb::shape<-1, 2>>;
using Symbols = Input<Symbol, nb::shape<-1>>;
using SymbolRows = Input<Symbol, nb::shape<-1, -1>>;

using IntsOut = nb::ndarray<nb::numpy, std::int64_t, nb::shape<-1>>;
using PairsOut = nb::ndarray<nb::numpy, std::int64_t, nb::shape<-1, 2>>;
using PairRowsOut = nb::ndarray<nb::numpy, std::int64_t, nb::shape<-1, -1, 2>>;
using SymbolsOut = nb::ndarray<nb::numpy, Symbol, nb::shape<-1>>;

static_assert(sizeof(Range) == 16 && sizeof(seal::Position) == 16, "pairs of int64 in numpy");

/// Negative numbers become huge ones, which the engine refuses (and prints as negative).
[[nodiscard]] std::span<const std::uint64_t> as_unsigned(const Ints& values) {
    return {reinterpret_cast<const std::uint64_t*>(values.data()), values.size()};
}

[[nodiscard]] std::vector<Range> as_ranges(const Pairs& pairs) {
    std::vector<Range> ranges(pairs.shape(0));
    if (!ranges.empty()) std::memcpy(ranges.data(), pairs.data(), ranges.size() * sizeof(Range));
    return ranges;
}

[[nodiscard]] std::span<const Symbol> as_span(const auto& symbols) {
    return {symbols.data(), symbols.size()};
}

/// A numpy array that owns `values`; no copy.
template <class Array, class T>
[[nodiscard]] Array as_array(std::vector<T>&& values, std::initializer_list<std::size_t> shape) {
    auto owner = std::make_unique<std::vector<T>>(std::move(values));
    void* data = owner->data();
    nb::capsule capsule(owner.get(), [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
    (void)owner.release();  // the capsule's from here on
    return Array(data, shape, capsule);
}

void build(const std::string& path, const Symbols& symbols, const Ints& starts, Symbol boundary,
           const std::string& temp_dir) {
    const nb::gil_scoped_release released;
    seal::build_sdsl(path, as_span(symbols), as_unsigned(starts), boundary, temp_dir);
}

[[nodiscard]] std::unique_ptr<SdslEngine> open(const std::string& path) {
    const nb::gil_scoped_release released;
    return std::make_unique<SdslEngine>(path);
}

[[nodiscard]] nb::typed<nb::dict, std::string, std::uint64_t> size_in_bytes(const SdslEngine& engine) {
    std::vector<std::pair<std::string, std::uint64_t>> parts;
    {
        const nb::gil_scoped_release released;
        parts = engine.size_in_bytes();
    }
    nb::dict result;
    for (const auto& [name, n_bytes] : parts) result[name.c_str()] = n_bytes;
    return nb::borrow<nb::typed<nb::dict, std::string, std::uint64_t>>(result);
}

[[nodiscard]] PairsOut extend(const SdslEngine& engine, const Pairs& ranges, const Symbols& symbols) {
    std::vector<Range> out(ranges.shape(0));
    {
        const nb::gil_scoped_release released;
        engine.extend(as_ranges(ranges), as_span(symbols), out);
    }
    return as_array<PairsOut>(std::move(out), {ranges.shape(0), 2});
}

[[nodiscard]] PairRowsOut verify(const SdslEngine& engine, const Pairs& ranges,
                                 const SymbolRows& candidates) {
    const std::size_t width = candidates.shape(1);
    std::vector<Range> out(ranges.shape(0) * width);
    {
        const nb::gil_scoped_release released;
        engine.verify(as_ranges(ranges), as_span(candidates), width, out);
    }
    return as_array<PairRowsOut>(std::move(out), {ranges.shape(0), width, 2});
}

using Offsets = std::vector<std::uint64_t>;

[[nodiscard]] nb::typed<nb::tuple, IntsOut, SymbolsOut, PairsOut> successors(const SdslEngine& engine,
                                                                             const Pairs& ranges) {
    seal::Successors found;
    {
        const nb::gil_scoped_release released;
        found = engine.successors(as_ranges(ranges));
    }
    const std::size_t n = found.symbols.size();
    const std::size_t n_offsets = found.offsets.size();
    return nb::borrow<nb::typed<nb::tuple, IntsOut, SymbolsOut, PairsOut>>(
        nb::make_tuple(as_array<IntsOut>(std::move(found.offsets), {n_offsets}),
                       as_array<SymbolsOut>(std::move(found.symbols), {n}),
                       as_array<PairsOut>(std::move(found.ranges), {n, 2})));
}

[[nodiscard]] PairsOut locate(const SdslEngine& engine, const Ints& rows) {
    std::vector<seal::Position> out(rows.shape(0));
    {
        const nb::gil_scoped_release released;
        engine.locate(as_unsigned(rows), out);
    }
    return as_array<PairsOut>(std::move(out), {rows.shape(0), 2});
}

[[nodiscard]] std::pair<IntsOut, SymbolsOut> extract(const SdslEngine& engine, const Ints& documents) {
    seal::Streams found;
    {
        const nb::gil_scoped_release released;
        found = engine.extract(as_unsigned(documents));
    }
    const std::size_t n = found.symbols.size();
    const std::size_t n_offsets = found.offsets.size();
    return {as_array<IntsOut>(std::move(found.offsets), {n_offsets}),
            as_array<SymbolsOut>(std::move(found.symbols), {n})};
}

// The published system's files.

[[nodiscard]] std::unique_ptr<seal::Published> open_published(const std::string& path) {
    const nb::gil_scoped_release released;
    return std::make_unique<seal::Published>(path);
}

[[nodiscard]] SymbolsOut read(seal::Published& published, std::uint64_t n) {
    std::vector<Symbol> found;
    {
        const nb::gil_scoped_release released;
        found = published.read(n);
    }
    const std::size_t length = found.size();
    return as_array<SymbolsOut>(std::move(found), {length});
}

void build_published(const std::string& path, const Symbols& symbols) {
    const nb::gil_scoped_release released;
    seal::build_published(path, as_span(symbols));
}

// The baseline: CPU seconds of the C++ loop, then the answers.

[[nodiscard]] std::unique_ptr<Baseline> open_baseline(const std::string& path) {
    const nb::gil_scoped_release released;
    return std::make_unique<Baseline>(path);
}

[[nodiscard]] std::pair<double, PairsOut> baseline_extend(const Baseline& baseline, const Pairs& ranges,
                                                          const Symbols& symbols) {
    std::vector<Range> out(ranges.shape(0));
    double seconds = 0;
    {
        const nb::gil_scoped_release released;
        seconds = baseline.extend(as_ranges(ranges), as_span(symbols), out);
    }
    return {seconds, as_array<PairsOut>(std::move(out), {ranges.shape(0), 2})};
}

[[nodiscard]] std::size_t n_ngrams(const Ints& offsets) {
    return offsets.shape(0) == 0 ? 0 : offsets.shape(0) - 1;
}

[[nodiscard]] std::pair<double, PairsOut> baseline_find(const Baseline& baseline, const Ints& offsets,
                                                        const Symbols& symbols) {
    std::vector<Range> out(n_ngrams(offsets));
    double seconds = 0;
    {
        const nb::gil_scoped_release released;
        seconds = baseline.find({as_unsigned(offsets), as_span(symbols)}, out);
    }
    const std::size_t n = out.size();
    return {seconds, as_array<PairsOut>(std::move(out), {n, 2})};
}

[[nodiscard]] std::pair<double, IntsOut> baseline_successors(const Baseline& baseline,
                                                             const Ints& offsets,
                                                             const Symbols& symbols) {
    std::vector<std::uint64_t> counts(n_ngrams(offsets));
    double seconds = 0;
    {
        const nb::gil_scoped_release released;
        seconds = baseline.successors({as_unsigned(offsets), as_span(symbols)}, counts);
    }
    const std::size_t n = counts.size();
    return {seconds, as_array<IntsOut>(std::move(counts), {n})};
}

[[nodiscard]] std::pair<double, PairsOut> baseline_locate(const Baseline& baseline, const Ints& rows,
                                                          const Ints& starts) {
    std::vector<seal::Position> out(rows.shape(0));
    double seconds = 0;
    {
        const nb::gil_scoped_release released;
        seconds = baseline.locate(as_unsigned(rows), as_unsigned(starts), out);
    }
    return {seconds, as_array<PairsOut>(std::move(out), {rows.shape(0), 2})};
}

[[nodiscard]] nb::typed<nb::tuple, double, IntsOut, SymbolsOut> baseline_extract(
    const Baseline& baseline, const Ints& documents, const Ints& starts) {
    seal::Streams found;
    double seconds = 0;
    {
        const nb::gil_scoped_release released;
        seconds = baseline.extract(as_unsigned(documents), as_unsigned(starts), found);
    }
    const std::size_t n = found.symbols.size();
    const std::size_t n_offsets = found.offsets.size();
    return nb::borrow<nb::typed<nb::tuple, double, IntsOut, SymbolsOut>>(
        nb::make_tuple(seconds, as_array<IntsOut>(std::move(found.offsets), {n_offsets}),
                       as_array<SymbolsOut>(std::move(found.symbols), {n})));
}

void bind_published(nb::module_& module) {
    module.def("build_published", &build_published, "path"_a, "symbols"_a.noconvert());
    nb::class_<seal::Published>(module, "Published")
        .def_static("open", &open_published, "path"_a)
        .def_prop_ro("n_rows", &seal::Published::n_rows)
        .def_prop_ro("n_symbols", &seal::Published::n_symbols)
        .def("read", &read, "n"_a);
    nb::class_<Baseline>(module, "Baseline")
        .def_static("open", &open_baseline, "path"_a)
        .def_prop_ro("n_rows", &Baseline::n_rows)
        .def_prop_ro("load_seconds", &Baseline::load_seconds)
        .def("extend", &baseline_extend, "ranges"_a.noconvert(), "symbols"_a.noconvert())
        .def("find", &baseline_find, "offsets"_a.noconvert(), "symbols"_a.noconvert())
        .def("successors", &baseline_successors, "offsets"_a.noconvert(), "symbols"_a.noconvert())
        .def("locate", &baseline_locate, "rows"_a.noconvert(), "starts"_a.noconvert())
        .def("extract", &baseline_extract, "documents"_a.noconvert(), "starts"_a.noconvert());
}

}  // namespace

// Arrays are taken as they are, of the right type and contiguous: a silent copy would hide a slow
// caller.
NB_MODULE(_sdsl, module) {
    module.def("build", &build, "path"_a, "symbols"_a.noconvert(), "starts"_a.noconvert(), "boundary"_a,
               "temp_dir"_a);
    nb::class_<SdslEngine>(module, "Engine")
        .def_static("open", &open, "path"_a)
        .def_prop_ro("n_rows", &SdslEngine::n_rows)
        .def_prop_ro("n_documents", &SdslEngine::n_documents)
        .def_prop_ro("boundary", &SdslEngine::boundary)
        .def_prop_ro("n_symbols", &SdslEngine::n_symbols)
        .def("size_in_bytes", &size_in_bytes)
        .def("extend", &extend, "ranges"_a.noconvert(), "symbols"_a.noconvert())
        .def("verify", &verify, "ranges"_a.noconvert(), "candidates"_a.noconvert())
        .def("successors", &successors, "ranges"_a.noconvert())
        .def("locate", &locate, "rows"_a.noconvert())
        .def("extract", &extract, "documents"_a.noconvert());
    bind_published(module);
}
