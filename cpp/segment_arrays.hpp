// numpy arrays in and out of `Segments`, the same for every module that has an engine. Only bindings.cpp
// files include this.
#pragma once

#include "arrays.hpp"
#include "checks.hpp"
#include "segments.hpp"

namespace seal {

using Grid = Input<std::int64_t, nb::shape<-1, -1, 2>>;  // [n, n_segments, 2]
using GridOut = nb::ndarray<nb::numpy, std::int64_t, nb::shape<-1, -1, 2>>;
using GridsOut = nb::ndarray<nb::numpy, std::int64_t, nb::shape<-1, -1, -1, 2>>;

/// Segments that keep their engines alive.
class HeldSegments {
  public:
    explicit HeldSegments(const nb::typed<nb::list, Engine>& engines)
        : engines_(nb::borrow<nb::tuple>(nb::tuple(engines))), segments_(pointers(engines_)) {}

    [[nodiscard]] const Segments& get() const { return segments_; }

    [[nodiscard]] std::vector<Range> ranges(const Grid& grid) const {
        check_length("ranges of an n-gram", grid.shape(1), segments_.size());
        std::vector<Range> found(grid.shape(0) * grid.shape(1));
        if (!found.empty()) std::memcpy(found.data(), grid.data(), found.size() * sizeof(Range));
        return found;
    }

  private:
    [[nodiscard]] static std::vector<const Engine*> pointers(const nb::tuple& engines) {
        std::vector<const Engine*> found;
        for (const nb::handle engine : engines) found.push_back(&nb::cast<const Engine&>(engine));
        return found;
    }

    nb::tuple engines_;
    Segments segments_;
};

/// The ranges of successors, kept until someone asks for those of some.
class SuccessorRanges {
  public:
    SuccessorRanges(SparseSuccessors&& found, std::size_t n_segments)
        : found_(std::move(found)), n_segments_(n_segments) {}

    [[nodiscard]] std::size_t size() const { return found_.firsts.size() - 1; }

    [[nodiscard]] GridOut take(const Ints& entries) const {
        std::vector<Range> out(entries.size() * n_segments_);
        {
            const nb::gil_scoped_release released;
            seal::take(found_, n_segments_, as_unsigned(entries), out);
        }
        return as_array<GridOut>(std::move(out), {entries.size(), n_segments_, 2});
    }

  private:
    SparseSuccessors found_;
    std::size_t n_segments_;
};

/// The questions to all segments, each call without the GIL.
struct SegmentCalls {
    [[nodiscard]] static GridOut extend(const HeldSegments& held, const Grid& grid,
                                        const Symbols& symbols) {
        std::vector<Range> out(grid.shape(0) * grid.shape(1));
        {
            const nb::gil_scoped_release released;
            held.get().extend(held.ranges(grid), as_span(symbols), out);
        }
        return as_array<GridOut>(std::move(out), {grid.shape(0), grid.shape(1), 2});
    }

    [[nodiscard]] static GridsOut verify(const HeldSegments& held, const Grid& grid,
                                         const SymbolRows& candidates) {
        const std::size_t width = candidates.shape(1);
        std::vector<Range> out(grid.shape(0) * width * grid.shape(1));
        {
            const nb::gil_scoped_release released;
            held.get().verify(held.ranges(grid), as_span(candidates), width, out);
        }
        return as_array<GridsOut>(std::move(out), {grid.shape(0), width, grid.shape(1), 2});
    }

    using SuccessorArrays = nb::typed<nb::tuple, IntsOut, SymbolsOut, SuccessorRanges>;

    [[nodiscard]] static SuccessorArrays successors(const HeldSegments& held, const Grid& grid) {
        SparseSuccessors found;
        {
            const nb::gil_scoped_release released;
            found = held.get().successors(held.ranges(grid));
        }
        const std::size_t n = found.symbols.size();
        const std::size_t n_offsets = found.offsets.size();
        auto offsets = as_array<IntsOut>(std::move(found.offsets), {n_offsets});
        auto symbols = as_array<SymbolsOut>(std::move(found.symbols), {n});
        auto ranges = std::make_unique<SuccessorRanges>(std::move(found), held.get().size());
        return nb::borrow<SuccessorArrays>(nb::make_tuple(offsets, symbols, std::move(ranges)));
    }

    [[nodiscard]] static std::pair<IntsOut, PairsOut> locate(const HeldSegments& held,
                                                             const Grid& grid) {
        Located found;
        {
            const nb::gil_scoped_release released;
            found = held.get().locate(held.ranges(grid));
        }
        const std::size_t n = found.positions.size();
        const std::size_t n_offsets = found.offsets.size();
        return {as_array<IntsOut>(std::move(found.offsets), {n_offsets}),
                as_array<PairsOut>(std::move(found.positions), {n, 2})};
    }

    [[nodiscard]] static std::pair<IntsOut, SymbolsOut> extract(const HeldSegments& held,
                                                                const Ints& documents) {
        Streams found;
        {
            const nb::gil_scoped_release released;
            found = held.get().extract(as_unsigned(documents));
        }
        const std::size_t n = found.symbols.size();
        const std::size_t n_offsets = found.offsets.size();
        return {as_array<IntsOut>(std::move(found.offsets), {n_offsets}),
                as_array<SymbolsOut>(std::move(found.symbols), {n})};
    }

    /// After the engines.
    static void bind(nb::module_& module) {
        nb::class_<SuccessorRanges>(module, "SuccessorRanges")
            .def("__len__", &SuccessorRanges::size)
            .def("take", &SuccessorRanges::take, "entries"_a.noconvert());
        nb::class_<HeldSegments>(module, "Segments")
            .def(nb::init<const nb::typed<nb::list, Engine>&>(), "engines"_a)
            .def("extend", &extend, "ranges"_a.noconvert(), "symbols"_a.noconvert())
            .def("verify", &verify, "ranges"_a.noconvert(), "candidates"_a.noconvert())
            .def("successors", &successors, "ranges"_a.noconvert())
            .def("locate", &locate, "ranges"_a.noconvert())
            .def("extract", &extract, "documents"_a.noconvert());
    }
};

}  // namespace seal
