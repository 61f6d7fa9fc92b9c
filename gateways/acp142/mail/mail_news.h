// SPDX-License-Identifier: Apache-2.0
// The lines that the mail side of the gateway writes to the log, as values.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "gateways/acp142/mail/mail_store_port.h"
#include "gateways/acp142/mail/p_mul_names.h"

namespace s5066::acp142 {

/// One line of the log.
struct MailNews {
  enum class Kind : std::uint8_t {
    accepted,   // from SMTP
    repeated,   // from SMTP, all of it known already
    queued,     // another part of what was accepted or received, which goes another way
    refused,    // by the spool
    submitted,  // to P_MUL
    delivered,  // to a station, or to the mail server
    deferred,
    failed,
    expired,
    received,  // from the air
    received_again,
    not_for_us,   // from the air, no recipient of ours
    unreadable,   // from the air
    reported,     // a delivery report was made
    report_lost,  // a message without a return path, such as a report, ended undelivered
    station_dead,
    station_heard,  // a station that was dead, or the operator says that it answers
    store_failed,
    parked,       // a message is not in the spool as it was accepted
    disk_full,    // the reserve was given to what is under way
    clock_set,    // the time of day was set while we ran
    clock_apart,  // a trace field shows that the clock of a station is not as ours
    count
  };
  Kind kind = Kind::count;
  MailId mail;
  NodeId station;
  std::string address;
  std::string detail;
  std::uint64_t octets = 0;
  MessageName name{};   // on the air; number 0: it has none
  MailId first{};       // that has been accepted or received with it
  std::string label{};  // Message-ID
  std::vector<std::string> recipients{};
};
std::string_view to_string(MailNews::Kind kind);

}  // namespace s5066::acp142
