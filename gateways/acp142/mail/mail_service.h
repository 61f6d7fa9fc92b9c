// SPDX-License-Identifier: Apache-2.0
// The running mail gateway: MailCore and P_MUL between SMTP sockets, the SIS client, the store
// thread and a control socket, on one io_context. The cores decide; this only carries.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gateways/acp142/mail/mail_config.h"
#include "gateways/acp142/mail/mail_core.h"
#include "gateways/acp142/mail/mail_emcon.h"
#include "gateways/acp142/mail/mail_operator.h"
#include "gateways/acp142/mail/mail_peers.h"
#include "gateways/acp142/mail/mail_setup.h"
#include "gateways/acp142/smtp/smtp_shell.h"
#include "gateways/acp142/store/sqlite_mail_store.h"
#include "gateways/common/service_host.h"
#include "gateways/common/sis_requests.h"
#include "gateways/common/spool_keeper.h"
#include "gateways/common/store_thread.h"
#include "gateways/p_mul/carrier_udop_core.h"
#include "gateways/p_mul/carrier_udp.h"
#include "gateways/p_mul/p_mul_core.h"
#include "s5066d/base/counter_set.h"
#include "s5066d/base/log.h"
#include "s5066d/base/rng.h"
#include "s5066d/base/step_limit.h"
#include "sis/client.h"

namespace s5066::acp142 {

std::string control_socket_path(const MailConfig& config);
control::SocketConfig control_socket(const MailConfig& config);

class MailService {
 public:
  /// Waits for the SIS server that no setting changes.
  struct Waits {
    Duration reconnect = std::chrono::seconds(2);  // doubles with each failure
    /// A silent node reports its silence within this time after a bind.
    Duration word_of_node = std::chrono::seconds(2);
  };
  MailService(const MailConfig& config, AddressTable table, std::uint64_t seed, LogSink& log);
  MailService(const MailConfig& config, AddressTable table, std::uint64_t seed, LogSink& log,
              const Waits& waits);
  ~MailService();

  /// Serves until SIGINT, SIGTERM or SIGHUP, with a watch over its loop. An error when it cannot
  /// start, and `bad_checksum` when the spool was found damaged.
  Result<void> run();

  // The steps of run(), for callers that have a loop of their own.
  Result<void> start();
  void stop();
  boost::asio::io_context& io() { return host_.io(); }
  /// Returns the counters of all parts of the process, after start().
  CounterRows counters() const;

 private:
  Instant now() const;
  void set_clock();
  void arm_clock();
  void arm_timer();
  void on_sis(const sis::Event& event);
  gateways::SpoolKeeper::Config spool_config() const;
  void make_client();
  Result<void> open_carrier();
  bool bearer_ready() const;
  bool has_pdu();
  void send(p_mul::OutgoingPdu pdu);
  void to_carrier(const gateways::SisEvent& event);
  void on_commit(SessionId session, SmtpServerCore::Commit commit);
  void drain();
  void drain_air();
  void serve();
  void carry_out(const MailNews& news);
  void carry_out(MailRequest request);
  void carry_out(MailCore::Submit submit);
  void carry_out(const MailCore::ConfirmReceived& confirm);
  void carry_out(const MailCore::Known& known);
  void carry_out(const MailCore::AnswerSession& answer);
  void carry_out(const MailCore::Cancel& cancel);
  void carry_out(const MailCore::Suspend& suspend);
  void carry_out(const MailCore::Deliver& deliver);
  void carry_out(const HandOver& hand_over) { peers_.carry_out(hand_over); }
  void carry_out(const MailCore::Withdraw& withdraw) { peers_.carry_out(withdraw.id); }
  void carry_out(const MailCore::ConfirmPeer& confirm) { peers_.carry_out(confirm); }
  void log_air(const MessageNews& news);
  void offer_store_requests();
  bool bind_again();
  bool bound() const;

  MailConfig config_;
  Waits waits_;
  AddressTable table_;
  gateways::ServiceHost host_;
  LogSink& log_;
  boost::asio::io_context& io_;
  Rng rng_;
  boost::asio::steady_timer timer_{io_};
  boost::asio::steady_timer clock_timer_{io_};
  std::chrono::steady_clock::time_point started_ = std::chrono::steady_clock::now();
  gateways::SpoolKeeper spool_;
  MailCore mail_;
  p_mul::PMulCore p_mul_;
  p_mul::CarrierUdopCore carrier_;
  StepLimit steps_;
  MailEmcon emcon_;
  MailPeers peers_;
  bool draining_ = false;
  bool serving_ = false;
  bool stopping_ = false;
  std::deque<MailRequest> store_requests_;  // requests that the store had no room for
  gateways::SisRequests requests_;
  std::optional<SqliteMailStore> operator_store_;
  std::unique_ptr<SmtpListener> listener_;
  std::optional<MailOperator> operator_;
  std::unique_ptr<sis::Client> client_;  // exactly one of client_ and udp_ is set
  CounterSet<sis::ClientCounter> earlier_clients_;
  std::unique_ptr<p_mul::CarrierUdp> udp_;
  std::unique_ptr<gateways::StoreThread<SqliteMailStore>> store_;
};

}  // namespace s5066::acp142
