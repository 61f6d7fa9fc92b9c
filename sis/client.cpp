// SPDX-License-Identifier: Apache-2.0
#include "sis/client.h"

#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <map>
#include <utility>

#include "s5066d/base/rng.h"
#include "s5066d/base/step_limit.h"
#include "sis/client_connection.h"

namespace s5066::sis {

namespace asio = boost::asio;
using boost::system::error_code;

namespace {

/// Largest number of steps of one event. One read brings some thousand primitives, and the end of a
/// connection one event for each open request, some tens of thousands. An endless loop reaches the
/// limit within seconds.
constexpr std::size_t kStepsMax = 4'000'000;

Instant steady_now() {
  return Instant(std::chrono::steady_clock::now().time_since_epoch());
}

}  // namespace

class Client::Shell : public std::enable_shared_from_this<Shell> {
 public:
  Shell(asio::io_context& io, const Config& config, std::uint64_t seed, OnEvent on_event)
      : io_(io),
        timer_(io),
        config_(config),
        rng_(seed),
        core_(config.core, rng_),
        on_event_(std::move(on_event)) {}

  /// Calls the core, and carries out the actions that follow.
  template <typename Call>
  auto with_core(Call call) {
    if constexpr (std::is_void_v<decltype(call(core_, Instant{}))>) {
      call(core_, steady_now());
      drain();
    } else {
      auto result = call(core_, steady_now());
      drain();
      return result;
    }
  }

  template <typename Call>
  void submit(OnOutcome on_outcome, Call call) {
    Result<RequestId> accepted = call(core_, steady_now());
    if (accepted) {
      waiting_.emplace(*accepted, std::move(on_outcome));
    } else {
      asio::post(io_, [self = shared_from_this(), on_outcome, error = accepted.error()] {
        if (self->abandoned_) return;
        on_outcome({.end = SendOutcome::End::refused, .error = error});
      });
    }
    drain_later();
  }

  void abandon() {
    abandoned_ = true;
    on_event_ = nullptr;
    waiting_.clear();
    timer_.cancel();
    disconnect();
  }

  const ClientCore& core() const { return core_; }
  bool stopped() const { return core_.stopped() && finishing_ == 0; }

 private:
  using ConnectionPtr = std::shared_ptr<ClientConnection>;

  /// Follows the core's contract: carries out the actions, passes on the events, sets the timer. A
  /// handler may call us; then the outermost call drains what it causes. An exception of a handler
  /// goes to the caller that runs the io_context, which may continue to do so.
  void drain() {
    if (draining_) return;
    draining_ = true;
    steps_.begin();
    try {
      while (!abandoned_ && do_one()) steps_.count();
    } catch (...) {
      draining_ = false;
      if (!abandoned_) drain_later();
      throw;
    }
    draining_ = false;
    if (!abandoned_) arm_timer();
  }

  bool do_one() {
    if (const auto action = core_.poll_action()) {
      std::visit([this](const auto& a) { perform(a); }, *action);
    } else if (const auto event = core_.poll_event()) {
      tell(*event);
    } else {
      return false;
    }
    return true;
  }

  /// Drains later, so that requests made one after the other leave in one write.
  void drain_later() {
    if (draining_ || std::exchange(drain_posted_, true)) return;
    asio::post(io_, [self = shared_from_this()] {
      self->drain_posted_ = false;
      if (!self->abandoned_) self->drain();
    });
  }

  void tell(const Event& event) {
    if (auto outcome = outcome_of(event)) {
      const auto waiting = waiting_.find(*outcome->id);
      if (waiting != waiting_.end()) {
        const OnOutcome on_outcome = std::move(waiting->second);
        waiting_.erase(waiting);
        return on_outcome(*std::move(outcome));
      }
    }
    if (on_event_) on_event_(event);
  }

  void arm_timer() {
    const auto deadline = core_.next_deadline();
    if (deadline == armed_for_) return;
    armed_for_ = deadline;
    timer_.cancel();
    if (!deadline) return;
    timer_.expires_at(std::chrono::steady_clock::time_point(deadline->time_since_epoch()));
    timer_.async_wait([self = shared_from_this()](const error_code& code) {
      if (code || self->abandoned_) return;
      self->armed_for_.reset();
      self->core_.on_deadline(steady_now());
      self->drain();
    });
  }

  void perform(const ClientCore::Connect&) {
    connection_ = std::make_shared<ClientConnection>(io_, config_);
    connection_->open([self = shared_from_this()](const std::optional<Error>& error) {
      if (error) return self->lost(*error);
      self->core_.on_connected(steady_now());
      self->read();
      self->drain();
    });
  }

