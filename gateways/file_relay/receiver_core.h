// SPDX-License-Identifier: Apache-2.0
// The receiving half of the file relay (F.10.2): hands each complete file to the store and
// acknowledges it only after the store says that it is safe. A file that cannot be stored now is
// kept in memory and tried again; its sender hears nothing until it is safe.
#pragma once

#include <cstdint>
#include <deque>
#include <list>
#include <memory>
#include <optional>
#include <string>

#include "gateways/common/rcop.h"
#include "gateways/common/sis_port.h"
#include "gateways/common/store_port.h"
#include "gateways/file_relay/bftp.h"
#include "gateways/file_relay/relay_types.h"
#include "gateways/file_relay/sending_rules.h"
#include "gateways/file_relay/station_access.h"
#include "s5066d/base/counter_set.h"
#include "s5066d/base/driven_core.h"
#include "s5066d/base/time.h"
#include "s5066d/base/utc_clock.h"

namespace s5066::file_relay {

enum class RelayReceiverCounter : std::uint8_t {
  files,
  repeats,
  dropped,
  acknowledgements,
  acknowledgements_failed,
  store_errors,
  count
};
const CounterTable<RelayReceiverCounter>& counter_table(RelayReceiverCounter);

class ReceiverCore {
 public:
  struct Config {
    AckMode acknowledgement = AckMode::frap_v2;
    std::uint8_t priority = 4;
    std::uint32_t updu_lifetime_s = 3600;
    std::size_t files_max = 16;          // most files that are complete and not yet stored
    std::size_t octets_max = 48u << 20;  // most octets of their contents
    /// Most acknowledgements that the subnet has not yet confirmed.
    std::size_t acknowledgements_max = 1024;
    /// Most of these acknowledgements to one station.
    std::size_t station_acknowledgements_max = 128;
    /// Most of these acknowledgements that are at the node.
    std::size_t station_outstanding_max = 16;
    std::uint32_t acknowledgement_attempts_max = 3;
    Duration acknowledgement_retry = std::chrono::seconds(30);
    Duration store_retry_min = std::chrono::seconds(10);
    Duration store_retry_max = std::chrono::minutes(5);
    std::uint32_t file_octets_max = UINT32_MAX;
    AccessTable access;
    SendingTable sending;  // tells which acknowledgement a station wants
  };

  ReceiverCore(const Config& config, IdSource& ids, const UtcClock& utc);

  // Events in.
  void on_lost(Instant now);
  /// Takes a complete BFTP PDU.
  void on_file(Instant now, const gateways::RcopReassembler::Complete& pdu);
  bool on_confirmed(Instant now, gateways::SisRequestId id);
  bool on_refused(Instant now, gateways::SisRequestId id, const std::string& reason);
  bool on_store_result(Instant now, const gateways::StoreResult& result);
  void on_deadline(Instant now);

  // Actions out.
  std::optional<RelayEvent> poll_event();
  std::optional<gateways::StoreRequest> poll_store();
  std::optional<gateways::SisUnidata> poll_updu();
  std::optional<Instant> next_deadline() const;

  std::size_t outstanding() const;
  const CounterSet<RelayReceiverCounter>& counters() const { return counters_; }

 private:
  struct File {
    std::string transfer;
    gateways::RcopReassembler::Key key;
    BftpHeader header;
    std::shared_ptr<const Bytes> content;
    std::optional<gateways::StoreTicket> ticket;
    std::optional<Instant> store_again;
    Duration store_retry{};
    bool reported = false;  // a log line has told that the file cannot be stored
  };
  struct Pending {  // an acknowledgement that waits for its way to the sender
    std::string transfer;
    gateways::RcopReassembler::Key key;
    BftpHeader header;
    std::uint32_t attempts = 0;
    std::optional<gateways::SisRequestId> request;
    std::optional<Instant> send_again;
  };

  std::string refusal_of(const File& file) const;
  bool has_room_for(std::size_t octets) const;
  std::size_t acknowledgements_to(Address station) const;
  std::list<Pending>::iterator next_acknowledgement();
  void request_store(File& file, Instant now);
  gateways::StoreTicket ask(gateways::StoreOperation operation);
  void acknowledge(const File& file);
  AckMode acknowledgement_of(Address station) const {
    return config_.sending.acknowledgement_of(station, config_.acknowledgement);
  }
  Bytes encode_acknowledgement(const Pending& pending) const;
  /// `about` is a File or a Pending.
  template <typename About>
  void emit(RelayEvent::Kind kind, const About& about, std::string detail = {});

  Config config_;
  IdSource& ids_;
  const UtcClock& utc_;
  std::list<File> files_;
  std::list<Pending> acknowledgements_;
  std::deque<gateways::StoreRequest> requests_;  // at most one per file
  std::deque<RelayEvent> events_;                // drained after every input
  CounterSet<RelayReceiverCounter> counters_;
};
static_assert(TimedCore<ReceiverCore>);

}  // namespace s5066::file_relay
