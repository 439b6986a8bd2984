// The engine of the paper: sdsl-lite's compressed suffix array, used without its published off-by-one.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "../engine.hpp"

namespace seal::sdsl {

struct Contents;

class SdslEngine final : public Engine {
  public:
    /// Reads a file of build_sdsl into memory, in time linear in its size.
    /// Throws std::runtime_error when it is absent, of another kind or version, or damaged.
    explicit SdslEngine(const std::string& path);
    ~SdslEngine() override;

    [[nodiscard]] Row n_rows() const override;
    [[nodiscard]] std::uint64_t n_documents() const override;
    [[nodiscard]] Symbol boundary() const override;
    /// Number of distinct symbols, `boundary` included.
    [[nodiscard]] std::uint64_t n_symbols() const;
    /// Bytes of each part of the file but the header; linear in the size of the index.
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
    struct Scratch;

    [[nodiscard]] std::uint64_t dense(Symbol symbol) const;
    [[nodiscard]] bool is_whole(Range range) const;
    [[nodiscard]] Range step(Range range, Symbol symbol) const;
    void append_successors(Range range, Scratch& scratch, Successors& out) const;
    /// Calls visit(symbol, row) for each symbol of a document.
    void walk(std::uint64_t document, const auto& visit) const;

    std::unique_ptr<const Contents> contents_;
    std::uint64_t dense_boundary_;
};

}  // namespace seal::sdsl
