// SPDX-License-Identifier: Apache-2.0
#include "gateways/file_relay/relay_types.h"

#include <array>

#include "gateways/common/sha256.h"
#include "s5066d/base/assert.h"

namespace s5066::file_relay {
namespace {

constexpr std::size_t kHashOctets = 4;  // octets of the hash in the name of a file on its way

constexpr std::array<std::string_view, 3> kAckModes = {"none", "frap", "frapv2"};

// Names of log events; a test looks for each in docs/operate/log_events.md.
constexpr std::array<std::string_view, static_cast<std::size_t>(RelayEvent::Kind::count)>
    kEventNames = {"bound",
                   "lost",
                   "mtu_too_small",
                   "attempt_started",
                   "attempt_failed",
                   "delivered",
                   "failed",
                   "expired",
                   "corrupt",
                   "file_received",
                   "repeat_received",
                   "file_dropped",
                   "file_incomplete",
                   "acknowledgement_sent",
                   "acknowledgement_failed",
                   "acknowledgement_unmatched",
                   "unknown_application",
                   "store_failed",
                   "store_works",
                   "spool_disk_full",
                   "clock_set",
                   "station_silent",
                   "station_answering",
                   "service_found",
                   "service_absent",
                   "file_deleted",
                   "message_ignored",
                   "sent"};

}  // namespace

std::string hex_digits(ByteSpan octets) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const std::uint8_t octet : octets) {
    text += kDigits[octet >> 4];
    text += kDigits[octet & 0xF];
  }
  return text;
}

std::string_view to_string(AckMode mode) {
  return kAckModes[static_cast<std::size_t>(mode)];
}

Result<AckMode> parse_ack_mode(std::string_view text) {
  for (std::size_t i = 0; i < kAckModes.size(); ++i) {
    if (kAckModes[i] == text) return static_cast<AckMode>(i);
  }
  return Error{ErrorCode::bad_field, "acknowledgement must be none, frap or frapv2"};
}

std::string transfer_id(std::uint8_t updu_id, std::string_view name, ByteSpan content_sha256) {
  Bytes named(name.begin(), name.end());
  append(named, content_sha256);
  const Bytes hash = gateways::sha256_of(named);
  return std::to_string(updu_id) + "-" + hex_digits(ByteSpan(hash).first(kHashOctets));
}

std::string transfer_name(std::uint32_t number, ByteSpan content_sha256) {
  S5066_ASSERT(content_sha256.size() >= kHashOctets);
  return std::to_string(number) + "-" + hex_digits(content_sha256.first(kHashOctets));
}

RelayEvent event_of(RelayEvent::Kind kind, const gateways::SpoolItem& item, std::string transfer,
                    std::string detail) {
  return {.kind = kind,
          .item = item.id,
          .transfer = std::move(transfer),
          .peer = item.destination,
          .name = item.name,
          .octets = item.size,
          .attempt = item.attempts,
          .detail = std::move(detail)};
}

RelayEvent parked_event(SpoolId id) {
  RelayEvent event;
  event.kind = RelayEvent::Kind::corrupt;
  event.item = id;
  event.detail = "its row in the spool cannot be read";
  return event;
}

std::string_view to_string(RelayEvent::Kind kind) {
  S5066_ASSERT(kind < RelayEvent::Kind::count);
  return kEventNames[static_cast<std::size_t>(kind)];
}

}  // namespace s5066::file_relay
