// The reader of the published system's files without Python, for the sanitizers: texts come back, and
// whatever bytes are wrong there is an error or a text of the right length, never a fault.
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "../sdsl/baseline.hpp"
#include "../sdsl/published.hpp"

namespace {

using Bytes = std::vector<char>;
using Text = std::vector<seal::Symbol>;

void require(bool condition, const char* what) {
    if (condition) return;
    std::fprintf(stderr, "published_test: %s\n", what);
    std::exit(1);
}

Bytes read_file(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

void write_file(const std::string& path, const Bytes& bytes) {
    std::ofstream out(path, std::ios::binary | std::ios::trunc);
    out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

Text random_text(std::mt19937& source) {
    const unsigned n_distinct = 1 + source() % (source() % 2 == 0 ? 4 : 3000);
    Text text(1 + source() % 400);
    for (seal::Symbol& symbol : text) symbol = 1 + source() % n_distinct;
    return text;
}

/// Damaged sizes, which come first, half of the time; and now and then a file that ends early.
Bytes damaged(Bytes bytes, std::mt19937& source) {
    for (unsigned n = 1 + source() % 3; n > 0; --n) {
        const std::size_t end = source() % 2 == 0 ? 40 : bytes.size();
        bytes[source() % end] = static_cast<char>(source() % 3 == 0 ? 255 : source());
    }
    if (source() % 8 == 0) bytes.resize(source() % bytes.size());
    return bytes;
}

}  // namespace

int main() {
    std::string folder = std::filesystem::temp_directory_path() / "seal-published-XXXXXX";
    require(mkdtemp(folder.data()) != nullptr, "no temporary directory");
    const std::string path = folder + "/index.fmi";
    std::mt19937 source(20);
    unsigned refused = 0;
    for (int round = 0; round < 40; ++round) {
        const Text text = random_text(source);
        seal::sdsl::build_published(path, text);
        seal::sdsl::Published whole(path);
        require(whole.read(3).size() + whole.read(1000).size() == text.size(), "length differs");
        require(seal::sdsl::Published(path).read(1000) == text, "text differs");
        const Bytes bytes = read_file(path);
        for (int i = 0; i < 100; ++i) {
            write_file(path, damaged(bytes, source));
            try {
                require(seal::sdsl::Published(path).read(1000).size() == text.size(), "length differs");
            } catch (const std::runtime_error&) {
                ++refused;
            }
        }
    }
    std::filesystem::remove_all(folder);
    require(refused > 1000, "damage was not found");
    std::puts("published_test: ok");
}
