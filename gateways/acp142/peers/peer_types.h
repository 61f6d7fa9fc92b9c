// SPDX-License-Identifier: Apache-2.0
// The values that pass between the mail side of the gateway and the protocols that carry mail to
// one station of another make: CFTP (F.14) and HMTP (F.5).
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <variant>

#include "gateways/acp142/mail/mail_store_port.h"
#include "gateways/acp142/mail/mail_types.h"
#include "gateways/acp142/mail/p_mul_names.h"
#include "gateways/acp142/peers/mail_way.h"
#include "gateways/acp142/smtp/smtp_client_core.h"
#include "gateways/acp142/smtp/smtp_server_core.h"
#include "sis/primitives.h"

namespace s5066::acp142 {

/// Names a message from a peer until it is committed or refused.
struct PeerTicket {
  MailWay way = MailWay::cftp;
  std::uint64_t value = 0;
  friend auto operator<=>(const PeerTicket&, const PeerTicket&) = default;
};

// --- Down ----------------------------------------------------------------------------------------

/// A message for the recipients that are behind one station. It ends with one PeerEnded.
struct HandOver {
  MailId id;
  MailWay way = MailWay::cftp;
  NodeId station;
  std::uint8_t priority = 6;    // priority of P_MUL; 0 is the most urgent
  std::chrono::seconds left{};  // the rest of its lifetime
  std::shared_ptr<const Mail> mail;
};

// --- Up ------------------------------------------------------------------------------------------

/// The end of one attempt, with an outcome for each recipient in the order of the envelope.
struct PeerEnded {
  MailId id;
  NodeId station;
  SmtpClientCore::Done done;
  bool unanswered = false;  // the station did not answer
  bool more = false;        // deferred recipients only had no room in this attempt
};

/// A whole message of a station. Nothing is acknowledged before it is committed.
struct PeerReceived {
  PeerTicket ticket;
  NodeId station;
  Bytes identity;  // equal for a repeat and for nothing else; empty: a repeat cannot be told
  std::uint64_t octets = 0;  // size on the air
  Mail mail;
};

/// A whole file of a station that is no mail. It is acknowledged when it is kept for the operator,
/// so that its sender does not repeat it for ever.
struct PeerUnreadable {
  PeerTicket ticket;
  Address address;
  std::string why;
  Bytes octets;  // as they came
};

/// One line of the log.
struct PeerNews {
  enum class Kind : std::uint8_t {
    peer_unknown,     // data of a station that is not configured
    peer_unreadable,  // data of a station cannot be read
    peer_given_up,    // a message that arrived in part
    count
  };
  Kind kind = Kind::count;
  MailWay way = MailWay::cftp;
  Address address;
  std::string detail{};
  std::uint64_t octets = 0;
};
std::string_view to_string(PeerNews::Kind kind);

using PeerEvent = std::variant<PeerEnded, PeerReceived, PeerUnreadable, PeerNews>;

/// Returns the same outcome for each recipient.
SmtpClientCore::Done done_with(const Mail& mail, RecipientOutcome::Kind kind,
                               const std::string& status, const std::string& text);

/// True if the reason says that the station does not answer. A station whose mail program is away
/// for a while answers.
bool is_no_answer(sis::RejectReason reason);
/// True if the reason would hold for all that waits for the station.
bool is_of_station(sis::RejectReason reason);

/// Returns the priority of SIS for one of P_MUL, as the carrier of P_MUL has it.
std::uint8_t sis_priority(std::uint8_t p_mul_priority);

}  // namespace s5066::acp142
