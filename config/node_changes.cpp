// SPDX-License-Identifier: Apache-2.0
#include "config/node_changes.h"

#include <google/protobuf/util/message_differencer.h>

#include <algorithm>

#include "config/proto/node.pb.h"
#include "s5066d/base/assert.h"

namespace s5066::config {
namespace {

using google::protobuf::util::MessageDifferencer;

/// This reporter collects the names of the settings that differ; a repeated setting has no index.
class Names final : public MessageDifferencer::Reporter {
 public:
  using Message = google::protobuf::Message;
  using Path = std::vector<MessageDifferencer::SpecificField>;

  void ReportAdded(const Message&, const Message&, const Path& path) override { add(path); }
  void ReportDeleted(const Message&, const Message&, const Path& path) override { add(path); }
  /// Protobuf calls this function also for each section that contains a setting that differs.
  void ReportModified(const Message&, const Message&, const Path& path) override {
    const auto* field = path.empty() ? nullptr : path.back().field;
    const bool section = field != nullptr && field->message_type() != nullptr;
    if (!section) add(path);
  }

  std::vector<std::string> names;

 private:
  void add(const Path& path) {
    std::string name;
    for (const auto& step : path) {
      if (step.field == nullptr) continue;
      name.append(name.empty() ? "" : ".").append(step.field->name());
      if (step.field->is_repeated()) break;  // the name stands for the whole list
    }
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
};

std::vector<std::string> differences(const proto::Node& before, const proto::Node& after) {
  Names found;
  MessageDifferencer differencer;
  differencer.ReportDifferencesTo(&found);
  static_cast<void>(differencer.Compare(before, after));
  return found.names;
}

/// Copies the settings that change at once.
void take_at_once(const proto::Node& from, proto::Node& to) {
  to.clear_log_level();
  if (from.has_log_level()) to.set_log_level(from.log_level());
  proto::Sis& sis = *to.mutable_sis();
  *sis.mutable_allow() = from.sis().allow();
  if (sis.has_tls() && from.sis().has_tls()) *sis.mutable_tls() = from.sis().tls();
  proto::ClientLimits& limits = *sis.mutable_limits();
  const proto::ClientLimits& given = from.sis().limits();
  limits.clear_connections_max();
  limits.clear_connections_per_address_max();
  limits.clear_connects_per_second_max();
  limits.clear_dead_peer_timeout_s();
  if (given.has_connections_max()) limits.set_connections_max(given.connections_max());
  if (given.has_connections_per_address_max()) {
    limits.set_connections_per_address_max(given.connections_per_address_max());
  }
  if (given.has_connects_per_second_max()) {
    limits.set_connects_per_second_max(given.connects_per_second_max());
  }
  if (given.has_dead_peer_timeout_s()) {
    limits.set_dead_peer_timeout_s(given.dead_peer_timeout_s());
  }
}

proto::Node read(const std::string& source) {
  proto::Node node;
  const bool whole = node.ParsePartialFromString(source);
  S5066_ASSERT(whole);
  // The section is created so that an empty one compares equal to an absent one.
  node.mutable_sis()->mutable_limits();
  return node;
}

}  // namespace

NodeChanges changes_to(const std::string& source, const NodeSetup& next) {
  const proto::Node before = read(source);
  const proto::Node after = read(next.source);
  proto::Node running = before;
  take_at_once(after, running);
  return {.at_once = differences(before, running),
          .after_restart = differences(running, after),
          .running = running.SerializePartialAsString()};
}

}  // namespace s5066::config
