// SPDX-License-Identifier: Apache-2.0
// Measures the SIS server under load, without a modem. One process on one core holds two nodes with
// their TCP ports and the simulated medium between them; the load runs in another process on
// another core. For comparison in the same run there are three bare Asio servers: one sends back
// message by message, as any server of messages does, one sends back each read as it is, and one
// relays each read between a client of one port and a client of the other, as the two nodes do.
//
// Round trips are counted per second of the wall clock and per second of processor time that the
// server used; on a machine with other work to do only the second figure shows the capacity of one
// core.
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <chrono>
#include <cstdio>
#include <deque>
#include <functional>
#include <memory>
#include <string>

#include "sis/codec.h"
#include "tests/bench/common/arguments.h"
#include "tests/bench/sis_server/load.h"
#include "tests/bench/sis_server/server_side.h"

namespace s5066::bench {
namespace {

constexpr std::size_t kClients = 16;
constexpr std::size_t kUpduOctets[] = {16, 256, 2048};
constexpr int kServerCore = 0;
constexpr int kLoadCore = 1;

void pin(int core) {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  CPU_SET(core, &cores);
  ::sched_setaffinity(0, sizeof cores, &cores);  // fails without harm on a machine with one core
}

class NoLog final : public LogSink {
 public:
  void write(LogLevel, std::string_view) override {}
};

/// Sends back the octets that it reads. By message, it does one read and one write for each, and
/// checks the frame.
class BareServer {
 public:
  /// `message_octets` is the length of each message with its frame; 0: each read is sent back as it
  /// is.
  explicit BareServer(std::size_t message_octets)
      : message_octets_(message_octets), acceptor_(io_, {boost::asio::ip::tcp::v4(), 0}) {
    accept();
  }
  std::uint16_t port() const { return acceptor_.local_endpoint().port(); }
  void run() { io_.run(); }

 private:
  struct Session : std::enable_shared_from_this<Session> {
    Session(boost::asio::ip::tcp::socket s, std::size_t message)
        : socket(std::move(s)), message_octets(message) {
      socket.set_option(boost::asio::ip::tcp::no_delay(true));
    }
    void read() {
      const auto on_read = [self = shared_from_this()](auto failure, std::size_t octets) {
        if (!failure && self->is_right(octets)) self->write(octets);
      };
      if (message_octets == 0) {
        socket.async_read_some(boost::asio::buffer(buffer), on_read);
      } else {
        boost::asio::async_read(socket, boost::asio::buffer(buffer, message_octets), on_read);
      }
    }
    bool is_right(std::size_t octets) const {
      if (message_octets == 0) return true;
      const ByteSpan message(buffer.data(), octets);
      return message[0] == sis::kPreamble0 && message[1] == sis::kPreamble1 &&
             message[2] == sis::kVersion && get_u16(message, 3) + sis::kHeaderOctets == octets;
    }
    void write(std::size_t octets) {
      boost::asio::async_write(socket, boost::asio::buffer(buffer, octets),
                               [self = shared_from_this()](auto failure, std::size_t) {
                                 if (!failure) self->read();
                               });
    }
    boost::asio::ip::tcp::socket socket;
    const std::size_t message_octets;
    std::array<std::uint8_t, 16 * 1024> buffer;
  };
  void accept() {
    acceptor_.async_accept([this](auto failure, boost::asio::ip::tcp::socket socket) {
      if (!failure) std::make_shared<Session>(std::move(socket), message_octets_)->read();
      accept();
    });
  }

  const std::size_t message_octets_;
  boost::asio::io_context io_;
  boost::asio::ip::tcp::acceptor acceptor_;
};

/// Relays each read: the octets of the n-th client of one port go to the n-th client of the other.
class BareRelay {
 public:
  BareRelay() {
    for (std::size_t side : {0, 1}) accept(side);
  }
  std::uint16_t port(std::size_t side) const { return acceptors_[side].local_endpoint().port(); }
  void run() { io_.run(); }

 private:
  using Socket = boost::asio::ip::tcp::socket;
  struct Direction : std::enable_shared_from_this<Direction> {
    Direction(std::shared_ptr<Socket> a, std::shared_ptr<Socket> b)
        : from(std::move(a)), to(std::move(b)) {
      from->set_option(boost::asio::ip::tcp::no_delay(true));
    }
    void read() {
      from->async_read_some(boost::asio::buffer(buffer),
                            [self = shared_from_this()](auto failure, std::size_t octets) {
                              if (!failure) self->write(octets);
                            });
    }
    void write(std::size_t octets) {
      boost::asio::async_write(*to, boost::asio::buffer(buffer, octets),
                               [self = shared_from_this()](auto failure, std::size_t) {
                                 if (!failure) self->read();
                               });
    }
    std::shared_ptr<Socket> from;
    std::shared_ptr<Socket> to;
    std::array<std::uint8_t, 16 * 1024> buffer;
  };

