// SPDX-License-Identifier: Apache-2.0
#include "modem/tools/serve_control.h"

#include <optional>
#include <utility>

#include "config/proto/control.pb.h"
#include "modem/api/sound_level.h"
#include "modem/tools/options.h"
#include "s5066d/control/ask.h"
#include "s5066d/control/json.h"

namespace s5066::modem::tools {
namespace {

/// A client that asks without a pause must not hold up the transmitter's loop.
constexpr int kStepsPerTurn = 16;

const control::VerbInfo kStatusVerb = {"status", "", "the user, the device and its sound",
                                       control::answered_by<proto::ModemServerStatus>};

}  // namespace

ServeControl::ServeControl(const control::EventRing& events, LogSink& log)
    : plane_(io_, "hfmodem", events, log) {}

Result<void> ServeControl::open(const std::string& path, const ModemHost& host) {
  plane_.verbs().add(
      kStatusVerb,
      [this, &host](const control::Words& words) -> std::optional<Result<std::string>> {
        if (!words.empty()) return std::nullopt;
        return Result<std::string>(status(host));
      });
  return plane_.open({.path = path}, [&host] {
    const ModemState modem = host.modem();
    CounterRows rows;
    modem.counters.list(rows);
    modem.receiver.list(rows);
    return rows;
  });
}

void ServeControl::turn() {
  for (int step = 0; step < kStepsPerTurn && io_.poll_one() > 0; ++step) {
  }
}

std::string ServeControl::status(const ModemHost& host) const {
  const ModemState modem = host.modem();
  proto::ModemServerStatus status;
  *status.mutable_program() = plane_.program();
  status.set_control_port(host.control_port());
  status.set_data_port(host.data_port());
  status.set_user(host.user());
  status.set_device_lost(modem.down);
  status.set_sound_level(std::string(to_string(modem.sound_level)));
  status.set_sound_level_db(modem.sound_level_db);
  if (modem.clock_ppm) status.set_clock_ppm(*modem.clock_ppm);
  return control::answer_json(std::move(status));
}

int ask_serve(const std::string& path, const std::vector<std::string>& words, bool json) {
  const std::vector<control::VerbInfo> verbs = {kStatusVerb, control::kCountersVerb,
                                                control::kEventsVerb, control::kHelpVerb};
  std::string request;
  for (const std::string& word : words) request += (request.empty() ? "" : " ") + word;
  for (const control::VerbInfo& verb : verbs) {
    if (verb.name != words.front()) continue;
    return control::ask_and_print("hfmodem", path, request, verb.answer(),
                                  json ? control::Form::json : control::Form::text);
  }
  return usage_error("serve", control::unknown_verb(verbs));
}

}  // namespace s5066::modem::tools
