// SPDX-License-Identifier: Apache-2.0
#include <set>
#include <string>

#include "config/contradictions.h"
#include "config/proto/gateway.pb.h"

namespace s5066::config {
namespace {

/// Complains of an entry whose limit of all files is below that of one. Warns of an entry that
/// comes twice and of one without station.
void check_stations_once(const Section& relay, const char* name, const char* of_all) {
  const auto& message = relay.message();
  const auto* field = message.GetDescriptor()->FindFieldByName(name);
  std::set<std::string> seen;
  for (int i = 0; i < message.GetReflection()->FieldSize(message, field); ++i) {
    const Section entry = relay.nested(name, i);
    const auto& one = entry.message();
    const auto* reflection = one.GetReflection();
    const auto* descriptor = one.GetDescriptor();
    const auto* station = descriptor->FindFieldByName("station");
    if (!entry.has("station")) {
      entry.warn("station", "is missing, so the entry has no effect");
    } else if (!seen.insert(reflection->GetString(one, station)).second) {
      entry.warn("station", "has an entry before, which this one replaces");
    }
    if (!entry.has(of_all) || !entry.has("file_octets_max")) continue;
    const auto file = reflection->GetUInt32(one, descriptor->FindFieldByName("file_octets_max"));
    if (reflection->GetUInt64(one, descriptor->FindFieldByName(of_all)) < file) {
      entry.complain(of_all, "is below file_octets_max, so a file of that size would never go");
    }
  }
}

void check_rule(const Section& entry) {
  const auto& rule = static_cast<const proto::RelaySending&>(entry.message());
  for (int i = 0; i < rule.windows_size(); ++i) {
    const proto::DailyWindow& window = rule.windows(i);
    if (!window.has_from() || window.from() != window.to()) continue;
    entry.nested("windows", i)
        .complain("to", "is the same as `from`; without windows files go at any time");
  }
  if (entry.has("urgent_priority") && rule.windows().empty()) {
    entry.complain("urgent_priority", "has no effect without windows");
  }
  if (entry.has("repeats") && rule.by() != proto::RelaySending::UDOP) {
    entry.complain("repeats", "has an effect only with `by: UDOP`");
  }
}

void check_sending(const Section& relay) {
  check_stations_once(relay, "access", "inbox_octets_max");
  check_stations_once(relay, "sending", "waiting_octets_max");
  const Section others = relay.nested("sending_others");
  if (others.has("station")) {
    others.complain("station", "has no meaning in `sending_others`; use `sending`");
  }
  check_rule(others);
  const int entries = static_cast<const proto::Relay&>(relay.message()).sending_size();
  for (int i = 0; i < entries; ++i) check_rule(relay.nested("sending", i));
}

void check_watch_folders(const Section& relay, const file_relay::RelayConfig& setup) {
  for (std::size_t i = 0; i < setup.watch_folders.size(); ++i) {
    const Section folder = relay.nested("watch_folders", static_cast<int>(i));
    const gateways::GradeSettings& grade = setup.watch_folders[i].grade;
    if (auto good = gateways::validate(grade); !good) {
      folder.complain("grade", good.error().detail);
    } else if (grade.grade != gateways::FileGrade::reliable && !setup.p_mul.enabled()) {
      folder.complain("grade", "needs the section `p_mul`");
    }
  }
}

}  // namespace

void find_contradictions(const Section& relay, const file_relay::RelayConfig& setup) {
  check_sis_server(relay.nested("sis"));
  if (setup.retry_delay_min_s > setup.retry_delay_max_s) {
    relay.complain("retry_delay_min_s",
                   "is above retry_delay_max_s; lower it or raise retry_delay_max_s");
  }
  if (setup.duplicate_window_s < setup.lifetime_s) {
    relay.complain("duplicate_window_s",
                   "is below lifetime_s, so late repeats would be stored twice");
  }
  if (relay.nested("others").has("station")) {
    relay.nested("others").complain("station", "has no meaning in `others`; use `access`");
  }
  if (!setup.transfer_service && (relay.has("access") || relay.has("others"))) {
    relay.complain("transfer_service", "is false, so access and others have no effect");
  }
  check_sending(relay);
  check_watch_folders(relay, setup);
}

}  // namespace s5066::config
