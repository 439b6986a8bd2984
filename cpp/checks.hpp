// What every engine refuses, and in which words.
//
// Numbers are printed as signed: they come from Python's int64, so that a -1 is seen as -1.
#pragma once

#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

#include "engine.hpp"

namespace seal {

[[nodiscard]] inline std::string signed_text(std::uint64_t value) {
    return std::to_string(static_cast<std::int64_t>(value));
}

inline void check_ranges(std::span<const Range> ranges, Row n_rows) {
    for (std::size_t i = 0; i < ranges.size(); ++i) {
        const auto [lo, hi] = ranges[i];
        if (lo > hi || hi > n_rows) {
            throw std::out_of_range("ranges[" + std::to_string(i) + "] is [" + signed_text(lo) + ", " +
                                    signed_text(hi) + "), not a range within [0, " +
                                    std::to_string(n_rows) + ")");
        }
    }
}

/// The sentinel is the smallest suffix, so its row is row 0 in every engine.
inline void check_rows(std::span<const Row> rows, Row n_rows) {
    for (std::size_t i = 0; i < rows.size(); ++i) {
        if (rows[i] == 0 || rows[i] >= n_rows) {
            throw std::out_of_range("rows[" + std::to_string(i) + "] is " + signed_text(rows[i]) +
                                    ", rows of occurrences are within [1, " + std::to_string(n_rows) +
                                    ")");
        }
    }
}

inline void check_documents(std::span<const std::uint64_t> documents, std::uint64_t n_documents) {
    for (std::size_t i = 0; i < documents.size(); ++i) {
        if (documents[i] >= n_documents) {
            throw std::out_of_range("documents[" + std::to_string(i) + "] is " +
                                    signed_text(documents[i]) + ", documents are within [0, " +
                                    std::to_string(n_documents) + ")");
        }
    }
}

inline void check_length(std::string_view name, std::size_t length, std::size_t expected) {
    if (length != expected) {
        throw std::invalid_argument(std::string(name) + " has " + std::to_string(length) +
                                    " entries, expected " + std::to_string(expected));
    }
}

/// `starts` cuts `n_symbols` symbols into streams of at least one symbol each.
inline void check_starts(std::span<const std::uint64_t> starts, std::uint64_t n_symbols) {
    if (starts.empty()) throw std::invalid_argument("there are no documents to index");
    if (starts[0] != 0)
        throw std::invalid_argument("starts[0] is " + signed_text(starts[0]) + ", not 0");
    for (std::size_t i = 0; i < starts.size(); ++i) {
        const std::string name = "starts[" + std::to_string(i) + "] is " + signed_text(starts[i]);
        if (starts[i] >= n_symbols) {
            throw std::invalid_argument(name + ", but there are " + std::to_string(n_symbols) +
                                        " symbols");
        }
        if (i > 0 && starts[i] <= starts[i - 1]) {
            throw std::invalid_argument(name + ", not above the one before it, " +
                                        signed_text(starts[i - 1]));
        }
    }
}

/// Each stream begins with `boundary`, which occurs nowhere else, and no symbol is 0.
inline void check_streams(std::span<const Symbol> symbols, std::span<const std::uint64_t> starts,
                          Symbol boundary) {
    if (boundary == 0)
        throw std::invalid_argument("boundary is 0, which is kept for the end of the text");
    check_starts(starts, symbols.size());
    for (std::size_t document = 0; document < starts.size(); ++document) {
        const auto end = document + 1 < starts.size() ? starts[document + 1] : symbols.size();
        for (auto position = starts[document]; position < end; ++position) {
            const Symbol symbol = symbols[position];
            const bool first = position == starts[document];
            if (symbol != 0 && (symbol == boundary) == first) continue;
            const std::string where = " at position " + std::to_string(position) + " (document " +
                                      std::to_string(document) + ", offset " +
                                      std::to_string(position - starts[document]) + ")";
            if (symbol == 0) {
                throw std::invalid_argument("symbol 0" + where + "; 0 is kept for the end of the text");
            }
            throw std::invalid_argument(
                "symbol " + std::to_string(symbol) + where +
                (first ? ", where the boundary " + std::to_string(boundary) + " must be"
                       : ", but the boundary belongs at offset 0 only"));
        }
    }
}

}  // namespace seal
