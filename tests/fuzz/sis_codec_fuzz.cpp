// Input: the body of a frame. What decode() accepts must survive encode() and decode().
#include "sis/codec.h"

using namespace s5066;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > sis::kBodyOctetsMax) return 0;  // the framer hands on no more
  const ByteSpan body(data, size);
  const auto first = sis::decode(body);
  if (!first) return 0;
  S5066_ASSERT(static_cast<std::uint8_t>(sis::type_of(*first)) == body[0]);

  Bytes frame;
  sis::encode(*first, frame);
  S5066_ASSERT(frame.size() == sis::kHeaderOctets + body.size());
  const auto second = sis::decode(ByteSpan(frame).subspan(sis::kHeaderOctets));
  S5066_ASSERT(second.ok() && *second == *first);
  return 0;
}
