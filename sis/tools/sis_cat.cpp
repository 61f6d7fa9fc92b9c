// SPDX-License-Identifier: Apache-2.0
// sis_cat: sends standard input as U_PDUs and writes received U_PDUs to standard output.
#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <csignal>
#include <iostream>
#include <optional>
#include <random>
#include <string>
#include <utility>

#include "s5066d/posix/standard_streams.h"
#include "sis/client.h"
#include "sis/text.h"
#include "sis/tools/sis_cat_options.h"
#include "sis/tools/standard_input.h"

namespace asio = boost::asio;
using namespace s5066;
using sis_cat::Options;

namespace {

constexpr int kOk = 0;
constexpr int kFailed = 1;
constexpr int kUsage = 2;
/// After this time without an answer to data, a line on standard error says that sis_cat waits.
constexpr std::chrono::seconds kSilentMax{5};

/// One run of the program: reads, sends a piece as soon as the client accepts it, and counts open
/// ones.
class Cat {
 public:
  Cat(asio::io_context& io, const Options& options)
      : options_(options),
        input_(io),
        signals_(io, SIGINT, SIGTERM),
        linger_(io),
        silence_(io),
        client_(io, options.client, std::random_device{}(),
                [this](const sis::Event& event) { std::visit(*this, event); }) {}

  void start() {
    signals_.async_wait([this](const boost::system::error_code& code, int) {
      if (code) return;
      if (open_ > 0) {
        return leave(kFailed, "stopped before all U_PDUs were confirmed, so some may be lost");
      }
      if (lingering_) {
        return leave(kFailed,
                     "stopped before the node may have sent all U_PDUs, so some may be lost");
      }
      leave(kOk, {});
    });
    client_.start();
  }
  int exit_code() const { return exit_code_; }

  void operator()(const sis::event::Bound& e) {
    if (!options_.to) return;
    piece_.resize(std::max<std::size_t>(1, e.mtu));
    if (!options_.hard_link) return read();
    const auto asked = client_.request_hard_link(*options_.hard_link);
    if (!asked) leave(kFailed, to_string(asked.error()));
  }
  void operator()(const sis::event::BindRejected& e) { fail("bind rejected", to_string(e.reason)); }
  void operator()(const sis::event::Unbound& e) { fail("unbound", to_string(e.reason)); }
  void operator()(const sis::event::Lost& e) {
    const auto& server = options_.client;
    const bool local = server.host.find('/') != std::string::npos;
    leave(kFailed,
          server.host + (local ? "" : ":" + std::to_string(server.port)) + ": " + to_string(e.why));
  }
  void operator()(const sis::event::Indication& e) { print(e.unidata); }
  void operator()(const sis::event::ExpeditedIndication& e) { print(e.unidata); }

  void operator()(const sis::event::HardLinkEstablished&) { read(); }
  void operator()(const sis::event::HardLinkRejected& e) {
    fail("hard link rejected", to_string(e.reason));
  }
  void operator()(const sis::event::HardLinkTerminated& e) {
    if (options_.hard_link) fail("hard link terminated", to_string(e.reason));
  }
  void operator()(const sis::event::HardLinkLost&) {
    if (options_.hard_link) leave(kFailed, "hard link lost");
  }
  void operator()(const sis::event::HardLinkOffered& e) {
    const auto answered = options_.accept_links ? client_.request_hard_link_accept(e.link)
                                                : client_.request_hard_link_reject(e.link, 1);
    if (!answered) std::cerr << "sis_cat: " << to_string(answered.error()) << '\n';
  }

  // Other events need no action: the client holds requests while the flow is off, and every request
  // has a handler of its own.
  template <typename Other>
  void operator()(const Other&) {}

 private:
  void read() {
    input_.read(asio::buffer(piece_), [this](const boost::system::error_code& code, std::size_t n) {
      if (left_) return;
      if (code && code != asio::error::eof)
        return leave(kFailed, "cannot read standard input: " + code.message());
      if (code) {
        at_end_ = true;
        return finish_if_done();
      }
      send({piece_.begin(), piece_.begin() + static_cast<std::ptrdiff_t>(n)});
    });
  }

  void send(Bytes updu) {
    const auto& o = options_;
    if (o.expedited) {
      submit(sis::ExpeditedUnidataRequest{.destination_sap = o.to_sap,
                                          .destination = *o.to,
                                          .delivery = o.delivery,
                                          .time_to_live = o.ttl_units,
                                          .updu = std::move(updu)});
    } else {
      submit(sis::UnidataRequest{.priority = o.priority,
                                 .destination_sap = o.to_sap,
                                 .destination = *o.to,
                                 .delivery = o.delivery,
                                 .time_to_live = o.ttl_units,
                                 .updu = std::move(updu)});
    }
  }

