#include "live.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <stdexcept>
#include <thread>

#include "checks.hpp"

namespace seal {
namespace {

constexpr std::size_t kBatch = 1024;  // documents walked through at a time
constexpr std::size_t kMostThreads = 4;

[[nodiscard]] std::vector<std::uint64_t> distinct(std::span<const std::uint64_t> documents) {
    std::vector<std::uint64_t> sorted(documents.begin(), documents.end());
    std::ranges::sort(sorted);
    const auto rest = std::ranges::unique(sorted);
    sorted.erase(rest.begin(), rest.end());
    return sorted;
}

/// Calls work(i) for each i below n, in up to kMostThreads threads; the first exception is thrown here.
void in_threads(std::size_t n, const auto& work) {
    std::atomic<std::size_t> next = 0;
    std::exception_ptr fault;
    std::mutex failing;
    const auto take = [&] {
        try {
            for (std::size_t i = next++; i < n; i = next++) work(i);
        } catch (...) {
            next = n;
            const std::scoped_lock lock(failing);
            if (!fault) fault = std::current_exception();
        }
    };
    const std::size_t n_threads =
        std::min({n, kMostThreads, std::size_t{std::thread::hardware_concurrency()}});
    {
        std::vector<std::jthread> others;
        for (std::size_t i = 1; i < n_threads; ++i) others.emplace_back(take);
        take();
    }
    if (fault) std::rethrow_exception(fault);
}

}  // namespace

LiveEngine::LiveEngine(const Engine& engine, std::span<const std::uint64_t> documents, Named named)
    : engine_(engine),
      rows_(engine.n_rows(), named == Named::kDead),
      documents_(engine.n_documents(), named == Named::kDead) {
    check_documents(documents, engine.n_documents());
    const bool are_live = named == Named::kLive;
    const auto put = [&](Bits& bits, std::uint64_t number) {
        if (are_live) {
            bits.insert(number);
        } else {
            bits.erase(number);
        }
    };
    const std::vector<std::uint64_t> known = distinct(documents);
    for (const std::uint64_t document : known) put(documents_, document);
    std::uint64_t n_walked = 0;
    std::mutex putting;
    in_threads((known.size() + kBatch - 1) / kBatch, [&](std::size_t batch) {
        const std::size_t first = batch * kBatch;
        const std::size_t n = std::min(kBatch, known.size() - first);
        const std::vector<Row> found = engine.rows(std::span(known).subspan(first, n));
        const std::scoped_lock lock(putting);  // a hundredth of the walk's time
        for (const Row row : found) {
            if (row == 0 || row >= engine.n_rows())
                throw std::runtime_error("a document is damaged: it has rows that do not exist");
            put(rows_, row);
        }
        n_walked += found.size();
    });
    rows_.insert(0);
    rows_.count();
    documents_.count();
    // Two documents share no row.
    if (rows_.ones() != (are_live ? 1 + n_walked : engine.n_rows() - n_walked))
        throw std::runtime_error("a document is damaged: another one has rows of it");
}

std::vector<std::pair<std::string, std::uint64_t>> LiveEngine::size_in_bytes() const {
    auto parts = engine_.size_in_bytes();
    parts.emplace_back("live", rows_.size_in_bytes() + documents_.size_in_bytes());
    return parts;
}

Range LiveEngine::outer(const Range& range) const {
    if (range.lo == range.hi) return {0, 0};
    // The empty n-gram stays that, whichever row comes last.
    if (range.lo == 0 && range.hi == n_rows()) return {0, engine_.n_rows()};
    return {rows_.select(range.lo), rows_.select(range.hi - 1) + 1};
}

std::vector<Range> LiveEngine::outer(std::span<const Range> ranges) const {
    check_ranges(ranges, n_rows());
    std::vector<Range> result(ranges.size());
    std::ranges::transform(ranges, result.begin(), [&](const Range& range) { return outer(range); });
    return result;
}

std::vector<std::uint64_t> LiveEngine::outer(std::span<const std::uint64_t> documents) const {
    check_documents(documents, n_documents());
    std::vector<std::uint64_t> result(documents.size());
    std::ranges::transform(documents, result.begin(),
                           [&](std::uint64_t document) { return documents_.select(document); });
    return result;
}

Range LiveEngine::live(const Range& range) const {
    const Row lo = rows_.rank(range.lo);
    // Most ranges that come back have one row, whose block has just been read.
    const Row hi =
        range.hi == range.lo + 1 ? lo + (rows_.contains(range.lo) ? 1 : 0) : rows_.rank(range.hi);
    return lo < hi ? Range{lo, hi} : Range{0, 0};
}

void LiveEngine::extend(std::span<const Range> ranges, std::span<const Symbol> symbols,
                        std::span<Range> out) const {
    engine_.extend(outer(ranges), symbols, out);
    for (Range& range : out) range = live(range);
}

void LiveEngine::verify(std::span<const Range> ranges, std::span<const Symbol> candidates,
                        std::size_t width, std::span<Range> out) const {
    engine_.verify(outer(ranges), candidates, width, out);
    for (Range& range : out) range = live(range);
}

Successors LiveEngine::successors(std::span<const Range> ranges) const {
    Successors found = engine_.successors(outer(ranges));
    std::size_t n_kept = 0;
    std::size_t next = 0;
    for (std::size_t i = 0; i < ranges.size(); ++i) {
        for (const std::size_t end = found.offsets[i + 1]; next < end; ++next) {
            const Range range = live(found.ranges[next]);
            if (range.lo == range.hi) continue;
            found.symbols[n_kept] = found.symbols[next];
            found.ranges[n_kept++] = range;
        }
        found.offsets[i + 1] = n_kept;
    }
    found.symbols.resize(n_kept);
    found.ranges.resize(n_kept);
    return found;
}

void LiveEngine::locate(std::span<const Row> rows, std::span<Position> out) const {
    check_rows(rows, n_rows());
    std::vector<Row> outer_rows(rows.size());
    std::ranges::transform(rows, outer_rows.begin(), [&](Row row) { return rows_.select(row); });
    engine_.locate(outer_rows, out);
    for (Position& position : out) {
        if (!documents_.contains(position.document))
            throw std::runtime_error("the sampled positions are damaged");
        position.document = documents_.rank(position.document);
    }
}

Streams LiveEngine::extract(std::span<const std::uint64_t> documents) const {
    return engine_.extract(outer(documents));
}

std::vector<Row> LiveEngine::rows(std::span<const std::uint64_t> documents) const {
    std::vector<Row> found = engine_.rows(outer(documents));
    for (Row& row : found) row = rows_.rank(row);
    return found;
}

}  // namespace seal
