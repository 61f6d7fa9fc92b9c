// SPDX-License-Identifier: Apache-2.0
// The protocols by which a station takes mail over the air.
#pragma once

#include <cstdint>

namespace s5066::acp142 {

enum class MailWay : std::uint8_t {
  p_mul,  // ACP 142
  cftp,   // F.14
  hmtp,   // F.5
};
inline constexpr MailWay kMailWays[] = {MailWay::p_mul, MailWay::cftp, MailWay::hmtp};

/// Returns the name of the protocol, as for logs.
constexpr const char* to_string(MailWay way) {
  switch (way) {
    case MailWay::p_mul:
      return "P_MUL";
    case MailWay::cftp:
      return "CFTP";
    case MailWay::hmtp:
      return "HMTP";
  }
  return "";
}

/// Returns the name of the protocol for trace fields of a message.
constexpr const char* trace_name(MailWay way) {
  return way == MailWay::p_mul ? "MULE" : to_string(way);
}

}  // namespace s5066::acp142