  template <typename Request>
  void submit(Request request) {
    if (++open_ == 1) await_answer();
    octets_sent_ += request.updu.size();
    client_.async_send(std::move(request), [this](const sis::SendOutcome& outcome) {
      --open_;
      if (left_) return;
      await_answer();
      if (!outcome.ok()) return leave(kFailed, to_string(outcome));
      if (std::exchange(held_back_, false)) read();
      finish_if_done();
    });
    // The client never gets more than it accepts, so that none is refused because there is no room.
    if (open_ < options_.client.core.queue_max) {
      read();
    } else {
      held_back_ = true;
    }
  }

  /// Says once that no answer comes, because a link or its data may take minutes.
  void await_answer() {
    silence_.cancel();
    if (open_ == 0 || told_of_silence_) return;
    silence_.expires_after(kSilentMax);
    silence_.async_wait([this](const boost::system::error_code& code) {
      if (code || left_) return;
      told_of_silence_ = true;
      std::cerr << "sis_cat: " << to_string(*options_.to) << " has confirmed nothing for "
                << kSilentMax.count()
                << " s, still waiting; `s5066 station queue` at the node tells for what\n";
    });
  }

  template <typename Unidata>
  void print(const Unidata& unidata) {
    if (!options_.listen || left_) return;
    const Bytes& updu = unidata.updu;
    for (const OctetRange& block : unidata.errored) complain(unidata.source, "errored", block);
    for (const OctetRange& block : unidata.missing) complain(unidata.source, "missing", block);
    if (options_.hex) {
      std::cout << to_string(unidata.source) << ' ' << unsigned{unidata.source_sap.value} << ' '
                << to_hex(updu) << '\n';
    } else {
      std::cout.write(reinterpret_cast<const char*>(updu.data()),
                      static_cast<std::streamsize>(updu.size()));
    }
    std::cout.flush();
    if (!std::cout) return leave(kFailed, "cannot write to standard output");
    if (++received_ == options_.count) leave(kOk, {});
  }

  static void complain(Address source, const char* what, const OctetRange& block) {
    std::cerr << "sis_cat: from " << to_string(source) << ": " << what << ' ' << block.octets
              << " octets at " << block.offset << '\n';
  }

  void finish_if_done() {
    if (!at_end_ || open_ > 0 || options_.listen) return;
    const auto linger = linger_of(options_, octets_sent_);
    if (linger.count() == 0) return leave(kOk, {});
    // The server drops unsent data of a client that unbinds (A.2.1.2), and reports nothing about
    // data without ARQ.
    lingering_ = true;
    linger_.expires_after(linger);
    linger_.async_wait([this](const boost::system::error_code& code) {
      if (!code) leave(kOk, {});
    });
  }

  void fail(const char* what, std::string_view reason) {
    leave(kFailed, std::string(what) + ": " + std::string(reason));
  }

  void leave(int exit_code, const std::string& why) {
    if (std::exchange(left_, true)) return;
    exit_code_ = exit_code;
    if (!why.empty()) std::cerr << "sis_cat: " << why << '\n';
    input_.cancel();
    signals_.cancel();
    linger_.cancel();
    silence_.cancel();
    // Without this the unbind ends the link as well; a missing link is no error here.
    if (options_.hard_link) (void)client_.request_hard_link_end(options_.hard_link->remote);
    client_.stop();
  }

  const Options options_;
  sis_tools::StandardInput input_;
  asio::signal_set signals_;
  asio::steady_timer linger_;
  asio::steady_timer silence_;
  sis::Client client_;
  Bytes piece_;
  std::size_t open_ = 0;
  std::uint64_t octets_sent_ = 0;
  std::uint64_t received_ = 0;
  bool held_back_ = false;
  bool at_end_ = false;
  bool lingering_ = false;
  bool told_of_silence_ = false;
  bool left_ = false;
  int exit_code_ = kOk;
};

}  // namespace

int main(int argc, char** argv) {
  s5066::posix::open_standard_streams();
  sis_cat::Instead instead;
  const auto options = sis_cat::read_command_line(argc, argv, instead);
  if (!instead.problem.empty()) {
    std::cerr << "sis_cat: " << instead.problem << '\n';
    return kUsage;
  }
  if (!options) {
    std::cout << instead.help;
    return s5066::posix::finish_standard_output("sis_cat", kOk);
  }
  asio::io_context io;
  Cat cat(io, *options);
  cat.start();
  io.run();
  return cat.exit_code();
}
