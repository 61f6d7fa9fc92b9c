// SPDX-License-Identifier: Apache-2.0
#include "sis/c/s5066_sis.h"

#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <future>
#include <memory>
#include <mutex>
#include <random>
#include <thread>

#include "sis/c/events.h"
#include "sis/client.h"

namespace asio = boost::asio;
using namespace s5066;
using sis::c::StoredEvent;

namespace {

constexpr std::uint32_t kEventsMax = 4096;
constexpr std::uint32_t kEventOctetsMax = 16u << 20;
constexpr std::uint32_t kAddressMax = 0x1FFFFFFF;
constexpr std::uint8_t kNibbleMax = 15;

/// Events that wait to be fetched, and the descriptor that is readable while there are any.
class EventQueue {
 public:
  EventQueue(std::size_t events_max, std::size_t octets_max)
      : events_max_(events_max), octets_max_(octets_max), fd_(::eventfd(0, EFD_CLOEXEC)) {}
  ~EventQueue() {
    if (fd_ >= 0) ::close(fd_);
  }
  EventQueue(const EventQueue&) = delete;
  EventQueue& operator=(const EventQueue&) = delete;

  int fd() const { return fd_; }

  /// Returns false if too many events wait. This one is then the last, except for the ends of
  /// requests.
  bool push(StoredEvent event) {
    const std::lock_guard lock(mutex_);
    if (full_) {
      // The end of an accepted request is reported in any case; their number has a limit of its
      // own.
      if (is_end(event)) put(std::move(event));
      return true;
    }
    put(std::move(event));
    if (events_.size() < events_max_ && octets_ <= octets_max_) return true;
    full_ = true;
    return false;
  }

  /// Ends the queue: no further events come after those that wait.
  void end(std::optional<StoredEvent> last) {
    const std::lock_guard lock(mutex_);
    if (std::exchange(ended_, true)) return;
    if (events_.empty()) signal();  // stays signalled, so that S5066_SIS_CLOSED is fetched
    if (last) put(*std::move(last));
    arrived_.notify_all();
  }

  int pop(StoredEvent& out, int timeout_ms) {
    std::unique_lock lock(mutex_);
    const auto ready = [this] { return !events_.empty() || ended_; };
    if (timeout_ms < 0) {
      arrived_.wait(lock, ready);
    } else if (!arrived_.wait_for(lock, std::chrono::milliseconds(timeout_ms), ready)) {
      return S5066_SIS_TIMED_OUT;
    }
    if (events_.empty()) return S5066_SIS_CLOSED;
    out = std::move(events_.front());
    events_.pop_front();
    octets_ -= out.data.size();
    if (events_.empty() && !ended_) {
      std::uint64_t count = 0;
      (void)!::read(fd_, &count, sizeof count);  // there is something to read
    }
    return S5066_SIS_OK;
  }

 private:
  static bool is_end(const StoredEvent& event) {
    switch (event.event.kind) {
      case S5066_SIS_CONFIRMED:
      case S5066_SIS_REJECTED:
      case S5066_SIS_SENT:
      case S5066_SIS_UNRESOLVED:
      case S5066_SIS_LINK_LOST:
        return true;
      default:
        return false;
    }
  }

  void signal() {
    const std::uint64_t one = 1;
    (void)!::write(fd_, &one, sizeof one);  // a count of 1 always fits
  }

  void put(StoredEvent event) {
    if (events_.empty() && !ended_) signal();
    octets_ += event.data.size();
    events_.push_back(std::move(event));
    arrived_.notify_all();
  }

  const std::size_t events_max_;
  const std::size_t octets_max_;
  const int fd_;
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::deque<StoredEvent> events_;
  std::size_t octets_ = 0;
  bool full_ = false;
  bool ended_ = false;
};

std::string string_or(const char* text, const char* otherwise) {
  return text == nullptr ? otherwise : text;
}

std::optional<sis::Client::Config> client_config(const s5066_sis_config& given) {
  if (given.sap > SapId::kMax || given.rank > kNibbleMax) return std::nullopt;
  if (given.mode > S5066_SIS_MODE_NONARQ_WITH_ERRORS) return std::nullopt;
  if (given.confirm > S5066_SIS_CONFIRM_CLIENT) return std::nullopt;
  const auto mode =
      given.mode == 0 ? sis::TransmissionMode::arq : static_cast<sis::TransmissionMode>(given.mode);
  if (mode != sis::TransmissionMode::arq && given.confirm != 0) return std::nullopt;

  sis::Client::Config config;
  config.host = string_or(given.host, "localhost");
  if (given.port != 0) config.port = given.port;
  config.core.sap = {given.sap};
  config.core.rank = given.rank;
  config.core.service = {.mode = mode,
                         .confirmation = static_cast<sis::Confirmation>(given.confirm)};
  if (given.tls != 0) {
    config.tls = sis::Client::Tls{.ca_file = string_or(given.ca_file, ""),
                                  .certificate_file = string_or(given.certificate_file, ""),
                                  .key_file = string_or(given.key_file, ""),
                                  .server_name = string_or(given.server_name, "")};
  }
  return config;
}

int error_of(const Error& error) {
  switch (error.code) {
    case ErrorCode::bad_field:
      return S5066_SIS_BAD_ARGUMENT;
    case ErrorCode::link_down:
      return S5066_SIS_NOT_BOUND;
    case ErrorCode::queue_full:
      return S5066_SIS_QUEUE_FULL;
    case ErrorCode::too_large:
      return S5066_SIS_TOO_LARGE;
    case ErrorCode::refused:
      return S5066_SIS_REFUSED;
    case ErrorCode::not_found:
      return S5066_SIS_NOT_FOUND;
    case ErrorCode::already_exists:
      return S5066_SIS_ALREADY_THERE;
    default:
      return S5066_SIS_FAILED;
  }
}

int error_of(const Result<void>& result) {
  return result ? S5066_SIS_OK : error_of(result.error());
}

int error_of(const Result<sis::RequestId>& result, std::uint64_t* id) {
  if (!result) return error_of(result.error());
  if (id != nullptr) *id = result.value().value;
  return S5066_SIS_OK;
}

/// Keeps exceptions inside the library; only a system without memory or other resources throws one.
template <typename Body>
int guarded(Body body) {
  try {
    return body();
  } catch (...) {
    return S5066_SIS_FAILED;
  }
}

/// Keeps signals from a thread that starts meanwhile, because they are for the application's
/// threads.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsBlocked() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_;
};

}  // namespace

