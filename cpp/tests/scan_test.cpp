// Scan test of a C++ core without Python, for the sanitizers: random texts, every operation against a
// scan of the documents, then the same questions from four threads at once. The full suite is
// tests/property.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "../engine.hpp"
#include "../sdsl/build.hpp"
#include "../sdsl/engine.hpp"

namespace {

using seal::Engine;
using seal::Position;
using seal::Range;
using seal::Row;
using seal::Symbol;
using Stream = std::vector<Symbol>;

constexpr Symbol kBoundary = 1;

void require(bool condition, const char* what) {
    if (condition) return;
    std::fprintf(stderr, "scan_test: %s\n", what);
    std::exit(1);
}

std::vector<Stream> random_documents(std::mt19937& source) {
    const std::vector<Symbol> alphabet = {2, 3, 9, 300, 65'535, 4'294'967'295};
    std::vector<Stream> documents(1 + source() % 12);
    for (Stream& document : documents) {
        document = {kBoundary};
        for (unsigned n = source() % 20; n > 0; --n)
            document.push_back(alphabet[source() % alphabet.size()]);
    }
    return documents;
}

std::string build(const std::vector<Stream>& documents, const std::filesystem::path& folder) {
    Stream symbols;
    std::vector<std::uint64_t> starts;
    for (const Stream& document : documents) {
        starts.push_back(symbols.size());
        symbols.insert(symbols.end(), document.begin(), document.end());
    }
    const std::string path = folder / "index";
    seal::sdsl::build_sdsl(path, symbols, starts, kBoundary, folder);
    return path;
}

std::vector<Position> scan(const std::vector<Stream>& documents, const Stream& ngram) {
    std::vector<Position> found;
    for (std::size_t number = 0; number < documents.size(); ++number) {
        const Stream& document = documents[number];
        for (std::size_t end = ngram.size(); end <= document.size(); ++end) {
            if (std::equal(ngram.begin(), ngram.end(), document.begin() + end - ngram.size())) {
                found.push_back({number, end});
            }
        }
    }
    return found;
}

Range find(const Engine& engine, const Stream& ngram) {
    Range range = {0, engine.n_rows()};
    for (const Symbol symbol : ngram) engine.extend({&range, 1}, {&symbol, 1}, {&range, 1});
    return range;
}

void check_ngram(const Engine& engine, const std::vector<Stream>& documents, const Stream& ngram) {
    const Range range = find(engine, ngram);
    std::vector<Position> expected = scan(documents, ngram);
    require(range.hi - range.lo == expected.size(), "count differs");

    std::vector<Row> rows;
    for (Row row = range.lo; row < range.hi; ++row) rows.push_back(row);
    std::vector<Position> located(rows.size());
    engine.locate(rows, located);
    std::ranges::sort(located, {}, [](const Position& p) { return std::pair(p.document, p.end); });
    std::map<Symbol, std::uint64_t> following;
    for (std::size_t i = 0; i < expected.size(); ++i) {
        const auto [document, end] = expected[i];
        require(located[i].document == document && located[i].end == end, "position differs");
        if (end < documents[document].size()) ++following[documents[document][end]];
    }

    const seal::Successors found = engine.successors({&range, 1});
    require(found.symbols.size() == following.size(), "number of successors differs");
    std::size_t k = 0;
    for (const auto& [symbol, count] : following) {
        Range extended{};
        engine.verify({&range, 1}, {&symbol, 1}, 1, {&extended, 1});
        require(found.symbols[k] == symbol, "successor differs");
        require(found.ranges[k].lo == extended.lo && found.ranges[k].hi == extended.hi,
                "verify differs");
        require(extended.hi - extended.lo == count, "count of successor differs");
        ++k;
    }
}

void check(const Engine& engine, const std::vector<Stream>& documents) {
    for (std::uint64_t number = 0; number < documents.size(); ++number) {
        const Stream& document = documents[number];
        require(engine.extract({&number, 1}).symbols == document, "stream differs");
        for (std::size_t start = 0; start < document.size(); ++start) {
            const std::size_t n = std::min<std::size_t>(3, document.size() - start);
            Stream ngram(document.begin() + start, document.begin() + start + n);
            check_ngram(engine, documents, ngram);
            ngram.push_back(start % 2 == 0 ? 9 : 7);
            check_ngram(engine, documents, ngram);
        }
    }
}

}  // namespace

int main() {
    std::string folder = std::filesystem::temp_directory_path() / "seal-scan-XXXXXX";
    require(mkdtemp(folder.data()) != nullptr, "no temporary directory");
    std::mt19937 source(20);
    for (int round = 0; round < 50; ++round) {
        const std::vector<Stream> documents = random_documents(source);
        const seal::sdsl::SdslEngine engine(build(documents, folder));
        std::vector<std::jthread> threads;
        for (int i = 0; i < 4; ++i) threads.emplace_back([&] { check(engine, documents); });
    }
    std::filesystem::remove_all(folder);
    std::puts("scan_test: ok");
}
