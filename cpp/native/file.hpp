// The file of the native engine: a header of 320 bytes and sections at multiples of 64, little-endian,
// mapped into memory and shared by all that have it open. docs/format.md shows it byte by byte.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "../engine.hpp"
#include "../mapping.hpp"
#include "samples.hpp"
#include "tree_data.hpp"

namespace seal::native {

enum Section : std::size_t {
    kSymbols,       // uint32 [n_symbols], ascending
    kSymbolCounts,  // uint32 [n_symbols], occurrences in the text
    kCodeLengths,   // uint8 [n_symbols]
    kNodeBases,     // uint32 [n_nodes][4]
    kSupers,        // uint32 [n_supers][4]
    kBlocks,        // Block [n_blocks]
    kMarks,         // MarkBlock [n_mark_blocks]
    kSamples,       // uint64 [packed_words], packed integers
    kStarts,        // uint32 [n_documents + 1]
    kDirectory,     // uint32 [n_entries]
    kDocumentRows,  // uint32 [n_documents], rank of each document's boundary among the boundaries
    kSections
};

struct Extent {
    std::uint64_t offset;
    std::uint64_t size;  // bytes
};

struct Header {
    std::array<char, 8> magic;
    std::uint32_t version;
    std::uint32_t sample_rate;
    std::uint64_t n;  // symbols of the text, without the sentinel
    std::uint64_t n_documents;
    std::uint64_t n_symbols;  // distinct ones
    std::uint64_t end_row;    // the row of the whole reversed text, which no symbol precedes
    std::uint64_t file_size;
    Symbol boundary;
    std::uint32_t reserved;
    std::array<Extent, kSections> sections;
    std::array<std::uint64_t, 9> unused;
    std::uint64_t checksum;  // FNV-1a of all bytes before
};
static_assert(sizeof(Header) == 320);

/// All that a file holds.
struct Contents {
    std::uint32_t sample_rate;
    std::uint64_t n;
    std::uint64_t end_row;
    Symbol boundary;
    std::vector<Symbol> symbols;
    std::vector<std::uint32_t> counts;
    std::vector<std::uint8_t> lengths;
    TreeData tree;
    SampleData samples;
    std::vector<std::uint32_t> starts;
    std::vector<std::uint32_t> directory;
    std::vector<std::uint32_t> rows;
};

/// Writes a file. Throws std::runtime_error when it cannot; what is there then is refused by
/// MappedFile.
void save(const Contents& contents, const std::string& path);

/// A file mapped into memory. Its header has been checked, the sizes of all sections among it.
class MappedFile {
  public:
    /// Throws std::runtime_error if the file cannot be read, is of another kind or version, or damaged.
    explicit MappedFile(const std::string& path);

    [[nodiscard]] const Header& header() const { return header_; }
    template <class T>
    [[nodiscard]] std::span<const T> section(Section section) const {
        const Extent& extent = header_.sections[section];
        const std::byte* first = mapping_.bytes().data() + extent.offset;
        return {reinterpret_cast<const T*>(first), extent.size / sizeof(T)};
    }
    /// Throws std::runtime_error, naming the file.
    [[noreturn]] void fail(const std::string& what) const;
    /// As far as its size can be known from the header; the tree's sections are checked by the engine.
    void check_section(Section section, std::uint64_t n_bytes) const;

  private:
    void check_header() const;

    std::string path_;
    Mapping mapping_;
    Header header_{};
};

}  // namespace seal::native