struct s5066_sis {
  s5066_sis(const sis::Client::Config& config, std::size_t events_max, std::size_t octets_max)
      : queue(events_max, octets_max),
        client(io, config, std::random_device{}(),
               [this](const sis::Event& event) { on_event(event); }) {}

  // The thread catches every exception here, because memory may run out and no caller would catch
  // it.
  void run() {
    while (!closing || !client.stopped()) {
      try {
        io.run_one();
      } catch (...) {
        give_up();
      }
    }
    queue.end(std::nullopt);
  }

  void give_up() {
    queue.end(std::nullopt);
    (void)guarded([this] {
      client.stop();
      return S5066_SIS_OK;
    });
  }

  /// Calls `body` on the client's thread and returns its result.
  template <typename Body>
  int call(Body body) {
    auto task = std::make_shared<std::packaged_task<int()>>(
        [this, &body] { return client.stopped() ? static_cast<int>(S5066_SIS_CLOSED) : body(); });
    auto result = task->get_future();
    asio::post(io, [task] { (*task)(); });
    return result.get();
  }

  void on_event(const sis::Event& event) {
    if (queue.push(sis::c::stored(event))) return;
    asio::post(io, [this] {
      client.stop();
      queue.end(sis::c::overflow());
    });
  }

  asio::io_context io{1};
  asio::executor_work_guard<asio::io_context::executor_type> work{io.get_executor()};
  EventQueue queue;
  sis::Client client;
  bool closing = false;  // used on the client's thread only
  StoredEvent fetched;   // for the thread that fetches
  std::thread thread;
};

int s5066_sis_open(const s5066_sis_config* config, s5066_sis** client) {
  if (config == nullptr || client == nullptr) return S5066_SIS_BAD_ARGUMENT;
  return guarded([&] {
    const auto wanted = client_config(*config);
    if (!wanted) return S5066_SIS_BAD_ARGUMENT;
    auto made = std::make_unique<s5066_sis>(
        *wanted, config->events_max == 0 ? kEventsMax : config->events_max,
        config->event_octets_max == 0 ? kEventOctetsMax : config->event_octets_max);
    if (made->queue.fd() < 0) return S5066_SIS_FAILED;
    asio::post(made->io, [c = made.get()] { c->client.start(); });
    const SignalsBlocked blocked;
    made->thread = std::thread([c = made.get()] { c->run(); });
    *client = made.release();
    return S5066_SIS_OK;
  });
}

void s5066_sis_close(s5066_sis* client) {
  if (client == nullptr) return;
  (void)guarded([client] {
    asio::post(client->io, [client] {
      client->closing = true;
      client->client.stop();
    });
    client->thread.join();
    delete client;
    return S5066_SIS_OK;
  });
}

int s5066_sis_next_event(s5066_sis* client, s5066_sis_event* event, int timeout_ms) {
  if (client == nullptr || event == nullptr) return S5066_SIS_BAD_ARGUMENT;
  return guarded([&] {
    const int result = client->queue.pop(client->fetched, timeout_ms);
    if (result == S5066_SIS_OK) *event = client->fetched.with_pointers();
    return result;
  });
}

int s5066_sis_fd(const s5066_sis* client) {
  return client == nullptr ? S5066_SIS_BAD_ARGUMENT : client->queue.fd();
}

