// SPDX-License-Identifier: Apache-2.0
#include "gateways/acp142/smtp/smtp_shell.h"

#include <algorithm>
#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/network_v4.hpp>
#include <boost/asio/ip/network_v6.hpp>
#include <utility>

namespace s5066::acp142 {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

namespace {

constexpr auto kAcceptRetry = std::chrono::seconds(1);
// Time for the other side to take our last octets.
constexpr Duration kLastWord = std::chrono::minutes(1);
constexpr std::size_t kReadOctets = 65536;

/// A listener on "::" sees IPv4 clients as ::ffff:192.0.2.7.
asio::ip::address without_mapping(const asio::ip::address& address) {
  if (!address.is_v6() || !address.to_v6().is_v4_mapped()) return address;
  return asio::ip::make_address_v4(asio::ip::v4_mapped, address.to_v6());
}

bool is_in(const asio::ip::address& address, const std::string& network) {
  error_code error;
  const std::size_t slash = network.find('/');
  const auto base = asio::ip::make_address(network.substr(0, slash), error);
  if (error || base.is_v4() != address.is_v4()) return false;
  if (slash == std::string::npos) return base == address;
  const std::string host = address.to_string() + (address.is_v4() ? "/32" : "/128");
  if (address.is_v4()) {
    const auto outer = asio::ip::make_network_v4(network, error).canonical();
    return !error && (asio::ip::make_network_v4(host, error).is_subnet_of(outer) ||
                      asio::ip::make_network_v4(host, error) == outer);
  }
  const auto outer = asio::ip::make_network_v6(network, error).canonical();
  return !error && (asio::ip::make_network_v6(host, error).is_subnet_of(outer) ||
                    asio::ip::make_network_v6(host, error) == outer);
}

}  // namespace

// --- Sessions ------------------------------------------------------------------------------------

// Reads only when the core wants input and all it said has been written, so a client that does not
// read gets no further.
class SmtpListener::Session : public std::enable_shared_from_this<Session> {
 public:
  Session(SmtpListener& listener, const SmtpServerCore::Config& config, tcp::socket socket,
          SessionId id)
      : listener_(&listener),
        stream_(std::move(socket)),
        timer_(stream_.socket().get_executor()),
        id_(id),
        now_(listener.now_),
        core_(std::in_place, config, listener.table_, listener.room_, listener.counters_) {}

  void start() {
    core_->on_connected(now_());
    drain();
  }
  void on_committed(CommitOutcome outcome, std::string_view said) {
    core_->on_committed(now_(), outcome, said);
    drain();
  }
  void close() {
    const auto self = shared_from_this();  // the listener lets go of it
    stream_.close();
    timer_.cancel();
    if (listener_ != nullptr) listener_->sessions_.erase(id_);
    listener_ = nullptr;
    // Handlers may keep the session for longer than there is a listener, whose room the core uses.
    core_.reset();
  }

 private:
  void drain() {
    if (listener_ == nullptr) return;
    while (!writing_) {
      auto action = core_->poll_action();
      if (!action) break;
      if (auto* send = std::get_if<SmtpServerCore::Send>(&*action)) {
        write(std::move(send->text));
      } else if (auto* commit = std::get_if<SmtpServerCore::Commit>(&*action)) {
        listener_->on_commit_(id_, std::move(*commit));
        if (listener_ == nullptr) return;
      } else if (std::holds_alternative<SmtpServerCore::StartTls>(*action)) {
        start_tls();
      } else {
        return close();
      }
    }
    arm();
    if (!writing_ && !reading_ && core_->reading()) read();
  }

  void write(std::string text) {
    writing_ = true;
    output_ = std::move(text);
    stream_.write(asio::buffer(output_),
                  [self = shared_from_this()](error_code error, std::size_t) {
                    self->writing_ = false;
                    if (error) return self->close();
                    self->drain();
                  });
  }

  void start_tls() {
    stream_.start_tls(listener_->tls_context(), asio::ssl::stream_base::server, {},
                      [self = shared_from_this()](error_code error) {
                        if (!self->core_) return;
                        if (error) {
                          self->core_->on_tls_failed();
                        } else {
                          self->core_->on_tls(self->now_());
                        }
                        self->drain();
                      });
  }

  void read() {
    reading_ = true;
    stream_.read_some(asio::buffer(input_),
                      [self = shared_from_this()](error_code error, std::size_t octets) {
                        self->reading_ = false;
                        if (error || !self->core_) return self->close();
                        self->core_->on_bytes(self->now_(), {self->input_.data(), octets});
                        self->drain();
                      });
  }

  void arm() {
    const auto next = core_->next_deadline();
    if (!next && !writing_) return static_cast<void>(timer_.cancel());
    const Instant at = next ? *next : now_() + kLastWord;
    timer_.expires_after(std::max(Duration::zero(), at - now_()));
    timer_.async_wait([weak = weak_from_this()](error_code error) {
      const auto self = weak.lock();
      if (error || !self || self->listener_ == nullptr) return;
      // The client does not even take our last answer.
      if (self->writing_) return self->close();
      self->core_->on_deadline(self->now_());
      self->drain();
    });
  }

