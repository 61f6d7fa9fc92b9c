// SPDX-License-Identifier: Apache-2.0
#include "config/contradictions.h"

#include <algorithm>
#include <chrono>
#include <string>

#include "modem/api/airtime.h"
#include "modem/api/receive_modes.h"
#include "s5066d/base/loopback.h"
#include "s5066d/cas/accept_rules.h"
#include "s5066d/sap/storage_ledger.h"
#include "sis/primitives.h"

namespace s5066::config {
namespace {

/// The time of two turnarounds: one for the peer's question to its client and one for its answer.
constexpr std::chrono::seconds kHardLinkTurnarounds{60};

/// More frequent call signs would leave little air time for data.
constexpr std::chrono::seconds kIdentificationMin{60};

bool is_reserved(unsigned sap) {
  return sap == 10 || sap == 11;  // Table F-1
}

/// Checks the SAPs of an entry of the allow list or of the local socket.
void check_saps(const Section& access, const NodeSetup& setup) {
  const auto& message = access.message();
  const auto* saps = message.GetDescriptor()->FindFieldByName("saps");
  for (int i = 0; i < message.GetReflection()->FieldSize(message, saps); ++i) {
    const unsigned sap = message.GetReflection()->GetRepeatedUInt32(message, saps, i);
    if (is_reserved(sap) && !setup.node.sap.bind.allow_reserved_saps) {
      access.complain("saps", std::to_string(sap) + " needs subnet_access.bind.allow_reserved_saps",
                      0);
    }
  }
}

void check_allow(const Section& allow, const runtime::AllowEntry& entry, const NodeSetup& setup) {
  if (entry.address.empty() && entry.certificate.empty()) {
    allow.complain_of_section("allow: needs address, certificate or both");
  }
  if (!entry.certificate.empty() && !setup.sis.tls) {
    allow.complain("certificate", "needs the section `tls`");
  }
  if (!is_loopback(setup.sis.address) && !allow.has("saps")) {
    allow.complain_of_section(
        "allow: needs `saps`, the SAPs that its clients may bind to, because `listen` is not "
        "loopback");
  }
  check_saps(allow, setup);
}

void check_sis(const Section& sis, const NodeSetup& setup) {
  if (!is_loopback(setup.sis.address) && setup.sis.allow.empty()) {
    sis.complain("listen",
                 "is not loopback and needs `allow`, because the interface has no passwords");
  }
  for (std::size_t i = 0; i < setup.sis.allow.size(); ++i) {
    check_allow(sis.nested("allow", static_cast<int>(i)), setup.sis.allow[i], setup);
  }
  if (setup.sis.local) check_saps(sis.nested("local"), setup);
  if (setup.sis.connections_per_address_max > setup.sis.connections_max) {
    const Section limits = sis.nested("limits");
    if (limits.has("connections_per_address_max")) {
      limits.complain("connections_per_address_max",
                      "is above connections_max; lower it or raise connections_max");
    }
  }
}

void check_subnet_access(const Section& access, const NodeConfig& node) {
  const sap::Config& setup = node.sap;
  const Section links = access.nested("soft_links");
  if (setup.links.call_retry_wait > setup.links.call_retry_wait_max) {
    links.complain("call_retry_wait_s",
                   "is above call_retry_wait_max_s; lower it or raise call_retry_wait_max_s");
  }
  const Section hard_links = access.nested("hard_links");
  // The peer first waits the full terminate_wait_s to end a link of lower precedence, and then the
  // full client_wait_s for its client. Its answer still has to come after that (A.3.2.2.2(12),
  // (23), A.3.2.2.3(4)).
  const auto& waits = setup.hard_links;
  if (waits.client_wait + waits.terminate_wait + kHardLinkTurnarounds > waits.response_wait) {
    hard_links.complain("response_wait_s",
                        "must be at least 60 above the sum of client_wait_s and terminate_wait_s");
  }
  const Section queue = access.nested("queue");
  if (setup.queue.flow_on_percent >= setup.queue.flow_off_percent) {
    queue.complain("flow_on_percent", "must be below flow_off_percent");
  }
  if (node.clients_max * setup.queue.client_updus_reserved > setup.queue.updus_max) {
    queue.complain("client_updus_reserved",
                   "times clients_max is above updus_max; lower it or raise updus_max");
  }
  if (setup.queue.client_octets_reserved > setup.queue.client_octets_max) {
    queue.complain("client_octets_reserved",
                   "is above client_octets_max; lower it or raise client_octets_max");
  }
  if (setup.mtu > sis::kMtu && !setup.broadcast_only) {
    access.complain("mtu_octets", "is above 2048 and needs broadcast_only (A.2.1.3)");
  }
  if (setup.queue.client_octets_reserved < sap::StorageLedger::charge(setup.mtu)) {
    queue.complain("client_octets_reserved", "must hold one U_PDU of mtu_octets");
  }
  const auto probe = setup.keep_alive_interval;
  if (probe > Duration::zero() && probe < std::chrono::seconds(120)) {
    access.complain("keep_alive_interval_s",
                    "must be 0, which means never, or at least 120 (A.2.1.17)");
  }
}

// A default shrinks to the limits of the other settings, but a value that the file states must fit
// (B.3(7), B.3(8), A.3.2.1).
void check_links(const Section& node, const NodeConfig& setup) {
  const std::size_t room = cas::nonexclusive_room(setup.dts.links_max);
  const Section access = node.nested("channel_access");
  if (access.has("nonexclusive_links_max") && setup.cas.nonexclusive_links_max > room) {
    access.complain("nonexclusive_links_max",
                    "must be at most data_transfer.links_max - 2, because two links are kept for "
                    "Exclusive calls");
  }
  const Section soft_links = node.nested("subnet_access").nested("soft_links");
  if (soft_links.has("sessions_max") &&
      setup.sap.links.soft_links_max > std::min(room, setup.cas.nonexclusive_links_max)) {
    soft_links.complain("sessions_max",
                        "must be at most nonexclusive_links_max and data_transfer.links_max - 2");
  }
}

// The longest transmission that is allowed must hold a segment of full size together with a full
// acknowledgement in every mode that may be used, because otherwise no data could be sent in that
// mode.
void check_data_transfer(const Section& transfer, const NodeSetup& node) {
  const dts::Config& setup = node.node.dts;
  const std::size_t segment = dts::segment_octets(setup);
  const auto modes = dts::modes_in_use(setup);
  const auto tight = std::find_if(modes.begin(), modes.end(), [&](const modem::Mode& mode) {
    return !dts::holds_segment(setup, mode, segment);
  });
  if (!dts::holds_segment(setup, setup.mode, segment)) {
    transfer.complain(
        "transmission_max_ms",
        "is too short for one segment in this mode; raise it or lower segment_octets");
  } else if (tight != modes.end()) {
    transfer.complain("transmission_max_ms",
                      "is too short for a segment of " + std::to_string(segment) + " octets in " +
                          modem::to_string(*tight) +
                          ", to which adaptation may go: raise it or adaptation.rate_min_bps, or "
                          "set a smaller segment_octets");
  }
  if (!setup.adaptation) return;
  const Section adaptation = transfer.nested("adaptation");
  if (setup.adaptation->rate_min_bps > setup.adaptation->rate_max_bps) {
    adaptation.complain("rate_min_bps", "is above rate_max_bps; lower it or raise rate_max_bps");
  }
  if (!setup.rate_change) adaptation.complain("enabled", "needs rate_change: true");
  if (!modem::tells_itself(setup.mode)) {
    adaptation.complain("enabled", "needs a modem.mode that announces itself to receivers");
  } else if (!node.worker.receive_modes.empty()) {
    adaptation.complain("enabled",
                        "needs a modem that listens for every mode; remove receive_modes");
  }
}

// The host of a remote modem has the key and the device. These fields are errors here because an
// operator would believe that they have an effect.
void check_modem(const Section& section, const NodeSetup& setup) {
  if (const auto good = modem::check_receive_modes(setup.worker.receive_modes); !good) {
    section.complain("receive_modes", good.error().detail, 0);
  }
  if (!section.has("remote")) return;
  for (const char* field :
       {"rigctld", "serial_rts", "serial_dtr", "cm108", "vox", "ptt_lead_ms", "ptt_tail_ms",
        "reopen_attempts_max", "constraint_length_7", "transmit_level_db"}) {
    if (section.has(field)) {
      section.complain(field, "is not allowed with `remote`; set it on the modem's host");
    }
  }
}

void check_identification(const Section& node, const NodeSetup& setup) {
  if (!node.has("identification") || setup.node.dts.identification.interval == Duration::zero()) {
    return;
  }
  const Section identification = node.nested("identification");
  if (setup.node.dts.identification.text.empty()) {
    identification.complain("call_sign", "missing, and the address book has none for this address");
  }
  if (node.nested("modem").has("remote")) {
    identification.complain("interval_s", "not allowed with `remote`, which sends no Morse code");
  }
  if (setup.node.dts.identification.interval < kIdentificationMin) {
    identification.complain("interval_s", "must be 0, which means never, or at least 60");
  }
}

}  // namespace

void find_contradictions(const Section& node, const NodeSetup& setup) {
  check_identification(node, setup);
  check_modem(node.nested("modem"), setup);
  check_sis(node.nested("sis"), setup);
  check_data_transfer(node.nested("data_transfer"), setup);
  check_links(node, setup.node);
  check_subnet_access(node.nested("subnet_access"), setup.node);
}

void check_sis_server(const Section& sis) {
  if (sis.has("socket") && (sis.has("address") || sis.has("port"))) {
    sis.complain("socket", "replaces address and port; remove them or socket");
  }
}

}  // namespace s5066::config
