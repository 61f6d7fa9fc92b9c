// SPDX-License-Identifier: Apache-2.0
// Input: U_PDUs of a station, each with its length in front, while a session of ours with it is
// open. Each message of ours ends once, and what the spool gets is text with recipients of ours.
#include <algorithm>

#include "gateways/acp142/peers/hmtp_core.h"
#include "s5066d/base/assert.h"

using namespace s5066;
using namespace s5066::acp142;

namespace {

void check(const PeerReceived& received) {
  const LineCheck lines = check_lines(received.mail.content);
  S5066_ASSERT(!lines.zero || find_parameter(received.mail.envelope.from.parameters, "BODY"));
  S5066_ASSERT(!received.mail.envelope.recipients.empty());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  AddressTable table;
  S5066_ASSERT(table.add({"b", {.own = true, .stations = {}}}));
  HmtpCore::Config config;
  config.stations = {{NodeId{2}, Address{2}}};
  config.session.server.content_follows = true;
  config.session.server.message_octets_max = 1u << 12;
  HmtpCore core(config, table);
  Instant now{std::chrono::seconds(1)};
  core.on_sis(now, gateways::SisBound{100});
  constexpr int kMails = 2;
  for (int id = 1; id <= kMails; ++id) {
    auto mail = std::make_shared<Mail>();
    mail->envelope.recipients.push_back({"a@b", {}});
    core.request_send(
        now, {.id = {id}, .station = {2}, .left = std::chrono::hours(1), .mail = std::move(mail)});
  }
  int ended = 0;
  const auto drain = [&] {
    while (auto event = core.poll_event()) {
      if (auto* received = std::get_if<PeerReceived>(&*event)) {
        check(*received);
        core.on_committed(now, received->ticket, CommitOutcome::committed);
      } else if (auto* one = std::get_if<PeerEnded>(&*event)) {
        ++ended;
        S5066_ASSERT(one->done.outcomes.size() == 1);
      }
    }
    while (auto unidata = core.poll_unidata(now)) {
      S5066_ASSERT(!unidata->updu.empty() && unidata->updu.size() <= 100);
      core.on_sis(now, gateways::SisConfirmed{unidata->id});
    }
  };
  drain();
  for (ByteSpan input(data, size); !input.empty();) {
    const std::size_t octets = std::min<std::size_t>(input[0], input.size() - 1);
    const ByteSpan updu = input.subspan(1, octets);
    input = input.subspan(1 + octets);
    core.on_sis(
        now, gateways::SisIndication{
                 .source = Address{2}, .source_sap = kHmtpSap, .updu = {updu.begin(), updu.end()}});
    drain();
    now += std::chrono::seconds(octets);
    core.on_deadline(now);
  }
  now += std::chrono::hours(100);
  core.on_deadline(now);
  drain();
  core.on_deadline(now + std::chrono::hours(100));
  drain();
  S5066_ASSERT(ended == kMails);
  return 0;
}
