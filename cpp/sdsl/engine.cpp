#include "engine.hpp"

#include <algorithm>

#include "../checks.hpp"
#include "file.hpp"

namespace seal::sdsl {

/// Buffers of interval_symbols, as long as the most symbols one range of the call can hold.
struct SdslEngine::Scratch {
    explicit Scratch(std::size_t size) : symbols(size), lo(size), hi(size) { order.reserve(size); }

    std::vector<std::uint64_t> symbols;  // dense
    std::vector<std::uint64_t> lo;
    std::vector<std::uint64_t> hi;
    std::vector<std::uint64_t> order;  // dense symbol in the upper half, its index in the lower
};

SdslEngine::SdslEngine(const std::string& path)
    : contents_(load(path)), dense_boundary_(dense(contents_->boundary)) {}

SdslEngine::~SdslEngine() = default;

Row SdslEngine::n_rows() const {
    return contents_->csa.size();
}

std::uint64_t SdslEngine::n_documents() const {
    return contents_->rows.size();
}

Symbol SdslEngine::boundary() const {
    return contents_->boundary;
}

std::uint64_t SdslEngine::n_symbols() const {
    return contents_->symbols.size();
}

std::vector<std::pair<std::string, std::uint64_t>> SdslEngine::size_in_bytes() const {
    const Csa& csa = contents_->csa;
    const std::uint64_t wavelet_tree = ::sdsl::size_in_bytes(csa.wavelet_tree);
    const std::uint64_t samples =
        ::sdsl::size_in_bytes(csa.sa_sample) + ::sdsl::size_in_bytes(csa.isa_sample);
    return {{"wavelet_tree", wavelet_tree},
            {"samples", samples},
            {"alphabet", ::sdsl::size_in_bytes(csa) - wavelet_tree - samples + 4 * n_symbols()},
            {"documents", 16 * n_documents()}};
}

/// Place of a symbol in the csa's alphabet, 0 (the sentinel's) for one that does not occur.
std::uint64_t SdslEngine::dense(Symbol symbol) const {
    const auto& symbols = contents_->symbols;
    const auto found = std::ranges::lower_bound(symbols, symbol);
    return found != symbols.end() && *found == symbol ? found - symbols.begin() + 1 : 0;
}

bool SdslEngine::is_whole(Range range) const {
    return range.lo == 0 && range.hi == n_rows();
}

Range SdslEngine::step(Range range, Symbol symbol) const {
    const std::uint64_t place = dense(symbol);
    if (range.lo == range.hi || place == 0) return {0, 0};
    if (place == dense_boundary_ && !is_whole(range)) return {0, 0};
    const Csa& csa = contents_->csa;
    const Row first = csa.C[place];
    const Row lo = first + csa.wavelet_tree.rank(range.lo, place);
    const Row hi = first + csa.wavelet_tree.rank(range.hi, place);
    return lo < hi ? Range{lo, hi} : Range{0, 0};
}

void SdslEngine::extend(std::span<const Range> ranges, std::span<const Symbol> symbols,
                        std::span<Range> out) const {
    check_length("symbols", symbols.size(), ranges.size());
    check_length("out", out.size(), ranges.size());
    check_ranges(ranges, n_rows());
    for (std::size_t i = 0; i < ranges.size(); ++i) out[i] = step(ranges[i], symbols[i]);
}

void SdslEngine::verify(std::span<const Range> ranges, std::span<const Symbol> candidates,
                        std::size_t width, std::span<Range> out) const {
    check_length("candidates", candidates.size(), ranges.size() * width);
    check_length("out", out.size(), ranges.size() * width);
    check_ranges(ranges, n_rows());
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = step(ranges[i / width], candidates[i]);
}

void SdslEngine::append_successors(Range range, Scratch& scratch, Successors& out) const {
    if (range.lo == range.hi) return;
    const Csa& csa = contents_->csa;
    std::uint64_t n_found = 0;
    csa.wavelet_tree.interval_symbols(range.lo, range.hi, n_found, scratch.symbols, scratch.lo,
                                      scratch.hi);
    scratch.order.clear();
    for (std::uint64_t k = 0; k < n_found; ++k) {
        const std::uint64_t place = scratch.symbols[k];
        if (place == 0 || (place == dense_boundary_ && !is_whole(range))) continue;
        scratch.order.push_back(place << 32 | k);
    }
    std::ranges::sort(scratch.order);
    for (const std::uint64_t key : scratch.order) {
        const std::uint64_t place = key >> 32;
        const std::uint64_t k = key & 0xFFFFFFFFU;
        const Row first = csa.C[place];
        out.symbols.push_back(contents_->symbols[place - 1]);
        out.ranges.push_back({first + scratch.lo[k], first + scratch.hi[k]});
    }
}

Successors SdslEngine::successors(std::span<const Range> ranges) const {
    check_ranges(ranges, n_rows());
    Row widest = 0;
    for (const Range range : ranges) widest = std::max(widest, range.hi - range.lo);
    Scratch scratch(std::min<std::uint64_t>(widest, contents_->csa.sigma));
    Successors out;
    out.offsets.reserve(ranges.size() + 1);
    out.offsets.push_back(0);
    for (const Range range : ranges) {
        append_successors(range, scratch, out);
        out.offsets.push_back(out.symbols.size());
    }
    return out;
}

void SdslEngine::locate(std::span<const Row> rows, std::span<Position> out) const {
    check_length("out", out.size(), rows.size());
    check_rows(rows, n_rows());
    const auto& starts = contents_->starts;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        // The suffix of this row begins with the n-gram's last symbol, and the text is reversed.
        const std::uint64_t end = starts.back() - contents_->csa[rows[i]];
        const auto next = std::ranges::lower_bound(starts, end);
        out[i] = {static_cast<std::uint64_t>(next - starts.begin()) - 1, end - *(next - 1)};
    }
}

void SdslEngine::walk(std::uint64_t document, const auto& visit) const {
    const Csa& csa = contents_->csa;
    const std::uint64_t length = contents_->starts[document + 1] - contents_->starts[document];
    Row row = csa.C[dense_boundary_] + contents_->rows[document];
    visit(contents_->boundary, row);
    for (std::uint64_t i = 1; i < length; ++i) {
        const auto [rank, place] = csa.wavelet_tree.inverse_select(row);
        row = csa.C[place] + rank;
        visit(contents_->symbols[place - 1], row);
    }
}

Streams SdslEngine::extract(std::span<const std::uint64_t> documents) const {
    check_documents(documents, n_documents());
    Streams out;
    out.offsets.reserve(documents.size() + 1);
    out.offsets.push_back(0);
    for (const std::uint64_t document : documents) {
        walk(document, [&](Symbol symbol, Row) { out.symbols.push_back(symbol); });
        out.offsets.push_back(out.symbols.size());
    }
    return out;
}

std::vector<Row> SdslEngine::rows(std::span<const std::uint64_t> documents) const {
    check_documents(documents, n_documents());
    std::vector<Row> out;
    for (const std::uint64_t document : documents) {
        walk(document, [&](Symbol, Row row) { out.push_back(row); });
    }
    return out;
}

}  // namespace seal::sdsl
