// SPDX-License-Identifier: Apache-2.0
// Measures how many one-kilobyte messages a second whole mail gateways accept by SMTP and pass on
// by P_MUL over UDP on the loopback interface, in wall time, with spools at synchronous=FULL:
//  accept    many SMTP clients submit mail to one gateway that may not transmit; a message counts
//            with its 250, which comes after the commit. The row also has the memory of that
//            gateway, before and with all of the mail in the queue.
//  transfer  the gateway may transmit; a message counts when the second gateway has committed it
//            and the first has its acknowledgement. The second delivers to a mail server meanwhile.
//  both      as transfer, and the clients go on.
// The two gateways are MailService as in s5066-acp142, each a process with a folder of its own. The
// reference is fdatasync of as many octets, for one message or for 64 messages at a time.
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include "config/proto/control.pb.h"
#include "gateways/acp142/mail/mail_service.h"
#include "s5066d/control/json.h"
#include "s5066d/posix/socket.h"
#include "tests/bench/acp142_throughput/smtp_load.h"
#include "tests/bench/common/arguments.h"
#include "tests/bench/common/machine.h"

namespace s5066::acp142 {
namespace {

using bench::now_s;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::size_t kOctets = 1024;
constexpr std::uint32_t kLoopback = 0x7F000001;
constexpr NodeId kShore{0x7F4D0001};  // 127.77.0.1, also its IP address
constexpr NodeId kShip{0x7F4D0002};
constexpr std::size_t kClients = 64;

/// Counters of a gateway in memory that the other processes share.
struct Progress {
  std::atomic<std::uint64_t> port;
  std::atomic<std::uint64_t> delivered;
  std::atomic<std::uint64_t> rounds;  // rounds of P_MUL that began
  std::atomic<std::uint64_t> errors;
};

class CountingLog : public LogSink {
 public:
  explicit CountingLog(Progress& progress) : progress_(progress) {}
  void write(LogLevel level, std::string_view line) override {
    const auto has = [line](std::string_view word) {
      return line.find(word) != std::string_view::npos;
    };
    if (has("mail_delivered")) ++progress_.delivered;
    if (has("round_started")) ++progress_.rounds;
    if (const auto at = line.find("smtp_port="); at != std::string_view::npos) {
      progress_.port = std::strtoul(std::string(line.substr(at + 10, 5)).c_str(), nullptr, 10);
    }
    if (level < LogLevel::error) return;
    if (++progress_.errors > 5) return;
    std::fprintf(stderr, "%.*s\n", static_cast<int>(line.size()), line.data());
  }

 private:
  Progress& progress_;
};

class Gateway {
 public:
  explicit Gateway(const MailConfig& config) : config_(config) {
    void* memory = ::mmap(nullptr, sizeof(Progress), PROT_READ | PROT_WRITE,
                          MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) std::abort();
    progress_ = new (memory) Progress{};
    std::filesystem::create_directories(config.spool_directory);
    process_ = ::fork();
    if (process_ == 0) ::_exit(serve());
    while (progress_->port == 0 && ::waitpid(process_, nullptr, WNOHANG) == 0) {
      std::this_thread::sleep_for(milliseconds(5));
    }
    if (progress_->port == 0) std::exit(1);
  }
  ~Gateway() {
    ::kill(process_, SIGTERM);
    ::waitpid(process_, nullptr, 0);
  }
  Gateway(const Gateway&) = delete;
  Gateway& operator=(const Gateway&) = delete;

  const Progress& progress() const { return *progress_; }
  std::uint16_t port() const { return static_cast<std::uint16_t>(progress_->port); }
  void ask(const std::string& request) const {
    const auto said = posix::ask_control(control_socket_path(config_), request, seconds(60));
    if (said && control::read_answer<proto::Done>(*said)) return;
    std::fprintf(stderr, "%s: %s\n", request.c_str(), said ? said->c_str() : "no answer");
    std::exit(1);
  }
  long resident_kib() const { return bench::resident_kib(process_); }

 private:
  int serve() {
    CountingLog log(*progress_);
    auto table = address_table(config_);
    if (!table) return 1;
    MailService service(config_, std::move(table).value(), 1, log);
    const auto served = service.run();
    if (!served) std::fprintf(stderr, "%s\n", to_string(served.error()).c_str());
    return served ? 0 : 1;
  }

  MailConfig config_;
  Progress* progress_ = nullptr;
  pid_t process_ = 0;
};

MailConfig config_of(const std::string& folder, NodeId node, double rate_bps) {
  const bool ship = node == kShip;
  MailConfig config;
  config.spool_directory = folder + (ship ? "/ship" : "/shore");
  config.node = node;
  config.hostname = ship ? "ship.example" : "shore.example";
  config.smtp.port = 0;
  config.stations = {ship ? MailConfig::Station{.name = "shore", .node = kShore, .address = {}}
                          : MailConfig::Station{.name = "ship", .node = kShip, .address = {}}};
  config.routes = {{.pattern = "ship.example", .own = ship, .stations = {}},
                   {.pattern = "shore.example", .own = !ship, .stations = {}}};
  config.routes[ship ? 1 : 0].stations = {config.stations[0].name};
  use_udp(config, {.interface = kLoopback, .listen = node.value, .hops = 0, .rate_bps = rate_bps});
  config.open_mails_max = 1'000'000;
  return config;
}

class Bench {
 public:
  Bench(const bench::Arguments& arguments, const std::string& folder)
      : json_(arguments.has("json")),
        quick_(arguments.has("quick")),
        patience_s_(arguments.number("seconds", quick_ ? 5 : 30)),
        folder_(folder),
        sink_(io_, counts_) {
    const double rate_bps = arguments.number("rate-bps", MailConfig::Udp{}.rate_bps);
    MailConfig ship = config_of(folder, kShip, rate_bps);
    ship.mail_server.port = sink_.port();
    ship_.emplace(ship);
    MailConfig shore = config_of(folder, kShore, rate_bps);
    shore.start_in_emcon = true;
    shore_.emplace(shore);
  }

