#include "segments.hpp"

#include <algorithm>
#include <bit>
#include <stdexcept>

#include "checks.hpp"

namespace seal {

/// What one segment is asked: the ranges that are not empty there, and whose they are.
struct Segments::Asked {
    std::vector<Range> ranges;
    std::vector<std::size_t> owners;
};

Segments::Segments(std::span<const Engine* const> engines)
    : engines_(engines.begin(), engines.end()), bases_(1, 0) {
    if (engines.empty()) throw std::invalid_argument("there are no segments");
    for (const Engine* engine : engines_) bases_.push_back(bases_.back() + engine->n_documents());
}

std::vector<Segments::Asked> Segments::asked(std::span<const Range> ranges) const {
    std::vector<Asked> result(size());
    for (std::size_t at = 0, owner = 0; at < ranges.size(); ++owner) {
        for (std::size_t s = 0; s < size(); ++s, ++at) {
            const Range& range = ranges[at];
            if (range.lo == range.hi && range.hi == 0) continue;  // as all that end are
            check_ranges({&range, 1}, engines_[s]->n_rows());
            if (range.lo == range.hi) continue;
            result[s].ranges.push_back(range);
            result[s].owners.push_back(owner);
        }
    }
    return result;
}

void Segments::extend(std::span<const Range> ranges, std::span<const Symbol> symbols,
                      std::span<Range> out) const {
    verify(ranges, symbols, 1, out);
}

void Segments::verify(std::span<const Range> ranges, std::span<const Symbol> candidates,
                      std::size_t width, std::span<Range> out) const {
    check_length("candidates", candidates.size() * size(), ranges.size() * width);
    check_length("out", out.size(), candidates.size() * size());
    std::ranges::fill(out, Range{0, 0});
    const std::vector<Asked> all = asked(ranges);
    std::vector<Symbol> symbols;
    std::vector<Range> found;
    for (std::size_t s = 0; s < size(); ++s) {
        const Asked& here = all[s];
        if (here.ranges.empty()) continue;
        symbols.clear();
        for (const std::size_t owner : here.owners) {
            const auto own = candidates.subspan(owner * width, width);
            symbols.insert(symbols.end(), own.begin(), own.end());
        }
        found.resize(symbols.size());
        engines_[s]->verify(here.ranges, symbols, width, found);
        for (std::size_t i = 0; i < here.owners.size(); ++i) {
            for (std::size_t j = 0; j < width; ++j)
                out[(here.owners[i] * width + j) * size() + s] = found[i * width + j];
        }
    }
}

namespace {

/// Which of a segment's answers is whose.
struct Part {
    std::uint32_t segment;
    std::uint32_t place;  // among those of the segment
};

/// Unites the successors of one n-gram in several segments, by one of two ways.
class Union {
  public:
    explicit Union(const std::vector<Successors>& found) : found_(found) {}

    void add(std::span<const Part> parts, SparseSuccessors& out) {
        n_ = 0;
        Symbol last = 0;
        for (const auto& [segment, place] : parts) {
            const Successors& own = found_[segment];
            const std::uint64_t lo = own.offsets[place];
            const std::uint64_t hi = own.offsets[place + 1];
            n_ += hi - lo;
            if (lo < hi) last = std::max(last, own.symbols[hi - 1]);  // they ascend
        }
        if (parts.size() == 1) {
            copy(parts[0], out);
        } else if (n_ <= kFew || last >= kMaxMarked) {
            sort(parts, out);
        } else {
            mark(parts, last, out);
        }
    }

  private:
    static constexpr std::size_t kFew = 64;
    static constexpr Symbol kMaxMarked = 1U << 22;  // beyond it marks would take longer than sorting

    struct Item {
        Symbol symbol;
        std::uint32_t segment;
        Range range;
    };

    void each(std::span<const Part> parts, const auto& visit) const {
        for (const auto& [segment, place] : parts) {
            const Successors& own = found_[segment];
            for (std::uint64_t k = own.offsets[place]; k < own.offsets[place + 1]; ++k)
                visit(own.symbols[k], segment, own.ranges[k]);
        }
    }

    void copy(const Part& part, SparseSuccessors& out) const {
        each({&part, 1}, [&](Symbol symbol, std::uint32_t segment, const Range& range) {
            out.symbols.push_back(symbol);
            out.segments.push_back(segment);
            out.ranges.push_back(range);
            out.firsts.push_back(out.ranges.size());
        });
    }

