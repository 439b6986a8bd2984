#include "file.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstring>
#include <fstream>
#include <stdexcept>
#include <unordered_map>
#include <utility>
#include <vector>

#include "../checks.hpp"
#include "../packed.hpp"

namespace seal::store {
namespace {

static_assert(std::endian::native == std::endian::little, "files are little-endian");

constexpr std::array<char, 8> kMagic = {'S', 'E', 'A', 'L', 'T', 'O', 'K', 'N'};
constexpr std::uint32_t kVersion = 1;
constexpr std::uint64_t kAlignment = 64;
constexpr unsigned kMaxOffsetWidth = 56;
constexpr Symbol kMaxTable = 1U << 24;

[[nodiscard]] std::uint64_t checksum(const Header& header) {
    std::array<unsigned char, offsetof(Header, checksum)> bytes;
    std::memcpy(bytes.data(), &header, bytes.size());
    std::uint64_t hash = 0xCBF29CE484222325U;
    for (const unsigned char byte : bytes) hash = (hash ^ byte) * 0x100000001B3U;
    return hash;
}

[[nodiscard]] constexpr std::uint64_t padded(std::uint64_t n_bytes) {
    return (n_bytes + kAlignment - 1) / kAlignment * kAlignment;
}

/// Words of the codes: one more than they fill, so that any code can be read as a whole word.
[[nodiscard]] constexpr std::uint64_t code_words(std::uint64_t n_bits) {
    return (n_bits + 63) / 64 + 1;
}

/// Sections of a file with this header, in bytes without padding.
[[nodiscard]] std::array<std::uint64_t, 3> sizes(const Header& header) {
    return {4 * header.n_symbols, 8 * packed_words(header.n_documents + 1, header.offset_width),
            8 * code_words(header.n_bits)};
}

/// How often each distinct symbol occurs: most frequent first, equal ones ascending.
[[nodiscard]] std::vector<std::pair<Symbol, std::uint64_t>> frequencies(
    std::span<const Symbol> symbols) {
    std::vector<std::pair<Symbol, std::uint64_t>> found;
    if (const Symbol largest = *std::ranges::max_element(symbols); largest < kMaxTable) {
        std::vector<std::uint64_t> counts(largest + 1);
        for (const Symbol symbol : symbols) ++counts[symbol];
        for (Symbol symbol = 0; symbol <= largest; ++symbol) {
            if (counts[symbol] > 0) found.emplace_back(symbol, counts[symbol]);
        }
    } else {
        std::unordered_map<Symbol, std::uint64_t> counts;
        for (const Symbol symbol : symbols) ++counts[symbol];
        found.assign(counts.begin(), counts.end());
    }
    std::ranges::sort(found, [](const auto& a, const auto& b) {
        return a.second != b.second ? a.second > b.second : a.first < b.first;
    });
    return found;
}

/// The codes of symbols: a table where symbols are small, as those of vocabularies are.
class Encoder {
  public:
    struct Entry {
        std::uint64_t code = 0;
        unsigned length = 0;
    };

    Encoder(std::span<const Symbol> by_rank, const Widths& widths) {
        const Symbol largest = *std::ranges::max_element(by_rank);
        if (largest < kMaxTable) table_.resize(largest + 1);
        const auto first = first_ranks(widths);
        std::size_t at = 0;
        for (std::uint64_t rank = 0; rank < by_rank.size(); ++rank) {
            while (rank - first[at] >= std::uint64_t{1} << widths[at]) ++at;
            const Entry entry{(rank - first[at]) << kClassBits | at, kClassBits + widths[at]};
            (table_.empty() ? map_[by_rank[rank]] : table_[by_rank[rank]]) = entry;
        }
    }
    [[nodiscard]] const Entry& operator()(Symbol symbol) const {
        return table_.empty() ? map_.find(symbol)->second : table_[symbol];
    }

