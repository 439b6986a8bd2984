#include "engine.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>

#include "../checks.hpp"

namespace seal::native {
namespace {

constexpr std::size_t kBatch = 256;  // rows or documents under way at once

[[noreturn]] void fail_samples() {
    throw std::runtime_error("the sampled positions are damaged");
}

/// Lets the constructors of checked tables speak of the file.
template <class T>
[[nodiscard]] T checked(const MappedFile& file, const auto& make) {
    try {
        return make();
    } catch (const std::invalid_argument& error) {
        file.fail(std::string("is damaged: ") + error.what());
    }
}

[[nodiscard]] Alphabet read_alphabet(const MappedFile& file) {
    return checked<Alphabet>(file, [&] {
        Alphabet alphabet(file.section<Symbol>(kSymbols), file.section<std::uint32_t>(kSymbolCounts));
        if (alphabet.first(alphabet.size()) != file.header().n + 1)
            throw std::invalid_argument("the counts of the alphabet make no sense");
        return alphabet;
    });
}

[[nodiscard]] Code read_code(const MappedFile& file) {
    return checked<Code>(file, [&] { return Code(file.section<std::uint8_t>(kCodeLengths)); });
}

[[nodiscard]] Dense read_boundary(const MappedFile& file, const Alphabet& alphabet) {
    const Dense boundary = alphabet.dense(file.header().boundary);
    if (boundary == alphabet.size() || alphabet.count(boundary) != file.header().n_documents)
        file.fail("is damaged: there are not as many boundaries as documents");
    return boundary;
}

[[nodiscard]] Tree read_tree(const MappedFile& file, const Alphabet& alphabet, const Code& code,
                             Dense boundary) {
    std::vector<std::uint64_t> weights(alphabet.size());
    for (Dense k = 0; k < alphabet.size(); ++k) weights[k] = alphabet.count(k);
    ++weights[boundary];  // the row that nothing precedes holds one
    const std::uint64_t digits = n_digits(code, weights);
    file.check_section(kNodeBases, sizeof(Counts) * code.n_nodes());
    file.check_section(kSupers, sizeof(Counts) * TreeData::n_supers(digits));
    file.check_section(kBlocks, sizeof(Block) * TreeData::n_blocks(digits));
    return {code, weights, file.section<Block>(kBlocks), file.section<Counts>(kSupers),
            file.section<Counts>(kNodeBases)};
}

[[nodiscard]] Documents read_documents(const MappedFile& file) {
    const auto starts = file.section<std::uint32_t>(kStarts);
    if (starts.front() != 0 || starts.back() != file.header().n)
        file.fail("is damaged: its documents do not fill the text");
    return {starts, file.section<std::uint32_t>(kDirectory)};
}

}  // namespace

NativeEngine::NativeEngine(const std::string& path)
    : file_(path),
      alphabet_(read_alphabet(file_)),
      code_(read_code(file_)),
      boundary_(read_boundary(file_, alphabet_)),
      tree_(read_tree(file_, alphabet_, code_, boundary_)),
      documents_(read_documents(file_)),
      marks_(file_.section<MarkBlock>(kMarks)),
      samples_(file_.section<std::uint64_t>(kSamples)),
      document_rows_(file_.section<std::uint32_t>(kDocumentRows)),
      sample_bits_(sample_width(file_.header().n, file_.header().sample_rate)) {}

std::vector<std::pair<std::string, std::uint64_t>> NativeEngine::size_in_bytes() const {
    const auto size = [&](Section section) { return file_.header().sections[section].size; };
    return {{"wavelet_tree", size(kBlocks) + size(kSupers) + size(kNodeBases)},
            {"samples", size(kMarks) + size(kSamples)},
            {"alphabet", size(kSymbols) + size(kSymbolCounts) + size(kCodeLengths)},
            {"documents", size(kStarts) + size(kDirectory) + size(kDocumentRows)}};
}

void NativeEngine::extend(std::span<const Range> ranges, std::span<const Symbol> symbols,
                          std::span<Range> out) const {
    check_length("symbols", symbols.size(), ranges.size());
    verify(ranges, symbols, 1, out);
}

void NativeEngine::verify(std::span<const Range> ranges, std::span<const Symbol> candidates,
                          std::size_t width, std::span<Range> out) const {
    check_length("candidates", candidates.size(), ranges.size() * width);
    check_length("out", out.size(), candidates.size());
    check_ranges(ranges, n_rows());
    std::vector<Step> steps;
    std::vector<std::size_t> where;
    for (std::size_t i = 0; i < ranges.size(); ++i) {
        const Range& range = ranges[i];
        const bool everything = is_everything(range);
        for (std::size_t at = i * width; at < (i + 1) * width; ++at) {
            const Dense dense = alphabet_.dense(candidates[at]);
            out[at] = {0, 0};
            if (dense == alphabet_.size() || range.lo == range.hi) continue;
            if (everything) {
                out[at] = {alphabet_.first(dense), alphabet_.first(dense + 1)};
            } else if (dense != boundary_) {
                steps.push_back({dense, static_cast<std::uint32_t>(range.lo),
                                 static_cast<std::uint32_t>(range.hi)});
                where.push_back(at);
            }
        }
    }
    tree_.step(steps);
    for (std::size_t k = 0; k < steps.size(); ++k) {
        const auto [dense, lo, hi] = steps[k];
        if (lo < hi) out[where[k]] = {alphabet_.first(dense) + lo, alphabet_.first(dense) + hi};
    }
}

Successors NativeEngine::successors(std::span<const Range> ranges) const {
    check_ranges(ranges, n_rows());
    std::vector<Step> narrow(ranges.size(), Step{0, 0, 0});
    for (std::size_t i = 0; i < ranges.size(); ++i) {
        if (is_everything(ranges[i])) continue;  // all symbols, as the alphabet has them
        narrow[i].lo = static_cast<std::uint32_t>(ranges[i].lo);
        narrow[i].hi = static_cast<std::uint32_t>(ranges[i].hi);
    }
    const std::vector<Found> found = tree_.distinct(narrow);
    Successors result;
    result.offsets.reserve(ranges.size() + 1);
    result.symbols.reserve(found.size());
    result.ranges.reserve(found.size());
    result.offsets.push_back(0);
    auto next = found.begin();
    for (std::size_t i = 0; i < ranges.size(); ++i) {
        if (is_everything(ranges[i])) {
            for (Dense k = 0; k < alphabet_.size(); ++k) {
                result.symbols.push_back(alphabet_.symbol(k));
                result.ranges.push_back({alphabet_.first(k), alphabet_.first(k + 1)});
            }
        }
        for (; next != found.end() && next->owner == i; ++next) {
            if (next->symbol == boundary_) continue;
            const Row first = alphabet_.first(next->symbol);
            result.symbols.push_back(alphabet_.symbol(next->symbol));
            result.ranges.push_back({first + next->lo, first + next->hi});
        }
        result.offsets.push_back(result.symbols.size());
    }
    return result;
}

void NativeEngine::precede(std::span<std::uint32_t> rows, std::span<Access> read) const {
    const auto end_row = static_cast<std::uint32_t>(file_.header().end_row);
    tree_.access(rows, read);
    for (std::size_t k = 0; k < rows.size(); ++k) {
        const auto [symbol, rank] = read[k];
        // The end row holds a boundary that stands for nothing and is not to be counted.
        const std::uint32_t uncounted = symbol == boundary_ && rows[k] > end_row ? 1 : 0;
        rows[k] = static_cast<std::uint32_t>(alphabet_.first(symbol)) + rank - uncounted;
    }
}

Position NativeEngine::position(std::uint64_t suffix) const {
    const std::uint64_t n = file_.header().n;
    if (suffix >= n) fail_samples();
    const std::uint64_t document = documents_.at(n - 1 - suffix);
    const Range extent = documents_.extent(document);
    if (n - suffix <= extent.lo || n - suffix > extent.hi) fail_samples();
    return {document, n - suffix - extent.lo};
}

void NativeEngine::locate(std::span<const Row> rows, std::span<Position> out) const {
    check_length("out", out.size(), rows.size());
    check_rows(rows, n_rows());
    if (sample_rate() == 1) {
        for (std::size_t i = 0; i < rows.size(); ++i)
            out[i] = position(unpack(samples_, rows[i] - 1, sample_bits_));
        return;
    }
    for (std::size_t i = 0; i < rows.size(); i += kBatch) {
        const std::size_t n = std::min(kBatch, rows.size() - i);
        locate_chunk(rows.subspan(i, n), out.subspan(i, n));
    }
}

void NativeEngine::locate_chunk(std::span<const Row> rows, std::span<Position> out) const {
    std::array<std::uint32_t, kBatch> current;
    std::array<std::uint32_t, kBatch> owner;
    std::array<Access, kBatch> read;
    std::array<std::uint64_t, kBatch> suffixes;  // first the number of the sample
    std::array<std::uint32_t, kBatch> walked;
    std::size_t n = rows.size();
    for (std::size_t i = 0; i < n; ++i) {
        current[i] = static_cast<std::uint32_t>(rows[i]);
        owner[i] = static_cast<std::uint32_t>(i);
        __builtin_prefetch(&marks_[current[i] / MarkBlock::kBits]);
    }
    const std::uint64_t n_values = n_samples(file_.header().n, sample_rate());
    for (std::uint32_t steps = 0; n > 0; ++steps) {
        if (steps >= sample_rate()) fail_samples();
        std::size_t n_left = 0;
        for (std::size_t k = 0; k < n; ++k) {
            const auto offset = static_cast<unsigned>(current[k] % MarkBlock::kBits);
            const MarkBlock& block = marks_[current[k] / MarkBlock::kBits];
            if (block.test(offset)) {
                const std::uint64_t sample = block.rank(offset);
                if (sample >= n_values) fail_samples();
                __builtin_prefetch(&samples_[sample * sample_bits_ / 64]);
                suffixes[owner[k]] = sample;
                walked[owner[k]] = steps;
                continue;
            }
            current[n_left] = current[k];
            owner[n_left++] = owner[k];
        }
        n = n_left;
        precede({current.data(), n}, {read.data(), n});
        for (std::size_t k = 0; k < n; ++k) __builtin_prefetch(&marks_[current[k] / MarkBlock::kBits]);
    }
    for (std::size_t i = 0; i < rows.size(); ++i) {
        out[i] = position(unpack(samples_, suffixes[i], sample_bits_) * sample_rate() + walked[i]);
    }
}

std::vector<std::uint64_t> NativeEngine::offsets(std::span<const std::uint64_t> documents) const {
    check_documents(documents, n_documents());
    std::vector<std::uint64_t> result;
    result.reserve(documents.size() + 1);
    result.push_back(0);
    for (const std::uint64_t document : documents) {
        const Range extent = documents_.extent(document);
        result.push_back(result.back() + extent.hi - extent.lo);
    }
    return result;
}

Streams NativeEngine::extract(std::span<const std::uint64_t> documents) const {
    Streams result{offsets(documents), {}};
    result.symbols.resize(result.offsets.back());
    walk(documents, result.offsets, [&](std::uint64_t place, Dense symbol, std::uint32_t) {
        result.symbols[place] = alphabet_.symbol(symbol);
    });
    return result;
}

std::vector<Row> NativeEngine::rows(std::span<const std::uint64_t> documents) const {
    const std::vector<std::uint64_t> places = offsets(documents);
    std::vector<Row> result(places.back());
    walk(documents, places,
         [&](std::uint64_t place, Dense, std::uint32_t row) { result[place] = row; });
    return result;
}

void NativeEngine::walk(std::span<const std::uint64_t> documents,
                        std::span<const std::uint64_t> offsets, const auto& visit) const {
    for (std::size_t i = 0; i < documents.size(); i += kBatch) {
        const std::size_t n = std::min(kBatch, documents.size() - i);
        walk_chunk(documents.subspan(i, n), &offsets[i], visit);
    }
}

void NativeEngine::walk_chunk(std::span<const std::uint64_t> documents, const std::uint64_t* offsets,
                              const auto& visit) const {
    std::array<std::uint32_t, kBatch> rows;
    std::array<std::uint32_t, kBatch> owner;
    std::array<Access, kBatch> read;
    std::size_t n = documents.size();
    for (std::size_t i = 0; i < n; ++i) {
        const std::uint32_t rank = document_rows_[documents[i]];
        if (rank >= n_documents()) throw std::runtime_error("the rows of the documents are damaged");
        rows[i] = static_cast<std::uint32_t>(alphabet_.first(boundary_)) + rank;
        owner[i] = static_cast<std::uint32_t>(i);
        visit(offsets[i], boundary_, rows[i]);
    }
    for (std::uint64_t step = 1; n > 0; ++step) {
        std::size_t n_left = 0;
        for (std::size_t k = 0; k < n; ++k) {
            if (offsets[owner[k]] + step == offsets[owner[k] + 1]) continue;
            rows[n_left] = rows[k];
            owner[n_left++] = owner[k];
        }
        n = n_left;
        precede({rows.data(), n}, {read.data(), n});
        for (std::size_t k = 0; k < n; ++k) {
            if (read[k].symbol == boundary_)
                throw std::runtime_error("a document is damaged: it ends before its length");
            visit(offsets[owner[k]] + step, read[k].symbol, rows[k]);
        }
    }
}

}  // namespace seal::native
