#include "baseline.hpp"

#include <time.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sdsl/suffix_arrays.hpp>
#include <stdexcept>

#include "../checks.hpp"
#include "published.hpp"

namespace seal::sdsl {

struct PublishedIndex {
    ::sdsl::csa_wt_int<> csa;
};

namespace {

[[nodiscard]] double cpu_seconds() {
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// One backward-search step. sdsl-lite's ranges include their right end; an empty one has it before its
/// left.
[[nodiscard]] Range step(const ::sdsl::csa_wt_int<>& csa, Range range, Symbol symbol) {
    if (range.lo == range.hi) return {0, 0};
    std::uint64_t lo = 0;
    std::uint64_t last = 0;
    ::sdsl::backward_search(csa, range.lo, range.hi - 1, symbol, lo, last);
    return lo <= last ? Range{lo, last + 1} : Range{0, 0};
}

void check_ngrams(const Ngrams& ngrams, std::size_t n) {
    check_length("offsets", ngrams.offsets.size(), n + 1);
    for (std::size_t i = 0; i < n; ++i) {
        if (ngrams.offsets[i] > ngrams.offsets[i + 1]) throw std::invalid_argument("offsets descend");
    }
    if (ngrams.offsets[n] > ngrams.symbols.size())
        throw std::invalid_argument("offsets pass the symbols");
}

[[nodiscard]] std::span<const Symbol> ngram_of(const Ngrams& ngrams, std::size_t i) {
    return ngrams.symbols.subspan(ngrams.offsets[i], ngrams.offsets[i + 1] - ngrams.offsets[i]);
}

}  // namespace

void build_published(const std::string& path, std::span<const Symbol> symbols) {
    if (symbols.empty()) throw std::invalid_argument("there are no symbols to index");
    if (std::ranges::find(symbols, 0U) != symbols.end())
        throw std::invalid_argument("symbol 0 is kept for the end of the text");
    ::sdsl::int_vector<> text(symbols.size(), 0, 32);
    for (std::size_t i = 0; i < symbols.size(); ++i) text[symbols.size() - 1 - i] = symbols[i];
    ::sdsl::csa_wt_int<> csa;
    ::sdsl::construct_im(csa, std::move(text));
    std::ofstream out(path, std::ios::binary | std::ios::trunc);
    csa.serialize(out);
    out.close();
    if (!out)
        throw std::runtime_error(path +
                                 " cannot be written; is the directory there, and room on its disk?");
}

Baseline::Baseline(const std::string& path) {
    check_published(path);
    std::ifstream in(path, std::ios::binary);
    const double started = cpu_seconds();
    auto index = std::make_unique<PublishedIndex>();
    index->csa.load(in);
    load_seconds_ = cpu_seconds() - started;
    index_ = std::move(index);
}

Baseline::~Baseline() = default;

Row Baseline::n_rows() const {
    return index_->csa.size();
}

Range Baseline::walk(std::span<const Symbol> ngram) const {
    Range range{0, n_rows()};
    for (const Symbol symbol : ngram) range = step(index_->csa, range, symbol);
    return range;
}

double Baseline::extend(std::span<const Range> ranges, std::span<const Symbol> symbols,
                        std::span<Range> out) const {
    check_length("symbols", symbols.size(), ranges.size());
    check_length("out", out.size(), ranges.size());
    check_ranges(ranges, n_rows());
    const double started = cpu_seconds();
    for (std::size_t i = 0; i < ranges.size(); ++i) out[i] = step(index_->csa, ranges[i], symbols[i]);
    return cpu_seconds() - started;
}

double Baseline::find(const Ngrams& ngrams, std::span<Range> out) const {
    check_ngrams(ngrams, out.size());
    const double started = cpu_seconds();
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = walk(ngram_of(ngrams, i));
    return cpu_seconds() - started;
}

double Baseline::successors(const Ngrams& ngrams, std::span<std::uint64_t> counts) const {
    check_ngrams(ngrams, counts.size());
    const auto& csa = index_->csa;
    const double started = cpu_seconds();
    for (std::size_t i = 0; i < counts.size(); ++i) {
        const Range range = walk(ngram_of(ngrams, i));
        std::vector<std::uint64_t> symbols(csa.sigma);
        std::vector<std::uint64_t> lo(csa.sigma);
        std::vector<std::uint64_t> hi(csa.sigma);
        csa.wavelet_tree.interval_symbols(range.lo, range.hi, counts[i], symbols, lo, hi);
    }
    return cpu_seconds() - started;
}

double Baseline::locate(std::span<const Row> rows, std::span<const std::uint64_t> starts,
                        std::span<Position> out) const {
    check_length("out", out.size(), rows.size());
    check_rows(rows, n_rows());
    check_starts(starts, n_rows() - 1);
    const std::uint64_t length = n_rows() - 1;
    const double started = cpu_seconds();
    for (std::size_t i = 0; i < rows.size(); ++i) {
        const std::uint64_t end = length - index_->csa[rows[i]];
        const auto next = std::ranges::lower_bound(starts, end);
        out[i] = {static_cast<std::uint64_t>(next - starts.begin()) - 1, end - *(next - 1)};
    }
    return cpu_seconds() - started;
}

double Baseline::extract(std::span<const std::uint64_t> documents,
                         std::span<const std::uint64_t> starts, Streams& out) const {
    check_starts(starts, n_rows() - 1);
    check_documents(documents, starts.size());
    const auto& csa = index_->csa;
    const std::uint64_t length = n_rows() - 1;
    std::vector<std::uint64_t> text;
    out.offsets.assign(1, 0);
    const double started = cpu_seconds();
    for (const std::uint64_t document : documents) {
        const std::uint64_t end = document + 1 < starts.size() ? starts[document + 1] : length;
        const std::uint64_t n = end - starts[document];
        text.resize(n);
        ::sdsl::extract(csa, length - end, length - starts[document] - 1, text.begin());
        out.symbols.insert(out.symbols.end(), text.rbegin(), text.rend());
        out.offsets.push_back(out.symbols.size());
    }
    return cpu_seconds() - started;
}

}  // namespace seal::sdsl