  SmtpListener* listener_;  // null: closed
  SmtpStream stream_;
  asio::steady_timer timer_;
  SessionId id_;
  Clock now_;
  std::optional<SmtpServerCore> core_;  // none: closed
  std::array<std::uint8_t, kReadOctets> input_;
  std::string output_;
  bool writing_ = false;
  bool reading_ = false;
};

SmtpListener::SmtpListener(asio::io_context& io, const MailConfig& config,
                           const AddressTable& table, Clock now, OnCommit on_commit)
    : config_(config),
      table_(table),
      now_(std::move(now)),
      on_commit_(std::move(on_commit)),
      acceptor_(io),
      retry_(io) {
  core_config_.hostname = config.hostname;
  core_config_.lmtp = config.smtp.lmtp;
  core_config_.starttls = config.smtp.tls.has_value();
  core_config_.tls_required = config.smtp.tls && config.smtp.tls->required;
  core_config_.message_octets_max = config.smtp.message_octets_max;
  core_config_.recipients_max = config.smtp.recipients_max;
}

SmtpListener::~SmtpListener() {
  close();
}

Result<void> SmtpListener::open() {
  if (config_.smtp.tls) {
    auto loaded = load_tls(*config_.smtp.tls);
    if (!loaded) return loaded.error();
    tls_ = std::move(loaded).value();
  }
  error_code error;
  const tcp::endpoint endpoint(asio::ip::make_address(config_.smtp.address, error),
                               config_.smtp.port);
  if (!error) acceptor_.open(endpoint.protocol(), error);
  if (!error) acceptor_.set_option(tcp::acceptor::reuse_address(true), error);
  if (!error) acceptor_.bind(endpoint, error);
  if (!error) acceptor_.listen(asio::socket_base::max_listen_connections, error);
  if (error) {
    return Error{ErrorCode::io, "SMTP on " + config_.smtp.address + " port " +
                                    std::to_string(config_.smtp.port) + ": " + error.message()};
  }
  return {};
}

// A certificate that was renewed is used at once; one that cannot be read, such as half a file,
// when it can.
TlsContext SmtpListener::tls_context() {
  if (auto loaded = load_tls(*config_.smtp.tls)) tls_ = std::move(loaded).value();
  return tls_;
}

void SmtpListener::serve() {
  accept();
}

std::uint16_t SmtpListener::port() const {
  error_code error;
  return acceptor_.local_endpoint(error).port();
}

bool SmtpListener::allowed(const asio::ip::address& address) const {
  if (config_.smtp.allow.empty()) return address.is_loopback();
  return std::any_of(config_.smtp.allow.begin(), config_.smtp.allow.end(),
                     [&](const std::string& network) { return is_in(address, network); });
}

/// Returns the configuration of the core with the rules of precedence that this client can meet.
SmtpServerCore::Config SmtpListener::config_for(const asio::ip::address& client) const {
  SmtpServerCore::Config core = core_config_;
  core.peer = client.to_string();
  if (!config_.smtp.precedence.empty()) core.mt_priority_max = 0;
  for (const auto& one : config_.smtp.precedence) {
    if (!one.client.empty() && !is_in(client, one.client)) continue;
    core.precedence.push_back({one.from.empty() ? "*" : one.from, one.mt_priority_max});
  }
  return core;
}

void SmtpListener::accept() {
  acceptor_.async_accept([this](error_code error, tcp::socket socket) {
    if (error == asio::error::operation_aborted) return;
    if (error) {
      // An error such as no descriptor left would only come again at once.
      retry_.expires_after(kAcceptRetry);
      retry_.async_wait([this](error_code cancelled) {
        if (!cancelled) accept();
      });
      return;
    }
    error_code gone;
    const auto peer = socket.remote_endpoint(gone);
    const auto client = without_mapping(peer.address());
    if (gone || !allowed(client) || sessions_.size() >= config_.smtp.connections_max) {
      counters_.add(SmtpCounter::connections_refused);
      // An answer that the socket does not take at once is not worth waiting for.
      const std::string_view text = "421 4.3.2 Host not allowed, or too many connections\r\n";
      error_code ignored;
      socket.non_blocking(true, ignored);
      socket.write_some(asio::buffer(text.data(), text.size()), ignored);
    } else {
      // Else the answer to a message waits for the client to acknowledge those before it.
      socket.set_option(tcp::no_delay(true), gone);
      const SessionId id{++last_session_};
      const auto session =
          std::make_shared<Session>(*this, config_for(client), std::move(socket), id);
      sessions_[id] = session;
      session->start();
    }
    accept();
  });
}

void SmtpListener::answer(SessionId session, CommitOutcome outcome, std::string_view said) {
  const auto found = sessions_.find(session);
  if (found == sessions_.end()) return;
  const auto alive = found->second;
  alive->on_committed(outcome, said);
}

void SmtpListener::close() {
  error_code ignored;
  acceptor_.close(ignored);
  retry_.cancel();
  for (const auto& [id, session] : std::exchange(sessions_, {})) session->close();
}

// --- Delivery ------------------------------------------------------------------------------------

namespace {

class Delivery : public std::enable_shared_from_this<Delivery> {
 public:
  Delivery(asio::io_context& io, const MailConfig& config, Clock now,
           std::shared_ptr<const Mail> mail,
           std::function<void(const SmtpClientCore::Done&)> on_done)
      : stream_(io),
        timer_(io),
        server_(config.mail_server),
        now_(std::move(now)),
        on_done_(std::move(on_done)),
        core_(core_config(config), std::move(mail)) {}

