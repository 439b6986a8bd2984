// Random operations on a growing and shrinking index of several segments, each against a plain scan.
//
// One operation adds a segment, drops one, deletes documents (a view), or asks: extend, verify, successors,
// locate, extract, rows; of one engine and of all segments as one. Run under sanitizers (`make asan tsan`).
// `operations_test [SECONDS [SEED]]` goes on for longer, or from another seed; a failure names the seed.
#include <unistd.h>
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <map>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <string_view>
#include <utility>
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
using Stream = std::vector<Symbol>;
using Places = std::vector<std::pair<std::uint64_t, std::uint64_t>>;  // documents and ends, ascending

unsigned the_seed = 20221128;

void require(bool condition, const std::string& what) {
    if (condition) return;
    std::cerr << "operations_test: FAILED with seed " << the_seed << ": " << what << '\n';
    std::exit(1);
}

/// A file, its engine, the view without what has been deleted, and the streams that are left.
struct Segment {
    std::unique_ptr<const NativeEngine> whole;
    std::unique_ptr<const LiveEngine> view;  // null until a document is deleted
    std::vector<Stream> all;
    std::vector<std::uint64_t> dead;
    std::vector<Stream> live;

    [[nodiscard]] const Engine& engine() const {
        if (view) return *view;
        return *whole;
    }
};

class Operations {
  public:
    Operations(unsigned seed, fs::path folder) : random_(seed), folder_(std::move(folder)) { add(); }

    void next() {
        switch (random_() % 24) {
            case 0:
                return add();
            case 1:
                return drop();
            case 2:
            case 3:
                return erase();
            case 4:
                return documents();
            case 5:
                return together();
            default:
                return ask();
        }
    }

    std::map<std::string, std::uint64_t> counts;

  private:
    [[nodiscard]] unsigned below(std::size_t n) { return random_() % static_cast<unsigned>(n); }

    void add() {
        if (segments_.size() >= 5) drop();
        ++counts["segments built"];
        const unsigned n_words = std::vector<unsigned>{1, 3, 40, 300}[below(4)];
        Segment made;
        std::vector<Symbol> symbols;
        std::vector<std::uint64_t> starts;
        for (unsigned n = 1 + below(12); n > 0; --n) {
            Stream stream = {kBoundary};
            for (unsigned k = below(25); k > 0; --k) {
                stream.push_back(2 + std::min(below(n_words), below(n_words)));
            }
            starts.push_back(symbols.size());
            symbols.insert(symbols.end(), stream.begin(), stream.end());
            made.all.push_back(std::move(stream));
        }
        const std::string path = folder_ / std::to_string(n_built_++);
        save(symbols, starts, path);
        made.whole = std::make_unique<NativeEngine>(path);
        fs::remove(path);  // it stays mapped
        made.live = made.all;
        segments_.push_back(std::move(made));
    }

    void save(const std::vector<Symbol>& symbols, const std::vector<std::uint64_t>& starts,
              const std::string& path) {
        const SortableText text = densify(symbols, starts, kBoundary);
        const std::string bytes(text.bytes.begin(), text.bytes.end());
        const std::string_view all = bytes;
        std::vector<std::int32_t> suffixes(symbols.size());
        std::iota(suffixes.begin(), suffixes.end(), 0);
        std::ranges::sort(suffixes, [&](std::int32_t a, std::int32_t b) {
            return all.substr(text.width * static_cast<std::size_t>(a)) <
                   all.substr(text.width * static_cast<std::size_t>(b));
        });
        const std::uint32_t rate = std::vector<std::uint32_t>{1, 2, 8, 32}[below(4)];
        Builder(text.alphabet, text.bytes, suffixes, starts, kBoundary, rate).save(path);
    }

    void drop() {
        if (segments_.size() < 2) return;
        ++counts["segments dropped"];
        segments_.erase(segments_.begin() + below(segments_.size()));
    }

