// What an index of the sdsl engine holds, and its file: little-endian, in this order,
//
//     header    48 bytes           `Header`, in file.cpp
//     symbols   u32 [n_distinct]   distinct symbols, ascending
//     starts    u64 [n_documents]  where each stream starts in the text
//     rows      u64 [n_documents]  row of each document's boundary, counted from the boundaries' first
//     csa       csa_bytes          as sdsl-lite serialises it
#pragma once

#include <cstdint>
#include <memory>
#include <sdsl/suffix_arrays.hpp>
#include <string>
#include <vector>

#include "../engine.hpp"

namespace seal::sdsl {

// Names of sdsl-lite begin with `::sdsl` in here: `sdsl` alone is this namespace.

/// Huffman-shaped wavelet tree over the BWT. Neither psi nor extraction by position is asked for, so
/// that select is a scan that takes no space, and there is a single sample of the inverse suffix array.
/// Every 8th position of the text is sampled: locate takes 3.5 LF steps on average.
using Csa =
    ::sdsl::csa_wt<::sdsl::wt_huff_int<::sdsl::bit_vector, ::sdsl::rank_support_v5<>,
                                       ::sdsl::select_support_scan<1>, ::sdsl::select_support_scan<0>>,
                   8, 1U << 31,
                   ::sdsl::text_order_sa_sampling<::sdsl::bit_vector, ::sdsl::rank_support_v5<>>,
                   ::sdsl::isa_sampling<>, ::sdsl::int_alphabet<>>;

/// The csa's alphabet is dense: symbols[k] is k + 1 in it, and 0 is the sentinel. Otherwise sdsl-lite's
/// tables would grow with the largest symbol.
struct Contents {
    Symbol boundary = 0;
    std::vector<Symbol> symbols;
    std::vector<std::uint64_t> starts;  // one more than documents: the last is the text's length
    std::vector<std::uint64_t> rows;
    Csa csa;
};

/// Throws std::runtime_error when the file cannot be written.
void save(const Contents& contents, const std::string& path);

/// Throws std::runtime_error when the file is absent, of another kind or version, or damaged.
[[nodiscard]] std::unique_ptr<const Contents> load(const std::string& path);

}  // namespace seal::sdsl
