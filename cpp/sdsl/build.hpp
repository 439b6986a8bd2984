// Construction of the file that SdslEngine opens.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "../engine.hpp"

namespace seal::sdsl {

/// Writes to `path` the index of the streams symbols[starts[i], starts[i + 1]), given in reading order,
/// each beginning with `boundary`. The same input gives the same bytes.
///
/// sdsl-lite works through files; they lie in a directory of their own within `temp_dir`, which is
/// removed whatever happens. They take about 9 bytes per symbol, the memory about 8.
///
/// Throws std::invalid_argument for malformed streams, std::runtime_error when files cannot be written.
void build_sdsl(const std::string& path, std::span<const Symbol> symbols,
                std::span<const std::uint64_t> starts, Symbol boundary, const std::string& temp_dir);

}  // namespace seal::sdsl
