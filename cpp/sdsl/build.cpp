#include "build.hpp"

#include <stdlib.h>  // mkdtemp

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <stdexcept>
#include <unordered_map>

#include "../checks.hpp"
#include "file.hpp"

namespace seal::sdsl {
namespace {

namespace fs = std::filesystem;

/// A new directory, removed with all it holds.
class ScratchDir {
  public:
    explicit ScratchDir(const std::string& parent) {
        // Absolute: sdsl-lite takes a name that begins with '@' for a file in memory.
        path_ = fs::absolute(parent) / "seal-sdsl-XXXXXX";
        if (mkdtemp(path_.data()) == nullptr) {
            throw std::runtime_error(parent + " cannot hold temporary files: " + std::strerror(errno));
        }
    }
    ScratchDir(const ScratchDir&) = delete;
    ScratchDir& operator=(const ScratchDir&) = delete;
    ~ScratchDir() {
        std::error_code ignored;
        fs::remove_all(path_, ignored);
    }
    [[nodiscard]] const std::string& path() const { return path_; }

  private:
    std::string path_;
};

using Counts = std::unordered_map<Symbol, std::uint64_t>;

[[nodiscard]] Counts count(std::span<const Symbol> symbols) {
    Counts counts;
    for (const Symbol symbol : symbols) ++counts[symbol];
    return counts;
}

[[nodiscard]] std::vector<Symbol> sorted_keys(const Counts& counts) {
    std::vector<Symbol> keys;
    keys.reserve(counts.size());
    for (const auto& [symbol, ignored] : counts) keys.push_back(symbol);
    std::ranges::sort(keys);
    return keys;
}

/// The text as sdsl-lite wants it: dense symbols, last one first, then the sentinel 0.
void store_text(std::span<const Symbol> symbols, const std::vector<Symbol>& distinct,
                ::sdsl::cache_config& config) {
    std::unordered_map<Symbol, std::uint64_t> dense;
    for (std::size_t k = 0; k < distinct.size(); ++k) dense[distinct[k]] = k + 1;
    ::sdsl::int_vector<> text(symbols.size() + 1, 0, ::sdsl::bits::hi(distinct.size()) + 1);
    for (std::size_t i = 0; i < symbols.size(); ++i) text[symbols.size() - 1 - i] = dense[symbols[i]];
    if (!::sdsl::store_to_cache(text, ::sdsl::key_text_trait<0>::KEY_TEXT, config)) {
        throw std::runtime_error(config.dir + " cannot be written to");
    }
}

/// sdsl-lite does not notice a full disk, so that what it built is compared with what it was given.
void check_counts(const Contents& contents, const Counts& counts, const std::string& temp_dir) {
    const Csa& csa = contents.csa;
    bool same = csa.size() == contents.starts.back() + 1 && csa.sigma == counts.size() + 1;
    for (std::size_t k = 0; same && k < contents.symbols.size(); ++k) {
        same = csa.C[k + 2] - csa.C[k + 1] == counts.at(contents.symbols[k]);
    }
    if (!same)
        throw std::runtime_error("construction lost symbols; is the disk of " + temp_dir + " full?");
}

/// Rows of the documents' boundaries, read off the suffix array's part that holds the boundaries.
[[nodiscard]] std::vector<std::uint64_t> boundary_rows(const Contents& contents,
                                                       const ::sdsl::cache_config& config) {
    const auto& starts = contents.starts;
    const std::uint64_t n_documents = starts.size() - 1;
    const auto dense =
        std::ranges::lower_bound(contents.symbols, contents.boundary) - contents.symbols.begin() + 1;
    const Row first = contents.csa.C[dense];
    ::sdsl::int_vector_buffer<> suffixes(::sdsl::cache_file_name(::sdsl::conf::KEY_SA, config));
    std::vector<std::uint64_t> rows(n_documents, n_documents);
    for (std::uint64_t k = 0; k < n_documents; ++k) {
        const std::uint64_t start = starts.back() - 1 - suffixes[first + k];
        const auto found = std::lower_bound(starts.begin(), starts.end() - 1, start);
        const std::size_t document = found - starts.begin();
        if (document == n_documents || *found != start || rows[document] != n_documents) {
            throw std::runtime_error("construction gave a wrong suffix array; is the disk of " +
                                     config.dir + " full?");
        }
        rows[document] = k;
    }
    return rows;
}

}  // namespace

void build_sdsl(const std::string& path, std::span<const Symbol> symbols,
                std::span<const std::uint64_t> starts, Symbol boundary, const std::string& temp_dir) {
    check_streams(symbols, starts, boundary);
    const ScratchDir scratch(temp_dir);
    ::sdsl::cache_config config(false, scratch.path(), "text");

    Contents contents;
    contents.boundary = boundary;
    contents.starts.assign(starts.begin(), starts.end());
    contents.starts.push_back(symbols.size());
    const Counts counts = count(symbols);
    contents.symbols = sorted_keys(counts);
    store_text(symbols, contents.symbols, config);
    ::sdsl::construct(contents.csa, "", config, 0);  // the text is found in the cache, no file is read
    check_counts(contents, counts, temp_dir);
    contents.rows = boundary_rows(contents, config);
    save(contents, path);
}

}  // namespace seal::sdsl
