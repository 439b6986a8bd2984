// From the streams of the documents to the file, but for the suffix array, which the caller sorts.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "../engine.hpp"

namespace seal::native {

/// The text as libdivsufsort wants it: all streams, reversed, as dense symbols of 2 bytes (or 4 where
/// more than 65,536 symbols occur), most significant byte first, so that bytes sort as symbols do.
struct SortableText {
    std::vector<Symbol> alphabet;  // ascending; dense symbol k stands for alphabet[k]
    std::vector<std::uint8_t> bytes;
    unsigned width;
};

/// Throws std::invalid_argument for malformed streams (checks.hpp).
[[nodiscard]] SortableText densify(std::span<const Symbol> symbols,
                                   std::span<const std::uint64_t> starts, Symbol boundary);

/// Keeps the suffixes that start at a symbol, as numbers of symbols, at the front of the span.
void compact(std::span<std::int32_t> suffixes, unsigned width);

struct Contents;

/// Two phases, so that the text and its suffixes can be let go of in between: the constructor reads
/// them, `save` does not need them.
class Builder {
  public:
    /// text: bytes of SortableText; suffixes: int32 [n], compacted; starts: of the streams in reading
    /// order. Throws std::invalid_argument if they do not fit together.
    Builder(std::span<const Symbol> alphabet, std::span<const std::uint8_t> text,
            std::span<const std::int32_t> suffixes, std::span<const std::uint64_t> starts,
            Symbol boundary, std::uint32_t sample_rate);
    Builder(Builder&&) noexcept;
    ~Builder();

    /// Builds the wavelet tree and writes the file; once. Throws std::runtime_error if it cannot be
    /// written.
    void save(const std::string& path);

  private:
    std::unique_ptr<Contents> contents_;
    std::vector<std::uint16_t> narrow_;  // the Burrows-Wheeler transform, in one of the two
    std::vector<std::uint32_t> wide_;
};

}  // namespace seal::native
