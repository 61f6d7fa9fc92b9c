// SPDX-License-Identifier: Apache-2.0
// The DNS server of this side. It connects DnsCore with UDP and TCP sockets and with the streams of
// the proxy. Each question has its own stream to kFarResolver.
#pragma once

#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ip/udp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <variant>

#include "gateways/ip_client/core_loop.h"
#include "gateways/ip_client/dns_core.h"
#include "gateways/ip_client/dns_frames.h"
#include "gateways/streams/stream_types.h"
#include "s5066d/base/log.h"

namespace s5066::ip_client {

/// Target of a stream to the resolver of the far end. The host is the root of all names, because no
/// server has this name. The stream carries DNS messages in the form that TCP uses.
inline const streams::Target kFarResolver{".", 53};

class DnsStub {
 public:
  struct Hooks {
    std::function<Instant()> now;
    /// Opens a stream to kFarResolver and sends these octets. Returns nothing if the stream cannot
    /// be opened.
    std::function<std::optional<streams::StreamId>(ByteSpan)> open;
    std::function<void(streams::StreamId)> close;
  };

  DnsStub(boost::asio::io_context& io, const DnsConfig& config, Hooks hooks, std::uint64_t seed,
          LogSink& log);
  ~DnsStub();

  /// Opens the listeners. A failure to open them is logged.
  void start();
  void stop();
  /// Returns the address and port of the TCP listener, or nothing if there is none.
  std::optional<boost::asio::ip::tcp::endpoint> endpoint() const;

  /// Call for events of a stream. The functions return false if the stream does not belong to the
  /// stub.
  bool on_octets(streams::StreamId id, ByteSpan octets);
  bool on_over(streams::StreamId id);

  void list(CounterRows& rows) const { core_.counters().list(rows); }

 private:
  using Tcp = boost::asio::ip::tcp;
  using Udp = boost::asio::ip::udp;
  struct TcpClient;
  using Client = std::variant<Udp::endpoint, std::weak_ptr<TcpClient>>;
  struct Question {
    DnsQueryId query;
    DnsFrames frames{kDnsAnswerOctetsMax};
  };

  boost::system::error_code open_sockets();
  void receive();
  void accept();
  void read(const std::shared_ptr<TcpClient>& client);
  void take(const std::shared_ptr<TcpClient>& client, std::size_t octets);
  void write(const std::shared_ptr<TcpClient>& client);
  void wait_idle(const std::shared_ptr<TcpClient>& client);
  void close(const std::shared_ptr<TcpClient>& client);
  void on_message(Client client, ByteSpan message, bool by_udp);

  void carry_out(DnsCore::Ask& ask);
  void carry_out(DnsCore::Release& release);
  void carry_out(DnsCore::Reply& reply);

  boost::asio::io_context& io_;
  DnsConfig config_;
  Hooks hooks_;
  LogSink& log_;
  DnsCore core_;
  CoreLoop<DnsCore> loop_;
  Udp::socket udp_;
  Tcp::acceptor acceptor_;
  boost::asio::steady_timer retry_;
  // The extra octet shows that a datagram is too long.
  std::array<std::uint8_t, kDnsQuestionOctetsMax + 1> datagram_{};
  Udp::endpoint from_;
  std::map<DnsClientId, Client> clients_;  // clients that wait for an answer
  std::set<std::shared_ptr<TcpClient>> connections_;
  std::map<streams::StreamId, Question> questions_;
  std::map<DnsQueryId, streams::StreamId> streams_;
  std::uint64_t last_client_ = 0;
  bool stopping_ = false;
};

}  // namespace s5066::ip_client
