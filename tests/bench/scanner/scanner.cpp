// SPDX-License-Identifier: Apache-2.0
// Measures how fast D_PDUs are written and found: trains of DATA-ONLY, aligned and three bits late,
// and noise without any, in processor time. Each figure is a median; the reference in the same run
// is the CRC-32 of as many octets.
#include "s5066d/pdu/scanner.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <ctime>
#include <functional>
#include <string>

#include "s5066d/base/crc.h"
#include "tests/bench/common/arguments.h"
#include "tests/support/dpdu_samples.h"

namespace s5066 {
namespace {

constexpr std::size_t kStreamOctets = 8'000'000;
constexpr std::size_t kPushOctets = 540;  // octets of some interleaver blocks

double seconds_of(const std::function<void()>& work, int runs) {
  std::vector<double> times;
  for (int i = 0; i < runs; ++i) {
    const std::clock_t begin = std::clock();
    work();
    times.push_back(static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC);
  }
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

Bytes train(std::size_t segment_octets) {
  Rng rng(1);
  pdu::Data data;
  data.segment = test::random_bytes(rng, segment_octets);
  Bytes stream;
  while (stream.size() < kStreamOctets) pdu::encode(data, stream);
  return stream;
}

Bytes three_bits_late(const Bytes& stream) {
  Bytes late(stream.size() + 1);
  for (std::size_t i = 0; i < stream.size(); ++i) {
    late[i] |= static_cast<std::uint8_t>(stream[i] << 3);
    late[i + 1] = static_cast<std::uint8_t>(stream[i] >> 5);
  }
  return late;
}

void scan(ByteSpan stream) {
  Counters counters;
  pdu::Scanner scanner(counters);
  while (!stream.empty()) {
    const std::size_t size = std::min(stream.size(), kPushOctets);
    scanner.push(stream.first(size));
    stream = stream.subspan(size);
    while (scanner.poll()) {
    }
  }
}

struct Row {
  std::string name;
  std::function<void()> work;
};

std::vector<Row> rows() {
  std::vector<Row> all;
  for (const std::size_t segment : {std::size_t{200}, pdu::kSegmentOctetsMax}) {
    const std::string suffix = "_" + std::to_string(segment);
    const Bytes aligned = train(segment);
    all.push_back({"encode" + suffix, [segment] { train(segment); }});
    all.push_back({"scan_aligned" + suffix, [aligned] { scan(aligned); }});
    all.push_back({"scan_late" + suffix, [late = three_bits_late(aligned)] { scan(late); }});
  }
  Rng rng(2);
  const Bytes noise = test::random_bytes(rng, kStreamOctets);
  all.push_back({"scan_noise", [noise] { scan(noise); }});
  return all;
}

}  // namespace
}  // namespace s5066

int main(int argc, char** argv) {
  using namespace s5066;
  const bench::Arguments arguments(argc, argv, {}, {"json", "quick"});
  const int runs = arguments.has("quick") ? 3 : 15;
  const Bytes plain(kStreamOctets, 0x55);
  volatile std::uint32_t keep = 0;
  const double reference = seconds_of([&] { keep = segment_crc(plain); }, runs);
  for (const Row& row : rows()) {
    const double seconds = seconds_of(row.work, runs);
    std::printf(arguments.has("json")
                    ? "{\"name\":\"%s\",\"mbyte_per_s\":%.0f,\"ratio_to_crc\":%.2f}\n"
                    : "%-18s %6.0f Mbyte/s, %.2f times the CRC-32 of its octets\n",
                row.name.c_str(), 1e-6 * kStreamOctets / seconds, seconds / reference);
  }
}
