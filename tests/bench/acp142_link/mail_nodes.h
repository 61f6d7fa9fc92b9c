// SPDX-License-Identifier: Apache-2.0
// Two mail gateways as they run in service, from the end of DATA at one to the mail server at the
// other: each is a mail core with its spool on top of P_MUL and a whole node, in virtual time. The
// figures leave out the time of disks and sockets.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gateways/acp142/mail/mail_core.h"
#include "gateways/acp142/store/sqlite_mail_store.h"
#include "tests/sim/p_mul_nodes.h"
#include "tests/unit/gateways/temporary_folder.h"

namespace s5066::bench {

class MailNodes {
 public:
  MailNodes(sim::Seed seed, const sim::PMulNodes::Options& options);

  /// Sends a mail to the other station; `mail` is its text on the air, header included.
  void send(const std::string& mail);
  void run_for(Duration d) { nodes_.run_for(d); }
  Instant now() { return nodes_.world().now(); }
  std::uint64_t bursts() { return nodes_.world().medium().bursts(); }

  std::size_t content_octets() const { return content_octets_; }  // compressed, as P_MUL sends it
  std::optional<Instant> delivered_at() const { return delivered_at_; }
  std::optional<Instant> acknowledged_at() const { return acknowledged_at_; }

 private:
  struct Gateway {
    acp142::AddressTable table;
    std::unique_ptr<acp142::MailCore> core;
    std::optional<acp142::SqliteMailStore> store;
  };
  bool take_event(std::size_t station, const p_mul::MessageEvent& event);
  void drain(std::size_t station);
  void carry_out(std::size_t station, acp142::MailCore::Action action);

  test::TemporaryFolder folder_;
  sim::PMulNodes nodes_;
  std::vector<Gateway> gateways_{2};
  std::size_t content_octets_ = 0;
  std::optional<Instant> delivered_at_;
  std::optional<Instant> acknowledged_at_;
};

}  // namespace s5066::bench