  private:
    std::vector<Entry> table_;
    std::unordered_map<Symbol, Entry> map_;
};

struct Packed {
    std::vector<std::uint64_t> codes;
    std::vector<std::uint64_t> offsets;
};

/// Fills in `n_bits` and `offset_width` of the header.
[[nodiscard]] Packed packed(std::span<const Symbol> symbols, std::span<const std::uint64_t> starts,
                            const Encoder& encoder, Header& header) {
    std::vector<std::uint64_t> bounds;  // bits at which documents start, and the end
    bounds.reserve(starts.size() + 1);
    std::uint64_t n_bits = 0;
    for (std::uint64_t at = 0; at < symbols.size(); ++at) {
        if (bounds.size() < starts.size() && starts[bounds.size()] == at) bounds.push_back(n_bits);
        n_bits += encoder(symbols[at]).length;
    }
    bounds.push_back(n_bits);
    header.n_bits = n_bits;
    header.offset_width = bits_for(n_bits);
    Packed result;
    result.offsets.resize(packed_words(bounds.size(), header.offset_width));
    for (std::size_t i = 0; i < bounds.size(); ++i)
        pack(result.offsets, i, header.offset_width, bounds[i]);
    result.codes.resize(code_words(n_bits));
    std::uint64_t bit = 0;
    for (const Symbol symbol : symbols) {
        const auto& [code, length] = encoder(symbol);
        put_bits(result.codes, bit, length, code);
        bit += length;
    }
    return result;
}

void save(const std::string& path, Header& header, std::span<const Symbol> by_rank,
          const Packed& contents) {
    const std::array<std::span<const std::byte>, 3> parts = {std::as_bytes(by_rank),
                                                             std::as_bytes(std::span(contents.offsets)),
                                                             std::as_bytes(std::span(contents.codes))};
    header.file_size = sizeof(Header);
    for (const auto& part : parts) header.file_size += padded(part.size());
    header.checksum = checksum(header);
    std::ofstream out(path, std::ios::binary | std::ios::trunc);
    out.write(reinterpret_cast<const char*>(&header), sizeof header);
    constexpr std::array<char, kAlignment> zeros{};
    for (const auto& part : parts) {
        out.write(reinterpret_cast<const char*>(part.data()),
                  static_cast<std::streamsize>(part.size()));
        out.write(zeros.data(), static_cast<std::streamsize>(padded(part.size()) - part.size()));
    }
    out.close();
    if (!out)
        throw std::runtime_error(path +
                                 " cannot be written; is the directory there, and room on its disk?");
}

}  // namespace

void write(const std::string& path, std::span<const Symbol> symbols,
           std::span<const std::uint64_t> starts, Symbol boundary) {
    check_streams(symbols, starts, boundary);
    std::vector<Symbol> by_rank;
    std::vector<std::uint64_t> counts;
    for (const auto& [symbol, count] : frequencies(symbols)) {
        by_rank.push_back(symbol);
        counts.push_back(count);
    }
    Header header{};
    header.magic = kMagic;
    header.version = kVersion;
    header.n = symbols.size();
    header.n_documents = starts.size();
    header.n_symbols = by_rank.size();
    header.widths = shortest(counts);
    header.boundary = boundary;
    const Packed contents = packed(symbols, starts, Encoder(by_rank, header.widths), header);
    save(path, header, by_rank, contents);
}

MappedFile::MappedFile(const std::string& path) : path_(path), mapping_(path) {
    const auto bytes = mapping_.bytes();
    if (bytes.size() < sizeof(Header)) fail("is too short to be a token store");
    std::memcpy(&header_, bytes.data(), sizeof header_);
    check_header();
    find_sections();
}

void MappedFile::fail(const std::string& what) const {
    throw std::runtime_error(path_ + " " + what);
}

void MappedFile::check_header() const {
    const std::uint64_t actual_size = mapping_.bytes().size();
    if (header_.magic != kMagic) fail("is no token store: it has another magic number");
    if (header_.version != kVersion) {
        fail("has format version " + std::to_string(header_.version) + ", this program reads version " +
             std::to_string(kVersion));
    }
    if (header_.checksum != checksum(header_)) fail("is damaged: the checksum of its header differs");
    if (header_.file_size != actual_size) {
        fail("has " + std::to_string(actual_size) + " bytes instead of " +
             std::to_string(header_.file_size) + "; it is truncated or damaged");
    }
    // The checksum guards against accidents only. What follows keeps every access within the file, and
    // the sizes of the sections within 64 bits.
    const std::uint64_t most_bits = 8 * actual_size;
    const bool bounded =
        header_.n_symbols >= 1 && header_.n_symbols <= actual_size && header_.n_documents >= 1 &&
        header_.offset_width >= 1 && header_.offset_width <= kMaxOffsetWidth &&
        header_.n_documents < most_bits / header_.offset_width && header_.n_bits <= most_bits &&
        header_.n_documents <= header_.n && header_.n <= header_.n_bits &&
        std::ranges::all_of(header_.widths, [](std::uint8_t width) { return width <= kMaxWidth; });
    if (!bounded) fail("is damaged: its header makes no sense");
}

void MappedFile::find_sections() {
    std::array<std::span<const std::byte>, 3> found;
    std::uint64_t at = sizeof(Header);
    const auto bytes = mapping_.bytes();
    const auto wanted = sizes(header_);
    for (std::size_t i = 0; i < wanted.size(); ++i) {
        if (padded(wanted[i]) > bytes.size() - at) fail("is damaged: its parts do not fill it");
        found[i] = bytes.subspan(at, wanted[i]);
        at += padded(wanted[i]);
    }
    if (at != bytes.size()) fail("is damaged: its parts do not fill it");
    symbols_ = {reinterpret_cast<const Symbol*>(found[0].data()), found[0].size() / sizeof(Symbol)};
    offsets_ = {reinterpret_cast<const std::uint64_t*>(found[1].data()), found[1].size() / 8};
    codes_ = found[2];
}

}  // namespace seal::store
