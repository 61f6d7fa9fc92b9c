// SPDX-License-Identifier: Apache-2.0
#include "gateways/ip_client/dns_stub.h"

#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/write.hpp>
#include <chrono>
#include <deque>
#include <utility>

namespace s5066::ip_client {

namespace asio = boost::asio;
using boost::system::error_code;

namespace {

constexpr std::size_t kStubStepsMax = 100'000;
constexpr int kStubBacklog = 16;
constexpr std::size_t kStubConnectionsMax = 64;
// Limit for one connection: questions without an answer, and answers that the client has not taken.
constexpr std::size_t kConnectionQuestionsMax = 16;
constexpr std::chrono::seconds kStubRetry{1};

}  // namespace

/// A client that sends questions by TCP.
struct DnsStub::TcpClient {
  explicit TcpClient(Tcp::socket made) : socket(std::move(made)), idle(socket.get_executor()) {}
  Tcp::socket socket;
  asio::steady_timer idle;
  std::array<std::uint8_t, 1024> buffer{};
  DnsFrames frames{kDnsQuestionOctetsMax};
  std::deque<Bytes> out;
  std::size_t open = 0;  // questions without an answer
  bool reading = false;
  bool writing = false;
  bool ended = false;  // true if the client sends no more questions
  bool closed = false;
};

DnsStub::DnsStub(asio::io_context& io, const DnsConfig& config, Hooks hooks, std::uint64_t seed,
                 LogSink& log)
    : io_(io),
      config_(config),
      hooks_(std::move(hooks)),
      log_(log),
      core_({.timeout = config.timeout}, seed),
      loop_(io, core_,
            {.now = hooks_.now,
             .carry_out =
                 [this](DnsCore::Action& action) {
                   std::visit([this](auto& one) { carry_out(one); }, action);
                 }},
            StepLimit("the loop of DnsStub ends", kStubStepsMax)),
      udp_(io),
      acceptor_(io),
      retry_(io) {}

DnsStub::~DnsStub() = default;

// --- Start and stop ------------------------------------------------------------------------------

error_code DnsStub::open_sockets() {
  error_code error;
  const auto address = asio::ip::make_address(config_.address, error);
  const Udp::endpoint udp(address, config_.port);
  const Tcp::endpoint tcp(address, config_.port);
  if (!error) udp_.open(udp.protocol(), error);
  if (!error) udp_.bind(udp, error);
  if (!error) udp_.non_blocking(true, error);
  if (!error) acceptor_.open(tcp.protocol(), error);
  if (!error) acceptor_.set_option(Tcp::acceptor::reuse_address(true), error);
  if (!error) acceptor_.bind(tcp, error);
  if (!error) acceptor_.listen(kStubBacklog, error);
  return error;
}

void DnsStub::start() {
  const error_code error = open_sockets();
  LogLine line(log_, error ? LogLevel::error : LogLevel::info,
               error ? "dns_unavailable" : "dns_open");
  line.kv("address", std::string_view(config_.address)).kv("port", unsigned{config_.port});
  if (!error) {
    receive();
    return accept();
  }
  line.kv("reason", std::string_view(error.message()));
  error_code ignored;
  udp_.close(ignored);
  acceptor_.close(ignored);
}

void DnsStub::stop() {
  stopping_ = true;
  loop_.stop();
  retry_.cancel();
  error_code ignored;
  udp_.close(ignored);
  acceptor_.close(ignored);
  while (!connections_.empty()) close(*connections_.begin());
  clients_.clear();
  questions_.clear();
  streams_.clear();
}

std::optional<DnsStub::Tcp::endpoint> DnsStub::endpoint() const {
  error_code error;
  const auto endpoint = acceptor_.local_endpoint(error);
  if (error) return std::nullopt;
  return endpoint;
}

// --- Clients -------------------------------------------------------------------------------------

void DnsStub::receive() {
  udp_.async_receive_from(asio::buffer(datagram_), from_,
                          [this](error_code error, std::size_t octets) {
                            if (stopping_ || error == asio::error::operation_aborted) return;
                            // An error belongs to an earlier reply to a client that no longer
                            // listens.
                            if (!error) on_message(from_, ByteSpan(datagram_).first(octets), true);
                            receive();
                          });
}

void DnsStub::on_message(Client client, ByteSpan message, bool by_udp) {
  const DnsClientId id{++last_client_};
  clients_[id] = std::move(client);
  core_.on_message(hooks_.now(), id, message, by_udp);
  loop_.run();
}

void DnsStub::accept() {
  acceptor_.async_accept([this](error_code error, Tcp::socket socket) {
    if (stopping_ || error == asio::error::operation_aborted) return;
    if (error) {  // no file descriptors are left
      retry_.expires_after(kStubRetry);
      retry_.async_wait([this](error_code cancelled) {
        if (!cancelled && !stopping_) accept();
      });
      return;
    }
    if (connections_.size() < kStubConnectionsMax) {
      const auto client = std::make_shared<TcpClient>(std::move(socket));
      connections_.insert(client);
      wait_idle(client);
      read(client);
    }
    accept();
  });
}

void DnsStub::wait_idle(const std::shared_ptr<TcpClient>& client) {
  client->idle.expires_after(config_.connection_idle);
  client->idle.async_wait([this, client](error_code cancelled) {
    if (cancelled || client->closed || client->open > 0) return;
    close(client);
  });
}

void DnsStub::read(const std::shared_ptr<TcpClient>& client) {
  if (client->closed || client->reading || client->ended) return;
  if (client->open + client->out.size() >= kConnectionQuestionsMax) return;
  client->reading = true;
  client->socket.async_read_some(asio::buffer(client->buffer),
                                 [this, client](error_code error, std::size_t octets) {
                                   client->reading = false;
                                   if (client->closed) return;
                                   if (!error) return take(client, octets);
                                   client->ended = true;
                                   const bool answered = client->open == 0 && client->out.empty();
                                   if (error != asio::error::eof || answered) close(client);
                                 });
}

void DnsStub::take(const std::shared_ptr<TcpClient>& client, std::size_t octets) {
  client->frames.on_octets(ByteSpan(client->buffer).first(octets));
  while (auto message = client->frames.poll_message()) {
    ++client->open;
    on_message(std::weak_ptr<TcpClient>(client), *message, false);
    if (client->closed) return;
  }
  if (client->frames.failed()) return close(client);
  if (client->open == 0) wait_idle(client);
  read(client);
}

void DnsStub::write(const std::shared_ptr<TcpClient>& client) {
  if (client->closed || client->writing || client->out.empty()) return;
  client->writing = true;
  asio::async_write(client->socket, asio::buffer(client->out.front()),
                    [this, client](error_code error, std::size_t) {
                      client->writing = false;
                      if (client->closed) return;
                      client->out.pop_front();
                      const bool over = client->ended && client->open == 0 && client->out.empty();
                      if (error || over) return close(client);
                      write(client);
                      if (client->open == 0) wait_idle(client);
                      read(client);
                    });
}

void DnsStub::close(const std::shared_ptr<TcpClient>& client) {
  const std::shared_ptr<TcpClient> kept = client;
  kept->closed = true;
  kept->idle.cancel();
  error_code ignored;
  kept->socket.close(ignored);
  connections_.erase(kept);
}

// --- Streams -------------------------------------------------------------------------------------

bool DnsStub::on_octets(streams::StreamId id, ByteSpan octets) {
  const auto found = questions_.find(id);
  if (found == questions_.end()) return false;
  const DnsQueryId query = found->second.query;
  DnsFrames& frames = found->second.frames;
  frames.on_octets(octets);
  if (const auto message = frames.poll_message()) {
    core_.on_answer(hooks_.now(), query, *message);
  } else if (frames.failed()) {
    core_.on_answer(hooks_.now(), query, {});  // refused as an answer that is too short
  }
  loop_.run();
  return true;
}

bool DnsStub::on_over(streams::StreamId id) {
  const auto found = questions_.find(id);
  if (found == questions_.end()) return false;
  core_.on_failed(hooks_.now(), found->second.query);
  loop_.run();
  return true;
}

// --- The core ------------------------------------------------------------------------------------

void DnsStub::carry_out(DnsCore::Ask& ask) {
  const auto stream = hooks_.open(DnsFrames::framed(ask.message));
  if (!stream) return core_.on_not_asked(hooks_.now(), ask.query);
  questions_[*stream].query = ask.query;
  streams_[ask.query] = *stream;
}

void DnsStub::carry_out(DnsCore::Release& release) {
  const auto node = streams_.extract(release.query);
  if (!node) return;
  questions_.erase(node.mapped());
  hooks_.close(node.mapped());
}

void DnsStub::carry_out(DnsCore::Reply& reply) {
  const auto node = clients_.extract(reply.client);
  if (!node) return;
  if (const auto* const to = std::get_if<Udp::endpoint>(&node.mapped())) {
    error_code ignored;  // the client asks again
    if (!reply.message.empty()) udp_.send_to(asio::buffer(reply.message), *to, 0, ignored);
    return;
  }
  const auto client = std::get<std::weak_ptr<TcpClient>>(node.mapped()).lock();
  if (!client || client->closed) return;
  --client->open;
  if (!reply.message.empty()) client->out.push_back(DnsFrames::framed(reply.message));
  // A reply may come while its question is still being read.
  asio::post(io_, [this, client] {
    if (stopping_ || client->closed) return;
    const bool answered = client->open == 0 && client->out.empty();
    if (client->ended && answered) return close(client);
    // A client that does not take its answers is closed after the idle time, too.
    if (client->open == 0) wait_idle(client);
    write(client);
    read(client);
  });
}

}  // namespace s5066::ip_client
