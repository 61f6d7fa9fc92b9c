// SPDX-License-Identifier: Apache-2.0
#include "gateways/acp142/mail/repeat_marks.h"

#include "gateways/acp142/mail/next_hops.h"
#include "gateways/common/sha256.h"

namespace s5066::acp142 {
namespace {

constexpr std::size_t kMarkOctets = 16;

}  // namespace

// The content is hashed once for all recipients, of which there may be a thousand.
std::vector<std::string> repeat_marks(const Mail& mail, std::string_view way) {
  const std::string id = header_field(mail.content, "Message-ID");
  const std::string date = header_field(mail.content, "Date");
  if (id.empty() && date.empty()) return {};
  std::string common = std::string(way) + "\n" + id + "\n";
  Bytes hash;
  if (id.empty()) {
    hash = gateways::sha256_of(without_header_fields(mail.content, {"Received", kNextHopsName}));
  } else {
    common += header_field(mail.content, "Resent-Message-ID") + "\n" + date + "\n" +
              header_field(mail.content, "Subject") + "\n";
    hash = gateways::sha256_of(ByteSpan(mail.content).subspan(header_octets(mail.content)));
  }
  std::vector<std::string> marks;
  for (const Path& recipient : mail.envelope.recipients) {
    const std::string head = common + mail.envelope.from.address + "\n" + recipient.address + "\n";
    Bytes known(head.begin(), head.end());
    append(known, hash);
    const Bytes mark = gateways::sha256_of(known);
    marks.emplace_back(mark.begin(), mark.begin() + kMarkOctets);
  }
  return marks;
}

}  // namespace s5066::acp142
