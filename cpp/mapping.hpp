// A file mapped into memory, for reading: its pages are shared by all that have it open.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace seal {

class Mapping {
  public:
    /// Throws std::runtime_error, naming the file, if it cannot be opened or mapped or is none (a
    /// folder, a pipe).
    explicit Mapping(const std::string& path);
    Mapping(const Mapping&) = delete;
    Mapping& operator=(const Mapping&) = delete;
    ~Mapping();

    /// All bytes of the file, from the start of a page; none where it is empty.
    [[nodiscard]] std::span<const std::byte> bytes() const { return bytes_; }

  private:
    std::span<const std::byte> bytes_;
};

}  // namespace seal
