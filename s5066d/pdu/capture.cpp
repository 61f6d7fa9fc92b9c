// SPDX-License-Identifier: Apache-2.0
#include "s5066d/pdu/capture.h"

#include "s5066d/base/assert.h"

namespace s5066::pdu {
namespace {

constexpr std::uint32_t kMagicMicroseconds = 0xA1B2C3D4;

void put_u16_le(Bytes& out, std::uint32_t value) {
  out.push_back(static_cast<std::uint8_t>(value & 0xFF));
  out.push_back(static_cast<std::uint8_t>(value >> 8 & 0xFF));
}

void put_u32_le(Bytes& out, std::uint32_t value) {
  put_u16_le(out, value & 0xFFFF);
  put_u16_le(out, value >> 16);
}

}  // namespace

void append_capture_header(LinkType link_type, Bytes& out) {
  put_u32_le(out, kMagicMicroseconds);
  put_u16_le(out, 2);  // version 2.4
  put_u16_le(out, 4);
  put_u32_le(out, 0);  // times are UTC
  put_u32_le(out, 0);  // accuracy not stated
  put_u32_le(out, kCaptureRecordOctetsMax);
  put_u32_le(out, static_cast<std::uint32_t>(link_type));
}

void append_capture_record(Duration since_epoch, ByteSpan frame, Bytes& out) {
  S5066_ASSERT(since_epoch >= Duration::zero());
  S5066_ASSERT(frame.size() <= kCaptureRecordOctetsMax);
  const auto microseconds = since_epoch.count() / 1000;
  put_u32_le(out, static_cast<std::uint32_t>(microseconds / 1'000'000));
  put_u32_le(out, static_cast<std::uint32_t>(microseconds % 1'000'000));
  put_u32_le(out, static_cast<std::uint32_t>(frame.size()));  // octets in the file
  put_u32_le(out, static_cast<std::uint32_t>(frame.size()));  // octets on the air
  append(out, frame);
}

}  // namespace s5066::pdu
