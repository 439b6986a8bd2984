#include "build.hpp"

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <string>
#include <unordered_map>

#include "../checks.hpp"
#include "file.hpp"

namespace seal::native {
namespace {

constexpr std::size_t kNarrow = 1U << 16;
constexpr Symbol kMaxTable = 1U << 24;

/// Dense ranks by symbol: a table where symbols are small, as those of vocabularies are.
class Ranks {
  public:
    explicit Ranks(std::span<const Symbol> symbols) {
        const Symbol largest = *std::ranges::max_element(symbols);
        if (largest < kMaxTable) {
            table_.assign(largest + 1, 0);
            for (const Symbol symbol : symbols) table_[symbol] = 1;
            for (Symbol symbol = 0; symbol <= largest; ++symbol) {
                if (table_[symbol] == 0) continue;
                table_[symbol] = static_cast<Dense>(alphabet_.size());
                alphabet_.push_back(symbol);
            }
        } else {
            for (const Symbol symbol : symbols) map_[symbol] = 0;
            for (const auto& [symbol, ignored] : map_) alphabet_.push_back(symbol);
            std::ranges::sort(alphabet_);
            for (std::size_t k = 0; k < alphabet_.size(); ++k)
                map_[alphabet_[k]] = static_cast<Dense>(k);
        }
    }
    [[nodiscard]] Dense operator()(Symbol symbol) const {
        return table_.empty() ? map_.find(symbol)->second : table_[symbol];
    }
    [[nodiscard]] std::vector<Symbol> take_alphabet() { return std::move(alphabet_); }

