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
  bool keep = false;  // in the folder `sent`; otherwise they are deleted
};

/// Files by P_MUL.
struct PMulSettings {
  Address own;  // 0: there are none
  std::vector<StationGroup> groups;
  std::vector<Address> emcon;  // stations that receive and do not transmit

  bool enabled() const { return own.value != 0; }
};

struct RelayConfig {
  // The subnet server.
  std::string sis_host = "127.0.0.1";
  std::uint16_t sis_port = sis::kDefaultPort;
  std::uint8_t rank = 0;      // 15 is for those who may configure the node (A.2.1.1)
  std::uint8_t priority = 4;  // of what we send, 0..15

  // Directories must exist; the inbox is where received files appear.
  std::string spool_directory;
  gateways::BackupSettings backup;
  std::string inbox_directory;
  std::string control_socket;       // empty: control.sock in the spool directory
  bool control_group_too = false;   // members of the process's group may connect
  std::string node_control_socket;  // of s5066d: state of the link, and clock; empty: neither

  AckMode acknowledgement = AckMode::frap_v2;
  bool frap_v2_needs_ids = true;

  std::uint32_t lifetime_s = 2 * 86400;  // a file not delivered by then has expired
  std::uint32_t attempts_max = 64;       // by BFTP; they take longer than lifetime_s
  std::uint32_t retry_delay_min_s = 60;
  // This is less than a whole hour, because attempts at one minute of each hour would never meet a
  // link that is there at another.
  std::uint32_t retry_delay_max_s = 3200;
  // Longest wait from the confirmation of the last segment to the acknowledgement, on top of its
  // time on the air. After that the file is sent again.
  std::uint32_t ack_wait_s = 180;
  std::uint32_t line_rate_bps = 2400;  // a hint, for that way
  std::uint32_t active_max = 4;  // files under way to one station: small, and as many large ones
  std::uint32_t file_octets_max = 16u << 20;
  std::uint32_t duplicate_window_s = 2 * 86400;    // not shorter than the sender's lifetime_s
  std::uint64_t spool_reserve_octets = 16u << 20;  // of the disk, for what is in the spool already

  bool transfer_service = true;  // to stations that have it; BFTP to the others
  AccessTable access;
  SendingTable sending;
  bool udop = false;  // binds to SAP 7 in any case
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
