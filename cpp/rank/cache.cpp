#include "cache.hpp"

#include <algorithm>
#include <mutex>

namespace seal::rank {

namespace {

constexpr std::size_t kBytesPerPlace = 192;  // of the ring; a passage of 100 words takes about 280

}  // namespace

Cache::Cache(std::size_t n_bytes)
    : n_words_(n_bytes / (kBytesPerPlace + sizeof(Place)) * kBytesPerPlace / sizeof(std::uint16_t)),
      n_buckets_(n_bytes / (kBytesPerPlace + sizeof(Place)) / kWays),
      words_(new std::uint16_t[n_words_]),
      places_(new Place[n_buckets_ * kWays]) {}

std::size_t Cache::size_in_bytes() const {
    return n_words_ * sizeof(std::uint16_t) + n_buckets_ * kWays * sizeof(Place);
}

std::size_t Cache::bucket(std::int64_t document) const {
    const std::uint64_t mixed = static_cast<std::uint64_t>(document) * 0x9E3779B97F4A7C15ULL;
    return (mixed >> 20) % n_buckets_ * kWays;
}

bool Cache::is_kept(const Place& place) const {
    return place.document >= 0 && place.word + n_words_ >= written_;
}

const Cache::Place* Cache::find(std::int64_t document) const {
    if (n_buckets_ == 0 || document < 0) return nullptr;
    const Place* first = places_.get() + bucket(document);
    const Place* found = std::find_if(
        first, first + kWays, [&](const Place& p) { return p.document == document && is_kept(p); });
    return found == first + kWays ? nullptr : found;
}

Cache::Found Cache::get(std::span<const std::int64_t> documents) const {
    Found found;
    std::vector<const Place*> places;
    std::size_t n_symbols = 0;
    const std::shared_lock lock(mutex_);
    for (const std::int64_t document : documents) {
        const Place* place = find(document);
        if (place == nullptr) {
            found.absent.push_back(document);
            continue;
        }
        places.push_back(place);
        n_symbols += place->n_symbols;
        found.documents.push_back(document);
        found.offsets.push_back(static_cast<std::int64_t>(n_symbols));
    }
    found.symbols.resize(n_symbols);
    for (std::size_t i = 0; i < places.size(); ++i) {
        copy(*places[i], found.symbols.data() + found.offsets[i]);
    }
    return found;
}

void Cache::copy(const Place& place, Symbol* out) const {
    const std::uint16_t* word = words_.get() + place.word % n_words_;
    for (std::size_t i = 0; i < place.n_symbols; ++i) {
        out[i] = place.wide ? Symbol{word[2 * i]} | Symbol{word[2 * i + 1]} << 16 : Symbol{word[i]};
    }
}

void Cache::put(const Texts& texts) {
    const std::unique_lock lock(mutex_);
    for (std::size_t i = 0; i < texts.documents.size(); ++i) {
        const auto first = static_cast<std::size_t>(texts.offsets[i]);
        const auto last = static_cast<std::size_t>(texts.offsets[i + 1]);
        put_one(texts.documents[i], texts.symbols.subspan(first, last - first));
    }
}

void Cache::put_one(std::int64_t document, std::span<const Symbol> stream) {
    const bool wide = std::ranges::any_of(stream, [](Symbol s) { return s > 0xFFFF; });
    const std::size_t n = stream.size() * (wide ? 2 : 1);
    if (document < 0 || n_buckets_ == 0 || n > n_words_ / 4 || find(document) != nullptr) return;
    const std::size_t left = n_words_ - written_ % n_words_;
    if (n > left) written_ += left;  // a stream lies in one piece
    std::uint16_t* word = words_.get() + written_ % n_words_;
    for (std::size_t i = 0; i < stream.size(); ++i) {
        if (wide) {
            word[2 * i] = static_cast<std::uint16_t>(stream[i]);
            word[2 * i + 1] = static_cast<std::uint16_t>(stream[i] >> 16);
        } else {
            word[i] = static_cast<std::uint16_t>(stream[i]);
        }
    }
    Place* place = places_.get() + bucket(document);
    place = std::min_element(place, place + kWays, [](const Place& a, const Place& b) {
        return a.document < 0 || b.document < 0 ? a.document < 0 && b.document >= 0 : a.word < b.word;
    });
    *place = {document, static_cast<std::uint32_t>(stream.size()), wide, written_};
    written_ += n;
}

}  // namespace seal::rank
