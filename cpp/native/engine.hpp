// The native engine: a wavelet tree, samples and the table of documents, mapped from one file.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "../engine.hpp"
#include "alphabet.hpp"
#include "code.hpp"
#include "file.hpp"
#include "samples.hpp"
#include "tree.hpp"

namespace seal::native {

class NativeEngine final : public Engine {
  public:
    /// Takes time linear in the number of distinct symbols. Throws std::runtime_error if there is no
    /// sound file. Damage inside the large tables is found, if at all, when a query reads it; the query
    /// then throws std::runtime_error.
    explicit NativeEngine(const std::string& path);

    [[nodiscard]] Row n_rows() const override { return file_.header().n + 1; }
    [[nodiscard]] std::uint64_t n_documents() const override { return documents_.size(); }
    [[nodiscard]] Symbol boundary() const override { return file_.header().boundary; }
    [[nodiscard]] std::uint64_t n_symbols() const { return alphabet_.size(); }
    [[nodiscard]] std::uint32_t sample_rate() const { return file_.header().sample_rate; }
    [[nodiscard]] std::vector<std::pair<std::string, std::uint64_t>> size_in_bytes() const override;

    void extend(std::span<const Range> ranges, std::span<const Symbol> symbols,
                std::span<Range> out) const override;
    void verify(std::span<const Range> ranges, std::span<const Symbol> candidates, std::size_t width,
                std::span<Range> out) const override;
    [[nodiscard]] Successors successors(std::span<const Range> ranges) const override;
    void locate(std::span<const Row> rows, std::span<Position> out) const override;
    [[nodiscard]] Streams extract(std::span<const std::uint64_t> documents) const override;
    [[nodiscard]] std::vector<Row> rows(std::span<const std::uint64_t> documents) const override;

  private:
    [[nodiscard]] bool is_everything(const Range& range) const {
        return range.lo == 0 && range.hi == n_rows();
    }
    /// Rows of the suffixes one symbol longer, to the front, of rows that are not end_row's.
    void precede(std::span<std::uint32_t> rows, std::span<Access> read) const;
    [[nodiscard]] Position position(std::uint64_t suffix) const;
    void locate_chunk(std::span<const Row> rows, std::span<Position> out) const;
    /// Where the streams of documents begin when they lie one after another, and their end.
    [[nodiscard]] std::vector<std::uint64_t> offsets(std::span<const std::uint64_t> documents) const;
    /// Walks through documents, kBatch at a time; visit(place, symbol, row) is called for each symbol,
    /// its place being that among all streams.
    void walk(std::span<const std::uint64_t> documents, std::span<const std::uint64_t> offsets,
              const auto& visit) const;
    void walk_chunk(std::span<const std::uint64_t> documents, const std::uint64_t* offsets,
                    const auto& visit) const;

    MappedFile file_;
    Alphabet alphabet_;
    Code code_;
    Dense boundary_;
    Tree tree_;
    Documents documents_;
    std::span<const MarkBlock> marks_;
    std::span<const std::uint64_t> samples_;
    std::span<const std::uint32_t> document_rows_;
    unsigned sample_bits_;
};

}  // namespace seal::native