  void accept(std::size_t side) {
    acceptors_[side].async_accept([this, side](auto failure, Socket socket) {
      if (failure) return;
      alone_[side].push_back(std::make_shared<Socket>(std::move(socket)));
      while (!alone_[0].empty() && !alone_[1].empty()) {
        for (std::size_t from : {0, 1}) {
          std::make_shared<Direction>(alone_[from].front(), alone_[1 - from].front())->read();
        }
        for (auto& sockets : alone_) sockets.pop_front();
      }
      accept(side);
    });
  }

  boost::asio::io_context io_;
  boost::asio::ip::tcp::acceptor acceptors_[2] = {{io_, {boost::asio::ip::tcp::v4(), 0}},
                                                  {io_, {boost::asio::ip::tcp::v4(), 0}}};
  std::deque<std::shared_ptr<Socket>> alone_[2];
};

/// A server in a process of its own, which ends with this object.
class ServerProcess {
 public:
  enum class Kind { sis, stream_echo, message_echo, relay };

  explicit ServerProcess(Kind kind) {
    int commands[2];
    int answer[2];
    if (::pipe(commands) != 0 || ::pipe(answer) != 0) std::exit(1);
    process_ = ::fork();
    if (process_ == 0) {
      ::close(commands[1]);
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      pin(kServerCore);
      serve(kind, commands[0], answer[1]);
      ::_exit(0);
    }
    ::close(commands[0]);
    ::close(answer[1]);
    commands_ = commands[1];
    if (::read(answer[0], ports, sizeof ports) != sizeof ports) std::exit(1);
    ::close(answer[0]);
  }
  ~ServerProcess() {
    ::close(commands_);
    ::kill(process_, SIGKILL);
    ::waitpid(process_, nullptr, 0);
  }
  void command(char c) {
    if (::write(commands_, &c, 1) != 1) std::exit(1);
  }
  int id() const { return process_; }

  std::uint16_t ports[2] = {};

 private:
  static void serve(Kind kind, int commands, int answer) {
    NoLog log;
    const auto tell = [answer](std::uint16_t a, std::uint16_t b) {
      const std::uint16_t both[2] = {a, b};
      if (::write(answer, both, sizeof both) != sizeof both) ::_exit(1);
    };
    if (kind == Kind::relay) {
      BareRelay server;
      tell(server.port(0), server.port(1));
      server.run();
      return;
    }
    if (kind != Kind::sis) {
      BareServer server(kind == Kind::message_echo ? request_octets(LoadOptions{}.updu_octets) : 0);
      tell(server.port(), server.port());
      server.run();
      return;
    }
    ServerSide server(commands, log);
    tell(server.port(0), server.port(1));
    server.run();
  }

