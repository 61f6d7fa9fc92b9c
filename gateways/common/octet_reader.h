// SPDX-License-Identifier: Apache-2.0
// Reads the fields of a message one after the other.
#pragma once

#include <cstdint>
#include <string>

#include "s5066d/base/bytes.h"

namespace s5066::gateways {

/// Takes fields from the front. Once a field is missing, all that follow are empty or 0, and ok()
/// is false.
class OctetReader {
 public:
  explicit OctetReader(ByteSpan from) : from_(from) {}
  std::uint8_t u8() {
    const ByteSpan field = take(1);
    return field.empty() ? std::uint8_t{0} : field[0];
  }
  std::uint16_t u16() {
    const ByteSpan field = take(2);
    return field.empty() ? std::uint16_t{0} : get_u16(field, 0);
  }
  std::uint32_t u32() {
    const ByteSpan field = take(4);
    return field.empty() ? 0 : get_u32(field, 0);
  }
  Bytes octets(std::size_t count) {
    const ByteSpan field = take(count);
    return {field.begin(), field.end()};
  }
  /// Reads a text with its length in one octet in front.
  std::string text() {
    const ByteSpan field = take(u8());
    return {field.begin(), field.end()};
  }
  Bytes rest() { return octets(from_.size()); }
  std::size_t left() const { return from_.size(); }
  bool ok() const { return ok_; }

 private:
  ByteSpan take(std::size_t count) {
    ok_ = ok_ && count <= from_.size();
    if (!ok_) return {};
    const ByteSpan field = from_.first(count);
    from_ = from_.subspan(count);
    return field;
  }
  ByteSpan from_;
  bool ok_ = true;
};

}  // namespace s5066::gateways
