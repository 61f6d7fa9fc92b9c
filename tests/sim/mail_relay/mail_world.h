// Mail gateways with real spools on a channel where not everybody hears everybody: whole mail and
// P_MUL cores, without SMTP and the layers of STANAG 5066. PDUs are lost for each listener, commits
// fail, and the power goes at any moment, also between a commit and what follows from it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "gateways/acp142/mail_core.h"
#include "gateways/acp142/p_mul_core.h"
#include "gateways/acp142/sqlite_mail_store.h"
#include "s5066d/base/rng.h"
#include "tests/support/event_heap.h"
#include "tests/unit/gateways/temporary_folder.h"

namespace s5066::sim {

class MailWorld {
 public:
  struct Options {
    std::size_t stations = 2;
    double loss = 0;  // of a PDU, for each listener
    double commit_failures = 0;
    double cuts = 0;  // of the power, after a commit
    double rate_bps = 2400;
  };
  struct Counts {
    std::uint64_t delivered = 0;
    std::uint64_t reported = 0;
    std::uint64_t suppressed = 0;  // came by another way, or again
    std::uint64_t restarts = 0;
    std::uint64_t pdus = 0;
  };

  MailWorld(std::uint64_t seed, const Options& options);
  ~MailWorld();

  /// Station i is own for "si.example", where reports to its senders go.
  static acp142::NodeId id(std::size_t station) {
    return {0x0A010101u + static_cast<std::uint32_t>(station)};
  }
  static std::string domain(std::size_t station) {
    return "s" + std::to_string(station) + ".example";
  }
  Rng& rng() { return rng_; }

  // Before start().
  void hears(std::size_t listener, std::size_t speaker);
  void own(std::size_t at, const std::string& pattern);
  void route(std::size_t at, const std::string& pattern, const std::vector<std::size_t>& stations,
             bool relay = true);
  void group(std::size_t at, const std::vector<std::size_t>& stations);
  /// A gateway of another make does not say whose recipients are whose.
  void make_foreign(std::size_t station);
  /// Is asked for each PDU and listener; true: it is lost.
  std::function<bool(std::size_t listener, std::size_t speaker, const acp142::OutgoingPdu&)> lose;
  void start();

  bool has_route(std::size_t at, const std::string& address);
  /// From somebody at a station; its number. Handed over until the gateway has taken it.
  int send(std::size_t from, std::vector<std::string> recipients,
           const std::string& parameters = {});
  void restart(std::size_t station);
  void at(Duration after, EventHeap::Callback callback);
  /// Until nothing is left to do in any spool; false when it takes longer.
  bool run_until_idle(Duration patience);

  std::size_t copies(int message, const std::string& recipient, std::size_t station) const;
  bool reported(int message, const std::string& recipient) const;
  /// What is wrong: delivered twice at a station, where it was not for anybody, or neither
  /// delivered nor reported.
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
