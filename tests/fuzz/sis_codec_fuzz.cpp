// SPDX-License-Identifier: Apache-2.0
// Input: the body of a frame. encode() must write back each octet of a body that decode() accepts,
// apart from the bits without meaning.
#include <algorithm>

#include "sis/codec.h"

using namespace s5066;

namespace {

/// Sets the bits without meaning as encode() does: unused ones to 0, address sizes to 7.
Bytes normalised(ByteSpan body) {
  Bytes out(body.begin(), body.end());
  const auto clear = [&out](std::size_t at, unsigned mask) {
    out[at] = static_cast<std::uint8_t>(out[at] & ~mask);
  };
  const auto full_address = [&out](std::size_t at) { out[at] = out[at] | 0xE0; };
  switch (static_cast<sis::Type>(body[0])) {
    case sis::Type::bind_request:
      clear(3, 0x0F);
      break;
    case sis::Type::bind_accepted:
      clear(1, 0x0F);
      break;
    case sis::Type::hard_link_terminate:
      full_address(1);
      break;
    case sis::Type::hard_link_established:
    case sis::Type::hard_link_rejected:
    case sis::Type::hard_link_terminated:
    case sis::Type::hard_link_indication:
    case sis::Type::hard_link_reject:
      full_address(3);
      break;
    case sis::Type::unidata_request_confirm:
    case sis::Type::expedited_request:
    case sis::Type::expedited_request_confirm:
      clear(1, 0xF0);
      full_address(2);
      break;
    case sis::Type::hard_link_establish:
    case sis::Type::hard_link_accept:
    case sis::Type::unidata_request:
    case sis::Type::unidata_request_rejected:
    case sis::Type::expedited_request_rejected:
      full_address(2);
      break;
    case sis::Type::expedited_indication:
      clear(1, 0xF0);
      [[fallthrough]];
    case sis::Type::unidata_indication:
      full_address(2);
      full_address(7);
      break;
    default:
      break;
  }
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > sis::kBodyOctetsMax) return 0;  // the framer's limit
  const ByteSpan body(data, size);
  const auto first = sis::decode(body);
  if (!first) return 0;
  S5066_ASSERT(static_cast<std::uint8_t>(sis::type_of(*first)) == body[0]);

  Bytes frame;
  sis::encode(*first, frame);
  const ByteSpan again = ByteSpan(frame).subspan(sis::kHeaderOctets);
  const Bytes expected = normalised(body);
  S5066_ASSERT(std::equal(again.begin(), again.end(), expected.begin(), expected.end()));
  const auto second = sis::decode(again);
  S5066_ASSERT(second.ok() && *second == *first);
  return 0;
}
