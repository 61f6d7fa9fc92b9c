// SPDX-License-Identifier: Apache-2.0
// The configuration of s5066-acp142 as plain values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "gateways/acp142/mail/p_mul_names.h"
#include "gateways/acp142/peers/mail_way.h"
#include "gateways/common/backup_types.h"
#include "gateways/p_mul/p_mul_pdu.h"
#include "s5066d/base/address_book.h"
#include "s5066d/base/ids.h"
#include "s5066d/base/log.h"
#include "sis/primitives.h"

namespace s5066::acp142 {

/// Limit of addresses for dynamic groups.
inline constexpr std::size_t kPoolMax = 256;
/// On a LAN commits to disk take most of the time, and many can be made at once.
inline constexpr std::uint32_t kUdpActiveMax = 64;
inline constexpr std::uint32_t kUdpActiveReserve = 8;  // for each step of precedence above routine
inline constexpr std::uint32_t kUdpStationActiveMax = 16;
inline constexpr std::uint32_t kUdpStationActiveReserve = 4;
/// Default and largest size of a PDU. Over HF its block fills two frames; on a LAN a PDU is one
/// datagram that is not divided.
inline constexpr std::uint32_t kPduOctets = 2034;
inline constexpr std::uint32_t kPduOctetsMaxSis = 2042;
inline constexpr std::uint32_t kPduOctetsUdp = 1472;
inline constexpr std::uint32_t kPduOctetsMaxUdp = 8972;
/// Largest message from SMTP. Every station accepts this size from the air.
inline constexpr std::uint32_t kMessageOctetsMax = 16u << 20;
/// More octets than an envelope with a thousand recipients and their DSN parameters has.
inline constexpr std::uint32_t kEnvelopeOctetsMax = 4u << 20;

struct MailConfig {
  /// STARTTLS for mail that is handed over to us. The files are read anew for each handshake.
  struct SmtpTls {
    std::string certificate_file;
    std::string key_file;
    std::string ca_file;    // empty: clients need no certificate
    bool required = false;  // no mail without TLS
  };
  /// STARTTLS for mail that we hand over, if the mail server offers it.
  struct MailServerTls {
    std::string ca_file;      // empty: any certificate is accepted
    std::string server_name;  // name in the certificate; empty: the address
    bool required = false;    // no mail without TLS
  };
  /// A rule for the precedences that clients may use. The first rule that fits client and sender
  /// decides.
  struct Precedence {
    std::string client;  // network; empty: any
    std::string from;    // pattern; empty: any
    int mt_priority_max = 0;
  };
  struct PriorityField {
    std::string name;
    std::string value;
    int mt_priority = 0;
  };
  struct Smtp {
    std::string address = "127.0.0.1";
    std::uint16_t port = 2525;  // 0: any free port, which the log names
    bool lmtp = false;
    std::vector<std::string> allow;  // networks; needed for addresses beyond loopback
    std::uint32_t message_octets_max = kMessageOctetsMax;
    std::uint32_t recipients_max = 1000;
    std::uint32_t connections_max = 200;
    std::optional<SmtpTls> tls;
    std::vector<Precedence> precedence;  // empty: all clients may use all
    std::vector<PriorityField> priority_fields;
  };
  struct MailServer {
    std::string address = "127.0.0.1";
    std::uint16_t port = 25;
    bool lmtp = false;
    std::optional<MailServerTls> tls;
  };
  /// Settings of transmission. docs/conformance/mail_parameters.md gives the name of each in ACP
  /// 142.
  struct Rounds {
    std::uint32_t ack_wait_s = 30;  // from the end of a transmission to its repeat
    std::uint32_t back_off_percent = 150;
    std::uint32_t emcon_interval_s = 600;
    std::uint32_t emcon_repeats_max = 4;
    std::uint32_t pdu_octets_max = kPduOctets;
    bool internet_checksum = false;  // checksum of PDUs that we send
    bool extra_address = true;
    bool coded = false;  // parity is sent
    std::uint32_t parity_ahead_percent = 0;
    bool resend_all = false;
  };
  /// Settings of reception, for all groups.
  struct Receiving {
    std::uint32_t ack_slot_ms = 8000;
    std::uint32_t ack_again_s = 120;
    std::uint32_t missing_list_max = 64;
    std::uint32_t ack_when_missing = 0;  // 0: no list in mid-round
    std::uint32_t orphan_s = 1800;
    std::uint32_t clock_tolerance_s = 60;
  };
  struct Station {
    std::string name;
    NodeId node;
    Address address;
    bool silent = false;            // in EMCON: it takes messages and does not answer
    std::uint32_t udp_address = 0;  // IPv4; 0: the address that equals its number
    bool explicit_tags = false;     // tagging of the compressed data type that the station gets
    MailWay by = MailWay::p_mul;    // protocol by which it takes mail
    std::uint32_t files_max = 1;    // CFTP: messages under way at a time
  };
  /// Mail to and from stations of other makes, by CFTP and HMTP.
  struct PeerMail {
    bool cftp = false;  // bind to SAP 12 even if no station takes mail by CFTP
    bool hmtp = false;  // bind to SAP 3 even if no station takes mail by HMTP
    std::uint32_t answer_wait_s = 900;
    std::uint32_t updu_lifetime_s = 3600;
  };
  struct Group {
    std::string name;
    Address address;
    std::vector<std::string> stations;
    std::uint32_t udp_address = 0;  // IPv4 multicast address
    double udp_rate_bps = 0;        // 0: the common rate
    Rounds rounds;
  };
  /// P_MUL by UDP multicast on a LAN.
  struct Udp {
    std::uint32_t interface = 0;  // our IPv4 address; 0: the system chooses
    std::uint32_t listen = 0;     // for acknowledgements to us; 0: any
    std::uint8_t hops = 1;        // hop limit of multicast datagrams
    double rate_bps = 50e6;       // for all that we send
    std::uint16_t group_control_port = 2751;
    std::uint16_t announce_port = 2752;
    std::uint16_t data_port = 2753;
    std::uint16_t ack_port = 2754;
    std::uint32_t general_group = 0xEF010101;  // 239.1.1.1, to which groups are announced
    /// Addresses for groups of one message; empty: no such groups.
    std::vector<std::uint32_t> pool{};
    std::uint32_t wait_for_reject_ms = 5000;
    std::uint32_t announce_delay_ms = 5000;
    std::uint32_t announce_count = 5;
  };
  struct RouteEntry {
    std::string pattern;
    bool own = false;
    std::vector<std::string> stations;
    bool relay = false;
  };

