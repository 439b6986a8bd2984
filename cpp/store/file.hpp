// The file of a token store: a header of 128 bytes and three sections at multiples of 64, little-endian,
// mapped into memory. docs/format.md shows it byte by byte.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>

#include "../engine.hpp"
#include "../mapping.hpp"
#include "code.hpp"

namespace seal::store {

struct Header {
    std::array<char, 8> magic;
    std::uint32_t version;
    std::uint32_t offset_width;  // bits of an entry of the offsets
    std::uint64_t n;             // symbols of all streams
    std::uint64_t n_documents;
    std::uint64_t n_symbols;  // distinct ones
    std::uint64_t n_bits;     // of all codes
    Widths widths;
    std::uint64_t file_size;
    Symbol boundary;
    std::uint32_t reserved;
    std::array<std::uint64_t, 6> unused;
    std::uint64_t checksum;  // FNV-1a of all bytes before
};
static_assert(sizeof(Header) == 128);

/// Writes the streams of a segment's documents: document i is symbols[starts[i]:starts[i + 1]], the last
/// one ends with the symbols. Takes 2 to 5 bytes a symbol beside the input.
///
/// Throws std::invalid_argument for streams that do not begin with `boundary` or hold it elsewhere,
/// std::runtime_error where the file cannot be written.
void write(const std::string& path, std::span<const Symbol> symbols,
           std::span<const std::uint64_t> starts, Symbol boundary);

/// A file mapped into memory. Its header has been checked, and that the sections fill the file.
class MappedFile {
  public:
    /// Throws std::runtime_error if the file cannot be read, is of another kind or version, or damaged.
    explicit MappedFile(const std::string& path);

    [[nodiscard]] const Header& header() const { return header_; }
    [[nodiscard]] std::span<const Symbol> symbols() const { return symbols_; }         // by rank
    [[nodiscard]] std::span<const std::uint64_t> offsets() const { return offsets_; }  // packed
    [[nodiscard]] std::span<const std::byte> codes() const { return codes_; }  // and 8 bytes or more
    /// Throws std::runtime_error, naming the file.
    [[noreturn]] void fail(const std::string& what) const;

  private:
    void check_header() const;
    void find_sections();

    std::string path_;
    Mapping mapping_;
    Header header_{};
    std::span<const Symbol> symbols_;
    std::span<const std::uint64_t> offsets_;
    std::span<const std::byte> codes_;
};

}  // namespace seal::store
