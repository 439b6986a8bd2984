// numpy arrays in and out of an engine, the same for every extension module. Only bindings.cpp files
// include this.
//
// Arrays are taken as they are, of the right type and contiguous: a silent copy would hide a slow
// caller.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>

#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine.hpp"
#include "live.hpp"

namespace seal {

namespace nb = nanobind;
using namespace nb::literals;

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

static_assert(sizeof(Range) == 16 && sizeof(Position) == 16, "pairs of int64 in numpy");

/// Negative numbers become huge ones, which the engine refuses (and prints as negative).
[[nodiscard]] inline std::span<const std::uint64_t> as_unsigned(const Ints& values) {
    return {reinterpret_cast<const std::uint64_t*>(values.data()), values.size()};
}

[[nodiscard]] inline std::vector<Range> as_ranges(const Pairs& pairs) {
    std::vector<Range> ranges(pairs.shape(0));
    if (!ranges.empty()) std::memcpy(ranges.data(), pairs.data(), ranges.size() * sizeof(Range));
    return ranges;
}

template <class Array>
[[nodiscard]] auto as_span(const Array& values) {
    return std::span(values.data(), values.size());
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

/// The batched interface of an engine, each call without the GIL.
struct EngineCalls {
    [[nodiscard]] static nb::typed<nb::dict, std::string, std::uint64_t> size_in_bytes(
        const Engine& engine) {
        std::vector<std::pair<std::string, std::uint64_t>> parts;
        {
            const nb::gil_scoped_release released;
            parts = engine.size_in_bytes();
        }
        nb::dict result;
        for (const auto& [name, n_bytes] : parts) result[name.c_str()] = n_bytes;
        return nb::borrow<nb::typed<nb::dict, std::string, std::uint64_t>>(result);
    }

    [[nodiscard]] static PairsOut extend(const Engine& engine, const Pairs& ranges,
                                         const Symbols& symbols) {
        std::vector<Range> out(ranges.shape(0));
        {
            const nb::gil_scoped_release released;
            engine.extend(as_ranges(ranges), as_span(symbols), out);
        }
        return as_array<PairsOut>(std::move(out), {ranges.shape(0), 2});
    }

    [[nodiscard]] static PairRowsOut verify(const Engine& engine, const Pairs& ranges,
                                            const SymbolRows& candidates) {
        const std::size_t width = candidates.shape(1);
        std::vector<Range> out(ranges.shape(0) * width);
        {
            const nb::gil_scoped_release released;
            engine.verify(as_ranges(ranges), as_span(candidates), width, out);
        }
        return as_array<PairRowsOut>(std::move(out), {ranges.shape(0), width, 2});
    }

    [[nodiscard]] static nb::typed<nb::tuple, IntsOut, SymbolsOut, PairsOut> successors(
        const Engine& engine, const Pairs& ranges) {
        Successors found;
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

    [[nodiscard]] static PairsOut locate(const Engine& engine, const Ints& rows) {
        std::vector<Position> out(rows.shape(0));
        {
            const nb::gil_scoped_release released;
            engine.locate(as_unsigned(rows), out);
        }
        return as_array<PairsOut>(std::move(out), {rows.shape(0), 2});
    }

    [[nodiscard]] static std::pair<IntsOut, SymbolsOut> extract(const Engine& engine,
                                                                const Ints& documents) {
        Streams found;
        {
            const nb::gil_scoped_release released;
            found = engine.extract(as_unsigned(documents));
        }
        const std::size_t n = found.symbols.size();
        const std::size_t n_offsets = found.offsets.size();
        return {as_array<IntsOut>(std::move(found.offsets), {n_offsets}),
                as_array<SymbolsOut>(std::move(found.symbols), {n})};
    }

    [[nodiscard]] static IntsOut rows(const Engine& engine, const Ints& documents) {
        std::vector<Row> found;
        {
            const nb::gil_scoped_release released;
            found = engine.rows(as_unsigned(documents));
        }
        const std::size_t n = found.size();
        return as_array<IntsOut>(std::move(found), {n});
    }

    template <LiveEngine::Named named>
    [[nodiscard]] static std::unique_ptr<LiveEngine> live(const Engine& engine, const Ints& documents) {
        const nb::gil_scoped_release released;
        return std::make_unique<LiveEngine>(engine, as_unsigned(documents), named);
    }

    static void bind(nb::module_& module) {
        nb::class_<Engine>(module, "EngineBase")
            .def_prop_ro("n_rows", &Engine::n_rows)
            .def_prop_ro("n_documents", &Engine::n_documents)
            .def_prop_ro("boundary", &Engine::boundary)
            .def("size_in_bytes", &size_in_bytes)
            .def("extend", &extend, "ranges"_a.noconvert(), "symbols"_a.noconvert())
            .def("verify", &verify, "ranges"_a.noconvert(), "candidates"_a.noconvert())
            .def("successors", &successors, "ranges"_a.noconvert())
            .def("locate", &locate, "rows"_a.noconvert())
            .def("extract", &extract, "documents"_a.noconvert())
            .def("rows", &rows, "documents"_a.noconvert())
            .def("only", &live<LiveEngine::Named::kLive>, "documents"_a.noconvert(),
                 nb::keep_alive<0, 1>())
            .def("without", &live<LiveEngine::Named::kDead>, "documents"_a.noconvert(),
                 nb::keep_alive<0, 1>());
        nb::class_<LiveEngine, Engine>(module, "LiveEngine");
    }
};

template <class E>
[[nodiscard]] std::unique_ptr<E> open_engine(const std::string& path) {
    const nb::gil_scoped_release released;
    return std::make_unique<E>(path);
}

/// The engine E of a module and the interface that it has in common with others.
template <class E>
nb::class_<E, Engine> bind_engine(nb::module_& module) {
    EngineCalls::bind(module);
    nb::class_<E, Engine> bound(module, "Engine");
    bound.def_static("open", &open_engine<E>, "path"_a).def_prop_ro("n_symbols", &E::n_symbols);
    return bound;
}

}  // namespace seal
