// SPDX-License-Identifier: Apache-2.0
// Values that the parts of the file relay share.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "gateways/common/sis_port.h"
#include "gateways/common/store_port.h"
#include "s5066d/base/bytes.h"
#include "s5066d/base/ids.h"
#include "s5066d/base/result.h"
#include "s5066d/base/time.h"

namespace s5066::file_relay {

using gateways::SpoolId;
using gateways::SpoolState;

/// The acknowledgement that a receiver sends when a file is safe. With `none`, no sender waits for
/// one.
enum class AckMode : std::uint8_t { none, frap, frap_v2 };
std::string_view to_string(AckMode mode);
Result<AckMode> parse_ack_mode(std::string_view text);

/// Numbers that both halves of a relay draw from.
class IdSource {
 public:
  gateways::SisRequestId next_request() { return {++last_request_}; }
  gateways::StoreTicket next_ticket() { return {++last_ticket_}; }

 private:
  std::uint64_t last_request_ = 0;
  std::uint64_t last_ticket_ = 0;
};

/// Names one file on its way between two stations, such as "17-9f3c21ab": its U_PDU_ID, and the
/// beginning of a hash of its name and content. Both stations find the same, and every attempt has
/// it. The same file handed over anew has another U_PDU_ID.
std::string transfer_id(std::uint8_t updu_id, std::string_view name, ByteSpan content_sha256);

/// Names one file on its way by the transfer service, such as "1027-9f3c21ab": its number, and the
/// beginning of the hash of its content. Both stations find the same name.
std::string transfer_name(std::uint32_t number, ByteSpan content_sha256);

std::string hex_digits(ByteSpan octets);

/// An event for the operator's log.
struct RelayEvent {
  enum class Kind : std::uint8_t {
    bound,
    lost,
    mtu_too_small,
    attempt_started,
    attempt_failed,
    delivered,
    failed,
    expired,
    corrupt,
    file_received,
    repeat_received,  // a file came again that is there already
    file_dropped,     // the sender may not send the file, or there is no room to keep it
    file_incomplete,  // a file began to arrive and was given up
    acknowledgement_sent,
    acknowledgement_failed,
    acknowledgement_unmatched,
    unknown_application,
    store_failed,
    store_works,
    spool_disk_full,    // the reserve on the disk was given up for files that are in the spool
    clock_set,          // the time of day was set while we ran
    station_silent,     // the node cannot reach the station
    station_answering,  // a silent station has been heard
    service_found,      // the station has the transfer service
    service_absent,     // the station does not have it, so files go by BFTP
    file_deleted,       // another station deleted a file of the inbox
    message_ignored,    // a message of the transfer service cannot be read
    sent,               // a file was sent without acknowledgement
    count
  };
  Kind kind = Kind::count;
  SpoolId item;          // 0 if the event is about a received file
  std::string transfer;  // transfer_id(), or the U_PDU_ID alone where the content is not known
  Address peer;
  std::string name;
  std::uint64_t octets = 0;
  std::uint32_t attempt = 0;
  std::string detail;
  Bytes sha256{};  // hash of a received file
  /// Time from the offer of a received file to its place in the inbox.
  std::optional<Duration> took{};
  std::uint32_t request = 0;  // number of our `get` that a received file answers
};
/// Returns an event about a file of the spool; `transfer` names it in the lines of both stations.
RelayEvent event_of(RelayEvent::Kind kind, const gateways::SpoolItem& item, std::string transfer,
                    std::string detail);
/// Returns an event about a row of the spool that cannot be read, which the store has parked.
RelayEvent parked_event(SpoolId id);
std::string_view to_string(RelayEvent::Kind kind);

/// A station that does not answer.
struct SilentStation {
  Address address;
  Duration silent_for{};
  Duration tried_again_in{};  // time until one file is tried again
  std::size_t files = 0;      // number of files for the station
  std::string reason;
};

/// How far a file under way has come.
struct TransferStatus {
  SpoolId item;
  Address destination;
  std::string name;
  std::uint32_t attempt = 0;
  std::uint64_t octets = 0;            // size of the BFTP PDU
  std::uint64_t octets_confirmed = 0;  // octets that the far client has
};

}  // namespace s5066::file_relay
