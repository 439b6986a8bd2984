#include "finder.hpp"

#include <algorithm>
#include <bit>

namespace seal::rank {

Finder::Finder(const Query& query, std::span<const std::uint32_t> keys)
    : starts_(std::bit_ceil(2 * (query.n_unigrams() + keys.size()) + 1)) {
    for (std::size_t i = 0; i < query.n_unigrams(); ++i) {
        start(query.unigram(i)).unigram = static_cast<std::uint32_t>(i);
    }
    for (const std::uint32_t key : keys) add(query.symbols(key), key);
}

std::size_t Finder::slot(Symbol symbol) const {
    std::size_t at = (symbol * 0x9E3779B97F4A7C15ULL >> 32) & (starts_.size() - 1);
    while (starts_[at].used() && starts_[at].symbol != symbol) at = (at + 1) & (starts_.size() - 1);
    return at;
}

Finder::Start& Finder::start(Symbol symbol) {
    Start& found = starts_[slot(symbol)];
    if (!found.used()) {
        found.symbol = symbol;
        maybe_[symbol % 65'536 / 64] |= std::uint64_t{1} << symbol % 64;
        ++n_used_;
    }
    return found;
}

void Finder::add(std::span<const Symbol> symbols, std::uint32_t key) {
    Start& first = start(symbols[0]);
    if (first.node == kNone) {
        first.node = static_cast<std::uint32_t>(nodes_.size());
        nodes_.emplace_back();
    }
    std::uint32_t node = first.node;
    for (const Symbol symbol : symbols.subspan(1)) {
        const auto found = std::ranges::find(nodes_[node].children, symbol, &Child::symbol);
        if (found != nodes_[node].children.end()) {
            node = found->node;
            continue;
        }
        const auto fresh = static_cast<std::uint32_t>(nodes_.size());
        nodes_[node].children.push_back({symbol, fresh});
        nodes_.emplace_back();
        node = fresh;
    }
    nodes_[node].key = key;
}

void Finder::find(std::span<const Symbol> stream, std::vector<Occurrence>& keys,
                  std::vector<Unigram>& unigrams) {
    keys.clear();
    unigrams.clear();
    find_starts(stream);
    for (const std::uint32_t position : std::span(positions_).first(n_positions_)) {
        const Start& found = starts_[slot(stream[position])];
        if (found.unigram != kNone) unigrams.push_back({found.unigram, position});
        if (found.node != kNone) follow(found.node, stream, position + 1, keys);
    }
}

/// Without a branch on the symbol: whether a token starts something cannot be predicted.
void Finder::find_starts(std::span<const Symbol> stream) {
    if (positions_.size() < stream.size()) positions_.resize(stream.size());
    std::size_t n = 0;
    for (std::size_t i = 0; i < stream.size(); ++i) {
        const Symbol symbol = stream[i];
        positions_[n] = static_cast<std::uint32_t>(i);
        n += maybe_[symbol % 65'536 / 64] >> symbol % 64 & 1;
    }
    n_positions_ = n;
}

void Finder::follow(std::uint32_t node, std::span<const Symbol> stream, std::size_t end,
                    std::vector<Occurrence>& keys) const {
    while (true) {
        const Node& here = nodes_[node];
        if (here.key != kNone) keys.push_back({here.key, static_cast<std::uint32_t>(end)});
        if (end == stream.size()) return;
        const auto found = std::ranges::find(here.children, stream[end], &Child::symbol);
        if (found == here.children.end()) return;
        node = found->node;
        ++end;
    }
}

}  // namespace seal::rank