    void erase() {
        Segment& segment = segments_[below(segments_.size())];
        std::vector<std::uint64_t> dead;
        segment.live.clear();
        for (std::uint64_t document = 0; document < segment.all.size(); ++document) {
            if (std::ranges::binary_search(segment.dead, document) || random_() % 4 == 0) {
                dead.push_back(document);
            } else {
                segment.live.push_back(segment.all[document]);
            }
        }
        ++counts["views made"];
        segment.dead = std::move(dead);
        segment.view =
            std::make_unique<LiveEngine>(*segment.whole, segment.dead, LiveEngine::Named::kDead);
    }

    /// An n-gram of the text, one that is changed at its end, or anything.
    [[nodiscard]] Stream ngram(const std::vector<Stream>& streams) {
        Stream found;
        if (!streams.empty() && random_() % 8 != 0) {
            const Stream& stream = streams[below(streams.size())];
            const std::size_t at = below(stream.size());
            const std::size_t n = std::min<std::size_t>(1 + below(5), stream.size() - at);
            found.assign(stream.begin() + static_cast<std::ptrdiff_t>(at),
                         stream.begin() + static_cast<std::ptrdiff_t>(at + n));
            if (random_() % 4 == 0) found.back() = 1 + below(50);
        } else {
            for (unsigned n = below(4); n > 0; --n) found.push_back(below(60));
        }
        return found;
    }

    [[nodiscard]] static Places scan(const std::vector<Stream>& streams, const Stream& ngram) {
        Places found;
        for (std::size_t d = 0; d < streams.size(); ++d) {
            for (auto at = streams[d].begin();; ++at) {
                at = std::search(at, streams[d].end(), ngram.begin(), ngram.end());
                if (at == streams[d].end()) break;
                found.emplace_back(d,
                                   static_cast<std::uint64_t>(at - streams[d].begin()) + ngram.size());
            }
        }
        return found;
    }

    /// How often each symbol follows the n-gram in its document.
    [[nodiscard]] static std::map<Symbol, std::uint64_t> following(const std::vector<Stream>& streams,
                                                                   const Stream& ngram) {
        std::map<Symbol, std::uint64_t> found;
        for (const auto& [document, end] : scan(streams, ngram)) {
            if (end < streams[document].size()) ++found[streams[document][end]];
        }
        return found;
    }

    [[nodiscard]] static Range find(const Engine& engine, const Stream& ngram) {
        std::vector<Range> range = {{0, engine.n_rows()}};
        for (const Symbol symbol : ngram) {
            std::vector<Range> longer(1);
            engine.extend(range, {&symbol, 1}, longer);
            range = longer;
        }
        return range[0];
    }

    void ask() {
        const Segment& segment = segments_[below(segments_.size())];
        const Engine& engine = segment.engine();
        Stream words = ngram(segment.live);
        if (words.empty()) words = {kBoundary};
        ++counts["n-grams asked for"];
        const Range range = find(engine, words);
        const Places expected = scan(segment.live, words);
        require(range.hi - range.lo == expected.size(), "a count");
        std::vector<Row> rows(range.hi - range.lo);
        std::iota(rows.begin(), rows.end(), range.lo);
        std::vector<Position> positions(rows.size());
        engine.locate(rows, positions);
        Places found;
        for (const auto& [document, end] : positions) found.emplace_back(document, end);
        std::ranges::sort(found);
        require(found == expected, "the places of an n-gram");

        const auto counted = following(segment.live, words);
        const Successors after = engine.successors({&range, 1});
        require(after.symbols.size() == counted.size(), "how many successors there are");
        for (std::size_t k = 0; k < after.symbols.size(); ++k) {
            const auto at = counted.find(after.symbols[k]);
            require(at != counted.end() && at->second == after.ranges[k].hi - after.ranges[k].lo,
                    "a successor's count");
        }
        std::vector<Symbol> candidates = {2 + below(50), kBoundary, below(5), 4000000000U};
        std::vector<Range> verified(candidates.size());
        engine.verify({&range, 1}, candidates, candidates.size(), verified);
        for (std::size_t k = 0; k < candidates.size(); ++k) {
            const auto at = counted.find(candidates[k]);
            require(verified[k].hi - verified[k].lo == (at == counted.end() ? 0 : at->second),
                    "a candidate's count");
        }
    }