  std::string sis_host = "127.0.0.1";
  std::uint16_t sis_port = sis::kDefaultPort;
  std::uint8_t rank = 0;
  std::optional<Udp> udp;  // bearer, if it is not the SIS server

  bool start_in_emcon = false;  // overrides what the operator said last

  std::string spool_directory;  // must exist
  gateways::BackupSettings backup;
  std::string control_socket;      // empty: control.sock in the spool directory
  bool control_group_too = false;  // members of the process's group may connect
  NodeId node;
  std::string hostname = "localhost";
  std::string operator_mailbox;  // mailbox of the operator; empty: postmaster at the hostname
  Smtp smtp;
  MailServer mail_server;
  PeerMail peer_mail;
  std::vector<Station> stations;
  std::vector<Group> groups;
  std::vector<RouteEntry> routes;

  std::uint32_t flash_lifetime_s = 3600;  // P_MUL priority 0 to 3
  std::uint32_t immediate_lifetime_s = 4 * 3600;
  std::uint32_t priority_lifetime_s = 12 * 3600;
  std::uint32_t routine_lifetime_s = 48 * 3600;  // P_MUL priority 8 and above
  std::uint32_t retry_min_s = 30;  // first wait before the next attempt at the mail server
  std::uint32_t retry_max_s = 3600;
  std::uint32_t dead_min_s = 300;  // first wait after a station let a message expire
  std::uint32_t dead_max_s = 4 * 3600;
  std::uint32_t delay_report_s = 4 * 3600;  // age at which a sender with NOTIFY=DELAY is told
  std::uint32_t duplicate_window_s = 2 * 86400;
  std::uint32_t open_mails_max = 200000;
  std::uint64_t open_octets_max = 4ull << 30;
  /// Disk space that is kept for messages in the spool.
  std::uint64_t spool_reserve_octets = 16u << 20;
  Rounds rounds;  // for all messages except those to a group with its own
  Receiving receiving;
  std::uint32_t nonarq_repeats = 0;   // repeats of each PDU by the node
  std::uint32_t line_rate_bps = 300;  // used until a rate is measured

  AddressBook book;
  LogLevel log_level = LogLevel::info;
};

/// Sets the bearer to UDP and adapts the defaults, because on a LAN an answer takes negligible
/// time.
inline void use_udp(MailConfig& config, const MailConfig::Udp& udp = {}) {
  config.udp = udp;
  config.rounds.ack_wait_s = 2;
  config.rounds.pdu_octets_max = kPduOctetsUdp;
  config.receiving.ack_slot_ms = 200;
  config.receiving.ack_again_s = 10;
}

inline std::uint16_t block_octets_of(const MailConfig::Rounds& rounds) {
  return static_cast<std::uint16_t>(rounds.pdu_octets_max - p_mul::kParityHeaderOctets);
}
/// Returns the size of an acknowledgement that names this number of blocks of one message and the
/// end of the list.
inline std::size_t ack_octets_max(std::size_t missing_list_max) {
  return p_mul::kAckHeaderOctets + p_mul::kAckEntryOctets + 2 * missing_list_max + 2;
}

}  // namespace s5066::acp142
