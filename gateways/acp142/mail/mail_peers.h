// SPDX-License-Identifier: Apache-2.0
// The clients of a running mail gateway for stations of other makes: each protocol has a core, and
// a SIS client of its own, because a connection to the node is for one SAP.
#pragma once

#include <boost/asio/io_context.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "gateways/acp142/mail/mail_config.h"
#include "gateways/acp142/mail/mail_core.h"
#include "gateways/acp142/mail/mail_quarantine.h"
#include "gateways/acp142/peers/cftp_core.h"
#include "gateways/acp142/peers/hmtp_core.h"
#include "gateways/common/sis_requests.h"
#include "s5066d/base/counter_set.h"
#include "s5066d/base/log.h"
#include "s5066d/base/rng.h"
#include "s5066d/base/time.h"
#include "sis/client.h"

namespace s5066::acp142 {

class MailPeers {
 public:
  /// References to parts of the gateway, which outlive this object.
  struct Parts {
    const MailConfig& config;
    LogSink& log;
    MailCore& mail;
    std::function<Instant()> now;
    std::function<void()> drain;
  };

  MailPeers(boost::asio::io_context& io, Parts parts, Rng& rng);

  void start();
  void stop();
  /// Leaves the node and binds again, so that the node drops our queued data.
  void bind_again();
  /// While quiet (EMCON) nothing is handed to the node.
  void set_quiet(bool quiet);

  void carry_out(const HandOver& hand_over);
  void carry_out(MailId withdrawn);
  void carry_out(const MailCore::ConfirmPeer& confirm);

  /// Carries out the actions of the cores. Returns true if there was something for the mail side.
  bool drain();
  void on_deadline();
  std::optional<Instant> next_deadline() const;
  /// Appends the counters of all protocols, also of unused ones, without those of the SIS clients.
  void list(CounterRows& rows) const;
  void add_clients(CounterSet<sis::ClientCounter>& to) const;
  void add_smtp(CounterSet<SmtpCounter>& to) const;

 private:
  /// A protocol in use.
  template <typename Core>
  struct Bearer {
    template <typename... Setup>
    Bearer(MailWay is, SapId at, Setup&&... setup)
        : core(std::forward<Setup>(setup)...), way(is), sap(at) {}
    Core core;
    MailWay way;
    SapId sap{};
    bool started = false;
    gateways::SisRequests requests{};
    std::unique_ptr<sis::Client> client{};
  };

  /// Calls `call` for each protocol in use.
  template <typename Call>
  void each(const Call& call);
  template <typename Core>
  void make_client(Bearer<Core>& bearer);
  template <typename Core>
  void start(Bearer<Core>& bearer);
  template <typename Core>
  void bind_again(Bearer<Core>& bearer);
  template <typename Core>
  void on_sis(Bearer<Core>& bearer, const sis::Event& event);
  template <typename Core>
  bool drain(Bearer<Core>& bearer);
  CommitOutcome keep(const PeerUnreadable& file);
  void tell(const PeerNews& news);

  boost::asio::io_context& io_;
  Parts parts_;
  Rng& rng_;
  CounterSet<sis::ClientCounter> earlier_clients_;
  MailQuarantine quarantine_;
  AddressTable table_;  // routes for mail from other stations
  std::optional<Bearer<CftpCore>> cftp_;
  std::optional<Bearer<HmtpCore>> hmtp_;
};

}  // namespace s5066::acp142