    /// Streams of any documents in any order, and the row of each of their symbols.
    void documents() {
        const Segment& segment = segments_[below(segments_.size())];
        if (segment.live.empty()) return;
        ++counts["documents read"];
        std::vector<std::uint64_t> wanted(1 + below(6));
        for (auto& document : wanted) document = below(segment.live.size());
        const Streams streams = segment.engine().extract(wanted);
        const std::vector<Row> rows = segment.engine().rows(wanted);
        Stream expected;
        Places ends;
        for (const std::uint64_t document : wanted) {
            const Stream& stream = segment.live[document];
            expected.insert(expected.end(), stream.begin(), stream.end());
            for (std::uint64_t end = 1; end <= stream.size(); ++end) ends.emplace_back(document, end);
        }
        require(streams.symbols == expected, "a document's text");
        std::vector<Position> positions(rows.size());
        segment.engine().locate(rows, positions);
        require(positions.size() == ends.size(), "how many rows documents have");
        for (std::size_t k = 0; k < ends.size(); ++k) {
            require(positions[k].document == ends[k].first && positions[k].end == ends[k].second,
                    "where a document's row is located");
        }
    }

    /// All segments as one index.
    void together() {
        std::vector<const Engine*> engines;
        std::vector<Stream> live;
        for (const Segment& segment : segments_) {
            engines.push_back(&segment.engine());
            live.insert(live.end(), segment.live.begin(), segment.live.end());
        }
        const Segments all(engines);
        require(all.n_documents() == live.size(), "how many documents there are");
        ++counts["questions to all segments"];
        Stream words = ngram(live);
        if (words.empty()) words = {kBoundary};
        std::vector<Range> ranges;
        for (const Engine* engine : engines) ranges.push_back({0, engine->n_rows()});
        for (const Symbol symbol : words) {
            std::vector<Range> longer(ranges.size());
            all.extend(ranges, {&symbol, 1}, longer);
            ranges = longer;
        }
        Places found;
        for (const auto& [document, end] : all.locate(ranges).positions)
            found.emplace_back(document, end);
        std::ranges::sort(found);
        require(found == scan(live, words), "the places of an n-gram in all segments");
        const auto counted = following(live, words);
        const SparseSuccessors after = all.successors(ranges);
        require(after.symbols.size() == counted.size(), "successors in all segments");
        auto expected = counted.begin();
        for (std::size_t j = 0; j < after.symbols.size(); ++j, ++expected) {
            std::uint64_t count = 0;
            for (std::uint64_t k = after.firsts[j]; k < after.firsts[j + 1]; ++k) {
                count += after.ranges[k].hi - after.ranges[k].lo;
            }
            require(after.symbols[j] == expected->first && count == expected->second,
                    "a successor's count in all segments");
        }
    }

    std::mt19937 random_;
    fs::path folder_;
    std::vector<Segment> segments_;
    std::uint64_t n_built_ = 0;
};

}  // namespace

int main(int n_arguments, char** arguments) {
    const double seconds = n_arguments > 1 ? std::atof(arguments[1]) : 0;
    if (n_arguments > 2) the_seed = static_cast<unsigned>(std::strtoul(arguments[2], nullptr, 10));
    const fs::path folder =
        fs::temp_directory_path() / ("seal-operations-test-" + std::to_string(getpid()));
    fs::create_directories(folder);
    const auto began = std::chrono::steady_clock::now();
    const auto passed = [&] {
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
    };
    {
        Operations operations(the_seed, folder);
        for (std::uint64_t n = 0; n < 50000 || passed() < seconds; ++n) operations.next();
        for (const auto& [what, count] : operations.counts) std::cout << count << ' ' << what << '\n';
    }
    std::cout << passed() << " seconds, seed " << the_seed << '\n';
    fs::remove_all(folder);
    return 0;
}
