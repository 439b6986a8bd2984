#include "store.hpp"

#include <algorithm>
#include <cstring>
#include <functional>
#include <stdexcept>

#include "../checks.hpp"
#include "../packed.hpp"

namespace seal::store {
namespace {

constexpr std::size_t kRoom = 256;  // symbols; of most passages

}  // namespace

TokenStore::TokenStore(const std::string& path) : file_(path) {
    const Header& header = file_.header();
    const auto first = first_ranks(header.widths);
    for (std::size_t i = 0; i < kClasses; ++i) {
        const unsigned width = header.widths[i];
        classes_[i] = {(std::uint64_t{1} << width) - 1, first[i], kClassBits + width};
    }
    const auto bound = [&](std::uint64_t i) { return unpack(file_.offsets(), i, header.offset_width); };
    if (bound(0) != 0 || bound(header.n_documents) != header.n_bits)
        file_.fail("is damaged: its documents do not fill it");
}

Range TokenStore::extent(std::uint64_t document) const {
    const unsigned width = file_.header().offset_width;
    const Range extent{unpack(file_.offsets(), document, width),
                       unpack(file_.offsets(), document + 1, width)};
    if (extent.lo >= extent.hi || extent.hi > file_.header().n_bits) fail(document);
    return extent;
}

void TokenStore::prefetch(std::uint64_t document) const {
    const std::uint64_t bit = unpack(file_.offsets(), document, file_.header().offset_width);
    const std::byte* first = file_.codes().data() + std::min(bit, file_.header().n_bits) / 8;
    __builtin_prefetch(first);
    __builtin_prefetch(first + 64);
}

std::size_t TokenStore::read(std::uint64_t document, std::vector<Symbol>& out, Symbol last) const {
    const Range bits = extent(document);
    const auto symbols = file_.symbols();
    const std::byte* codes = file_.codes().data();
    const Symbol boundary = file_.header().boundary;
    const std::size_t first = out.size();
    std::size_t n = first;
    Symbol symbol = boundary;
    for (std::uint64_t at = bits.lo; at < bits.hi;) {
        std::uint64_t word;
        std::memcpy(&word, codes + at / 8, sizeof word);
        word >>= at % 8;
        const Class& found = classes_[word % kClasses];
        const std::uint64_t rank = found.first + (word >> kClassBits & found.mask);
        // A code that nothing has, a document that runs into the next one, or over its own end.
        if (rank >= symbols.size()) fail(document);
        symbol = symbols[rank];
        at += found.length;
        if (at > bits.hi || (symbol == boundary) != (n == first)) fail(document);
        if (n == out.size()) out.resize(n + (n - first) / 2 + kRoom);
        out[n++] = symbol;
        if (symbol == last) break;
    }
    if (last != 0 && symbol != last) fail(document);
    out.resize(n);
    return n - first;
}

void TokenStore::fail(std::uint64_t document) const {
    file_.fail("is damaged: document " + std::to_string(document) + " makes no sense");
}

TokenStores::TokenStores(const std::vector<std::string>& paths, std::vector<Live> live)
    : live_(std::move(live)) {
    if (live_.size() != paths.size()) {
        throw std::invalid_argument(std::to_string(paths.size()) + " stores, and live documents of " +
                                    std::to_string(live_.size()));
    }
    for (std::size_t i = 0; i < paths.size(); ++i) {
        stores_.push_back(std::make_unique<const TokenStore>(paths[i]));
        if (const Live& numbers = live_[i]) {
            const bool ascending = std::ranges::is_sorted(*numbers, std::less_equal<>());
            if (!ascending || (!numbers->empty() && numbers->back() >= stores_[i]->n_documents())) {
                throw std::invalid_argument(paths[i] +
                                            ": live documents are not ascending numbers of its " +
                                            std::to_string(stores_[i]->n_documents()));
            }
        }
        bases_.push_back(bases_.back() + n_live(i));
    }
}

std::uint64_t TokenStores::n_live(std::size_t store) const {
    return live_[store] ? live_[store]->size() : stores_[store]->n_documents();
}

std::uint64_t TokenStores::physical(std::size_t store, std::uint64_t number) const {
    return live_[store] ? (*live_[store])[number] : number;
}

std::vector<std::pair<std::uint64_t, std::uint64_t>> TokenStores::sizes() const {
    std::vector<std::pair<std::uint64_t, std::uint64_t>> found;
    for (const auto& store : stores_) found.emplace_back(store->n_documents(), store->n_tokens());
    return found;
}

std::pair<const TokenStore&, std::uint64_t> TokenStores::find(std::uint64_t document) const {
    const auto above = std::ranges::upper_bound(bases_, document);
    const auto at = static_cast<std::size_t>(above - bases_.begin()) - 1;
    return {*stores_[at], physical(at, document - bases_[at])};
}

Streams TokenStores::extract(std::span<const std::uint64_t> documents) const {
    check_documents(documents, n_documents());
    Streams result;
    result.offsets.reserve(documents.size() + 1);
    result.offsets.push_back(0);
    for (const std::uint64_t document : documents) {
        const auto [store, number] = find(document);
        store.read(number, result.symbols);
        result.offsets.push_back(result.symbols.size());
    }
    return result;
}

std::vector<std::int64_t> TokenStores::value_lengths(Symbol start, Symbol end, bool first_only) const {
    std::vector<std::int64_t> counts(1);
    std::vector<Symbol> stream;
    for (std::size_t i = 0; i < stores_.size(); ++i) {
        for (std::uint64_t number = 0; number < n_live(i); ++number) {
            stream.clear();
            stores_[i]->read(physical(i, number), stream, first_only ? end : 0);
            std::size_t begin = 0;
            for (std::size_t at = 0; at < stream.size(); ++at) {
                if (stream[at] == start) begin = at;
                if (stream[at] != end) continue;
                if (counts.size() <= at - begin) counts.resize(at - begin + 1);
                ++counts[at - begin];
            }
        }
    }
    return counts;
}

}  // namespace seal::store