  void start() {
    core_.on_connected(now_());  // the time to connect counts as time to answer
    error_code error;
    const auto address = asio::ip::make_address(server_.address, error);
    if (error) return lose(error);
    arm();
    stream_.socket().async_connect(
        {address, server_.port}, [self = shared_from_this()](error_code failed) {
          if (failed) return self->lose(failed);
          error_code ignored;
          self->stream_.socket().set_option(tcp::no_delay(true), ignored);
          self->read();
        });
  }

 private:
  static SmtpClientCore::Config core_config(const MailConfig& config) {
    SmtpClientCore::Config core;
    core.hostname = config.hostname;
    core.lmtp = config.mail_server.lmtp;
    if (const auto& tls = config.mail_server.tls) {
      using Tls = SmtpClientCore::Tls;
      core.tls = tls->required ? Tls::required : Tls::where_offered;
    }
    return core;
  }

  void lose(const error_code& error) {
    core_.on_disconnected(now_(), "mail server: " + error.message());
    if (writing_ && !closed_) return leave();
    drain();
  }

  void read() {
    stream_.read_some(asio::buffer(input_),
                      [self = shared_from_this()](error_code error, std::size_t octets) {
                        if (self->closed_) return;
                        if (error) return self->lose(error);
                        self->core_.on_bytes(self->now_(), {self->input_.data(), octets});
                        self->drain();
                        if (!self->closed_ && self->core_.reading()) self->read();
                      });
  }

  void start_tls() {
    auto context = load_tls(*server_.tls);
    if (!context) return core_.on_disconnected(now_(), to_string(context.error()));
    const std::string& name = server_.tls->server_name;
    const bool checked = !server_.tls->ca_file.empty();
    stream_.start_tls(std::move(context).value(), asio::ssl::stream_base::client,
                      !checked       ? std::string()
                      : name.empty() ? server_.address
                                     : name,
                      [self = shared_from_this()](error_code error) {
                        if (self->closed_) return;
                        if (error) return self->lose(error);
                        self->core_.on_tls(self->now_());
                        self->drain();
                        if (!self->closed_) self->read();
                      });
  }

  void drain() {
    while (!writing_ && !closed_) {
      auto action = core_.poll_action();
      if (!action) break;
      if (auto* send = std::get_if<SmtpClientCore::Send>(&*action)) {
        write(std::move(send->text));
      } else if (auto* done = std::get_if<SmtpClientCore::Done>(&*action)) {
        std::exchange(on_done_, nullptr)(*done);
      } else if (std::holds_alternative<SmtpClientCore::StartTls>(*action)) {
        start_tls();
      } else {
        close();
      }
    }
    if (!closed_) arm();
  }

  void write(std::string text) {
    writing_ = true;
    output_ = std::move(text);
    stream_.write(asio::buffer(output_),
                  [self = shared_from_this()](error_code error, std::size_t) {
                    self->writing_ = false;
                    if (error && !self->closed_) return self->lose(error);
                    self->drain();
                  });
  }

  void arm() {
    const auto next = core_.next_deadline();
    if (!next && !writing_) return;
    const Instant at = next ? *next : now_() + kLastWord;
    timer_.expires_after(std::max(Duration::zero(), at - now_()));
    timer_.async_wait([self = shared_from_this()](error_code error) {
      if (error || self->closed_) return;
      self->core_.on_deadline(self->now_());
      if (self->writing_ && !self->core_.next_deadline()) return self->leave();
      self->drain();
    });
  }

  /// The line that is being written has no end, so nothing can follow it.
  void leave() {
    while (auto action = core_.poll_action()) {
      if (auto* done = std::get_if<SmtpClientCore::Done>(&*action)) {
        std::exchange(on_done_, nullptr)(*done);
      }
    }
    close();
  }

  void close() {
    closed_ = true;
    stream_.close();
    timer_.cancel();
  }

  SmtpStream stream_;
  asio::steady_timer timer_;
  MailConfig::MailServer server_;
  Clock now_;
  std::function<void(const SmtpClientCore::Done&)> on_done_;
  SmtpClientCore core_;
  std::array<std::uint8_t, 4096> input_;
  std::string output_;
  bool writing_ = false;
  bool closed_ = false;
};

}  // namespace

void deliver_by_smtp(asio::io_context& io, const MailConfig& config, Clock now,
                     std::shared_ptr<const Mail> mail,
                     std::function<void(const SmtpClientCore::Done&)> on_done) {
  std::make_shared<Delivery>(io, config, std::move(now), std::move(mail), std::move(on_done))
      ->start();
}

}  // namespace s5066::acp142