int s5066_sis_send(s5066_sis* client, const s5066_sis_request* request, uint64_t* id) {
  if (client == nullptr || request == nullptr) return S5066_SIS_BAD_ARGUMENT;
  if (request->data == nullptr && request->size > 0) return S5066_SIS_BAD_ARGUMENT;
  if (request->destination > kAddressMax) return S5066_SIS_BAD_ARGUMENT;
  if (request->size > sis::kBodyOctetsMax) return S5066_SIS_TOO_LARGE;
  if (request->time_to_live_s > 2 * sis::kTimeToLiveMax) return S5066_SIS_BAD_ARGUMENT;
  return guarded([&] {
    const sis::DeliveryMode delivery{
        .mode = static_cast<sis::TransmissionMode>(request->mode),
        .confirmation = static_cast<sis::Confirmation>(request->confirm),
        .as_they_arrive = request->as_they_arrive != 0,
        .retransmissions = request->retransmissions};
    const std::uint32_t units = (request->time_to_live_s + 1) / 2;
    Bytes updu(request->data, request->data + request->size);
    return client->call([&] {
      if (request->expedited != 0) {
        return error_of(client->client.request_expedited(
                            {.destination_sap = {request->destination_sap},
                             .destination = sis::c::address_of(request->destination),
                             .delivery = delivery,
                             .time_to_live = units,
                             .updu = std::move(updu)}),
                        id);
      }
      return error_of(
          client->client.request_unidata({.priority = request->priority,
                                          .destination_sap = {request->destination_sap},
                                          .destination = sis::c::address_of(request->destination),
                                          .delivery = delivery,
                                          .time_to_live = units,
                                          .updu = std::move(updu)}),
          id);
    });
  });
}

int s5066_sis_send_management(s5066_sis* client, uint8_t message_type, const uint8_t* body,
                              size_t size, uint64_t* id) {
  if (client == nullptr || (body == nullptr && size > 0)) return S5066_SIS_BAD_ARGUMENT;
  if (size > sis::kBodyOctetsMax) return S5066_SIS_TOO_LARGE;
  return guarded([&] {
    Bytes octets(body, body + size);
    return client->call([&] {
      return error_of(client->client.request_management(
                          {.message_type = message_type, .body = std::move(octets)}),
                      id);
    });
  });
}

namespace {

/// Applies one of the functions below to the link.
template <typename Do>
int with_link(s5066_sis* client, const s5066_sis_hard_link* link, Do act) {
  if (client == nullptr || link == nullptr) return S5066_SIS_BAD_ARGUMENT;
  if (link->remote > kAddressMax) return S5066_SIS_BAD_ARGUMENT;
  const sis::HardLink hard_link{.type = static_cast<sis::HardLinkType>(link->type),
                                .priority = link->priority,
                                .remote_sap = {link->remote_sap},
                                .remote = sis::c::address_of(link->remote)};
  return guarded(
      [&] { return client->call([&] { return error_of(act(client->client, hard_link)); }); });
}

}  // namespace

int s5066_sis_request_link(s5066_sis* client, const s5066_sis_hard_link* link) {
  return with_link(client, link, [](sis::Client& c, const sis::HardLink& hard_link) {
    return c.request_hard_link(hard_link);
  });
}

int s5066_sis_end_link(s5066_sis* client, uint32_t remote) {
  const s5066_sis_hard_link link{
      .remote = remote, .type = 0, .priority = 0, .remote_sap = 0, .reserved = 0};
  return with_link(client, &link, [](sis::Client& c, const sis::HardLink& hard_link) {
    return c.request_hard_link_end(hard_link.remote);
  });
}

int s5066_sis_accept_link(s5066_sis* client, const s5066_sis_hard_link* link) {
  return with_link(client, link, [](sis::Client& c, const sis::HardLink& hard_link) {
    return c.request_hard_link_accept(hard_link);
  });
}

int s5066_sis_reject_link(s5066_sis* client, const s5066_sis_hard_link* link, uint8_t reason) {
  return with_link(client, link, [reason](sis::Client& c, const sis::HardLink& hard_link) {
    return c.request_hard_link_reject(hard_link, reason);
  });
}

const char* s5066_sis_error_text(int error) {
  switch (error) {
    case S5066_SIS_OK:
      return "ok";
    case S5066_SIS_TIMED_OUT:
      return "timed out";
    case S5066_SIS_CLOSED:
      return "the client has stopped";
    case S5066_SIS_BAD_ARGUMENT:
      return "bad argument";
    case S5066_SIS_NOT_BOUND:
      return "not bound";
    case S5066_SIS_QUEUE_FULL:
      return "too many requests are waiting";
    case S5066_SIS_TOO_LARGE:
      return "too large";
    case S5066_SIS_REFUSED:
      return "refused";
    case S5066_SIS_NOT_FOUND:
      return "no such hard link";
    case S5066_SIS_ALREADY_THERE:
      return "hard link already requested";
    case S5066_SIS_FAILED:
      return "out of memory, threads or descriptors";
    default:
      return "unknown";
  }
}

int s5066_sis_parse_address(const char* text, uint32_t* address) {
  if (text == nullptr || address == nullptr) return S5066_SIS_BAD_ARGUMENT;
  return guarded([&] {
    const auto parsed = parse_address(text);
    if (!parsed) return static_cast<int>(S5066_SIS_BAD_ARGUMENT);
    *address = sis::c::number_of(*parsed);
    return static_cast<int>(S5066_SIS_OK);
  });
}
