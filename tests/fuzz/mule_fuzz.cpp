// SPDX-License-Identifier: Apache-2.0
// Input: a message received over P_MUL. No input may use more memory than the limits allow, and
// decoded mail has the same meaning after it is written and read again.
#include "gateways/acp142/mail/cdt.h"
#include "gateways/acp142/mail/mule.h"
#include "gateways/acp142/mail/next_hops.h"
#include "s5066d/base/assert.h"

using namespace s5066;
using namespace s5066::acp142;

namespace {

void check_payload(ByteSpan payload) {
  auto mail = decode_mule(payload, {.recipients_max = 50});
  if (!mail) return;
  S5066_ASSERT(!mail->envelope.recipients.empty() && mail->envelope.recipients.size() <= 50);
  std::erase_if(mail->envelope.from.parameters,
                [](const Parameter& p) { return p.keyword == "SIZE"; });
  const auto again = decode_mule(encode_mule(mail->envelope, mail->content), {});
  S5066_ASSERT(again && again->envelope == mail->envelope && again->content == mail->content);
  constexpr NodeId kSender{0x0A010101};
  const std::size_t recipients = mail->envelope.recipients.size();
  if (const auto hops = take_next_hops(kSender, recipients, mail->content)) {
    S5066_ASSERT(hops->size() == recipients);
    const std::string field = next_hops_field(kSender, *hops);
    Bytes written(field.begin(), field.end());
    S5066_ASSERT(field.empty() || take_next_hops(kSender, recipients, written) == hops);
  }
  static_cast<void>(header_field(mail->content, "Message-ID"));
  static_cast<void>(check_lines(mail->content));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const ByteSpan input(data, size);
  check_payload(input);
  constexpr InflateLimits kLimits{
      .octets_max = 1u << 20, .ratio_max = 20, .octets_always_allowed = 4096};
  const auto payload = decode_cdt(input, kLimits);
  if (!payload) return 0;
  S5066_ASSERT(payload->size() <= kLimits.octets_max);
  S5066_ASSERT(*decode_cdt(encode_cdt(*payload), {}) == *payload);
  check_payload(*payload);
  return 0;
}
