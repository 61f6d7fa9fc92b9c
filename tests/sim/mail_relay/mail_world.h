// SPDX-License-Identifier: Apache-2.0
// Mail gateways with real spools on a channel on which a station hears only some of the others. The
// world consists of whole mail and P_MUL cores, without SMTP and the layers of STANAG 5066. PDUs
// are lost for each listener, commits fail, and the power fails at any moment, also between a
// commit and the actions that follow from it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "gateways/acp142/mail/mail_core.h"
#include "gateways/acp142/store/sqlite_mail_store.h"
#include "gateways/p_mul/p_mul_core.h"
#include "s5066d/base/assert.h"
#include "s5066d/base/rng.h"
#include "tests/support/virtual_time.h"
#include "tests/unit/gateways/temporary_folder.h"

namespace s5066::sim {

class MailWorld {
 public:
  struct Options {
    std::size_t stations = 2;
    double loss = 0;  // probability that a PDU is lost, for each listener
    double commit_failures = 0;
    double cuts = 0;  // probability of a power failure after a commit
    double rate_bps = 2400;
  };
  struct Counts {
    std::uint64_t delivered = 0;
    std::uint64_t reported = 0;
    std::uint64_t suppressed = 0;  // mail that arrived by another route, or again
    std::uint64_t restarts = 0;
    std::uint64_t pdus = 0;
  };

  MailWorld(std::uint64_t seed, const Options& options);
  ~MailWorld();

  /// Station i owns "si.example", to which reports to its senders go.
  static p_mul::NodeId id(std::size_t station) {
    return {0x0A010101u + static_cast<std::uint32_t>(station)};
  }
  static std::string domain(std::size_t station) {
    return "s" + std::to_string(station) + ".example";
  }
  Rng& rng() { return rng_; }

  // Call these functions before start().
  void hears(std::size_t listener, std::size_t speaker);
  void own(std::size_t at, const std::string& pattern);
  void route(std::size_t at, const std::string& pattern, const std::vector<std::size_t>& stations,
             bool relay = true);
  void group(std::size_t at, const std::vector<std::size_t>& stations);
  /// Makes the station a gateway of another make, which does not tell which recipients belong to
  /// which station.
  void make_foreign(std::size_t station);
  /// Called for each PDU and listener; the PDU is lost for this listener if it returns true.
  std::function<bool(std::size_t listener, std::size_t speaker, const p_mul::OutgoingPdu&)> lose;
  void start();

  bool has_route(std::size_t at, const std::string& address);
  /// Sends mail from a mailbox at a station and returns its number. Repeats until the gateway
  /// accepts it.
  int send(std::size_t from, std::vector<std::string> recipients,
           const std::string& parameters = {});
  void restart(std::size_t station);
  void at(Duration after, EventHeap::Callback callback);
  /// Runs until no spool has work left; returns false if that takes longer than `patience`.
  bool run_until_idle(Duration patience);

  std::size_t copies(int message, const std::string& recipient, std::size_t station) const;
  bool reported(int message, const std::string& recipient) const;
  /// Returns the faults: mail delivered twice at a station, delivered at a station that it was not
  /// for, or neither delivered nor reported.
  std::string faults() const;
  const Counts& counts() const { return counts_; }

 private:
  struct Station;
  struct Sent {
    std::size_t from = 0;
    std::vector<std::string> recipients;
    std::string parameters;
    bool taken = false;
  };
  void open(Station& station);
  void hand_over(int number);
  void drain(Station& station);
  void pump(Station& station);
  void arm(Station& station);
  void power_off(Station& station);
  void arrive(Station& station, const Bytes& octets);
  void take(Station& station, acp142::MailNews& news);
  void take(Station& station, acp142::MailRequest& request);
  void take(Station& station, acp142::MailCore::Submit& submit);
  void take(Station& station, acp142::MailCore::ConfirmReceived& confirm);
  void take(Station& station, acp142::MailCore::Known& known);
  void take(Station& station, acp142::MailCore::AnswerSession& answer);
  void take(Station& station, acp142::MailCore::Cancel& cancel);
  void take(Station& station, acp142::MailCore::Suspend& suspend);
  void take(Station& station, acp142::MailCore::Deliver& deliver);
  // All stations of this world take mail by P_MUL.
  void take(Station&, acp142::HandOver&) { S5066_ASSERT(false); }
  void take(Station&, acp142::MailCore::Withdraw&) { S5066_ASSERT(false); }
  void take(Station&, acp142::MailCore::ConfirmPeer&) { S5066_ASSERT(false); }
  void note(const Station& station, const acp142::Mail& mail);
  bool idle();
  UtcSeconds utc() const;

  EventHeap heap_;
  Rng rng_;
  Options options_;
  Counts counts_;
  std::vector<std::unique_ptr<Station>> stations_;
  std::map<int, Sent> sent_;
  std::map<std::pair<int, std::string>, std::map<std::size_t, std::size_t>> copies_;
  std::set<std::pair<int, std::string>> reported_;
  std::string strange_;
};

}  // namespace s5066::sim
