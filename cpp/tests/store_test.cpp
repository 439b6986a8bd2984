// Token stores without Python, for the sanitizers: random corpora there and back, from several threads,
// and files with bytes changed. The full suite is tests/property/test_stores.py.
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "../store/store.hpp"

namespace {

using namespace seal;
using namespace seal::store;
namespace fs = std::filesystem;

constexpr Symbol kBoundary = 1;
constexpr std::size_t kHeader = 128, kChecksum = 120;
#if defined(__SANITIZE_THREAD__)
constexpr int kDamaged = 5;
#else
constexpr int kDamaged = 60;
#endif

void require(bool condition, const char* what) {
    if (condition) return;
    std::fprintf(stderr, "store_test: %s\n", what);
    std::exit(1);
}

struct Corpus {
    std::vector<Symbol> symbols;
    std::vector<std::uint64_t> starts;

    [[nodiscard]] std::vector<Symbol> stream(std::size_t document) const {
        const auto end = document + 1 < starts.size() ? starts[document + 1] : symbols.size();
        return {symbols.begin() + static_cast<std::ptrdiff_t>(starts[document]),
                symbols.begin() + static_cast<std::ptrdiff_t>(end)};
    }
};

/// Documents of up to `longest` symbols beside the boundary, the small ones of `n_words` more frequent.
[[nodiscard]] Corpus random_corpus(std::mt19937& random, Symbol n_words, Symbol step) {
    Corpus corpus;
    for (auto n = 1 + random() % 300; n > 0; --n) {
        corpus.starts.push_back(corpus.symbols.size());
        corpus.symbols.push_back(kBoundary);
        for (auto length = random() % 40; length > 0; --length) {
            const auto word = static_cast<Symbol>(random() % (1 + random() % n_words));
            corpus.symbols.push_back(2 + word * step);
        }
    }
    return corpus;
}

void check(const Corpus& corpus, const TokenStores& stores, std::uint64_t first) {
    std::vector<std::uint64_t> documents;
    for (std::size_t d = corpus.starts.size(); d > 0; --d) documents.push_back(first + d - 1);
    const Streams found = stores.extract(documents);
    for (std::size_t i = 0; i < documents.size(); ++i) {
        const auto expected = corpus.stream(static_cast<std::size_t>(documents[i] - first));
        const auto* begin = found.symbols.data() + found.offsets[i];
        require(std::vector<Symbol>(begin, found.symbols.data() + found.offsets[i + 1]) == expected,
                "a stream differs");
    }
}

[[nodiscard]] std::string bytes_of(const fs::path& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

/// What a file says may be wrong or told of, but never a place outside of it.
void read_all(const fs::path& path) {
    try {
        const TokenStores stores({path.string()});
        (void)stores.value_lengths(kBoundary, 2, true);
        std::vector<std::uint64_t> one(1);
        for (one[0] = 0; one[0] < stores.n_documents() && one[0] < 400; ++one[0]) {
            const auto [store, number] = stores.find(one[0]);
            store.prefetch(number);
            try {
                (void)stores.extract(one);
            } catch (const std::runtime_error&) {
            }
        }
    } catch (const std::runtime_error&) {
    }
}

/// The checksum of the header is made to agree, or every change of it would be found by that.
void seal_header(std::string& bytes) {
    std::uint64_t hash = 0xCBF29CE484222325U;
    for (std::size_t i = 0; i < kChecksum; ++i)
        hash = (hash ^ static_cast<unsigned char>(bytes[i])) * 0x100000001B3U;
    for (std::size_t i = 0; i < 8; ++i) bytes[kChecksum + i] = static_cast<char>(hash >> (8 * i));
}

void damage(std::mt19937& random, const fs::path& path) {
    const std::string sound = bytes_of(path);
    for (int round = 0; round < kDamaged; ++round) {
        std::string bytes = sound;
        const std::size_t end = round % 2 ? kHeader : bytes.size();
        for (auto n = 1 + random() % 3; n > 0; --n) bytes[random() % end] = static_cast<char>(random());
        if (random() % 8 == 0) bytes.resize(random() % bytes.size());
        if (bytes.size() >= kHeader) seal_header(bytes);
        std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
        read_all(path);
    }
}

}  // namespace

int main() {
    std::mt19937 random(7);
    const fs::path folder = fs::temp_directory_path() / ("store_test." + std::to_string(getpid()));
    fs::create_directory(folder);
    for (const auto& [n_words, step] : std::vector<std::pair<Symbol, Symbol>>{
             {1, 1}, {6, 1}, {300, 1}, {70'000, 1}, {50'000, 80'000}}) {
        const Corpus one = random_corpus(random, n_words, step);
        const Corpus other = random_corpus(random, n_words, step);
        const std::vector<std::string> paths = {(folder / "0").string(), (folder / "1").string()};
        write(paths[0], one.symbols, one.starts, kBoundary);
        write(paths[1], other.symbols, other.starts, kBoundary);
        {
            const TokenStores stores(paths);
            std::vector<std::jthread> threads;
            for (int i = 0; i < 4; ++i) {
                threads.emplace_back(
                    [&, i] { check(i % 2 ? other : one, stores, i % 2 ? one.starts.size() : 0); });
            }
        }
        damage(random, paths[0]);
    }
    fs::remove_all(folder);
    std::puts("store_test: ok");
}
