// SPDX-License-Identifier: Apache-2.0
#include "gateways/chat/chat_session.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <iostream>
#include <random>
#include <utility>
#include <variant>

#include "gateways/chat/chat_output.h"
#include "s5066d/base/overloaded.h"
#include "s5066d/posix/main_tail.h"
#include "sis/text.h"

namespace s5066::chat {
namespace {

Instant now() {
  return Instant(std::chrono::steady_clock::now().time_since_epoch());
}

/// Returns the time since 1970 of a time of the chat.
Duration utc_of(Instant at) {
  return std::chrono::system_clock::now().time_since_epoch() - (now() - at);
}

}  // namespace

ChatSession::ChatSession(boost::asio::io_context& io, const Options& options, bool terminal)
    : options_(options),
      input_(io),
      signals_(io, SIGINT, SIGTERM, SIGHUP),
      linger_(io),
      client_(io, options.client, std::random_device{}(),
              [this](const sis::Event& event) { on_event(event); }),
      core_(options.core) {
  if (terminal) terminal_.emplace();
}

void ChatSession::start() {
  signals_.async_wait([this](const boost::system::error_code& code, int) {
    if (code) return;
    if (core_.open() > 0) {
      return leave(posix::kExitEnvironment,
                   "stopped before all messages were confirmed, so some may be lost");
    }
    if (lingering_) {
      return leave(posix::kExitEnvironment,
                   "stopped before the node may have sent all messages, so some may be lost");
    }
    leave(core_.any_failed() ? posix::kExitEnvironment : posix::kExitOk, {});
  });
  client_.start();
  // A terminal takes commands without a node. Other input waits for it, so that no line is refused.
  if (terminal_) read();
  draw();
}

void ChatSession::on_event(const sis::Event& event) {
  if (left_) return;
  std::string lost;
  std::visit(
      Overloaded{[&](const sis::event::Bound& e) { core_.on_bound(now(), e.mtu); },
                 [&](const sis::event::BindRejected& e) {
                   lost = "bind rejected: " + std::string(to_string(e.reason));
                 },
                 [&](const sis::event::Unbound& e) {
                   lost = "unbound: " + std::string(to_string(e.reason));
                 },
                 [&](const sis::event::Lost& e) { lost = to_string(e.why); },
                 [&](const sis::event::Indication& e) { core_.on_received(now(), e.unidata); },
                 // Other events need no action: each request has a handler of its own.
                 [](const auto&) {}},
      event);
  if (!lost.empty()) {
    core_.on_unbound(now(), lost);
    drain();
    if (!options_.stay) return leave(posix::kExitEnvironment, lost);
  }
  drain();
  take_lines();
}

void ChatSession::read() {
  if (reading_ || at_end_ || left_) return;
  reading_ = true;
  input_.read(
      boost::asio::buffer(piece_), [this](const boost::system::error_code& code, std::size_t n) {
        reading_ = false;
        if (left_) return;
        if (code == boost::asio::error::eof) return on_input_end();
        if (code) {
          return leave(posix::kExitEnvironment, "cannot read standard input: " + code.message());
        }
        on_input({piece_.data(), n});
      });
}

void ChatSession::on_input(std::string_view octets) {
  if (!terminal_) {
    waiting_.append(octets);
    return take_lines();
  }
  keys_.on_octets(octets);
  while (const auto event = keys_.poll_event()) {
    const auto* entered = std::get_if<LineInput::Entered>(&*event);
    if (entered == nullptr) return on_input_end();
    core_.on_line(now(), entered->line);
    drain();
    if (left_) return;
  }
  draw();
  read();
}

void ChatSession::on_input_end() {
  at_end_ = true;
  if (terminal_) {
    // A user who leaves does not wait for messages without ARQ, but for confirmations.
    if (core_.open() == 0) return leave(posix::kExitOk, {});
    core_.on_line(now(), "/status");
    drain();
    return;
  }
  take_lines();
}

/// Gives whole lines to the core while it can take them, and reads on.
void ChatSession::take_lines() {
  if (terminal_) {
    if (at_end_) finish_if_done();
    return;
  }
  while (!left_ && core_.bound() && core_.can_take()) {
    const std::size_t end = waiting_.find('\n');
    const bool whole = end != std::string::npos;
    const bool last = !whole && at_end_ && !waiting_.empty();
    const bool too_long = !whole && waiting_.size() > options_.core.line_octets_max;
    if (!whole && !last && !too_long) break;
    const std::size_t octets = std::min(end, waiting_.size());
    if (!skipping_) core_.on_line(now(), std::string_view(waiting_).substr(0, octets), too_long);
    skipping_ = too_long && !whole;
    waiting_.erase(0, whole ? end + 1 : octets);
    drain();
  }
  if (left_) return;
  if (core_.bound() && waiting_.size() <= options_.core.line_octets_max) read();
  finish_if_done();
}

void ChatSession::drain() {
  while (auto action = core_.poll_action()) {
    std::visit(Overloaded{[this](ChatCore::Submit& s) { submit(std::move(s)); },
                          [this](const ChatCore::Show& s) { print(s.line); },
                          [this](const ChatCore::Quit&) {
                            leave(core_.open() > 0 ? posix::kExitEnvironment : posix::kExitOk,
                                  core_.open() > 0 ? "some messages are not confirmed" : "");
                          }},
               *action);
  }
  draw();
}

void ChatSession::submit(ChatCore::Submit submit) {
  client_.async_send(std::move(submit.request),
                     [this, number = submit.number](const sis::SendOutcome& outcome) {
                       if (left_) return;
                       core_.on_outcome(now(), number, outcome);
                       drain();
                       take_lines();
                     });
}

void ChatSession::print(const Line& line) {
  if (terminal_) std::cout << LineInput::removed();
  const Duration utc = utc_of(line.at);
  std::cout << (options_.json ? as_json(line, utc) : as_text(line, utc));
  std::cout.flush();
  if (!std::cout) leave(posix::kExitEnvironment, "cannot write to standard output");
}

void ChatSession::draw() {
  if (!terminal_ || left_ || at_end_) return;
  const std::string prompt = (core_.to() ? to_string(*core_.to()) : "nobody") + "> ";
  const std::size_t columns = terminal_->columns();
  const std::size_t room = columns > prompt.size() + 1 ? columns - prompt.size() - 1 : 1;
  std::cout << keys_.drawn(prompt, room);
  std::cout.flush();
}

void ChatSession::finish_if_done() {
  if (!at_end_ || left_ || lingering_ || core_.open() > 0 || !waiting_.empty()) return;
  if (options_.stay && !terminal_) return;
  const bool failed = core_.any_failed() && !terminal_;  // a user has read of it
  const int status = failed ? posix::kExitEnvironment : posix::kExitOk;
  const auto linger = linger_of(options_, core_.unconfirmed_octets());
  if (terminal_ || linger.count() == 0) return leave(status, {});
  // The server drops unsent data of a client that unbinds (A.2.1.2), and reports nothing about data
  // without ARQ.
  lingering_ = true;
  linger_.expires_after(linger);
  linger_.async_wait([this, status](const boost::system::error_code& code) {
    if (!code) leave(status, {});
  });
}

void ChatSession::leave(int exit_status, const std::string& why) {
  if (std::exchange(left_, true)) return;
  exit_status_ = exit_status;
  if (terminal_) std::cout << LineInput::removed() << std::flush;
  terminal_.reset();
  if (!why.empty()) std::cerr << "s5066-chat: " << why << '\n';
  input_.cancel();
  signals_.cancel();
  linger_.cancel();
  client_.stop();
}

}  // namespace s5066::chat
