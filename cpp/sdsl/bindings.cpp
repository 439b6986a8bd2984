// The extension module seal_ir._sdsl: types, release of the GIL and exceptions, nothing else.
// The Python side is documented in seal_ir/_sdsl.pyi.
#include "../segment_arrays.hpp"
#include "baseline.hpp"
#include "build.hpp"
#include "engine.hpp"
#include "published.hpp"

namespace {

using namespace seal;
using namespace seal::sdsl;

void build(const std::string& path, const Symbols& symbols, const Ints& starts, Symbol boundary,
           const std::string& temp_dir) {
    const nb::gil_scoped_release released;
    build_sdsl(path, as_span(symbols), as_unsigned(starts), boundary, temp_dir);
}

// The published system's files.

[[nodiscard]] std::unique_ptr<Published> open_published(const std::string& path) {
    const nb::gil_scoped_release released;
    return std::make_unique<Published>(path);
}

[[nodiscard]] SymbolsOut read(Published& published, std::uint64_t n) {
    std::vector<Symbol> found;
    {
        const nb::gil_scoped_release released;
        found = published.read(n);
    }
    const std::size_t length = found.size();
    return as_array<SymbolsOut>(std::move(found), {length});
}

void build_file(const std::string& path, const Symbols& symbols) {
    const nb::gil_scoped_release released;
    build_published(path, as_span(symbols));
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
    std::vector<Position> out(rows.shape(0));
    double seconds = 0;
    {
        const nb::gil_scoped_release released;
        seconds = baseline.locate(as_unsigned(rows), as_unsigned(starts), out);
    }
    return {seconds, as_array<PairsOut>(std::move(out), {rows.shape(0), 2})};
}

[[nodiscard]] nb::typed<nb::tuple, double, IntsOut, SymbolsOut> baseline_extract(
    const Baseline& baseline, const Ints& documents, const Ints& starts) {
    Streams found;
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
    module.def("build_published", &build_file, "path"_a, "symbols"_a.noconvert());
    nb::class_<Published>(module, "Published")
        .def_static("open", &open_published, "path"_a)
        .def_prop_ro("n_rows", &Published::n_rows)
        .def_prop_ro("n_symbols", &Published::n_symbols)
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

NB_MODULE(_sdsl, module) {
    // An interactive session ends with results of its own alive: nothing is lost.
    nb::set_leak_warnings(false);
    module.def("build", &build, "path"_a, "symbols"_a.noconvert(), "starts"_a.noconvert(), "boundary"_a,
               "temp_dir"_a);
    bind_engine<SdslEngine>(module);
    SegmentCalls::bind(module);
    bind_published(module);
}
