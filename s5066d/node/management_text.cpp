// SPDX-License-Identifier: Apache-2.0
#include "s5066d/node/management_text.h"

#include <algorithm>
#include <charconv>
#include <set>

#include "s5066d/node/node.h"

namespace s5066 {
namespace {

class Lines {
 public:
  void add(const std::string& name, const std::string& value) {
    lines_.push_back(name + "=" + value);
  }
  void add(const std::string& name, std::uint64_t value) { add(name, std::to_string(value)); }
  ManagementLines sorted() && {
    std::sort(lines_.begin(), lines_.end());
    return std::move(lines_);
  }

 private:
  ManagementLines lines_;
};

}  // namespace

ManagementLines status_lines(const NodeStatus& status) {
  const auto bound = std::count_if(status.clients.begin(), status.clients.end(),
                                   [](const ClientStatus& client) { return client.bound; });
  Lines lines;
  lines.add("address", to_string(status.address));
  lines.add("broadcast_session", status.broadcast_session ? 1 : 0);
  lines.add("channel_busy", status.channel_busy ? 1 : 0);
  lines.add("channel_occupied", status.channel_occupied ? 1 : 0);
  lines.add("clients_bound", static_cast<std::uint64_t>(bound));
  lines.add("clients_connected", status.clients.size());
  lines.add("emcon", status.emcon ? 1 : 0);
  lines.add("mode", std::string(to_string(status.mode)));
  lines.add("modem_working", status.modem_working ? 1 : 0);
  lines.add("transmitting", status.transmitting ? 1 : 0);
  lines.add("octets_charged", status.holdings.octets_charged);
  lines.add("updus_awaiting_client", status.holdings.updus_awaiting);
  lines.add("updus_below", status.holdings.updus_below);
  lines.add("updus_queued", status.holdings.updus_queued);
  return std::move(lines).sorted();
}

ManagementLines statistics_lines(const Counters& counters) {
  Lines lines;
  for (const CounterInfo<Counter>& info : counter_table(Counter{})) {
    lines.add(std::string(info.name), counters[info.counter]);
  }
  return std::move(lines).sorted();
}

ManagementLines link_lines(const NodeStatus& status) {
  Lines lines;
  for (const LinkStatus& link : status.links) {
    const std::string name = "link." + to_string(link.peer) + ".";
    lines.add(name + "acknowledged_octets", link.acknowledged_octets);
    if (link.advised_mode) lines.add(name + "advised_mode", modem::to_string(*link.advised_mode));
    if (link.capabilities) lines.add(name + "capabilities", *link.capabilities);
    if (link.mode_refused) {
      lines.add(name + "mode_refused", std::string(pdu::to_string(*link.mode_refused)));
    }
    lines.add(name + "outstanding_octets", link.outstanding_octets);
    lines.add(name + "queued_octets", link.queued_octets);
    lines.add(name + "received_octets", link.received_octets);
    lines.add(name + "state", std::string(to_string(link.state)));
    if (link.transmit_mode) {
      lines.add(name + "transmit_mode", modem::to_string(*link.transmit_mode));
    }
    if (link.state != cas::LinkState::idle) {
      const bool exclusive = link.type == cas::LinkType::exclusive;
      lines.add(name + "type", exclusive ? "exclusive" : "nonexclusive");
    }
    lines.add(name + "we_called", link.we_called ? 1 : 0);
  }
  std::set<Address> listed;
  for (const sap::HardLinkInfo& link : status.hard_links) {
    if (!listed.insert(link.peer).second) continue;  // a link waits for the end of the earlier one
    const std::string name = "hard_link." + to_string(link.peer) + ".";
    lines.add(name + "owner_sap", (link.we_called ? link.local_sap : link.remote_sap).value);
    lines.add(name + "priority", link.priority);
    lines.add(name + "state", std::string(to_string(link.state)));
    lines.add(name + "type", static_cast<std::uint64_t>(link.type));
    lines.add(name + "we_called", link.we_called ? 1 : 0);
  }
  return std::move(lines).sorted();
}

ManagementLines client_lines(const NodeStatus& status) {
  Lines lines;
  for (const ClientStatus& client : status.clients) {
    if (!client.bound) continue;
    const std::string name = "sap." + std::to_string(client.sap.value) + ".";
    lines.add(name + "flow_off", client.flow_off ? 1 : 0);
    lines.add(name + "queued_octets", client.queued_octets);
    lines.add(name + "queued_updus", client.queued_updus);
    lines.add(name + "rank", client.rank);
  }
  return std::move(lines).sorted();
}

ManagementLines error_lines(std::uint8_t request, const Error& error) {
  Lines lines;
  lines.add("error", to_string(error));
  lines.add("request", request);
  return std::move(lines).sorted();
}

Result<unsigned> number_in(ByteSpan body, std::string_view name, unsigned max) {
  std::string_view text(reinterpret_cast<const char*>(body.data()), body.size());
  if (!text.empty() && text.back() == '\n') text.remove_suffix(1);
  if (text.substr(0, name.size()) != name || text.substr(name.size(), 1) != "=") {
    return Error{ErrorCode::bad_field, "the body has to be " + std::string(name) + "=NUMBER"};
  }
  text.remove_prefix(name.size() + 1);
  unsigned number = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool whole = failure == std::errc{} && end == text.data() + text.size();
  if (!whole || number > max) {
    return Error{ErrorCode::bad_field,
                 std::string(name) + " has to be a number up to " + std::to_string(max)};
  }
  return number;
}

}  // namespace s5066
