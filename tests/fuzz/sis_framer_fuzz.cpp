// SPDX-License-Identifier: Apache-2.0
// Input: an octet that selects the cuts, then a stream. Cuts may not change the output, memory must
// stay bounded, and after the longest frame that may have begun the next frame is found.
#include "s5066d/base/rng.h"
#include "sis/framer.h"

using namespace s5066;

namespace {

/// Appends every item of the framer to one string of octets that distinguishes the items.
void drain(sis::Framer& framer, Bytes& out) {
  while (const auto item = framer.poll()) {
    if (const auto* frame = std::get_if<sis::Framer::Frame>(&*item)) {
      S5066_ASSERT(!frame->body.empty());
      out.push_back('F');
      put_u16(out, static_cast<std::uint16_t>(frame->body.size()));
      append(out, frame->body);
    } else {
      out.push_back('P');
      out.push_back(static_cast<std::uint8_t>(std::get<sis::Framer::Problem>(*item)));
    }
  }
  S5066_ASSERT(framer.buffered() < sis::kHeaderOctets + sis::kBodyOctetsMax);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  Rng rng(data[0]);
  const ByteSpan stream(data + 1, size - 1);

  sis::Framer whole;
  Bytes from_whole;
  whole.push(stream);
  drain(whole, from_whole);

  sis::Framer cut;
  Bytes from_cut;
  for (std::size_t at = 0; at < stream.size();) {
    const std::size_t piece = std::min<std::size_t>(1 + rng.below(16), stream.size() - at);
    cut.push(stream.subspan(at, piece));
    drain(cut, from_cut);
    at += piece;
  }
  S5066_ASSERT(from_cut == from_whole);
  S5066_ASSERT(cut.buffered() == whole.buffered() && cut.partial() == whole.partial());

  Bytes tail(sis::kHeaderOctets + sis::kBodyOctetsMax, 0);
  sis::encode(sis::KeepAlive{}, tail);
  Bytes rest;
  whole.push(tail);
  drain(whole, rest);
  S5066_ASSERT(!whole.partial());
  S5066_ASSERT(rest.size() >= 4 && rest[rest.size() - 4] == 'F' && rest.back() == 17);
  return 0;
}
