// The native engine against brute force, from several threads, and on files with bytes changed.
//
// Run under sanitizers (`make asan tsan`). It prints what it did; a failure ends it with a message.
#include <sys/mman.h>
#include <unistd.h>
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <numeric>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "../live.hpp"
#include "../native/build.hpp"
#include "../native/engine.hpp"

namespace {

using namespace seal;
using namespace seal::native;
namespace fs = std::filesystem;

constexpr Symbol kBoundary = 1;
// The thread sanitizer looks for races, which a few corpora show; memory is the address sanitizer's.
#if defined(__SANITIZE_THREAD__)
constexpr int kDamaged = 5;
constexpr Symbol kManySymbols = 2000;
#else
constexpr int kDamaged = 150;
constexpr Symbol kManySymbols = 70000;
#endif

void require(bool condition, const std::string& what) {
    if (condition) return;
    std::cerr << "FAILED: " << what << '\n';
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

[[nodiscard]] Corpus random_corpus(std::mt19937& random, unsigned n_documents, unsigned n_words,
                                   unsigned max_length) {
    Corpus corpus;
    for (unsigned d = 0; d < n_documents; ++d) {
        corpus.starts.push_back(corpus.symbols.size());
        corpus.symbols.push_back(kBoundary);
        for (unsigned k = random() % (max_length + 1); k > 0; --k) {
            const unsigned word = std::min(random() % n_words, random() % n_words);
            corpus.symbols.push_back(word % 7 == 6 ? 1000003 * (word + 1) : word + 2);
        }
    }
    return corpus;
}

[[nodiscard]] std::vector<std::int32_t> sorted_suffixes(const SortableText& text) {
    std::vector<std::int32_t> suffixes(text.bytes.size());
    std::iota(suffixes.begin(), suffixes.end(), 0);
    std::ranges::sort(suffixes, [&](std::int32_t a, std::int32_t b) {
        return std::lexicographical_compare(text.bytes.begin() + a, text.bytes.end(),
                                            text.bytes.begin() + b, text.bytes.end());
    });
    compact(suffixes, text.width);
    suffixes.resize(text.bytes.size() / text.width);
    return suffixes;
}

void build(const Corpus& corpus, std::uint32_t rate, const std::string& path) {
    const SortableText text = densify(corpus.symbols, corpus.starts, kBoundary);
    const auto suffixes = sorted_suffixes(text);
    Builder(text.alphabet, text.bytes, suffixes, corpus.starts, kBoundary, rate).save(path);
}

[[nodiscard]] std::vector<std::pair<std::uint64_t, std::uint64_t>> occurrences(
    const Corpus& corpus, const std::vector<Symbol>& ngram) {
    std::vector<std::pair<std::uint64_t, std::uint64_t>> found;
    for (std::size_t d = 0; d < corpus.starts.size(); ++d) {
        const auto stream = corpus.stream(d);
        for (auto at = stream.begin();; ++at) {
            at = std::search(at, stream.end(), ngram.begin(), ngram.end());
            if (at == stream.end()) break;
            found.emplace_back(d, static_cast<std::uint64_t>(at - stream.begin()) + ngram.size());
        }
    }
    std::ranges::sort(found);
    return found;
}

void check_ngram(const Corpus& corpus, const Engine& engine, const std::vector<Symbol>& ngram) {
    std::vector<Range> range = {{0, engine.n_rows()}};
    for (const Symbol symbol : ngram) {
        std::vector<Range> next(1);
        engine.extend(range, std::vector<Symbol>{symbol}, next);
        range = next;
    }
    std::vector<Row> rows(range[0].hi - range[0].lo);
    std::iota(rows.begin(), rows.end(), range[0].lo);
    std::vector<Position> positions(rows.size());
    engine.locate(rows, positions);
    std::vector<std::pair<std::uint64_t, std::uint64_t>> found;
    for (const auto& [document, end] : positions) found.emplace_back(document, end);
    std::ranges::sort(found);
    require(found == occurrences(corpus, ngram), "occurrences of an n-gram");

    const Successors successors = engine.successors(range);
    std::uint64_t total = 0;
    for (std::size_t k = 0; k < successors.symbols.size(); ++k) {
        const Range& extended = successors.ranges[k];
        total += extended.hi - extended.lo;
        std::vector<Range> again(1);
        engine.extend(range, std::vector<Symbol>{successors.symbols[k]}, again);
        require(again[0].lo == extended.lo && again[0].hi == extended.hi, "a successor's range");
        require(k == 0 || successors.symbols[k - 1] < successors.symbols[k], "successors ascend");
    }
    std::uint64_t ended = 0;  // occurrences at the end of a document have no successor
    for (const auto& [document, end] : found) ended += end == corpus.stream(document).size() ? 1 : 0;
    require(total + ended == found.size(), "successors are complete");
}

void check(const Corpus& corpus, const Engine& engine, std::mt19937& random, int n_ngrams) {
    std::vector<std::uint64_t> documents(corpus.starts.size());
    std::iota(documents.begin(), documents.end(), 0);
    const Streams streams = engine.extract(documents);
    require(streams.symbols == corpus.symbols, "documents come back");
    for (int k = 0; k < n_ngrams; ++k) {
        const std::size_t at = random() % corpus.symbols.size();
        const std::size_t n = std::min<std::size_t>(1 + random() % 4, corpus.symbols.size() - at);
        std::vector<Symbol> ngram(corpus.symbols.begin() + static_cast<std::ptrdiff_t>(at),
                                  corpus.symbols.begin() + static_cast<std::ptrdiff_t>(at + n));
        if (random() % 4 == 0) ngram.back() = 2 + random() % 50;
        check_ngram(corpus, engine, ngram);
    }
}

/// A view of some documents against brute force over these alone.
void check_live(const Corpus& corpus, const Engine& engine, std::mt19937& random, int n_ngrams) {
    Corpus live;
    std::vector<std::uint64_t> named;
    for (std::size_t document = 0; document < corpus.starts.size(); ++document) {
        if (random() % 3 == 0 && document > 0) continue;
        named.push_back(document);
        const auto stream = corpus.stream(document);
        live.starts.push_back(live.symbols.size());
        live.symbols.insert(live.symbols.end(), stream.begin(), stream.end());
    }
    check(live, LiveEngine(engine, named, LiveEngine::Named::kLive), random, n_ngrams);
    std::vector<std::uint64_t> dead;
    for (std::size_t document = 0; document < corpus.starts.size(); ++document) {
        if (!std::ranges::binary_search(named, document)) dead.push_back(document);
    }
    check(live, LiveEngine(engine, dead, LiveEngine::Named::kDead), random, n_ngrams);
}

/// Every operation, with whatever the file says; exceptions are fine.
void use(const Engine& engine, std::mt19937& random) {
    if (engine.n_documents() == 0 || engine.n_rows() < 2) return;  // a view of nothing
    const auto guarded = [](const auto& call) {
        try {
            call();
        } catch (const std::exception&) {
        }
    };
    std::vector<Range> ranges;
    std::vector<Row> rows;
    std::vector<std::uint64_t> documents;
    for (int k = 0; k < 20; ++k) {
        const Row lo = random() % engine.n_rows();
        ranges.push_back({lo, lo + random() % (engine.n_rows() - lo + 1)});
        rows.push_back(1 + random() % (engine.n_rows() - 1));
        documents.push_back(random() % engine.n_documents());
    }
    std::vector<Symbol> symbols(ranges.size());
    for (auto& symbol : symbols) symbol = random() % 60;
    std::vector<Range> extended(ranges.size());
    std::vector<Position> positions(rows.size());
    guarded([&] { engine.extend(ranges, symbols, extended); });
    guarded([&] { (void)engine.successors(ranges); });
    guarded([&] { engine.locate(rows, positions); });
    guarded([&] { (void)engine.extract(documents); });
    guarded([&] { (void)engine.rows(documents); });
}

[[nodiscard]] std::uint64_t fnv(const std::vector<char>& bytes, std::size_t n) {
    std::uint64_t hash = 0xCBF29CE484222325U;
    for (std::size_t k = 0; k < n; ++k)
        hash = (hash ^ static_cast<unsigned char>(bytes[k])) * 0x100000001B3U;
    return hash;
}

void fuzz(const std::string& path, const std::string& damaged, std::mt19937& random, int rounds) {
    std::ifstream in(path, std::ios::binary);
    const std::vector<char> sound((std::istreambuf_iterator<char>(in)),
                                  std::istreambuf_iterator<char>());
    int n_opened = 0;
    for (int round = 0; round < rounds; ++round) {
        std::vector<char> bytes = sound;
        const bool in_header = round % 2 == 0;
        for (unsigned k = 1 + random() % 4; k > 0; --k) {
            const std::size_t at = random() % (in_header ? 248 : bytes.size());
            bytes[at] = random() % 3 == 0 ? static_cast<char>(0xFF) : static_cast<char>(random());
        }
        if (random() % 8 == 0) bytes.resize(random() % bytes.size());
        if (in_header && bytes.size() >= sizeof(Header)) {  // as if someone had meant it
            const std::uint64_t checksum = fnv(bytes, sizeof(Header) - 8);
            std::memcpy(&bytes[sizeof(Header) - 8], &checksum, 8);
        }
        std::ofstream(damaged, std::ios::binary | std::ios::trunc)
            .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
        try {
            const NativeEngine engine(damaged);
            ++n_opened;
            use(engine, random);
            const std::uint64_t document = random() % engine.n_documents();
            use(LiveEngine(engine, {&document, 1}, LiveEngine::Named::kDead), random);
        } catch (const std::runtime_error&) {
        } catch (const std::bad_alloc&) {
            require(false, "an allocation that the file asked for");
        }
    }
    std::cout << rounds << " damaged files, " << n_opened << " of them could be opened\n";
}

/// Counts of the tree's digits pass 2^32 where a segment has more than 700 million symbols. Only their
/// differences may count: a tree whose counts all begin just below 2^32 gives the same answers.
void check_wrapping(std::mt19937& random) {
    constexpr std::uint32_t kOffset = 0U - 10'000U;
    std::vector<std::uint16_t> sequence(100'000);
    std::vector<std::uint64_t> weights(300);
    for (std::size_t k = 0; k < sequence.size(); ++k) {
        sequence[k] = static_cast<std::uint16_t>(k < 300 ? k : random() % (1 + random() % 300));
        ++weights[sequence[k]];
    }
    const auto n = static_cast<std::uint32_t>(sequence.size());
    const Code code(huffman_lengths(weights));
    const TreeData data = build_tree(code, std::move(sequence));
    TreeData far = data;
    for (auto* counts : {&far.supers, &far.bases}) {
        for (Counts& of_digits : *counts) {
            for (std::uint32_t& count : of_digits) count += kOffset;
        }
    }
    const Tree tree(code, weights, data.blocks, data.supers, data.bases);
    const Tree other(code, weights, far.blocks, far.supers, far.bases);
    std::vector<Step> steps(1000);
    std::vector<std::uint32_t> positions(steps.size());
    for (std::size_t k = 0; k < steps.size(); ++k) {
        const auto lo = static_cast<std::uint32_t>(random() % n);
        steps[k] = {static_cast<Dense>(random() % 300), lo,
                    lo + static_cast<std::uint32_t>(random() % (n - lo))};
        positions[k] = lo;
    }
    std::array<std::vector<Access>, 2> read = {std::vector<Access>(1000), std::vector<Access>(1000)};
    tree.access(positions, read[0]);
    other.access(positions, read[1]);
    const auto found = tree.distinct(steps);
    const auto again = other.distinct(steps);
    require(found.size() == again.size(), "distinct symbols of a tree whose counts wrap around");
    for (std::size_t k = 0; k < found.size(); ++k) {
        require(found[k].symbol == again[k].symbol && found[k].lo == again[k].lo &&
                    found[k].hi == again[k].hi,
                "ranks of a tree whose counts wrap around");
    }
    std::vector<Step> stepped = steps;
    tree.step(stepped);
    other.step(steps);
    for (std::size_t k = 0; k < steps.size(); ++k) {
        require(read[0][k].symbol == read[1][k].symbol && read[0][k].rank == read[1][k].rank,
                "a symbol of a tree whose counts wrap around");
        require(steps[k].lo == stepped[k].lo && steps[k].hi == stepped[k].hi,
                "steps of a tree whose counts wrap around");
    }
}

/// More symbols than 32-bit positions reach: refused by their number, nothing of them is read.
void check_refusal() {
    constexpr std::size_t kTooMany = (std::size_t{1} << 31) - 1;
    const auto reserve = [](std::size_t n_bytes) {
        void* memory = mmap(nullptr, n_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        require(memory != MAP_FAILED, "addresses are reserved");
        return memory;
    };
    const auto* text = static_cast<const std::uint8_t*>(reserve(2 * kTooMany));
    const auto* suffixes = static_cast<const std::int32_t*>(reserve(4 * kTooMany));
    const std::array<Symbol, 2> alphabet = {kBoundary, 2};
    const std::array<std::uint64_t, 1> starts = {0};
    std::string told;
    try {
        const Builder builder(alphabet, {text, 2 * kTooMany}, {suffixes, kTooMany}, starts, kBoundary,
                              8);
    } catch (const std::invalid_argument& error) {
        told = error.what();
    }
    require(told == "a segment holds at most 2,147,483,646 symbols, not 2147483647",
            "too many symbols");
}

}  // namespace

int main() {
    std::mt19937 random(20221128);
    const fs::path folder =
        fs::temp_directory_path() / ("seal-native-test-" + std::to_string(getpid()));
    fs::create_directories(folder);
    const std::string path = folder / "index";
    int n_corpora = 0;
    for (const std::uint32_t rate : {1U, 2U, 8U, 32U}) {
        for (const unsigned n_words : {1U, 3U, 40U, 700U}) {
            const Corpus corpus = random_corpus(random, 1 + random() % 40, n_words, 60);
            build(corpus, rate, path);
            const NativeEngine engine(path);
            check(corpus, engine, random, 40);
            check_live(corpus, engine, random, 20);
            std::vector<std::thread> threads;
            for (unsigned seed = 0; seed < 4; ++seed) {
                threads.emplace_back([&, seed] {
                    std::mt19937 own(seed);
                    check(corpus, engine, own, 10);
                });
            }
            for (auto& thread : threads) thread.join();
            fuzz(path, folder / "damaged", random, kDamaged);
            ++n_corpora;
        }
    }
    // So many documents that a view of them is found in threads.
    const Corpus many = random_corpus(random, 5000, 40, 6);
    build(many, 8, path);
    check_live(many, NativeEngine(path), random, 5);
    // More than 65,536 symbols: four bytes each.
    Corpus wide = random_corpus(random, 30, 10, 20);
    for (Symbol symbol = 100; symbol < 100 + kManySymbols; ++symbol) wide.symbols.push_back(symbol);
    build(wide, 8, path);
    check(wide, NativeEngine(path), random, 5);
    check_wrapping(random);
    check_refusal();
    fs::remove_all(folder);
    std::cout << n_corpora + 2 << " corpora agree with brute force\n";
    return 0;
}