    void sort(std::span<const Part> parts, SparseSuccessors& out) {
        items_.clear();
        each(parts, [&](Symbol symbol, std::uint32_t segment, const Range& range) {
            items_.push_back({symbol, segment, range});
        });
        std::ranges::sort(items_, [](const Item& a, const Item& b) {
            return a.symbol != b.symbol ? a.symbol < b.symbol : a.segment < b.segment;
        });
        for (std::size_t k = 0; k < items_.size(); ++k) {
            if (k == 0 || items_[k].symbol != items_[k - 1].symbol) {
                out.symbols.push_back(items_[k].symbol);
                out.firsts.push_back(out.ranges.size());
            }
            out.segments.push_back(items_[k].segment);
            out.ranges.push_back(items_[k].range);
            out.firsts.back() = out.ranges.size();
        }
    }

    /// Marks symbols in a bit vector; those before a symbol are its place, then all of a place go there.
    void mark(std::span<const Part> parts, Symbol last, SparseSuccessors& out) {
        marks_.assign(last / 64 + 1, 0);
        each(parts, [&](Symbol symbol, std::uint32_t, const Range&) {
            marks_[symbol / 64] |= std::uint64_t{1} << (symbol % 64);
        });
        before_.resize(marks_.size());
        std::uint32_t n = 0;
        for (std::size_t word = 0; word < marks_.size(); ++word) {
            before_[word] = n;
            n += static_cast<std::uint32_t>(std::popcount(marks_[word]));
            for (std::uint64_t left = marks_[word]; left != 0; left &= left - 1)
                out.symbols.push_back(static_cast<Symbol>(64 * word) +
                                      static_cast<Symbol>(std::countr_zero(left)));
        }
        next_.assign(n + 1, 0);
        places_.clear();
        each(parts, [&](Symbol symbol, std::uint32_t, const Range&) {
            const std::uint64_t below = (std::uint64_t{1} << (symbol % 64)) - 1;
            const auto place = before_[symbol / 64] +
                               static_cast<std::uint32_t>(std::popcount(marks_[symbol / 64] & below));
            places_.push_back(place);
            ++next_[place + 1];
        });
        const std::size_t start = out.ranges.size();
        out.segments.resize(start + n_);
        out.ranges.resize(start + n_);
        next_[0] = start;
        for (std::uint32_t place = 0; place < n; ++place) {
            next_[place + 1] += next_[place];
            out.firsts.push_back(next_[place + 1]);
        }
        std::size_t k = 0;
        each(parts, [&](Symbol, std::uint32_t segment, const Range& range) {
            const std::uint64_t at = next_[places_[k++]]++;
            out.segments[at] = segment;
            out.ranges[at] = range;
        });
    }

