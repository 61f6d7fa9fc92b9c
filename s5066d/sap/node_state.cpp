// SubnetworkInterface: state of the whole node and requests of managers: broadcast sessions
// (A.1.1.3, A.3.2.3), EMCON, availability (A.2.1.26), management messages (A.2.1.15, A.2.1.16).
#include <algorithm>
#include <utility>

#include "s5066d/sap/subnetwork_interface.h"

namespace s5066::sap {

Result<void> SubnetworkInterface::check_broadcast_session(bool on) const {
  if (!on && config_.broadcast_only) return Error{ErrorCode::refused, "a broadcast-only node"};
  return {};
}

Result<void> SubnetworkInterface::request_broadcast_session(Instant now, bool on) {
  if (const auto allowed = check_broadcast_session(on); !allowed) return allowed;
  if (on == broadcast_) return {};
  broadcast_ = on;
  clients_.allow_arq(!on);
  std::vector<ClientId> bound_for_arq;
  for (const auto& [id, client] : clients_.all()) {
    const Binding* binding = clients_.binding(id);
    const bool arq = binding != nullptr && binding->service.mode == sis::TransmissionMode::arq;
    if (on && arq) bound_for_arq.push_back(id);
  }
  for (const ClientId id : bound_for_arq) {
    unbind_client(now, id, ClientEnd::broadcast);
  }
  hard_links_.allow(now, !on);
  sender_.allow_arq(now, !on);
  touch(now);
  return {};
}

void SubnetworkInterface::request_silence(Instant now, bool on) {
  silent_ = on;
  sender_.set_silent(on);
  hard_links_.set_silent(now, on);
  touch(now);
}

void SubnetworkInterface::on_modem_state(Instant now, bool working) {
  modem_works_ = working;
  touch(now);
}

// STANDARD: the contents are implementation-dependent. In a broadcast session no peer acknowledges
// anything, so clients are told that the node only transmits, although it still receives non-ARQ
// data. A broadcast-only node is always in that state and does not announce it.
sis::SubnetAvailability SubnetworkInterface::node_availability() const {
  using sis::AvailabilityReason;
  using sis::NodeStatus;
  if (!modem_works_) return {NodeStatus::off, AvailabilityReason::unspecified};
  if (silent_) return {NodeStatus::receive_only, AvailabilityReason::emcon};
  const bool for_good = config_.broadcast_only;
  if (broadcast_ && !for_good) return {NodeStatus::transmit_only, AvailabilityReason::unspecified};
  return ClientTable::kNormal;
}

// A.2.1.26, A.1.1.2.2, A.1.1.2.3: only Types 1 and 2 block other clients. A Type 1 of the peer is
// for all clients here.
ClientTable::Availability SubnetworkInterface::availability() const {
  ClientTable::Availability now{.node = node_availability(), .reserved_for = std::nullopt};
  for (const HardLinkInfo& link : hard_links_.links()) {
    const bool for_one = link.type == sis::HardLinkType::full_bandwidth ||
                         (link.type == sis::HardLinkType::partial_bandwidth && link.we_called);
    if (for_one && link.state == HardLinkState::active) now.reserved_for = link.local_sap;
  }
  return now;
}

Result<void> SubnetworkInterface::request_sap_open(Instant now, SapId sap, bool open) {
  if (sap.value > SapId::kMax) return Error{ErrorCode::not_found, "no such SAP"};
  clients_.open(sap, open);
  const auto holder = clients_.client_at(sap);
  if (!open && holder) unbind_client(now, *holder, ClientEnd::sap_shut);
  touch(now);
  return {};
}

// --- For an operator -----------------------------------------------------------------------------

Result<void> SubnetworkInterface::request_disconnect(Instant now, ClientId client) {
  if (!clients_.knows(client)) {
    return Error{ErrorCode::not_found, "no client " + std::to_string(client.value)};
  }
  close_client(now, client, ClientEnd::by_operator);
  touch(now);
  return {};
}

Result<void> SubnetworkInterface::request_break(Instant now, Address peer) {
  for (const HardLinkInfo& link : hard_links_.links()) {
    if (link.peer != peer || link.state == HardLinkState::closed) continue;
    return Error{ErrorCode::refused, "a client has a hard link with " + to_string(peer) +
                                         "; disconnect the client to end it"};
  }
  if (!links_.request_end(peer)) {
    return Error{ErrorCode::not_found, "no link with " + to_string(peer) + ", and no call for one"};
  }
  touch(now);
  return {};
}

UpduList SubnetworkInterface::updus(const UpduFilter& filter, std::size_t listed_max) const {
  UpduList list;
  const auto add = [&](const UnidataItem& item, bool queued, std::string_view waits_for) {
    if (item.own || !filter.fits(item)) return;
    list.updus.push_back({.id = item.id,
                          .client = item.client,
                          .destination = item.destination,
                          .source_sap = item.local_sap(),
                          .destination_sap = item.remote_sap(),
                          .priority = item.priority,
                          .octets = item.octets(),
                          .age = now_ - item.accepted_at,
                          .time_left = item.time_to_die - now_,
                          .attempts = item.attempts,
                          .queued = queued,
                          .waits_for = waits_for});
  };
  sender_.queue().for_each([&](const UnidataItem& item) { add(item, true, waits_for(item)); });
  sender_.deliveries().for_each([&](const UnidataItem& item, bool acknowledged) {
    add(item, false,
        acknowledged ? "the other client"
        : item.arq() ? "its acknowledgement"
                     : "its transmission");
  });
  list.total = list.updus.size();
  const auto listed =
      list.updus.begin() + static_cast<std::ptrdiff_t>(std::min(list.total, listed_max));
  std::partial_sort(list.updus.begin(), listed, list.updus.end(),
                    [](const UpduInfo& a, const UpduInfo& b) { return a.id < b.id; });
  list.updus.erase(listed, list.updus.end());
  return list;
}

std::string_view SubnetworkInterface::waits_for(const UnidataItem& item) const {
  if (!modem_works_) return "the modem";
  if (silent_) return "the end of EMCON";
  const Address peer = item.destination;
  if (!item.arq()) {
    const bool allowed = hard_links_.allows_nonarq(peer, item.local_sap(), item.remote_sap());
    return allowed ? "its turn" : "the end of a hard link";
  }
  if (hard_links_.governs(peer)) {
    const bool carried = hard_links_.carries(peer, item.local_sap(), item.remote_sap());
    return carried ? "its turn" : "the end of a hard link";
  }
  if (!links_.is_in_session(peer) && hard_links_.hold_calls()) return "the end of a hard link";
  return links_.waits_for(now_, peer);
}

std::size_t SubnetworkInterface::request_purge(Instant now, const UpduFilter& filter) {
  const std::size_t purged = sender_.purge(now, filter);
  touch(now);
  return purged;
}

void SubnetworkInterface::on_management_answer(Instant now, ClientId client,
                                               std::uint8_t message_type,
                                               const std::vector<std::string>& lines) {
  if (clients_.binding(client) == nullptr) return;
  constexpr std::size_t kPartLineOctets = 32;
  const std::size_t room = config_.management_octets_max - kPartLineOctets;
  std::vector<std::string> parts(1);
  for (const std::string& line : lines) {
    const std::string_view kept = std::string_view(line).substr(0, room - 1);
    if (parts.back().size() + kept.size() + 1 > room) parts.emplace_back();
    parts.back().append(kept).append("\n");
  }
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const std::string text =
        "part=" + std::to_string(i + 1) + "/" + std::to_string(parts.size()) + "\n" + parts[i];
    outbox_.send(client, sis::ManagementIndication{message_type, Bytes(text.begin(), text.end())});
  }
  touch(now);
}

}  // namespace s5066::sap