  void read() {
    connection_->read([self = shared_from_this()](const Result<ByteSpan>& octets) {
      if (!octets) return self->lost(octets.error());
      self->core_.on_bytes(steady_now(), *octets);
      self->drain();
    });
  }

  void perform(const ClientCore::SendBytes& send) {
    connection_->write(send.octets, [self = shared_from_this()](const std::optional<Error>& error) {
      if (error) return self->lost(*error);
      self->core_.on_sent(steady_now());
      self->drain();
    });
  }

  // After a stop, written octets still have to arrive.
  void perform(const ClientCore::Disconnect&) {
    if (!core_.stopped() || !connection_) return disconnect();
    ++finishing_;
    std::exchange(connection_, nullptr)->finish([self = shared_from_this()] {
      --self->finishing_;
    });
  }

  void lost(const Error& error) {
    disconnect();
    core_.on_disconnected(steady_now(), error);
    drain();
  }

  void disconnect() {
    if (auto connection = std::exchange(connection_, nullptr)) connection->close();
  }

  asio::io_context& io_;
  asio::steady_timer timer_;
  const Config config_;
  Rng rng_;
  ClientCore core_;
  OnEvent on_event_;
  std::map<RequestId, OnOutcome> waiting_;
  ConnectionPtr connection_;
  int finishing_ = 0;  // connections from before a stop
  std::optional<Instant> armed_for_;
  StepLimit steps_{"sis::Client::drain ends", kStepsMax};
  bool draining_ = false;
  bool drain_posted_ = false;
  bool abandoned_ = false;
};

Client::Client(asio::io_context& io, const Config& config, std::uint64_t seed, OnEvent on_event)
    : io_(io), shell_(std::make_shared<Shell>(io, config, seed, std::move(on_event))) {}

Client::~Client() {
  shell_->abandon();
}

void Client::start() {
  shell_->with_core([](ClientCore& core, Instant now) { core.start(now); });
}
void Client::stop() {
  shell_->with_core([](ClientCore& core, Instant now) { core.stop(now); });
}

void Client::submit(UnidataRequest request, OnOutcome on_outcome) {
  shell_->submit(std::move(on_outcome), [&request](ClientCore& core, Instant now) {
    return core.request_unidata(now, std::move(request));
  });
}
void Client::submit(ExpeditedUnidataRequest request, OnOutcome on_outcome) {
  shell_->submit(std::move(on_outcome), [&request](ClientCore& core, Instant now) {
    return core.request_expedited(now, std::move(request));
  });
}
void Client::submit(ManagementRequest request, OnOutcome on_outcome) {
  shell_->submit(std::move(on_outcome), [&request](ClientCore& core, Instant now) {
    return core.request_management(now, std::move(request));
  });
}

Result<RequestId> Client::request_unidata(UnidataRequest request) {
  return shell_->with_core([&request](ClientCore& core, Instant now) {
    return core.request_unidata(now, std::move(request));
  });
}
Result<RequestId> Client::request_expedited(ExpeditedUnidataRequest request) {
  return shell_->with_core([&request](ClientCore& core, Instant now) {
    return core.request_expedited(now, std::move(request));
  });
}
Result<RequestId> Client::request_management(ManagementRequest request) {
  return shell_->with_core([&request](ClientCore& core, Instant now) {
    return core.request_management(now, std::move(request));
  });
}

Result<void> Client::request_hard_link(const HardLink& link) {
  return shell_->with_core(
      [&link](ClientCore& core, Instant now) { return core.request_hard_link(now, link); });
}
Result<void> Client::request_hard_link_end(Address remote) {
  return shell_->with_core(
      [remote](ClientCore& core, Instant now) { return core.request_hard_link_end(now, remote); });
}
Result<void> Client::request_hard_link_accept(const HardLink& link) {
  return shell_->with_core(
      [&link](ClientCore& core, Instant now) { return core.request_hard_link_accept(now, link); });
}
Result<void> Client::request_hard_link_reject(const HardLink& link, std::uint8_t reason) {
  return shell_->with_core([&link, reason](ClientCore& core, Instant now) {
    return core.request_hard_link_reject(now, link, reason);
  });
}

bool Client::bound() const {
  return shell_->core().bound();
}
bool Client::stopped() const {
  return shell_->stopped();
}
const CounterSet<ClientCounter>& Client::counters() const {
  return shell_->core().counters();
}

}  // namespace s5066::sis
