// SPDX-License-Identifier: Apache-2.0
#include "gateways/ip_client/socks5.h"

#include <algorithm>
#include <utility>

#include "gateways/ip_client/ip_address.h"

namespace s5066::ip_client {
namespace {

constexpr std::uint8_t kVersion = 5;
constexpr std::uint8_t kNoAuthentication = 0;
constexpr std::uint8_t kNoMethod = 0xFF;
constexpr std::uint8_t kConnect = 1;
enum AddressType : std::uint8_t { kIpv4 = 1, kName = 3, kIpv6 = 4 };

}  // namespace

Bytes Socks5::answer(Reply reply) {
  // The bound address is that of the far end, which is not known.
  return {kVersion, static_cast<std::uint8_t>(reply), 0, kIpv4, 0, 0, 0, 0, 0, 0};
}

/// Appends the reply and fails. The answer to the greeting may still be in `out_` when the request
/// after it is refused.
void Socks5::fail(const Bytes& reply) {
  append(out_, reply);
  state_ = State::failed;
  in_.clear();
}

void Socks5::on_octets(ByteSpan octets) {
  if (state_ == State::failed) return;
  append(in_, octets);
  while ((state_ == State::greeting && read_greeting()) ||
         (state_ == State::request && read_request())) {
  }
}

/// Returns true if the greeting is complete.
bool Socks5::read_greeting() {
  if (in_.empty()) return false;
  if (in_[0] != kVersion) {
    fail({});  // a client of another protocol understands no reply
    return false;
  }
  if (in_.size() < 2 || in_.size() < 2 + std::size_t{in_[1]}) return false;
  const auto end = in_.begin() + 2 + in_[1];
  if (std::find(in_.begin() + 2, end, kNoAuthentication) == end) {
    fail({kVersion, kNoMethod});
    return false;
  }
  in_.erase(in_.begin(), end);
  append(out_, Bytes{kVersion, kNoAuthentication});
  state_ = State::request;
  return true;
}

/// Returns true if the request is complete.
bool Socks5::read_request() {
  if (in_.size() < 5) return false;
  if (in_[0] != kVersion || in_[2] != 0) {
    fail(answer(Reply::general_failure));
    return false;
  }
  const std::uint8_t type = in_[3];
  const bool known = type == kIpv4 || type == kName || type == kIpv6;
  if (!known) {
    fail(answer(Reply::address_not_supported));
    return false;
  }
  const std::size_t name_octets = in_[4];
  const std::size_t begin = type == kName ? 5 : 4;
  const std::size_t octets = type == kName ? name_octets : type == kIpv4 ? 4 : 16;
  if (in_.size() < begin + octets + 2) return false;
  const ByteSpan address = ByteSpan(in_).subspan(begin, octets);
  if (type == kName) {
    target_.host.assign(address.begin(), address.end());
  } else {
    target_.host = to_string(IpAddress::read(type == kIpv6, address));
  }
  target_.port = get_u16(in_, begin + octets);
  const bool clean = std::all_of(target_.host.begin(), target_.host.end(),
                                 [](char c) { return c > ' ' && c <= '~'; });
  if (in_[1] != kConnect) {
    fail(answer(Reply::command_not_supported));
    return false;
  }
  if (target_.host.empty() || !clean || target_.port == 0) {
    fail(answer(Reply::general_failure));
    return false;
  }
  in_.erase(in_.begin(), in_.begin() + static_cast<std::ptrdiff_t>(begin + octets + 2));
  state_ = State::requested;
  return true;
}

std::optional<Bytes> Socks5::poll_reply() {
  if (out_.empty()) return std::nullopt;
  return std::exchange(out_, {});
}

}  // namespace s5066::ip_client
