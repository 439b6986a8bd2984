// Engines of several segments as one against each engine by itself, from several threads, and on a file
// with bytes changed. Run under sanitizers (`make asan tsan`); a failure ends it with a message.
#include <unistd.h>
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "../live.hpp"
#include "../native/build.hpp"
#include "../native/engine.hpp"
#include "../segments.hpp"

namespace {

using namespace seal;
using namespace seal::native;
namespace fs = std::filesystem;

constexpr Symbol kBoundary = 1;

void require(bool condition, const std::string& what) {
    if (condition) return;
    std::cerr << "segments_test: " << what << "\n";
    std::exit(1);
}

[[nodiscard]] bool same(const Range& a, const Range& b) {
    return a.lo == b.lo && a.hi == b.hi;
}

void build(std::mt19937& random, unsigned n_words, const std::string& path) {
    std::vector<Symbol> symbols;
    std::vector<std::uint64_t> starts;
    for (unsigned document = 1 + random() % 30; document > 0; --document) {
        starts.push_back(symbols.size());
        symbols.push_back(kBoundary);
        for (unsigned n = random() % 60; n > 0; --n) symbols.push_back(2 + random() % n_words);
    }
    const SortableText text = densify(symbols, starts, kBoundary);
    std::vector<std::int32_t> suffixes(symbols.size());
    for (std::size_t i = 0; i < suffixes.size(); ++i) suffixes[i] = static_cast<std::int32_t>(i);
    const std::string bytes(text.bytes.begin(), text.bytes.end());
    std::ranges::sort(suffixes, [&](std::int32_t a, std::int32_t b) {
        const std::string_view all = bytes;
        return all.substr(text.width * static_cast<std::size_t>(a)) <
               all.substr(text.width * static_cast<std::size_t>(b));
    });
    Builder(text.alphabet, text.bytes, suffixes, starts, kBoundary, 8).save(path);
}

using Engines = std::vector<const Engine*>;

/// Ranges of n-grams of the engines' own documents, the empty one, and ones unknown here and there.
[[nodiscard]] std::vector<Range> grid(const Engines& engines, std::mt19937& random, unsigned n_words) {
    std::vector<Range> found;
    for (int ngram = 0; ngram < 20; ++ngram) {
        std::vector<Symbol> symbols(random() % 3);
        for (Symbol& symbol : symbols) symbol = 1 + random() % (n_words + 2);
        for (const Engine* engine : engines) {
            std::vector<Range> range = {{0, engine->n_rows()}};
            for (const Symbol symbol : symbols) {
                std::vector<Range> next(1);
                engine->extend(range, {&symbol, 1}, next);
                range = next;
            }
            found.push_back(random() % 8 == 0 ? Range{0, 0} : range[0]);
        }
    }
    return found;
}

void check_steps(const Engines& engines, const std::vector<Range>& ranges, std::mt19937& random,
                 unsigned n_words) {
    const Segments all(engines);
    const std::size_t size = engines.size();
    const std::size_t n = ranges.size() / size;
    const std::size_t width = random() % 4;
    std::vector<Symbol> candidates(n * width);
    for (Symbol& symbol : candidates) symbol = random() % (n_words + 3);
    std::vector<Range> out(n * width * size, Range{7, 9});
    all.verify(ranges, candidates, width, out);
    const SparseSuccessors successors = all.successors(ranges);
    require(successors.offsets.size() == n + 1 && successors.offsets[n] == successors.symbols.size() &&
                successors.firsts.size() == successors.symbols.size() + 1,
            "the parts of successors fit");
    std::vector<std::uint64_t> entries(successors.symbols.size());
    for (std::size_t i = 0; i < entries.size(); ++i) entries[i] = i;
    std::vector<Range> taken(entries.size() * size);
    take(successors, size, entries, taken);
    for (std::size_t s = 0; s < size; ++s) {
        for (std::size_t i = 0; i < n; ++i) {
            const std::span<const Range> own(&ranges[i * size + s], 1);
            std::vector<Range> expected(width);
            engines[s]->verify(own, std::span(candidates).subspan(i * width, width), width, expected);
            for (std::size_t j = 0; j < width; ++j)
                require(same(out[(i * width + j) * size + s], expected[j]), "a range of verify");
            const Successors alone = engines[s]->successors(own);
            std::size_t n_found = 0;
            for (std::uint64_t k = successors.offsets[i]; k < successors.offsets[i + 1]; ++k) {
                require(k == successors.offsets[i] || successors.symbols[k - 1] < successors.symbols[k],
                        "successors ascend");
                const Range& range = taken[k * size + s];
                if (range.lo == range.hi) continue;
                require(n_found < alone.symbols.size() &&
                            alone.symbols[n_found] == successors.symbols[k] &&
                            same(alone.ranges[n_found], range),
                        "a successor");
                ++n_found;
            }
            require(n_found == alone.symbols.size(), "successors are complete");
        }
    }
}

void check_places(const Engines& engines, std::vector<Range> ranges, std::mt19937& random) {
    const Segments all(engines);
    const std::size_t size = engines.size();
    for (Range& range : ranges) range.lo = std::max<Row>(range.lo, range.hi > 0 ? 1 : 0);
    const Located found = all.locate(ranges);
    std::uint64_t at = 0;
    std::uint64_t base = 0;
    std::vector<std::uint64_t> bases;
    for (const Engine* engine : engines) {
        bases.push_back(base);
        base += engine->n_documents();
    }
    for (std::size_t i = 0; i < ranges.size(); ++i) {
        if (i % size == 0) require(found.offsets[i / size] == at, "offsets of occurrences");
        for (Row row = ranges[i].lo; row < ranges[i].hi; ++row, ++at) {
            Position expected{};
            engines[i % size]->locate({&row, 1}, {&expected, 1});
            require(found.positions[at].document == bases[i % size] + expected.document &&
                        found.positions[at].end == expected.end,
                    "an occurrence");
        }
    }
    require(found.positions.size() == at, "occurrences are complete");
    if (base == 0) return;
    std::vector<std::uint64_t> documents(10);
    for (auto& document : documents) document = random() % base;
    const Streams streams = all.extract(documents);
    for (std::size_t i = 0; i < documents.size(); ++i) {
        std::size_t s = size - 1;
        while (bases[s] > documents[i] || engines[s]->n_documents() == 0) --s;
        const std::uint64_t local = documents[i] - bases[s];
        const Streams alone = engines[s]->extract({&local, 1});
        require(std::ranges::equal(
                    alone.symbols,
                    std::span(streams.symbols)
                        .subspan(streams.offsets[i], streams.offsets[i + 1] - streams.offsets[i])),
                "a document");
    }
}

void check_refusals(const Engines& engines) {
    const Segments all(engines);
    const auto refused = [](const auto& call) {
        try {
            call();
        } catch (const std::logic_error&) {
            return true;
        }
        return false;
    };
    std::vector<Range> ranges(engines.size(), Range{0, 0});
    std::vector<Range> out(engines.size());
    const std::vector<Symbol> symbols = {2, 3};
    require(refused([&] { all.extend(ranges, symbols, out); }),
            "more symbols than n-grams are refused");
    ranges.back() = {1, engines.back()->n_rows() + 1};
    require(refused([&] { (void)all.successors(ranges); }), "rows that do not exist are refused");
    ranges.back() = {Row(-3), Row(-3)};
    require(refused([&] { (void)all.locate(ranges); }), "rows below 0 are refused");
    require(refused([&] { (void)all.extract(std::vector{all.n_documents()}); }), "documents, too");
    const std::uint64_t entry = 0;
    require(refused([&] { take({{0}, {}, {0}, {}, {}}, engines.size(), {&entry, 1}, out); }),
            "entries, too");
    require(refused([] { (void)Segments({}); }), "no segments are refused");
}

/// Whatever a damaged file says; exceptions are fine.
void use(const Engines& engines, const std::vector<Range>& ranges) {
    const Segments all(engines);
    const auto guarded = [](const auto& call) {
        try {
            call();
        } catch (const std::exception&) {
        }
    };
    const std::vector<Symbol> symbols(ranges.size() / engines.size(), 3);
    std::vector<Range> out(ranges.size());
    guarded([&] { all.extend(ranges, symbols, out); });
    guarded([&] { (void)all.successors(ranges); });
    guarded([&] { (void)all.locate(ranges); });
    guarded([&] { (void)all.extract(std::vector<std::uint64_t>{0, all.n_documents() - 1}); });
}

void damage(const std::string& path, std::mt19937& random) {
    std::ifstream in(path, std::ios::binary);
    std::vector<char> bytes((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
    for (int k = 0; k < 3; ++k)
        bytes[248 + random() % (bytes.size() - 248)] = static_cast<char>(random());
    fs::remove(path);  // what is mapped stays as it was
    std::ofstream(path, std::ios::binary)
        .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

/// An engine of very many documents and no rows but one, to stand before others.
class Many final : public Engine {
  public:
    explicit Many(std::uint64_t n_documents) : n_documents_(n_documents) {}
    [[nodiscard]] Row n_rows() const override { return 1; }
    [[nodiscard]] std::uint64_t n_documents() const override { return n_documents_; }
    [[nodiscard]] Symbol boundary() const override { return kBoundary; }
    [[nodiscard]] std::vector<std::pair<std::string, std::uint64_t>> size_in_bytes() const override {
        return {};
    }
    void extend(std::span<const Range>, std::span<const Symbol>, std::span<Range>) const override {
        fail();
    }
    void verify(std::span<const Range>, std::span<const Symbol>, std::size_t,
                std::span<Range>) const override {
        fail();
    }
    [[nodiscard]] Successors successors(std::span<const Range>) const override { fail(); }
    void locate(std::span<const Row>, std::span<Position>) const override { fail(); }
    [[nodiscard]] Streams extract(std::span<const std::uint64_t>) const override { fail(); }
    [[nodiscard]] std::vector<Row> rows(std::span<const std::uint64_t>) const override { fail(); }

  private:
    [[noreturn]] static void fail() { throw std::logic_error("a segment without rows was asked"); }
    std::uint64_t n_documents_;
};

/// Documents are numbered beyond 2^32 where so many lie before them.
void check_far_documents(const Engine& engine) {
    constexpr std::uint64_t kBefore = (std::uint64_t{1} << 32) + 5;
    const Many many(kBefore);
    const Engines both{&many, &engine};
    const Segments segments(both);
    const std::vector<Range> everything{{0, engine.n_rows()}};
    const std::vector<Symbol> start{kBoundary};
    std::vector<Range> starts(1);
    engine.extend(everything, start, starts);
    const std::vector<Range> ranges{{0, 0}, starts[0]};
    const auto found = segments.locate(ranges);
    std::vector<Row> rows;
    for (Row row = starts[0].lo; row < starts[0].hi; ++row) rows.push_back(row);
    std::vector<Position> alone(rows.size());
    engine.locate(rows, alone);
    require(found.positions.size() == alone.size(), "far documents: occurrences are missing");
    for (std::size_t i = 0; i < alone.size(); ++i) {
        require(found.positions[i].document == kBefore + alone[i].document, "a far document's number");
    }
    if (engine.n_documents() == 0) return;
    const std::vector<std::uint64_t> first{0}, far{kBefore};
    require(segments.extract(far).symbols == engine.extract(first).symbols, "a far document's text");
}

}  // namespace

int main() {
    std::mt19937 random(20221128);
    const fs::path folder =
        fs::temp_directory_path() / ("seal-segments-test-" + std::to_string(getpid()));
    fs::create_directories(folder);
    int n_damaged = 0;
    for (int round = 0; round < 24; ++round) {
        const unsigned n_words = std::vector<unsigned>{3, 40, 700}[static_cast<std::size_t>(round % 3)];
        std::vector<std::unique_ptr<const Engine>> held;
        Engines engines;
        const unsigned n_segments = 1 + random() % 9;
        for (unsigned s = 0; s < n_segments; ++s) {
            const std::string path = folder / std::to_string(s);
            build(random, n_words, path);
            held.push_back(std::make_unique<NativeEngine>(path));
            if (random() % 2 == 0) {  // some of its documents, or none
                std::vector<std::uint64_t> named;
                for (std::uint64_t d = 0; d < held.back()->n_documents(); ++d) {
                    if (random() % 3 == 0) named.push_back(d);
                }
                held.push_back(
                    std::make_unique<LiveEngine>(*held.back(), named, LiveEngine::Named::kLive));
            }
            engines.push_back(held.back().get());
        }
        const std::vector<Range> ranges = grid(engines, random, n_words);
        std::vector<std::thread> threads;
        for (unsigned seed = 0; seed < 3; ++seed) {
            threads.emplace_back([&, seed] {
                std::mt19937 own(seed);
                check_steps(engines, ranges, own, n_words);
                check_places(engines, ranges, own);
            });
        }
        for (auto& thread : threads) thread.join();
        check_refusals(engines);
        check_far_documents(*engines.front());
        const std::string path = folder / "0";
        damage(path, random);
        try {
            const NativeEngine damaged(path);
            Engines others = engines;
            others.front() = &damaged;
            use(others, grid(engines, random, n_words));
            ++n_damaged;
        } catch (const std::runtime_error&) {
        }
    }
    fs::remove_all(folder);
    std::cout << "24 sets of segments agree with their segments; " << n_damaged << " damaged ones\n";
    return 0;
}
