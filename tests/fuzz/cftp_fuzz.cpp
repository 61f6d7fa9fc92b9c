// SPDX-License-Identifier: Apache-2.0
// Input: a mail record of CFTP, the file around it, and U_PDUs of a station, each with its length
// in front. No input may use more memory than the limits allow, and a record that was read has the
// same meaning after it is written and read again.
#include "gateways/acp142/peers/cftp_core.h"
#include "gateways/acp142/peers/cftp_pdu.h"
#include "gateways/acp142/peers/cftp_record.h"
#include "s5066d/base/assert.h"

using namespace s5066;
using namespace s5066::acp142;

namespace {

constexpr std::size_t kRecipientsMax = 20;

void check_record(ByteSpan input) {
  const auto read = decode_cftp_record(input, kRecipientsMax);
  if (!read) return;
  const Envelope& envelope = read->mail.envelope;
  S5066_ASSERT(!envelope.recipients.empty() && envelope.recipients.size() <= kRecipientsMax);
  const LineCheck lines = check_lines(read->mail.content);
  if (lines.bare || cftp_recipients_that_fit(envelope) < envelope.recipients.size()) return;
  const auto again = decode_cftp_record(encode_cftp_record(read->id, read->mail), kRecipientsMax);
  S5066_ASSERT(again && again->mail.envelope == envelope);
  const Bytes& content = read->mail.content;
  S5066_ASSERT(again->mail.content.size() >= content.size());
  S5066_ASSERT(std::equal(content.begin(), content.end(), again->mail.content.begin()));
}

void run_core(ByteSpan input) {
  Rng rng(1);
  CftpCore::Config config;
  config.stations = {{NodeId{2}, {.address = Address{2}}}};
  config.inflate = {.octets_max = 1u << 16};
  config.file_octets_max = config.source_octets_max = 1u << 16;
  CftpCore core(config, rng);
  Instant now{std::chrono::seconds(1)};
  core.on_sis(now, gateways::SisBound{100});
  auto mail = std::make_shared<Mail>();
  mail->envelope.recipients.push_back({"a@b", {}});
  core.request_send(
      now, {.id = {1}, .station = {2}, .left = std::chrono::hours(1), .mail = std::move(mail)});
  while (!input.empty()) {
    const std::size_t octets = std::min<std::size_t>(input[0], input.size() - 1);
    const ByteSpan updu = input.subspan(1, octets);
    input = input.subspan(1 + octets);
    core.on_sis(now, gateways::SisIndication{.source = Address{octets % 2 == 0 ? 2u : 3u},
                                             .source_sap = kCftpSap,
                                             .updu = {updu.begin(), updu.end()}});
    while (auto event = core.poll_event()) {
      if (auto* received = std::get_if<PeerReceived>(&*event)) {
        core.on_committed(now, received->ticket, CommitOutcome::committed);
      } else if (auto* unreadable = std::get_if<PeerUnreadable>(&*event)) {
        core.on_committed(now, unreadable->ticket, CommitOutcome::committed);
      }
    }
    while (core.poll_unidata(now)) continue;
    now += std::chrono::minutes(octets);
    core.on_deadline(now);
    S5066_ASSERT(core.reassembler().octets_held(Address{2}) <= config.source_octets_max);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const ByteSpan input(data, size);
  check_record(input);
  constexpr InflateLimits kLimits{.octets_max = 1u << 20, .ratio_max = 20};
  if (const auto record = inflated(input, kLimits, Container::gzip)) {
    S5066_ASSERT(record->size() <= kLimits.octets_max);
    check_record(*record);
  }
  run_core(input);
  return 0;
}
