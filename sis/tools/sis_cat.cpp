// sis_cat: standard input to U_PDUs, received U_PDUs to standard output.
#include <fcntl.h>
#include <unistd.h>
#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/program_options.hpp>
#include <cstdio>
#include <iostream>
#include <optional>
#include <random>
#include <string>

#include "sis/client.h"
#include "sis/text.h"

namespace asio = boost::asio;
namespace po = boost::program_options;
using namespace s5066;

namespace {

constexpr int kOk = 0;
constexpr int kFailed = 1;
constexpr int kUsage = 2;

struct Options {
  sis::Client::Config client;
  bool listen = false;
  std::uint64_t count = 0;  // leave after so many received; 0: stay
  bool hex = false;
  std::optional<Address> to;
  SapId to_sap{};
  sis::Confirmation confirm = sis::Confirmation::node;
  std::uint32_t ttl_units = 0;  // of 2 s
  std::uint8_t priority = 0;
};

Result<std::uint8_t> nibble(const char* name, int value) {
  if (value >= 0 && value <= 15) return static_cast<std::uint8_t>(value);
  return Error{ErrorCode::bad_field, std::string("--") + name + " goes from 0 to 15"};
}

Result<sis::Confirmation> parse_confirmation(const std::string& text) {
  using sis::Confirmation;
  for (const auto value : {Confirmation::none, Confirmation::node, Confirmation::client}) {
    if (text == sis::to_string(value)) return value;
  }
  return Error{ErrorCode::bad_field, "--confirm is none, node or client"};
}

po::options_description described_options() {
  po::options_description options("sis_cat: U_PDUs from standard input, or to standard output");
  auto add = options.add_options();
  add("help", "print this");
  add("host", po::value<std::string>()->default_value("localhost"), "SIS server");
  add("port", po::value<std::uint16_t>()->default_value(sis::kDefaultPort), "its TCP port");
  add("sap", po::value<int>()->default_value(15), "SAP to bind to, 0..15");
  add("rank", po::value<int>()->default_value(0), "rank of the client, 0..15");
  add("listen", "print U_PDUs as they arrive");
  add("count", po::value<std::uint64_t>()->default_value(0), "leave after that many; 0 stays");
  add("to", po::value<std::string>(), "send standard input to this address, w.x.y.z");
  add("to-sap", po::value<int>(), "SAP there, 0..15; default: as --sap");
  add("confirm", po::value<std::string>()->default_value("node"), "none, node or client");
  add("ttl", po::value<std::uint32_t>()->default_value(0),
      "time to live in s; 0: as the node says");
  add("priority", po::value<int>()->default_value(0), "0..15, larger first");
  add("hex", "print a line of hex per U_PDU instead of its octets");
  return options;
}

Result<Options> read_options(const po::variables_map& given) {
  Options options;
  options.client.host = given["host"].as<std::string>();
  options.client.port = given["port"].as<std::uint16_t>();
  options.listen = given.count("listen") > 0;
  options.count = given["count"].as<std::uint64_t>();
  options.hex = given.count("hex") > 0;

  const auto sap = nibble("sap", given["sap"].as<int>());
  if (!sap) return sap.error();
  const auto rank = nibble("rank", given["rank"].as<int>());
  if (!rank) return rank.error();
  const auto to_sap = nibble("to-sap", given[given.count("to-sap") ? "to-sap" : "sap"].as<int>());
  if (!to_sap) return to_sap.error();
  const auto priority = nibble("priority", given["priority"].as<int>());
  if (!priority) return priority.error();
  options.client.core.sap = {*sap};
  options.client.core.rank = *rank;
  options.to_sap = {*to_sap};
  options.priority = *priority;

  const auto confirm = parse_confirmation(given["confirm"].as<std::string>());
  if (!confirm) return confirm.error();
  options.confirm = *confirm;
  const std::uint32_t ttl_s = given["ttl"].as<std::uint32_t>();
  if (ttl_s > 2 * sis::kTimeToLiveMax) return Error{ErrorCode::bad_field, "--ttl is over 15 days"};
  options.ttl_units = (ttl_s + 1) / 2;
  if (given.count("to")) {
    const auto to = parse_address(given["to"].as<std::string>());
    if (!to) return Error{ErrorCode::bad_field, "--to: " + to.error().detail};
    options.to = *to;
  }
  if (!options.to && !options.listen) {
    return Error{ErrorCode::bad_field, "--listen, --to or both are needed"};
  }
  return options;
}

/// Standard input without waiting for it; leaves the descriptor as it was.
class Input {
 public:
  explicit Input(asio::io_context& io)
      : flags_(::fcntl(STDIN_FILENO, F_GETFL)), descriptor_(io, ::dup(STDIN_FILENO)) {}
  ~Input() { ::fcntl(STDIN_FILENO, F_SETFL, flags_); }
  Input(const Input&) = delete;
  Input& operator=(const Input&) = delete;

