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
    accepted,   // a message from SMTP is in the spool
    repeated,   // a message from SMTP was known already
    queued,     // another part of an accepted or received message, which goes another way
    refused,    // the spool refused a message
    submitted,  // P_MUL has a message
    delivered,  // a station or the mail server has a message
    deferred,
    failed,
    expired,
    received,  // a message has come from the air
    received_again,
    not_for_us,   // a message from the air has no recipient here
    unreadable,   // a message from the air cannot be read
    reported,     // a delivery report was made
    report_lost,  // a message without a return path, such as a report, ended undelivered
    station_dead,
    station_heard,  // a dead station was heard, or the operator says that it answers
    store_failed,
    parked,       // the spool does not have a message as it was accepted
    disk_full,    // the disk is full, and the reserve was released for messages under way
    clock_set,    // the time of day was set while the gateway ran
    clock_apart,  // a trace field shows that the clock of a station differs from ours
    count
  };
  Kind kind = Kind::count;
  MailId mail;
  NodeId station;
  std::string address;
  std::string detail;
  std::uint64_t octets = 0;
  MessageName name{};   // name on the air; number 0: none
  MailId first{};       // the message that was accepted or received with it
  std::string label{};  // Message-ID
  std::vector<std::string> recipients{};
};
std::string_view to_string(MailNews::Kind kind);

}  // namespace s5066::acp142
