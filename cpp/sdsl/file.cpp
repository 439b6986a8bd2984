#include "file.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <system_error>

namespace seal::sdsl {
namespace {

static_assert(std::endian::native == std::endian::little, "files are little-endian");

constexpr std::array<char, 8> kMagic = {'S', 'E', 'A', 'L', 'S', 'D', 'S', 'L'};
constexpr std::uint32_t kVersion = 1;

struct Header {
    std::array<char, 8> magic = kMagic;
    std::uint32_t version = kVersion;
    std::uint32_t boundary = 0;
    std::uint64_t n_symbols = 0;  // of the text, without the sentinel
    std::uint64_t n_documents = 0;
    std::uint64_t n_distinct = 0;
    std::uint64_t csa_bytes = 0;
};
static_assert(sizeof(Header) == 48);

template <class T>
void write(std::ostream& out, const T* values, std::size_t n) {
    out.write(reinterpret_cast<const char*>(values), static_cast<std::streamsize>(n * sizeof(T)));
}

template <class T>
void read(std::istream& in, T* values, std::size_t n) {
    in.read(reinterpret_cast<char*>(values), static_cast<std::streamsize>(n * sizeof(T)));
}

[[noreturn]] void fail(const std::string& path, const std::string& what) {
    throw std::runtime_error(path + " " + what);
}

void check_header(const Header& header, const std::string& path, std::uint64_t file_size) {
    if (header.magic != kMagic)
        fail(path, "is not an index of the sdsl engine: it has another magic number");
    if (header.version != kVersion) {
        fail(path, "has format version " + std::to_string(header.version) +
                       ", this engine reads version " + std::to_string(kVersion) +
                       "; rebuild the index");
    }
    // Bounded one by one first, so that the sum cannot overflow.
    const bool bounded = header.n_documents <= file_size / 16 && header.n_distinct <= file_size / 4 &&
                         header.csa_bytes <= file_size;
    if (!bounded ||
        sizeof(Header) + 4 * header.n_distinct + 16 * header.n_documents + header.csa_bytes !=
            file_size) {
        fail(path, "has " + std::to_string(file_size) +
                       " bytes, which its header does not account for; it is truncated or damaged");
    }
}

/// Enough for no query to leave the tables: cost is linear in documents, not in the text.
[[nodiscard]] bool is_consistent(const Contents& contents, const Header& header) {
    if (header.n_documents == 0 || contents.csa.size() != header.n_symbols + 1) return false;
    if (contents.csa.sigma != header.n_distinct + 1) return false;
    if (!std::ranges::binary_search(contents.symbols, header.boundary)) return false;
    if (contents.starts.front() != 0) return false;
    for (std::size_t i = 0; i < contents.rows.size(); ++i) {
        if (contents.starts[i] >= contents.starts[i + 1]) return false;
        if (contents.rows[i] >= header.n_documents) return false;
    }
    return true;
}

}  // namespace

void save(const Contents& contents, const std::string& path) {
    Header header;
    header.boundary = contents.boundary;
    header.n_symbols = contents.starts.back();
    header.n_documents = contents.rows.size();
    header.n_distinct = contents.symbols.size();
    std::ofstream out(path, std::ios::binary | std::ios::trunc);
    write(out, &header, 1);
    write(out, contents.symbols.data(), header.n_distinct);
    write(out, contents.starts.data(), header.n_documents);
    write(out, contents.rows.data(), header.n_documents);
    header.csa_bytes = contents.csa.serialize(out);
    out.seekp(0);
    write(out, &header, 1);  // again, now that the size of the csa is known
    out.close();
    if (!out) fail(path, "cannot be written; is the directory there, and room on its disk?");
}

std::unique_ptr<const Contents> load(const std::string& path) {
    std::error_code error;
    const std::uint64_t file_size = std::filesystem::file_size(path, error);
    if (error) fail(path, "cannot be opened: " + error.message());  // before a pipe is waited for
    std::ifstream in(path, std::ios::binary);
    if (!in) fail(path, "cannot be opened: no permission");
    if (file_size < sizeof(Header)) fail(path, "is too short to be an index of the sdsl engine");
    Header header;
    read(in, &header, 1);
    check_header(header, path, file_size);

    auto contents = std::make_unique<Contents>();
    contents->boundary = header.boundary;
    contents->symbols.resize(header.n_distinct);
    contents->starts.resize(header.n_documents + 1);
    contents->rows.resize(header.n_documents);
    read(in, contents->symbols.data(), header.n_distinct);
    read(in, contents->starts.data(), header.n_documents);
    read(in, contents->rows.data(), header.n_documents);
    contents->starts.back() = header.n_symbols;
    try {
        contents->csa.load(in);
    } catch (const std::exception&) {  // a size out of this world, asked of the allocator
        fail(path, "is damaged: its suffix array cannot be loaded");
    }
    if (!in || !is_consistent(*contents, header))
        fail(path, "is damaged: its parts do not fit together");
    return contents;
}

}  // namespace seal::sdsl
