// Input: an octet that chooses the cuts, then a bit stream. Cuts must not change what comes out,
// and after the longest frame that may have begun, the next good frame is found.
#include <optional>

#include "s5066d/base/rng.h"
#include "s5066d/pdu/scanner.h"

using namespace s5066;

namespace {

struct Outcome {
  std::vector<pdu::Received> frames;
  Counters counters;
};

bool same(const pdu::Received& a, const pdu::Received& b) {
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
  S5066_ASSERT(cut.frames.size() == whole.frames.size());
  for (std::size_t i = 0; i < cut.frames.size(); ++i) {
    S5066_ASSERT(same(cut.frames[i], whole.frames[i]));
  }
  for (const auto counter :
       {Counter::dpdus_bad_header_crc, Counter::dpdus_bad_segment_crc, Counter::dpdus_malformed}) {
    S5066_ASSERT(cut.counters[counter] == whole.counters[counter]);
  }
  return 0;
}
