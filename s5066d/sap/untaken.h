// SPDX-License-Identifier: Apache-2.0
// Indications whose senders asked for a client delivery confirmation. Each is kept from when it
// goes to the client's connection until the client has taken it (A.3.2.4(25)).
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "s5066d/base/ids.h"
#include "s5066d/cas/channel_access.h"
#include "s5066d/sap/actions.h"
#include "s5066d/sap/spdu.h"

namespace s5066::sap {

class UntakenIndications {
 public:
  /// Data for the delivery S_PDU.
  struct Subject {
    Address source;  // our own address if a client of ours sent it
    cas::Service service = cas::Service::arq;
    DataSpdu data;  // U_PDU that is cut to the part that the answer quotes
    std::optional<std::uint64_t> repeat_key;
  };

  ReceiptId add(ClientId client, Subject subject);
  std::optional<Subject> take(ReceiptId receipt);
  /// Takes all indications of one client out of the table.
  std::vector<Subject> take_of(ClientId client);

  /// True if an S_PDU with this key waits for its client to take it.
  bool awaits(std::uint64_t repeat_key) const { return keys_.count(repeat_key) > 0; }
  std::size_t count(ClientId client) const;
  std::size_t size() const { return untaken_.size(); }

 private:
  struct Untaken {
    ClientId client;
    Subject subject;
  };

  std::uint64_t last_ = 0;
  std::map<ReceiptId, Untaken> untaken_;
  std::map<ClientId, std::set<ReceiptId>> by_client_;
  std::multiset<std::uint64_t> keys_;
};

}  // namespace s5066::sap