  private:
    std::vector<Symbol> alphabet_;
    std::vector<Dense> table_;
    std::unordered_map<Symbol, Dense> map_;
};

template <unsigned width>
[[nodiscard]] Dense read(std::span<const std::uint8_t> text, std::uint64_t at) {
    Dense value = 0;
    for (unsigned k = 0; k < width; ++k) value = value << 8 | text[at * width + k];
    return value;
}

struct Text {
    std::span<const std::uint8_t> bytes;
    std::span<const std::int32_t> suffixes;
    std::span<const std::uint64_t> starts;
    Dense boundary;
};

/// Reads the suffix array once: transform, counts, samples and the rows of the documents.
template <unsigned width, class T>
[[nodiscard]] std::vector<T> transform(const Text& text, Contents& contents) {
    constexpr std::size_t ahead = 32;
    const auto& suffixes = text.suffixes;
    const std::uint64_t n = suffixes.size();
    const std::uint32_t rate = contents.sample_rate;
    const unsigned sample_bits = sample_width(n, rate);
    contents.samples.marks.resize(n_mark_blocks(n + 1, rate));
    contents.samples.values.resize(packed_words(n_samples(n, rate), sample_bits));
    std::vector<T> result(n + 1);
    // The sentinel's row: what precedes the end of the reversed text is the first symbol read.
    result[0] = static_cast<T>(read<width>(text.bytes, n - 1));
    std::uint64_t sample = 0;
    for (std::uint64_t row = 1; row <= n; ++row) {
        if (row + ahead <= n) {
            const std::int64_t later = suffixes[row + ahead - 1];
            __builtin_prefetch(
                &text.bytes[static_cast<std::uint64_t>(later > 0 ? later - 1 : 0) * width]);
        }
        const auto suffix = static_cast<std::uint64_t>(suffixes[row - 1]);
        if (suffix >= n) throw std::invalid_argument("the suffix array does not belong to the text");
        if (suffix == 0) {
            contents.end_row = row;
            // Nothing precedes it. Any symbol would do; nobody asks for the boundary's ranks.
            result[row] = static_cast<T>(text.boundary);
        } else {
            result[row] = static_cast<T>(read<width>(text.bytes, suffix - 1));
        }
        if (suffix % rate != 0) continue;
        if (sample == n_samples(n, rate))
            throw std::invalid_argument("the suffix array does not belong to the text");
        if (rate > 1) {
            auto& block = contents.samples.marks[row / MarkBlock::kBits];
            block.words[row % MarkBlock::kBits / 32] |= 1U << (row % MarkBlock::kBits % 32);
        }
        pack(contents.samples.values, sample++, sample_bits, suffix / rate);
    }
    std::uint32_t before = 0;
    for (auto& block : contents.samples.marks) {
        block.before = before;
        before = block.rank(MarkBlock::kBits - 1) + (block.test(MarkBlock::kBits - 1) ? 1 : 0);
    }
    return result;
}

/// Which of the boundaries' rows is each document's.
[[nodiscard]] std::vector<std::uint32_t> document_rows(const Text& text, std::uint64_t first_row) {
    const std::uint64_t n = text.suffixes.size();
    const std::uint64_t n_documents = text.starts.size();
    constexpr auto unset = std::numeric_limits<std::uint32_t>::max();
    std::vector<std::uint32_t> rows(n_documents, unset);
    for (std::uint32_t k = 0; k < n_documents; ++k) {
        const std::uint64_t start =
            n - 1 - static_cast<std::uint64_t>(text.suffixes[first_row - 1 + k]);
        const auto found = std::ranges::lower_bound(text.starts, start);
        if (found == text.starts.end() || *found != start || rows[found - text.starts.begin()] != unset)
            throw std::invalid_argument("the suffix array does not belong to the text");
        rows[found - text.starts.begin()] = k;
    }
    return rows;
}

[[nodiscard]] std::vector<std::uint32_t> count(const auto& sequence, std::size_t n_symbols) {
    std::vector<std::uint32_t> counts(n_symbols, 0);
    for (const auto symbol : sequence) {
        if (symbol >= n_symbols)
            throw std::invalid_argument("the text does not belong to the alphabet");
        ++counts[symbol];
    }
    return counts;
}

}  // namespace

SortableText densify(std::span<const Symbol> symbols, std::span<const std::uint64_t> starts,
                     Symbol boundary) {
    check_streams(symbols, starts, boundary);
    Ranks ranks(symbols);
    SortableText text{ranks.take_alphabet(), {}, 2};
    text.width = text.alphabet.size() <= kNarrow ? 2 : 4;
    text.bytes.resize(symbols.size() * text.width);
    auto out = text.bytes.begin();
    for (std::size_t i = symbols.size(); i-- > 0;) {
        const Dense dense = ranks(symbols[i]);
        for (unsigned k = text.width; k-- > 0;) *out++ = static_cast<std::uint8_t>(dense >> (8 * k));
    }
    return text;
}

void compact(std::span<std::int32_t> suffixes, unsigned width) {
    const auto bytes = static_cast<std::int32_t>(width);
    std::size_t kept = 0;
    for (const std::int32_t suffix : suffixes) {
        if (suffix % bytes == 0) suffixes[kept++] = suffix / bytes;
    }
}

Builder::Builder(std::span<const Symbol> alphabet, std::span<const std::uint8_t> text,
                 std::span<const std::int32_t> suffixes, std::span<const std::uint64_t> starts,
                 Symbol boundary, std::uint32_t sample_rate)
    : contents_(std::make_unique<Contents>()) {
    const std::uint64_t n = suffixes.size();
    if (n == 0 || (text.size() != 2 * n && text.size() != 4 * n) || sample_rate == 0)
        throw std::invalid_argument("text, suffixes and sample rate do not fit together");
    if (n >= std::numeric_limits<std::int32_t>::max())
        throw std::invalid_argument("a segment holds at most 2,147,483,646 symbols, not " +
                                    std::to_string(n));
    check_starts(starts, n);
    const auto found = std::ranges::lower_bound(alphabet, boundary);
    if (found == alphabet.end() || *found != boundary)
        throw std::invalid_argument("the boundary is not in the alphabet");
    const auto dense = static_cast<Dense>(found - alphabet.begin());
    contents_->sample_rate = sample_rate;
    contents_->n = n;
    contents_->boundary = boundary;
    contents_->symbols.assign(alphabet.begin(), alphabet.end());
    const Text input{text, suffixes, starts, dense};
    if (text.size() == 2 * n) {
        narrow_ = transform<2, std::uint16_t>(input, *contents_);
        contents_->counts = count(narrow_, alphabet.size());
    } else {
        wide_ = transform<4, std::uint32_t>(input, *contents_);
        contents_->counts = count(wide_, alphabet.size());
    }
    --contents_->counts[dense];  // the one that stands for nothing
    std::uint64_t first_row = 1;
    for (Dense k = 0; k < dense; ++k) first_row += contents_->counts[k];
    if (contents_->counts[dense] != starts.size())
        throw std::invalid_argument("there are not as many boundaries as documents");
    contents_->rows = document_rows(input, first_row);
    contents_->directory = Documents::make_directory(starts, n);
    contents_->starts.assign(starts.begin(), starts.end());
    contents_->starts.push_back(static_cast<std::uint32_t>(n));
}

Builder::Builder(Builder&&) noexcept = default;
Builder::~Builder() = default;

void Builder::save(const std::string& path) {
    if (contents_ == nullptr) throw std::invalid_argument("this index has been saved already");
    const std::unique_ptr<Contents> contents = std::move(contents_);
    std::vector<std::uint64_t> weights(contents->counts.begin(), contents->counts.end());
    ++weights[std::ranges::lower_bound(contents->symbols, contents->boundary) -
              contents->symbols.begin()];
    contents->lengths = huffman_lengths(weights);
    const Code code(contents->lengths);
    contents->tree =
        wide_.empty() ? build_tree(code, std::move(narrow_)) : build_tree(code, std::move(wide_));
    native::save(*contents, path);
}

}  // namespace seal::native