  void run(std::uint64_t queued) {
    reference();
    accept(queued);
    shore_->ask("emcon off");
    transfer("transfer", true);
    left_ = ~std::uint64_t{0};
    start_clients();
    transfer("both", false);
  }

 private:
  void reference() const {
    const std::size_t scale = quick_ ? 1 : 4;
    for (const std::size_t batch : {1, 64}) {
      const double per_s = bench::synced_per_s(folder_ + "/reference", kOctets, batch,
                                               scale * (batch == 1 ? 256 : 8192));
      std::printf(json_ ? "{\"row\": \"fdatasync\", \"batch\": %zu, \"messages_per_s\": %.0f}\n"
                        : "fdatasync alone, batch %zu: %.0f messages/s\n",
                  batch, per_s);
    }
  }

  void start_clients() {
    for (std::size_t i = 0; i < kClients; ++i) {
      std::make_shared<SmtpLoadClient>(io_, next_, left_, counts_)->start(shore_->port());
    }
  }

  void accept(std::uint64_t messages) {
    const long before = shore_->resident_kib();
    left_ = messages;
    start_clients();
    const double begin = now_s();
    while (counts_.accepted + counts_.refused < messages) io_.run_for(milliseconds(1));
    const double spent = now_s() - begin;
    std::printf(json_ ? "{\"row\": \"accept\", \"clients\": %zu, \"messages\": %llu, "
                        "\"refused\": %llu, \"messages_per_s\": %.0f, "
                        "\"resident_kib_before\": %ld, \"resident_kib\": %ld}\n"
                      : "accept, %zu clients: %llu messages, %llu refused, %.0f messages/s; "
                        "resident %ld KiB before, %ld KiB with all queued\n",
                kClients, static_cast<unsigned long long>(counts_.accepted),
                static_cast<unsigned long long>(counts_.refused),
                static_cast<double>(counts_.accepted) / spent, before, shore_->resident_kib());
    std::fflush(stdout);
  }

  /// Runs for so many seconds, or, if the row `ends`, until all messages are acknowledged.
  void transfer(const char* row, bool ends) {
    const std::uint64_t acknowledged = shore_->progress().delivered;
    const std::uint64_t accepted = counts_.accepted;
    const std::uint64_t delivered = counts_.delivered;
    const std::uint64_t rounds = shore_->progress().rounds;
    const double begin = now_s();
    const auto over = [&] { return ends && shore_->progress().delivered == counts_.accepted; };
    while (now_s() - begin < patience_s_ && !over()) {
      io_.run_for(milliseconds(10));
    }
    const double spent = now_s() - begin;
    const auto per_s = [spent](std::uint64_t count) { return static_cast<double>(count) / spent; };
    std::printf(
        json_ ? "{\"row\": \"%s\", \"seconds\": %.1f, \"acknowledged_per_s\": %.0f, "
                "\"to_mail_server_per_s\": %.0f, \"accepted_per_s\": %.0f, \"rounds_per_s\": %.0f, "
                "\"resident_kib_sender\": %ld, \"resident_kib_receiver\": %ld}\n"
              : "%s, %.1f s: %.0f messages/s acknowledged, %.0f to the mail server, %.0f accepted, "
                "%.0f rounds/s; resident %ld KiB sender, %ld KiB receiver\n",
        row, spent, per_s(shore_->progress().delivered - acknowledged),
        per_s(counts_.delivered - delivered), per_s(counts_.accepted - accepted),
        per_s(shore_->progress().rounds - rounds), shore_->resident_kib(), ship_->resident_kib());
    std::fflush(stdout);
  }

  const bool json_;
  const bool quick_;
  const double patience_s_;
  const std::string folder_;
  boost::asio::io_context io_;
  LoadCounts counts_;
  std::uint64_t next_ = 0;
  std::uint64_t left_ = 0;
  SmtpSink sink_;
  std::optional<Gateway> ship_;
  std::optional<Gateway> shore_;
};

int run(int argc, char** argv) {
  const bench::Arguments arguments(argc, argv, {"folder", "messages", "seconds", "rate-bps"},
                                   {"quick", "json"});
  const std::string parent =
      arguments.text("folder", std::filesystem::temp_directory_path().string());
  const std::string folder = parent + "/bench_acp142_throughput." + std::to_string(::getpid());
  std::filesystem::create_directory(folder);
  const double messages = arguments.number("messages", arguments.has("quick") ? 10'000 : 100'000);
  {
    Bench bench(arguments, folder);
    bench.run(static_cast<std::uint64_t>(messages));
  }
  std::filesystem::remove_all(folder);
  return 0;
}

}  // namespace
}  // namespace s5066::acp142

int main(int argc, char** argv) {
  return s5066::acp142::run(argc, argv);
}
