// SPDX-License-Identifier: Apache-2.0
// All that one s5066-relay needs to know, as plain values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "gateways/common/backup_types.h"
#include "gateways/common/store_port.h"
#include "gateways/file_relay/relay_types.h"
#include "gateways/file_relay/sending_rules.h"
#include "gateways/file_relay/station_access.h"
#include "s5066d/base/address_book.h"
#include "s5066d/base/log.h"
#include "s5066d/base/result.h"
#include "sis/primitives.h"

namespace s5066::file_relay {

/// A directory whose files are sent.
struct WatchFolder {
  std::string directory;
  std::vector<Address> to;
  std::optional<std::uint8_t> priority;  // 0..15; none: that of the relay
  gateways::GradeSettings grade;
  bool keep = false;  // a sent file moves to the folder `sent`; otherwise it is deleted
};

/// Settings of files that go by P_MUL.
struct PMulSettings {
  Address own;  // 0: the relay sends no file by P_MUL
  std::vector<StationGroup> groups;
  std::vector<Address> emcon;  // stations that receive and do not transmit

  bool enabled() const { return own.value != 0; }
};

struct RelayConfig {
  // The relay connects to this subnet server.
  std::string sis_host = "127.0.0.1";
  std::uint16_t sis_port = sis::kDefaultPort;
  std::uint8_t rank = 0;      // 15 is for those who may configure the node (A.2.1.1)
  std::uint8_t priority = 4;  // 0..15; for files without a priority of their own

  // Directories must exist; the inbox is where received files appear.
  std::string spool_directory;
  gateways::BackupSettings backup;
  std::string inbox_directory;
  std::string control_socket;      // empty: control.sock in the spool directory
  bool control_group_too = false;  // members of the process's group may connect
  /// Socket of s5066d, for its clock and the state of the link; empty: neither is asked.
  std::string node_control_socket;

  AckMode acknowledgement = AckMode::frap_v2;
  bool frap_v2_needs_ids = true;

  std::uint32_t lifetime_s = 2 * 86400;  // a file not delivered by then has expired
  std::uint32_t attempts_max = 64;       // attempts by BFTP; they take longer than lifetime_s
  std::uint32_t retry_delay_min_s = 60;
  // This is less than a whole hour, because attempts at one minute of each hour would never meet a
  // link that is there at another.
  std::uint32_t retry_delay_max_s = 3200;
  // The longest wait from the confirmation of the last segment to the acknowledgement, on top of
  // its time on the air. After that the file is sent again.
  std::uint32_t ack_wait_s = 180;
  std::uint32_t line_rate_bps = 2400;  // estimate of the line rate, for that time on the air
  /// Files under way to one station: so many small ones, and as many large ones.
  std::uint32_t active_max = 4;
  std::uint32_t file_octets_max = 16u << 20;
  std::uint32_t duplicate_window_s = 2 * 86400;  // not shorter than the sender's lifetime_s
  /// Room on the disk that is kept for what is in the spool already.
  std::uint64_t spool_reserve_octets = 16u << 20;

  /// Files go by it to stations that have it, and by BFTP to the others.
  bool transfer_service = true;
  AccessTable access;
  SendingTable sending;
  bool udop = false;  // binds to SAP 7 even if nothing else needs it
  std::vector<WatchFolder> watch_folders;
  PMulSettings p_mul;

  AddressBook book;
  LogLevel log_level = LogLevel::info;
};

/// True if the relay binds to SAP 7.
bool uses_udop(const RelayConfig& config);

/// Returns the first problem of the configuration, if any.
Result<void> validate(const RelayConfig& config);

}  // namespace s5066::file_relay
