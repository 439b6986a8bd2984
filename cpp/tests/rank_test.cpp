// Test of the ranking core without Python, for the sanitizers: random corpora and keys, every ranking
// against a scan of all documents, then the same questions from four threads that share one cache, and
// once more from a token store. The full suite is tests/property/test_rank.py.
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "../rank/cache.hpp"
#include "../rank/ranking.hpp"
#include "../rank/taken.hpp"

namespace {

using namespace seal::rank;
using Stream = std::vector<Symbol>;

void require(bool condition, const char* what) {
    if (condition) return;
    std::fprintf(stderr, "rank_test: %s\n", what);
    std::exit(1);
}

struct Case {
    std::vector<Stream> documents;
    std::vector<Stream> keys;
    std::vector<double> powers;  // descending
    std::vector<bool> located;
    std::map<Symbol, double> unigrams;
    double beta;
};

Case random_case(std::mt19937& source) {
    Case made;
    const auto draw = [&](unsigned n) { return static_cast<unsigned>(source() % n); };
    for (unsigned n = 1 + draw(40); n > 0; --n) {
        Stream document = {1};
        for (unsigned length = draw(25); length > 0; --length) {
            document.push_back(draw(9) == 0 ? 70'000 + draw(3) : 16 + draw(6));
        }
        made.documents.push_back(document);
    }
    std::set<Stream> keys;
    for (unsigned n = draw(15); n > 0; --n) {
        const Stream& document = made.documents[draw(static_cast<unsigned>(made.documents.size()))];
        const auto start = draw(static_cast<unsigned>(document.size()));
        const auto end = std::min<std::size_t>(document.size(), start + 1 + draw(4));
        keys.emplace(document.begin() + start, document.begin() + static_cast<std::ptrdiff_t>(end));
    }
    made.keys.assign(keys.begin(), keys.end());
    for (std::size_t i = 0; i < keys.size(); ++i) made.powers.push_back(1 + draw(50));
    std::ranges::sort(made.powers, std::greater<>());
    for (std::size_t i = 0; i < keys.size(); ++i) made.located.push_back(draw(3) > 0);
    for (unsigned n = draw(8); n > 0; --n) {
        made.unigrams[draw(4) ? 16 + draw(6) : 70'000 + draw(3)] = 1 + draw(5);
    }
    made.beta = draw(5) / 4.0;
    return made;
}

std::vector<std::size_t> ends(const Stream& document, const Stream& key) {
    std::vector<std::size_t> found;
    for (std::size_t end = key.size(); end <= document.size(); ++end) {
        const auto first = document.begin() + static_cast<std::ptrdiff_t>(end - key.size());
        if (std::equal(key.begin(), key.end(), first)) found.push_back(end);
    }
    return found;
}

double scan(const Case& query, const Stream& document, bool best_only) {
    std::vector<bool> taken(document.size());
    std::set<Symbol> seen;
    double total = 0.0;
    for (std::size_t i = 0; i < query.keys.size(); ++i) {
        const Stream& key = query.keys[i];
        std::vector<std::size_t> free;
        for (const std::size_t end : ends(document, key)) {
            const auto last = taken.begin() + static_cast<std::ptrdiff_t>(end);
            const auto first = last - static_cast<std::ptrdiff_t>(key.size());
            if (best_only) return query.powers[i];
            if (std::find(first, last, true) == last) free.push_back(end);
        }
        const std::set<Symbol> symbols(key.begin(), key.end());
        const auto n_new = std::ranges::count_if(symbols, [&](Symbol s) { return !seen.contains(s); });
        const double part = static_cast<double>(n_new) / static_cast<double>(symbols.size());
        const double share = query.powers[i] * (1.0 - query.beta + query.beta * part);
        if (free.empty() || share <= 0.0) continue;
        total += share;
        seen.insert(symbols.begin(), symbols.end());
        for (const std::size_t end : free) {
            for (std::size_t at = end - key.size(); at < end; ++at) taken[at] = true;
        }
    }
    std::set<Symbol> left;
    for (std::size_t at = 0; at < document.size(); ++at) {
        if (!taken[at]) left.insert(document[at]);
    }
    for (const Symbol symbol : left) {
        const auto found = query.unigrams.find(symbol);
        if (found == query.unigrams.end()) continue;
        total += found->second * (seen.contains(symbol) ? 1.0 - query.beta : 1.0);
    }
    return total;
}

struct Arrays {  // a case as the core wants it
    std::vector<Symbol> symbols;
    std::vector<std::int64_t> offsets = {0}, row_offsets = {0}, documents, ends;
    std::vector<Symbol> unigrams;
    std::vector<double> weights;

    explicit Arrays(const Case& query) {
        for (std::size_t i = 0; i < query.keys.size(); ++i) {
            const Stream& key = query.keys[i];
            symbols.insert(symbols.end(), key.begin(), key.end());
            offsets.push_back(static_cast<std::int64_t>(symbols.size()));
            for (std::size_t d = 0; query.located[i] && d < query.documents.size(); ++d) {
                for (const std::size_t end : ::ends(query.documents[d], key)) {
                    documents.push_back(static_cast<std::int64_t>(d));
                    ends.push_back(static_cast<std::int64_t>(end));
                }
            }
            row_offsets.push_back(static_cast<std::int64_t>(documents.size()));
        }
        for (const auto& [symbol, weight] : query.unigrams) {
            unigrams.push_back(symbol);
            weights.push_back(weight);
        }
    }
};

/// Documents that hold a key that was not located, and none that was.
std::vector<std::int64_t> further(const Case& query) {
    std::vector<std::int64_t> found;
    for (std::size_t d = 0; d < query.documents.size(); ++d) {
        bool holds = false, located = false;
        for (std::size_t i = 0; i < query.keys.size(); ++i) {
            if (ends(query.documents[d], query.keys[i]).empty()) continue;
            (query.located[i] ? located : holds) = true;
        }
        if (holds && !located) found.push_back(static_cast<std::int64_t>(d));
    }
    return found;
}

void read(const Case& query, Cache& cache, const std::vector<std::int64_t>& wanted, Ranking& ranking) {
    const Cache::Found found = cache.get(wanted);
    ranking.score({found.documents, found.offsets, found.symbols});
    std::vector<std::int64_t> offsets = {0};
    Stream symbols;
    for (const std::int64_t document : found.absent) {
        const Stream& stream = query.documents[static_cast<std::size_t>(document)];
        symbols.insert(symbols.end(), stream.begin(), stream.end());
        offsets.push_back(static_cast<std::int64_t>(symbols.size()));
    }
    const Texts texts = {found.absent, offsets, symbols};
    cache.put(texts);
    ranking.score(texts);
}

void check(const Case& query, Cache& cache, const seal::store::TokenStores& stores, bool best_only,
           bool with_further, std::size_t n_hits) {
    const Arrays arrays(query);
    const auto others = with_further ? further(query) : std::vector<std::int64_t>{};
    const auto kind = best_only ? Ranking::Score::kMax : Ranking::Score::kSum;
    const QueryArrays asked = {arrays.symbols,  arrays.offsets, query.powers,
                               arrays.unigrams, arrays.weights, query.beta};
    const Rows rows = {arrays.row_offsets, arrays.documents, arrays.ends};
    Ranking ranking(asked, rows, others, kind, n_hits);
    while (true) {
        const auto wanted = ranking.next(3);
        if (wanted.empty()) break;
        read(query, cache, wanted, ranking);
    }
    std::vector<double> expected;
    std::set candidates(arrays.documents.begin(), arrays.documents.end());
    candidates.insert(others.begin(), others.end());
    for (const auto document : candidates) {
        expected.push_back(scan(query, query.documents[static_cast<std::size_t>(document)], best_only));
    }
    std::ranges::sort(expected, std::greater<>());
    const std::vector<Hit> hits = ranking.hits();
    require(hits.size() >= std::min(n_hits, expected.size()), "hits are missing");
    for (std::size_t i = 0; i < hits.size(); ++i) {
        require(std::abs(hits[i].score - expected[i]) < 1e-9, "score differs");
        const Stream& document = query.documents[static_cast<std::size_t>(hits[i].document)];
        require(std::abs(scan(query, document, best_only) - hits[i].score) < 1e-9, "document differs");
        double total = 0.0;
        for (const Part& part : hits[i].parts) total += part.share;
        require(std::abs(total - hits[i].score) < 1e-9, "parts differ");
        const Taken found = taken(asked, kind, document);
        require(found.score == hits[i].score, "the score of what was taken differs");
        require(std::ranges::equal(found.parts, hits[i].parts,
                                   [](const Part& a, const Part& b) {
                                       return a.number == b.number && a.share == b.share;
                                   }),
                "what was taken differs");
    }
    Ranking again(asked, rows, others, kind, n_hits);
    again.score_stored(stores, 3);
    const std::vector<Hit> stored = again.hits();
    require(stored.size() == hits.size(), "hits of the store are missing");
    for (std::size_t i = 0; i < hits.size(); ++i) {
        require(stored[i].document == hits[i].document, "document of the store differs");
        require(stored[i].score == hits[i].score, "score of the store differs");
    }
}

/// The documents, cut into two segments where there are so many.
seal::store::TokenStores stored(const Case& query, const std::filesystem::path& folder) {
    const std::size_t cut = query.documents.size() / 2;
    std::vector<std::string> paths;
    for (const auto& [first, last] : {std::pair{std::size_t{0}, cut}, {cut, query.documents.size()}}) {
        Stream symbols;
        std::vector<std::uint64_t> starts;
        for (std::size_t d = first; d < last; ++d) {
            starts.push_back(symbols.size());
            symbols.insert(symbols.end(), query.documents[d].begin(), query.documents[d].end());
        }
        if (starts.empty()) continue;
        paths.push_back((folder / std::to_string(first)).string());
        std::filesystem::remove(paths.back());  // what is mapped stays as it was
        seal::store::write(paths.back(), symbols, starts, 1);
    }
    return seal::store::TokenStores(paths);
}

}  // namespace

int main() {
    const auto folder =
        std::filesystem::temp_directory_path() / ("rank_test." + std::to_string(getpid()));
    std::filesystem::create_directory(folder);
    std::mt19937 source(20);
    for (int round = 0; round < 300; ++round) {
        const Case query = random_case(source);
        Cache cache(round % 3 == 0 ? 0 : 4'000);
        const seal::store::TokenStores stores = stored(query, folder);
        std::vector<std::jthread> threads;
        for (std::size_t i = 0; i < 4; ++i) {
            threads.emplace_back([&, i] {
                for (const std::size_t n_hits : {1, 2, 5, 99})
                    check(query, cache, stores, i >= 2, i % 2 == 1, n_hits);
            });
        }
    }
    std::filesystem::remove_all(folder);
    std::puts("rank_test: ok");
}
