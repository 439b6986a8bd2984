#include "mapping.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>

namespace seal {
namespace {

using Status = struct stat;

/// Closed when it goes.
struct Descriptor {
    int number;
    ~Descriptor() {
        if (number >= 0) close(number);
    }
};

}  // namespace

Mapping::Mapping(const std::string& path) {
    const auto fail = [&](const std::string& what, int error) {
        throw std::runtime_error(path + " " + what + ": " + std::strerror(error));
    };
    // A pipe that nobody writes to would be waited for without O_NONBLOCK.
    const Descriptor file{open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
    Status status{};
    if (file.number < 0 || fstat(file.number, &status) != 0) fail("cannot be opened", errno);
    if (!S_ISREG(status.st_mode)) throw std::runtime_error(path + " is not a file");
    const auto size = static_cast<std::size_t>(status.st_size);
    if (size == 0) return;
    void* mapped = mmap(nullptr, size, PROT_READ, MAP_SHARED, file.number, 0);
    if (mapped == MAP_FAILED) fail("cannot be mapped into memory", errno);
    bytes_ = {static_cast<const std::byte*>(mapped), size};
}

Mapping::~Mapping() {
    if (!bytes_.empty()) munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

}  // namespace seal
