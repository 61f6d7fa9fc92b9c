// SPDX-License-Identifier: Apache-2.0
// EMCON of the running mail gateway: the silence of this station and of each other one, as set by
// the operator, the node and the stations themselves. The class tells P_MUL, the mail side and the
// carrier, and keeps the orders of the operator over a restart.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <map>
#include <string>

#include "gateways/acp142/mail/mail_config.h"
#include "gateways/acp142/mail/mail_core.h"
#include "gateways/acp142/store/sqlite_mail_store.h"
#include "gateways/p_mul/carrier_udop_core.h"
#include "gateways/p_mul/own_silence.h"
#include "gateways/p_mul/p_mul_core.h"
#include "s5066d/base/log.h"
#include "s5066d/base/result.h"
#include "s5066d/base/time.h"

namespace s5066::acp142 {

class MailEmcon {
 public:
  /// References to parts of the gateway, which outlive this object.
  struct Parts {
    const MailConfig& config;
    LogSink& log;
    MailCore& mail;
    p_mul::PMulCore& p_mul;
    p_mul::CarrierUdopCore& carrier;
    std::function<Instant()> now;
    std::function<void()> drain;
    /// Leaves the node and binds again, so that the node drops our queued data. Returns false if
    /// there is no node.
    std::function<bool()> bind_again;
    Duration word_of_node;  // time after a bind in which a silent node reports its silence
  };

  MailEmcon(boost::asio::io_context& io, Parts parts);

  /// Call before any socket is open.
  Result<void> load(SqliteMailStore& store);

  void on_bound();
  void on_lost() { own_.on_lost(); }
  void on_availability(sis::NodeStatus status);
  /// Call when a station has acknowledged something: it is in EMCON no longer (PM-038).
  void on_left_silence(NodeId node);

  // Requests of an operator. Each returns a consequence that the operator should know, or an empty
  // text.
  Result<std::string> set_own(bool on);
  Result<void> set_station(NodeId node, const std::string& word);

  bool is_silent(NodeId station) const;
  const p_mul::OwnSilence& own() const { return own_; }

 private:
  void on_changed();
  void wait_for_word();
  Duration begin_by_operator(bool on);

  boost::asio::io_context& io_;
  Parts parts_;
  boost::asio::steady_timer word_timer_;
  SqliteMailStore* store_ = nullptr;
  p_mul::OwnSilence own_;
  /// Silence of stations, as told by the operator or by themselves.
  std::map<NodeId, bool> silences_;
};

}  // namespace s5066::acp142