  pid_t process_ = 0;
  int commands_ = -1;
};

struct Plan {
  bool json = false;
  Duration time{};
};

double per_cpu_second(const LoadResult& result) {
  return static_cast<double>(result.round_trips) / std::max(result.server_cpu_seconds, 1e-9);
}

/// Round trips of the bare servers in a second of their processor time; 0: not measured.
struct Reference {
  double message_echo = 0;
  double stream_echo = 0;
  double relay = 0;
};

void print(const Plan& plan, const std::string& name, std::size_t outstanding,
           const LoadResult& result, const Reference& reference) {
  const double rate = static_cast<double>(result.round_trips) / result.seconds;
  const double per_cpu = per_cpu_second(result);
  const auto share = [per_cpu](double of) { return of > 0 ? per_cpu / of : 0; };
  std::printf(
      plan.json
          ? "{\"name\":\"%s\",\"outstanding_per_client\":%zu,\"round_trips_per_s\":%.0f,"
            "\"per_cpu_second\":%.0f,\"ratio_to_message_echo\":%.3f,"
            "\"ratio_to_stream_echo\":%.3f,\"ratio_to_relay\":%.3f,\"p50_ms\":%.2f,"
            "\"p99_ms\":%.2f,\"failed\":%s}\n"
          : "%-12s %3zu out: %7.0f/s, %7.0f per cpu second (%.3f of message echo, %.3f of stream "
            "echo, %.3f of relay), p50 %.2f ms, p99 %.2f ms%s\n",
      name.c_str(), outstanding, rate, per_cpu, share(reference.message_echo),
      share(reference.stream_echo), share(reference.relay), 1e-3 * result.percentile_us(50),
      1e-3 * result.percentile_us(99),
      plan.json ? (result.failed ? "true" : "false") : (result.failed ? " FAILED" : ""));
  std::fflush(stdout);
}

LoadResult measure(const Plan& plan, ServerProcess::Kind server_kind, RoundTrip kind,
                   const LoadOptions& options) {
  ServerProcess server(server_kind);
  LoadOptions timed = options;
  timed.time = plan.time;
  return run_load(kind, server.ports, server.id(), timed);
}

void throughput(const Plan& plan, std::size_t outstanding) {
  using Kind = ServerProcess::Kind;
  const LoadOptions options{.outstanding = outstanding};
  const LoadResult stream = measure(plan, Kind::stream_echo, RoundTrip::bare, options);
  const LoadResult message = measure(plan, Kind::message_echo, RoundTrip::bare, options);
  const LoadResult relay = measure(plan, Kind::relay, RoundTrip::relayed, options);
  const Reference reference{per_cpu_second(message), per_cpu_second(stream), per_cpu_second(relay)};
  print(plan, "stream_echo", outstanding, stream, reference);
  print(plan, "message_echo", outstanding, message, reference);
  print(plan, "relay", outstanding, relay, reference);
  print(plan, "echo", outstanding, measure(plan, Kind::sis, RoundTrip::echo, options), reference);
  print(plan, "confirm", outstanding, measure(plan, Kind::sis, RoundTrip::confirm, options),
        reference);
}

void latency(const Plan& plan, double per_second) {
  const LoadOptions options{.outstanding = 0, .per_second = per_second};
  print(plan, "half_load", 0, measure(plan, ServerProcess::Kind::sis, RoundTrip::echo, options),
        {});
}

void number(const Plan& plan, const char* name, const char* unit, double value) {
  std::printf(plan.json ? "{\"name\":\"%s\",\"%s\":%.2f}\n" : "%-10s %s %.2f\n", name, unit, value);
  std::fflush(stdout);
}

/// The server under test: one of ours, or a daemon that is already running.
struct Subject {
  int process = 0;
  std::uint16_t port = 0;
};

void idle(const Plan& plan, const Subject& subject) {
  IdleClients clients(subject.port, kClients);
  ::usleep(500'000);
  const double before = cpu_seconds(subject.process);
  const auto began = std::chrono::steady_clock::now();
  ::usleep(static_cast<useconds_t>(plan.time.count() / 1000));
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
  number(plan, "idle", "cpu_percent", 100 * (cpu_seconds(subject.process) - before) / took.count());
}

void full_of(const Plan& plan, const Subject& subject, std::size_t octets,
             const std::function<void()>& hold) {
  IdleClients clients(subject.port, kClients);
  if (octets == kUpduOctets[0]) {
    number(plan, "memory_empty", "resident_mib", resident_mib(subject.process));
  }
  hold();
  clients.fill(octets);
  number(plan, ("memory_full_of_" + std::to_string(octets)).c_str(), "resident_mib",
         resident_mib(subject.process));
}

void memory(const Plan& plan) {
  for (const std::size_t octets : kUpduOctets) {
    ServerProcess server(ServerProcess::Kind::sis);
    full_of(plan, {server.id(), server.ports[0]}, octets, [&] { server.command('h'); });
  }
}

/// Measures a daemon whose peer station is switched off, so that its accepted data stays queued.
void running_daemon(const Plan& plan, const Subject& subject) {
  idle(plan, subject);
  ::sleep(2);
  for (const std::size_t octets : kUpduOctets) {
    full_of(plan, subject, octets, [] {});
    ::sleep(10);  // time in which the server probes its silent clients
  }
  number(plan, "memory_after", "resident_mib", resident_mib(subject.process));
}

}  // namespace
}  // namespace s5066::bench

int main(int argc, char** argv) {
  using namespace s5066::bench;
  const Arguments arguments(argc, argv, {"only", "outstanding", "rate", "pid", "port"},
                            {"json", "quick"});
  const Plan plan{.json = arguments.has("json"),
                  .time = std::chrono::seconds(arguments.has("quick") ? 1 : 10)};
  const std::string only = arguments.text("only", "");
  const auto wanted = [&](const char* part) { return only.empty() || only == part; };
  pin(kLoadCore);
  if (const double process = arguments.number("pid", 0); process > 0) {
    running_daemon(
        plan, {static_cast<int>(process), static_cast<std::uint16_t>(arguments.number("port", 0))});
    return 0;
  }
  if (wanted("throughput")) {
    for (const std::size_t outstanding : {1, 8, 64}) {
      const double given = arguments.number("outstanding", 0);
      if (given > 0 && static_cast<std::size_t>(given) != outstanding) continue;
      throughput(plan, outstanding);
    }
  }
  if (wanted("latency")) latency(plan, arguments.number("rate", 10'000));
  if (wanted("idle")) {
    ServerProcess server(ServerProcess::Kind::sis);
    idle(plan, {server.id(), server.ports[0]});
  }
  if (wanted("memory")) memory(plan);
}
