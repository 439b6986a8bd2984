// The extension module seal_ir._native. The Python side is documented in seal_ir/_native.pyi.
#include "../segment_arrays.hpp"
#include "build.hpp"
#include "engine.hpp"

namespace {

using namespace seal;
using namespace seal::native;

using Bytes = Input<std::uint8_t, nb::shape<-1>>;
using Suffixes = Input<std::int32_t, nb::shape<-1>>;
using SuffixesInOut = nb::ndarray<std::int32_t, nb::shape<-1>, nb::c_contig, nb::device::cpu>;
using BytesOut = nb::ndarray<nb::numpy, std::uint8_t, nb::shape<-1>>;

[[nodiscard]] std::pair<SymbolsOut, BytesOut> densify_streams(const Symbols& symbols,
                                                              const Ints& starts, Symbol boundary) {
    SortableText text;
    {
        const nb::gil_scoped_release released;
        text = densify(as_span(symbols), as_unsigned(starts), boundary);
    }
    const std::size_t n_symbols = text.alphabet.size();
    const std::size_t n_bytes = text.bytes.size();
    return {as_array<SymbolsOut>(std::move(text.alphabet), {n_symbols}),
            as_array<BytesOut>(std::move(text.bytes), {n_bytes})};
}

void compact_suffixes(const SuffixesInOut& suffixes, unsigned width) {
    if (width != 2 && width != 4) throw std::invalid_argument("width is 2 or 4");
    const nb::gil_scoped_release released;
    compact({suffixes.data(), suffixes.size()}, width);
}

[[nodiscard]] std::unique_ptr<Builder> make_builder(const Symbols& alphabet, const Bytes& text,
                                                    const Suffixes& suffixes, const Ints& starts,
                                                    Symbol boundary, std::uint32_t sample_rate) {
    const nb::gil_scoped_release released;
    return std::make_unique<Builder>(as_span(alphabet), as_span(text), as_span(suffixes),
                                     as_unsigned(starts), boundary, sample_rate);
}

void save_built(Builder& builder, const std::string& path) {
    const nb::gil_scoped_release released;
    builder.save(path);
}

}  // namespace

NB_MODULE(_native, module) {
    // An interactive session ends with results of its own alive: nothing is lost.
    nb::set_leak_warnings(false);
    module.def("densify", &densify_streams, "symbols"_a.noconvert(), "starts"_a.noconvert(),
               "boundary"_a);
    module.def("compact", &compact_suffixes, "suffixes"_a.noconvert(), "width"_a);
    nb::class_<Builder>(module, "Builder")
        .def_static("make", &make_builder, "alphabet"_a.noconvert(), "text"_a.noconvert(),
                    "suffixes"_a.noconvert(), "starts"_a.noconvert(), "boundary"_a, "sample_rate"_a)
        .def("save", &save_built, "path"_a);
    bind_engine<NativeEngine>(module).def_prop_ro("sample_rate", &NativeEngine::sample_rate);
    SegmentCalls::bind(module);
}