  template <typename Handler>
  void read(asio::mutable_buffer buffer, Handler handler) {
    descriptor_.async_read_some(buffer, std::move(handler));
  }
  void cancel() { descriptor_.cancel(); }

 private:
  int flags_;
  asio::posix::stream_descriptor descriptor_;
};

/// One run of the program: reads, sends a piece as soon as the client takes it, counts what is out.
class Cat {
 public:
  Cat(asio::io_context& io, const Options& options)
      : options_(options),
        input_(io),
        client_(io, options.client, std::random_device{}(),
                [this](const sis::Event& event) { std::visit(*this, event); }) {}

  void start() { client_.start(); }
  int exit_code() const { return exit_code_; }

  void operator()(const sis::event::Bound& e) {
    if (!options_.to) return;
    piece_.resize(std::max<std::size_t>(1, e.mtu));
    if (!reading_) read();
  }
  void operator()(const sis::event::BindRejected& e) {
    leave(kFailed, "bind rejected: " + std::string(to_string(e.reason)));
  }
  void operator()(const sis::event::Unbound& e) {
    leave(kFailed, "unbound: " + std::string(to_string(e.reason)));
  }
  void operator()(const sis::event::Lost& e) { leave(kFailed, to_string(e.why)); }
  void operator()(const sis::event::FlowOff&) {}
  void operator()(const sis::event::FlowOn&) {}
  void operator()(const sis::event::Confirmed&) { one_done(); }
  void operator()(const sis::event::Sent&) { one_done(); }
  void operator()(const sis::event::Rejected& e) {
    leave(kFailed, "rejected: " + std::string(to_string(e.reason)));
  }
  void operator()(const sis::event::Unresolved&) {
    leave(kFailed, "no answer about a U_PDU that was sent");
  }

  void operator()(const sis::event::Indication& e) {
    if (!options_.listen) return;
    const Bytes& updu = e.unidata.updu;
    if (options_.hex) {
      std::cout << to_string(e.unidata.source) << ' ' << unsigned{e.unidata.source_sap.value} << ' '
                << to_hex(updu) << '\n';
    } else {
      std::cout.write(reinterpret_cast<const char*>(updu.data()),
                      static_cast<std::streamsize>(updu.size()));
    }
    std::cout.flush();
    if (!std::cout) return leave(kFailed, "cannot write to standard output");
    if (++received_ == options_.count) leave(kOk, {});
  }

 private:
  void read() {
    reading_ = true;
    input_.read(asio::buffer(piece_), [this](const boost::system::error_code& code, std::size_t n) {
      if (left_) return;
      if (code && code != asio::error::eof) return leave(kFailed, "input: " + code.message());
      if (code) {
        at_end_ = true;
        return finish_if_done();
      }
      send({piece_.begin(), piece_.begin() + static_cast<std::ptrdiff_t>(n)});
    });
  }

  void send(Bytes updu) {
    const bool arq = !options_.to->group;
    sis::UnidataRequest request{
        .priority = options_.priority,
        .destination_sap = options_.to_sap,
        .destination = *options_.to,
        .delivery = {.mode = arq ? sis::TransmissionMode::arq : sis::TransmissionMode::nonarq,
                     .confirmation = options_.confirm},
        .time_to_live = options_.ttl_units,
        .updu = updu};
    const auto result = client_.request_unidata(std::move(request));
    if (result) {
      ++open_;
      read();
    } else if (result.error().code == ErrorCode::queue_full) {
      held_ = std::move(updu);  // until another one is done
    } else {
      leave(kFailed, to_string(result.error()));
    }
  }

  void one_done() {
    --open_;
    if (held_) send(*std::exchange(held_, std::nullopt));
    finish_if_done();
  }

  void finish_if_done() {
    if (at_end_ && open_ == 0 && !options_.listen) leave(kOk, {});
  }

  void leave(int exit_code, const std::string& why) {
    if (std::exchange(left_, true)) return;
    exit_code_ = exit_code;
    if (!why.empty()) std::cerr << "sis_cat: " << why << '\n';
    input_.cancel();
    client_.stop();
  }

  const Options options_;
  Input input_;
  sis::Client client_;
  Bytes piece_;
  std::optional<Bytes> held_;
  std::uint64_t open_ = 0;
  std::uint64_t received_ = 0;
  bool reading_ = false;
  bool at_end_ = false;
  bool left_ = false;
  int exit_code_ = kOk;
};

}  // namespace

int main(int argc, char** argv) {
  const po::options_description description = described_options();
  po::variables_map given;
  try {
    po::store(po::parse_command_line(argc, argv, description), given);
  } catch (const po::error& error) {
    std::cerr << "sis_cat: " << error.what() << '\n';
    return kUsage;
  }
  if (given.count("help")) {
    std::cout << description;
    return kOk;
  }
  const auto options = read_options(given);
  if (!options) {
    std::cerr << "sis_cat: " << options.error().detail << '\n';
    return kUsage;
  }
  asio::io_context io;
  Cat cat(io, *options);
  cat.start();
  io.run();
  return cat.exit_code();
}
