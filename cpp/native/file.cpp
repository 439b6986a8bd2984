#include "file.hpp"

#include <bit>
#include <cstring>
#include <fstream>
#include <limits>
#include <stdexcept>

namespace seal::native {
namespace {

static_assert(std::endian::native == std::endian::little, "files are little-endian");

constexpr std::array<char, 8> kMagic = {'S', 'E', 'A', 'L', 'N', 'A', 'T', 'V'};
constexpr std::uint32_t kVersion = 1;
constexpr std::uint64_t kAlignment = 64;

[[nodiscard]] std::uint64_t checksum(const Header& header) {
    std::array<unsigned char, offsetof(Header, checksum)> bytes;
    std::memcpy(bytes.data(), &header, bytes.size());
    std::uint64_t hash = 0xCBF29CE484222325U;
    for (const unsigned char byte : bytes) hash = (hash ^ byte) * 0x100000001B3U;
    return hash;
}

[[nodiscard]] std::span<const std::byte> bytes_of(const auto& values) {
    return std::as_bytes(std::span(values));
}

}  // namespace

void save(const Contents& contents, const std::string& path) {
    const std::array<std::span<const std::byte>, kSections> parts = {
        bytes_of(contents.symbols),       bytes_of(contents.counts),
        bytes_of(contents.lengths),       bytes_of(contents.tree.bases),
        bytes_of(contents.tree.supers),   bytes_of(contents.tree.blocks),
        bytes_of(contents.samples.marks), bytes_of(contents.samples.values),
        bytes_of(contents.starts),        bytes_of(contents.directory),
        bytes_of(contents.rows)};
    Header header{};
    header.magic = kMagic;
    header.version = kVersion;
    header.sample_rate = contents.sample_rate;
    header.n = contents.n;
    header.n_documents = contents.rows.size();
    header.n_symbols = contents.symbols.size();
    header.end_row = contents.end_row;
    header.boundary = contents.boundary;
    std::uint64_t at = sizeof(Header);
    for (std::size_t k = 0; k < kSections; ++k) {
        header.sections[k] = {at, parts[k].size()};
        at += (parts[k].size() + kAlignment - 1) / kAlignment * kAlignment;
    }
    header.file_size = at;
    header.checksum = checksum(header);

    std::ofstream out(path, std::ios::binary | std::ios::trunc);
    out.write(reinterpret_cast<const char*>(&header), sizeof header);
    constexpr std::array<char, kAlignment> zeros{};
    for (const auto& part : parts) {
        out.write(reinterpret_cast<const char*>(part.data()),
                  static_cast<std::streamsize>(part.size()));
        const std::uint64_t rest = part.size() % kAlignment;
        if (rest > 0) out.write(zeros.data(), static_cast<std::streamsize>(kAlignment - rest));
    }
    out.close();
    if (!out)
        throw std::runtime_error(path +
                                 " cannot be written; is the directory there, and room on its disk?");
}

MappedFile::MappedFile(const std::string& path) : path_(path), mapping_(path) {
    const auto bytes = mapping_.bytes();
    if (bytes.size() < sizeof(Header)) fail("is too short to be an index of the native engine");
    std::memcpy(&header_, bytes.data(), sizeof header_);
    check_header();
}

void MappedFile::fail(const std::string& what) const {
    throw std::runtime_error(path_ + " " + what);
}

void MappedFile::check_section(Section section, std::uint64_t n_bytes) const {
    if (header_.sections[section].size != n_bytes) fail("is damaged: its parts do not fit together");
}

void MappedFile::check_header() const {
    const std::uint64_t actual_size = mapping_.bytes().size();
    if (header_.magic != kMagic)
        fail("is not an index of the native engine: it has another magic number");
    if (header_.version != kVersion) {
        fail("has format version " + std::to_string(header_.version) + ", this engine reads version " +
             std::to_string(kVersion) + "; rebuild the index");
    }
    if (header_.checksum != checksum(header_)) fail("is damaged: the checksum of its header differs");
    if (header_.file_size != actual_size) {
        fail("has " + std::to_string(actual_size) + " bytes instead of " +
             std::to_string(header_.file_size) + "; it is truncated or damaged");
    }
    // The checksum guards against accidents only. What follows keeps every access within the file.
    const std::uint64_t n = header_.n;
    const std::uint64_t n_documents = header_.n_documents;
    const std::uint64_t n_symbols = header_.n_symbols;
    const bool bounded = n >= 1 && n < std::numeric_limits<std::int32_t>::max() && n_documents >= 1 &&
                         n_documents <= n && n_symbols >= 1 && n_symbols <= n &&
                         header_.sample_rate >= 1 && header_.sample_rate <= 1U << 16 &&
                         header_.end_row >= 1 && header_.end_row <= n;
    if (!bounded) fail("is damaged: its header makes no sense");
    for (const auto& [offset, size] : header_.sections) {
        if (offset % kAlignment != 0 || offset > actual_size || size > actual_size - offset)
            fail("is damaged: a part of it lies outside of the file");
    }
    const std::uint32_t rate = header_.sample_rate;
    check_section(kSymbols, 4 * n_symbols);
    check_section(kSymbolCounts, 4 * n_symbols);
    check_section(kCodeLengths, n_symbols);
    check_section(kMarks, sizeof(MarkBlock) * n_mark_blocks(n + 1, rate));
    check_section(kSamples, 8 * packed_words(n_samples(n, rate), sample_width(n, rate)));
    check_section(kStarts, 4 * (n_documents + 1));
    check_section(kDirectory, 4 * Documents::n_entries(n));
    check_section(kDocumentRows, 4 * n_documents);
}

}  // namespace seal::native
