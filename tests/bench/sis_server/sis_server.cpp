// The SIS server under load, without a modem. One process on one core holds two nodes with their
// TCP ports and the simulated medium between them; the load runs in another process on another
// core. For comparison in the same run: a bare Asio server that sends back what it reads.
//
// Round trips are counted per second of the wall clock and per second of processor time that the
// server used; on a machine with other work to do only the second says what one core can do.
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>
#include <chrono>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>

#include "tests/bench/common/arguments.h"
#include "tests/bench/sis_server/load.h"
#include "tests/bench/sis_server/server_side.h"

namespace s5066::bench {
namespace {

constexpr int kServerCore = 0;
constexpr int kLoadCore = 1;

void pin(int core) {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  CPU_SET(core, &cores);
  ::sched_setaffinity(0, sizeof cores, &cores);  // where there is only one core, so be it
}

class NoLog final : public LogSink {
 public:
  void write(LogLevel, std::string_view) override {}
};

/// Sends back what it reads, one read and one write at a time.
class BareServer {
 public:
  explicit BareServer(int commands) : acceptor_(io_, {boost::asio::ip::tcp::v4(), 0}) {
    static_cast<void>(commands);
    accept();
  }
  std::uint16_t port() const { return acceptor_.local_endpoint().port(); }
  void run() { io_.run(); }

 private:
  struct Session : std::enable_shared_from_this<Session> {
    explicit Session(boost::asio::ip::tcp::socket s) : socket(std::move(s)) {
      socket.set_option(boost::asio::ip::tcp::no_delay(true));
    }
    void read() {
      socket.async_read_some(boost::asio::buffer(buffer),
                             [self = shared_from_this()](auto failure, std::size_t octets) {
                               if (!failure) self->write(octets);
                             });
    }
    void write(std::size_t octets) {
      boost::asio::async_write(socket, boost::asio::buffer(buffer, octets),
                               [self = shared_from_this()](auto failure, std::size_t) {
                                 if (!failure) self->read();
                               });
    }
    boost::asio::ip::tcp::socket socket;
    std::array<char, 16 * 1024> buffer;
  };
  void accept() {
    acceptor_.async_accept([this](auto failure, boost::asio::ip::tcp::socket socket) {
      if (!failure) std::make_shared<Session>(std::move(socket))->read();
      accept();
    });
  }

  boost::asio::io_context io_;
  boost::asio::ip::tcp::acceptor acceptor_;
};

/// A server in a process of its own; ends with this object.
class ServerProcess {
 public:
  enum class Kind { sis, bare };

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
    if (kind == Kind::bare) {
      BareServer server(commands);
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

void print(const Plan& plan, const std::string& name, std::size_t outstanding,
           const LoadResult& result, double bare_per_cpu_second) {
  const double rate = static_cast<double>(result.round_trips) / result.seconds;
  const double per_cpu = per_cpu_second(result);
  const double ratio = bare_per_cpu_second > 0 ? per_cpu / bare_per_cpu_second : 1;
  std::printf(
      plan.json
          ? "{\"name\":\"%s\",\"outstanding_per_client\":%zu,\"round_trips_per_s\":%.0f,"
            "\"per_cpu_second\":%.0f,\"ratio_to_bare\":%.3f,\"p50_ms\":%.2f,\"p99_ms\":%.2f,"
            "\"failed\":%s}\n"
          : "%-10s %3zu out: %7.0f/s, %7.0f per cpu second (%.3f of bare), p50 %.2f ms, p99 %.2f "
            "ms%s\n",
      name.c_str(), outstanding, rate, per_cpu, ratio, 1e-3 * result.percentile_us(50),
      1e-3 * result.percentile_us(99),
      plan.json ? (result.failed ? "true" : "false") : (result.failed ? " FAILED" : ""));
  std::fflush(stdout);
}

LoadResult measure(const Plan& plan, RoundTrip kind, const LoadOptions& options) {
  ServerProcess server(kind == RoundTrip::bare ? ServerProcess::Kind::bare
                                               : ServerProcess::Kind::sis);
  LoadOptions timed = options;
  timed.time = plan.time;
  return run_load(kind, server.ports, server.id(), timed);
}

void throughput(const Plan& plan, std::size_t outstanding) {
  const LoadOptions options{.outstanding = outstanding};
  const LoadResult bare = measure(plan, RoundTrip::bare, options);
  const double reference = per_cpu_second(bare);
  print(plan, "bare", outstanding, bare, 0);
  print(plan, "echo", outstanding, measure(plan, RoundTrip::echo, options), reference);
  print(plan, "confirm", outstanding, measure(plan, RoundTrip::confirm, options), reference);
}

void latency(const Plan& plan, double per_second) {
  const LoadOptions options{.outstanding = 0, .per_second = per_second};
  print(plan, "half_load", 0, measure(plan, RoundTrip::echo, options), 0);
}

void number(const Plan& plan, const char* name, const char* unit, double value) {
  std::printf(plan.json ? "{\"name\":\"%s\",\"%s\":%.2f}\n" : "%-10s %s %.2f\n", name, unit, value);
  std::fflush(stdout);
}

void idle(const Plan& plan) {
  ServerProcess server(ServerProcess::Kind::sis);
  IdleClients clients(server.ports, 16);
  ::usleep(500'000);
  const double before = cpu_seconds(server.id());
  const auto began = std::chrono::steady_clock::now();
  ::usleep(static_cast<useconds_t>(plan.time.count() / 1000));
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
  number(plan, "idle", "cpu_percent", 100 * (cpu_seconds(server.id()) - before) / took.count());
}

void memory(const Plan& plan) {
  for (const std::size_t octets : {16, 256, 2048}) {
    ServerProcess server(ServerProcess::Kind::sis);
    IdleClients clients(server.ports, 16);
    if (octets == 16) number(plan, "memory_empty", "resident_mib", resident_mib(server.id()));
    server.command('h');
    clients.fill(octets);
    number(plan, ("memory_full_of_" + std::to_string(octets)).c_str(), "resident_mib",
           resident_mib(server.id()));
  }
}

}  // namespace
}  // namespace s5066::bench

int main(int argc, char** argv) {
  using namespace s5066::bench;
  const Arguments arguments(argc, argv, {"only", "outstanding", "rate"}, {"json", "quick"});
  const Plan plan{.json = arguments.has("json"),
                  .time = std::chrono::seconds(arguments.has("quick") ? 1 : 10)};
  const std::string only = arguments.text("only", "");
  const auto wanted = [&](const char* part) { return only.empty() || only == part; };
  pin(kLoadCore);
  if (wanted("throughput")) {
    for (const std::size_t outstanding : {1, 8, 64}) {
      const double given = arguments.number("outstanding", 0);
      if (given > 0 && static_cast<std::size_t>(given) != outstanding) continue;
      throughput(plan, outstanding);
    }
  }
  if (wanted("latency")) latency(plan, arguments.number("rate", 10'000));
  if (wanted("idle")) idle(plan);
  if (wanted("memory")) memory(plan);
}
