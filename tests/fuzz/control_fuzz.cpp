// SPDX-License-Identifier: Apache-2.0
// Input: a request line of the control interface, which is also read as an answer and as a line of
// the log. A request must be understood or refused by an error in JSON that a client can read. The
// words of a request to the relay must mean the same when they are written again.
#include <google/protobuf/stubs/logging.h>

#include <optional>

#include "config/control_request.h"
#include "config/proto/control.pb.h"
#include "gateways/file_relay/relay_requests.h"
#include "s5066d/base/assert.h"
#include "s5066d/control/json.h"
#include "s5066d/control/log_fields.h"
#include "s5066d/control/text.h"

using namespace s5066;

namespace {

struct Nothing final : LogSink {
  void write(LogLevel, std::string_view) override {}
};

void check_events(std::string_view line) {
  Nothing nothing;
  control::EventRing ring(nothing);
  ring.write(LogLevel::warning, line);
  const auto events = control::read_answer<proto::Events>(control::events_json(ring, {}));
  S5066_ASSERT(events && events->events_size() == 1);
  S5066_ASSERT(is_utf8(control::text_of(*events)));
}

void check_relay_requests(const std::string& text) {
  const auto words = control::words_of(text);
  if (const auto put = file_relay::parse_put(words)) {
    const std::string line = file_relay::to_line(*put);
    S5066_ASSERT(file_relay::parse_put(control::words_of(line.substr(4))) == put);
  }
  static_cast<void>(file_relay::parse_list_filter(words, AddressBook()));
  S5066_ASSERT(file_relay::from_percent(file_relay::to_percent(text)) == text);
  static_cast<void>(file_relay::from_percent(text));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  google::protobuf::SetLogHandler(nullptr);  // it reports each answer that it cannot parse
  const std::string text(reinterpret_cast<const char*>(data), size);

  const auto request = config::parse_control_request(text);
  if (!request) {
    const std::string json = control::failure_json({request.error().code, text});
    const auto read = control::read_answer<proto::Done>(json);
    S5066_ASSERT(!read && read.error().code == request.error().code);
  }
  if (const auto filter = control::parse_event_filter(control::words_of(text))) {
    S5066_ASSERT(filter->least != LogLevel::debug);
  }
  if (const auto status = control::read_answer<proto::Status>(text)) {
    static_cast<void>(control::text_of(*status));
    S5066_ASSERT(control::read_answer<proto::Status>(control::json_of(*status)));
  }
  check_relay_requests(text);
  check_events(text);
  return 0;
}
