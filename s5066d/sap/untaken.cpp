// SPDX-License-Identifier: Apache-2.0
#include "s5066d/sap/untaken.h"

#include <utility>

#include "s5066d/base/assert.h"

namespace s5066::sap {

ReceiptId UntakenIndications::add(ClientId client, Subject subject) {
  const ReceiptId receipt{++last_};
  if (subject.repeat_key) keys_.insert(*subject.repeat_key);
  by_client_[client].insert(receipt);
  untaken_.emplace(receipt, Untaken{client, std::move(subject)});
  return receipt;
}

std::optional<UntakenIndications::Subject> UntakenIndications::take(ReceiptId receipt) {
  auto node = untaken_.extract(receipt);
  if (node.empty()) return std::nullopt;
  const auto of_client = by_client_.find(node.mapped().client);
  S5066_ASSERT(of_client != by_client_.end());
  of_client->second.erase(receipt);
  if (of_client->second.empty()) by_client_.erase(of_client);
  Subject subject = std::move(node.mapped().subject);
  if (subject.repeat_key) keys_.erase(keys_.find(*subject.repeat_key));
  return subject;
}

std::vector<UntakenIndications::Subject> UntakenIndications::take_of(ClientId client) {
  std::vector<Subject> taken;
  const auto of_client = by_client_.find(client);
  if (of_client == by_client_.end()) return taken;
  const std::set<ReceiptId> receipts = of_client->second;
  for (const ReceiptId receipt : receipts) taken.push_back(*take(receipt));
  return taken;
}

std::size_t UntakenIndications::count(ClientId client) const {
  const auto of_client = by_client_.find(client);
  return of_client == by_client_.end() ? 0 : of_client->second.size();
}

}  // namespace s5066::sap