    const std::vector<Successors>& found_;
    std::size_t n_ = 0;  // of the n-gram at hand, in all segments
    std::vector<Item> items_;
    std::vector<std::uint64_t> marks_;
    std::vector<std::uint32_t> before_;  // marks before each word
    std::vector<std::uint32_t> places_;
    std::vector<std::uint64_t> next_;
};

}  // namespace

SparseSuccessors Segments::successors(std::span<const Range> ranges) const {
    const std::vector<Asked> all = asked(ranges);
    std::vector<Successors> found(size());
    const std::size_t n = ranges.size() / size();
    std::vector<std::uint64_t> firsts(n + 1, 0);
    std::size_t n_entries = 0;
    for (std::size_t s = 0; s < size(); ++s) {
        if (all[s].ranges.empty()) continue;
        found[s] = engines_[s]->successors(all[s].ranges);
        n_entries += found[s].symbols.size();
        for (const std::size_t owner : all[s].owners) ++firsts[owner + 1];
    }
    for (std::size_t i = 0; i < n; ++i) firsts[i + 1] += firsts[i];
    std::vector<Part> parts(firsts.back());
    std::vector<std::uint64_t> next(firsts.begin(), firsts.end());
    for (std::size_t s = 0; s < size(); ++s) {
        std::uint32_t place = 0;
        for (const std::size_t owner : all[s].owners)
            parts[next[owner]++] = {static_cast<std::uint32_t>(s), place++};
    }
    SparseSuccessors out;
    out.offsets.reserve(n + 1);
    out.ranges.reserve(n_entries);
    out.segments.reserve(n_entries);
    out.offsets.push_back(0);
    out.firsts.push_back(0);
    Union united(found);
    for (std::size_t i = 0; i < n; ++i) {
        united.add(std::span(parts).subspan(firsts[i], firsts[i + 1] - firsts[i]), out);
        out.offsets.push_back(out.symbols.size());
    }
    return out;
}

void take(const SparseSuccessors& found, std::size_t n_segments, std::span<const std::uint64_t> which,
          std::span<Range> out) {
    check_length("out", out.size(), which.size() * n_segments);
    const std::size_t n = found.firsts.size() - 1;
    std::ranges::fill(out, Range{0, 0});
    for (std::size_t i = 0; i < which.size(); ++i) {
        if (which[i] >= n) {
            throw std::out_of_range("entries[" + std::to_string(i) + "] is " + signed_text(which[i]) +
                                    ", entries are within [0, " + std::to_string(n) + ")");
        }
        for (std::uint64_t k = found.firsts[which[i]]; k < found.firsts[which[i] + 1]; ++k)
            out[i * n_segments + found.segments[k]] = found.ranges[k];
    }
}

Located Segments::locate(std::span<const Range> ranges) const {
    const std::vector<Asked> all = asked(ranges);
    const std::size_t n = ranges.size() / size();
    Located out{std::vector<std::uint64_t>(n + 1, 0), {}};
    for (const Asked& here : all) {
        for (std::size_t k = 0; k < here.owners.size(); ++k)
            out.offsets[here.owners[k] + 1] += here.ranges[k].hi - here.ranges[k].lo;
    }
    for (std::size_t i = 0; i < n; ++i) out.offsets[i + 1] += out.offsets[i];
    out.positions.resize(out.offsets.back());
    std::vector<std::uint64_t> next(out.offsets.begin(), out.offsets.end());
    std::vector<Row> rows;
    std::vector<Position> found;
    for (std::size_t s = 0; s < size(); ++s) {
        rows.clear();
        for (const auto& [lo, hi] : all[s].ranges) {
            for (Row row = lo; row < hi; ++row) rows.push_back(row);
        }
        if (rows.empty()) continue;
        found.resize(rows.size());
        engines_[s]->locate(rows, found);
        auto from = found.begin();
        for (std::size_t k = 0; k < all[s].owners.size(); ++k) {
            std::uint64_t& at = next[all[s].owners[k]];
            const auto [lo, hi] = all[s].ranges[k];
            for (Row row = lo; row < hi; ++row, ++from)
                out.positions[at++] = {bases_[s] + from->document, from->end};
        }
    }
    return out;
}

Streams Segments::extract(std::span<const std::uint64_t> documents) const {
    check_documents(documents, n_documents());
    std::vector<std::vector<std::uint64_t>> local(size());
    std::vector<std::uint32_t> segment(documents.size());
    for (std::size_t i = 0; i < documents.size(); ++i) {
        // The last base that is not above it: a segment may be empty.
        const auto above = std::upper_bound(bases_.begin(), bases_.end(), documents[i]);
        const auto s = static_cast<std::size_t>(above - bases_.begin()) - 1;
        segment[i] = static_cast<std::uint32_t>(s);
        local[s].push_back(documents[i] - bases_[s]);
    }
    std::vector<Streams> found(size());
    std::size_t n_symbols = 0;
    for (std::size_t s = 0; s < size(); ++s) {
        if (local[s].empty()) continue;
        found[s] = engines_[s]->extract(local[s]);
        n_symbols += found[s].symbols.size();
    }
    Streams out;
    out.offsets.reserve(documents.size() + 1);
    out.symbols.reserve(n_symbols);
    out.offsets.push_back(0);
    std::vector<std::size_t> next(size(), 0);
    for (const std::uint32_t s : segment) {
        const std::size_t k = next[s]++;
        const auto first = found[s].symbols.begin();
        out.symbols.insert(out.symbols.end(), first + static_cast<std::ptrdiff_t>(found[s].offsets[k]),
                           first + static_cast<std::ptrdiff_t>(found[s].offsets[k + 1]));
        out.offsets.push_back(out.symbols.size());
    }
    return out;
}

}  // namespace seal
