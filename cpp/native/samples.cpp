#include "samples.hpp"

#include <algorithm>
#include <bit>
#include <stdexcept>

namespace seal::native {

std::uint32_t MarkBlock::rank(unsigned offset) const {
    std::uint32_t n = before;
    for (unsigned k = 0; k < offset / 32; ++k) n += static_cast<std::uint32_t>(std::popcount(words[k]));
    const std::uint32_t below = (std::uint32_t{1} << (offset % 32)) - 1;
    return n + static_cast<std::uint32_t>(std::popcount(words[offset / 32] & below));
}

Range Documents::extent(std::uint64_t document) const {
    const Range extent{starts_[document], starts_[document + 1]};
    // Also against the directory: a length out of this world would be asked of the allocator.
    const auto agrees = [&](std::uint64_t position) {
        return directory_[position / kStride] <= document &&
               document <= directory_[position / kStride + 1];
    };
    if (extent.lo >= extent.hi || extent.hi > starts_.back() || !agrees(extent.lo) ||
        !agrees(extent.hi - 1))
        throw std::runtime_error("the table of documents is damaged");
    return extent;
}

std::uint64_t Documents::at(std::uint64_t position) const {
    const std::uint64_t first = directory_[position / kStride];
    const std::uint64_t last = directory_[position / kStride + 1];
    if (first > last || last >= size()) throw std::runtime_error("the table of documents is damaged");
    const auto found =
        std::upper_bound(starts_.begin() + static_cast<std::ptrdiff_t>(first) + 1,
                         starts_.begin() + static_cast<std::ptrdiff_t>(last) + 1, position);
    return static_cast<std::uint64_t>(found - starts_.begin()) - 1;
}

std::vector<std::uint32_t> Documents::make_directory(std::span<const std::uint64_t> starts,
                                                     std::uint64_t n) {
    std::vector<std::uint32_t> directory;
    directory.reserve(n_entries(n));
    std::uint32_t document = 0;
    for (std::uint64_t position = 0; position < n; position += kStride) {
        while (document + 1 < starts.size() && starts[document + 1] <= position) ++document;
        directory.push_back(document);
    }
    directory.push_back(static_cast<std::uint32_t>(starts.size() - 1));
    return directory;
}

}  // namespace seal::native
