// SPDX-License-Identifier: Apache-2.0
// Runs a fuzz target on every seed of a corpus: `replay_NAME CORPUS [OUT]`. A seed is a text file
// of hex digits; `#` begins a comment up to the end of the line. With OUT, the seeds are also
// written there as octets, which is the form that libFuzzer reads.
#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

#include "s5066d/base/bytes.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

namespace fs = std::filesystem;

s5066::Result<s5066::Bytes> read_seed(const fs::path& path) {
  std::ifstream file(path);
  std::string digits, line;
  while (std::getline(file, line)) digits += line.substr(0, line.find('#')) + '\n';
  if (!file.eof()) return s5066::Error{s5066::ErrorCode::io, "cannot read"};
  return s5066::from_hex(digits);
}

std::vector<fs::path> seeds_in(const fs::path& corpus) {
  std::vector<fs::path> seeds;
  std::error_code missing;  // a missing corpus has no seeds, which main reports
  for (const auto& entry : fs::directory_iterator(corpus, missing)) {
    if (entry.path().extension() == ".hex") seeds.push_back(entry.path());
  }
  std::sort(seeds.begin(), seeds.end());
  return seeds;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2 || argc > 3) {
    std::cerr << "usage: " << argv[0] << " CORPUS [OUT]\n";
    return 2;
  }
  const auto seeds = seeds_in(argv[1]);
  if (seeds.empty()) {
    std::cerr << argv[1] << ": no seeds\n";
    return 1;
  }
  for (const fs::path& path : seeds) {
    const auto seed = read_seed(path);
    if (!seed) {
      std::cerr << path.string() << ": " << to_string(seed.error()) << '\n';
      return 1;
    }
    std::cout << path.filename().string() << ' ' << seed->size() << " octets" << std::endl;
    LLVMFuzzerTestOneInput(seed->data(), seed->size());
    if (argc == 3) {
      std::ofstream(fs::path(argv[2]) / path.stem(), std::ios::binary)
          .write(reinterpret_cast<const char*>(seed->data()),
                 static_cast<std::streamsize>(seed->size()));
    }
  }
  return 0;
}
