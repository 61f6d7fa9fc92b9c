// SPDX-License-Identifier: Apache-2.0
// Input: an octet that selects the cuts, then a bit stream. Neither cuts nor an end reported too
// early may change the output, and after the longest frame that may have begun, the next good frame
// is found.
#include <algorithm>
#include <optional>

#include "s5066d/base/rng.h"
#include "s5066d/pdu/scanner.h"

using namespace s5066;

namespace {

struct Outcome {
  std::vector<pdu::Received> frames;
  Counters counters;
};

bool is_same(const pdu::Received& a, const pdu::Received& b) {
  return a.dpdu == b.dpdu && a.segment_ok == b.segment_ok && a.first_bit == b.first_bit &&
         a.octets == b.octets;
}

void drain(pdu::Scanner& scanner, Outcome& outcome) {
  while (auto received = scanner.poll()) {
    if (!outcome.frames.empty()) {
      S5066_ASSERT(outcome.frames.back().first_bit < received->first_bit);
    }
    outcome.frames.push_back(std::move(*received));
  }
}

Outcome scan(ByteSpan stream, std::optional<std::uint64_t> cuts) {
  Outcome outcome;
  pdu::Scanner scanner(outcome.counters);
  Rng rng(cuts.value_or(0));
  while (!stream.empty()) {
    const std::size_t size =
        cuts ? std::min<std::size_t>(stream.size(), 1 + rng.below(40)) : stream.size();
    scanner.push(stream.first(size));
    stream = stream.subspan(size);
    drain(scanner, outcome);
  }
  scanner.finish();
  drain(scanner, outcome);
  return outcome;
}

Outcome scan_interrupted(ByteSpan stream, std::size_t at) {
  Outcome outcome;
  pdu::Scanner scanner(outcome.counters);
  scanner.push(stream.first(at));
  drain(scanner, outcome);
  scanner.finish();
  while (scanner.poll()) continue;
  scanner.reset();
  scanner.resume();
  scanner.push(stream.subspan(at));
  drain(scanner, outcome);
  scanner.finish();
  drain(scanner, outcome);
  return outcome;
}

bool same(const Outcome& a, const Outcome& b) {
  return std::equal(a.frames.begin(), a.frames.end(), b.frames.begin(), b.frames.end(), is_same);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  Bytes stream(data + 1, data + size);
  stream.resize(stream.size() + pdu::kDpduOctetsMax);
  const pdu::Dpdu good = pdu::Warning{.common = {}, .received_type = 3, .reason = 1};
  const std::size_t good_at = stream.size();
  pdu::encode(good, stream);

  const Outcome whole = scan(stream, std::nullopt);
  S5066_ASSERT(!whole.frames.empty());
  S5066_ASSERT(whole.frames.back().dpdu == good);
  S5066_ASSERT(whole.frames.back().first_bit == 8 * good_at);
  S5066_ASSERT(whole.counters[Counter::dpdus_received] == whole.frames.size());

  const Outcome cut = scan(stream, data[0]);
  S5066_ASSERT(same(cut, whole));
  for (const auto counter :
       {Counter::dpdus_bad_header_crc, Counter::dpdus_bad_segment_crc, Counter::dpdus_malformed}) {
    S5066_ASSERT(cut.counters[counter] == whole.counters[counter]);
  }
  S5066_ASSERT(same(scan_interrupted(stream, data[0] * stream.size() / 255), whole));
  return 0;
}
