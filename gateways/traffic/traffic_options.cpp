// SPDX-License-Identifier: Apache-2.0
#include "gateways/traffic/traffic_options.h"

#include <boost/asio/ip/address.hpp>
#include <boost/program_options.hpp>
#include <sstream>
#include <vector>

#include "gateways/traffic/probe.h"
#include "s5066d/base/log.h"
#include "s5066d/base/version.h"
#include "s5066d/posix/unknown_option.h"

namespace s5066::traffic {

namespace po = boost::program_options;

namespace {

constexpr std::size_t kUdpHeader = 8;
constexpr double kLoadMax = 100'000;  // in percent
constexpr double kTimeMax = 30 * 86400.0;

/// Thrown by the readers below, and caught by the reader of the command line.
struct Wrong {
  std::string what;
};

double within(const po::variables_map& given, const char* name, double low, double high) {
  const double value = given[name].as<double>();
  if (value >= low && value <= high) return value;
  std::ostringstream text;
  text << "--" << name << " is " << low << " to " << high;
  throw Wrong{text.str()};
}

std::string text(const po::variables_map& given, const char* name) {
  return given.count(name) ? given[name].as<std::string>() : std::string();
}

boost::asio::ip::address address(const std::string& text) {
  boost::system::error_code error;
  const auto address = boost::asio::ip::make_address(text, error);
  if (error) throw Wrong{escaped(text) + " is not an IP address"};
  return address;
}

po::options_description common_options() {
  po::options_description options("Options of both ends");
  auto add = options.add_options();
  add("help,h", "print this");
  add("version", "print the version");
  add("port,p", po::value<std::uint16_t>()->default_value(kDefaultPort), "port of the receiver");
  add("json", "print the figures as JSON");
  return options;
}

po::options_description sending_options() {
  po::options_description options("Options of send");
  auto add = options.add_options();
  add("to,t", po::value<std::string>(), "IP address of the receiver");
  add("line-rate", po::value<double>()->default_value(0),
      "rate of the line in bit/s, to which --load refers");
  add("load", po::value<double>()->default_value(0),
      "load in percent of --line-rate; 0: as much as the TCP connection takes");
  add("size", po::value<std::string>()->default_value("512"),
      "octets of each IP datagram (TCP: of each piece): 512, 64-1500 or 64,512,1500 in turn");
  add("pattern", po::value<std::string>()->default_value("constant"), "constant, poisson or burst");
  add("burst", po::value<double>()->default_value(10), "datagrams of one burst");
  add("time", po::value<double>(), "end after this time in s");
  add("count,n", po::value<double>(), "end after this number of datagrams");
  add("seed", po::value<std::uint64_t>()->default_value(1), "of random sizes and gaps");
  add("dscp", po::value<double>(), "DSCP of the datagrams, 0 to 63");
  add("congestion", po::value<std::string>(), "congestion control of TCP, such as reno");
  add("connect-time", po::value<double>()->default_value(300),
      "TCP: give up after this time in s without a connection, or without its end");
  return options;
}

po::options_description receiving_options() {
  po::options_description options("Options of receive");
  auto add = options.add_options();
  add("bind", po::value<std::string>()->default_value("127.0.0.1"), "own IP address");
  add("interval", po::value<double>()->default_value(10), "of throughput over time, in s");
  add("quiet-end", po::value<double>()->default_value(300),
      "end after this time in s without an arrival; runs that are complete end at once");
  add("for", po::value<double>(), "end after this time in s");
  add("relative-delay", "the clocks of both ends differ: print delays above the smallest delay");
  add("svg", po::value<std::string>(), "file for a drawing of throughput and delay over time");
  return options;
}

void read_sending(const po::variables_map& given, Options& options) {
  SendOptions& sending = options.sending;
  sending.to = text(given, "to");
  if (sending.to.empty()) throw Wrong{"send needs --to"};
  const bool v6 = address(sending.to).is_v6();
  sending.headers = options.tcp ? 0 : kUdpHeader + (v6 ? 40 : 20);
  sending.line_rate_bps = static_cast<std::uint32_t>(within(given, "line-rate", 0, 4e9));
  const double load = within(given, "load", 0, kLoadMax);
  if (load > 0 && sending.line_rate_bps == 0) throw Wrong{"--load needs --line-rate"};
  if (load == 0 && !options.tcp) throw Wrong{"udp send needs --load and --line-rate"};
  LoadPlan& plan = sending.plan;
  plan.rate_bps = sending.line_rate_bps * load / 100;
  const std::size_t max = options.tcp ? kProbeMax : kProbeMax + sending.headers;
  const auto sizes = parse_sizes(text(given, "size"), kProbeHeader + sending.headers, max);
  if (!sizes) throw Wrong{"--size: " + sizes.error().detail};
  plan.sizes = *sizes;
  const auto pattern = parse_pattern(text(given, "pattern"));
  if (!pattern) throw Wrong{"--pattern: " + pattern.error().detail};
  plan.pattern = *pattern;
  plan.burst = static_cast<std::uint32_t>(within(given, "burst", 1, kProbesMax));
  plan.seed = given["seed"].as<std::uint64_t>();
  if (given.count("time")) plan.length = from_seconds(within(given, "time", 0.001, kTimeMax));
  if (given.count("count")) {
    plan.count = static_cast<std::uint32_t>(within(given, "count", 1, kProbesMax));
  }
  if (!plan.length && !plan.count) throw Wrong{"send needs --time or --count"};
  if (plan.rate_bps > 0) {
    if (const auto count = LoadSchedule::count(plan); !count) throw Wrong{count.error().detail};
  }
  if (given.count("dscp")) sending.dscp = static_cast<std::uint8_t>(within(given, "dscp", 0, 63));
  sending.congestion = text(given, "congestion");
  if (!sending.congestion.empty() && !options.tcp)
    throw Wrong{"--congestion needs tcp in place of udp"};
  sending.connect_max = from_seconds(within(given, "connect-time", 1, kTimeMax));
}

void read_receiving(const po::variables_map& given, Options& options) {
  ReceiveOptions& receiving = options.receiving;
  receiving.bind = text(given, "bind");
  address(receiving.bind);
  RunStatistics::Config& statistics = receiving.core.statistics;
  statistics.interval = from_seconds(within(given, "interval", 0.01, 86400));
  statistics.relative_delay = given.count("relative-delay") > 0;
  receiving.core.quiet_end = from_seconds(within(given, "quiet-end", 0.01, kTimeMax));
  if (given.count("for")) receiving.length = from_seconds(within(given, "for", 0.01, kTimeMax));
  receiving.svg_file = text(given, "svg");
}

Options read(const po::variables_map& given) {
  Options options;
  const auto words = given.count("words") ? given["words"].as<std::vector<std::string>>()
                                          : std::vector<std::string>();
  const bool known = words.size() == 2 && (words[0] == "udp" || words[0] == "tcp") &&
                     (words[1] == "send" || words[1] == "receive");
  if (!known) {
    std::string line;
    for (const std::string& word : words) line += (line.empty() ? ", not " : " ") + escaped(word);
    throw Wrong{"the command is udp or tcp, and then send or receive" + line +
                "; --help lists all"};
  }
  options.tcp = words[0] == "tcp";
  options.send = words[1] == "send";
  options.port = given["port"].as<std::uint16_t>();
  if (options.port == 0 && options.send) throw Wrong{"--port is 1 to 65535"};
  options.json = given.count("json") > 0;
  options.send ? read_sending(given, options) : read_receiving(given, options);
  return options;
}

}  // namespace

std::optional<Options> read_command_line(int argc, char** argv, Instead& instead) {
  po::options_description shown;
  shown.add(common_options()).add(sending_options()).add(receiving_options());
  po::options_description all;
  all.add(shown).add_options()("words", po::value<std::vector<std::string>>());
  po::positional_options_description plain;
  plain.add("words", -1);
  try {
    po::variables_map given;
    po::store(po::command_line_parser(argc, argv).options(all).positional(plain).run(), given);
    if (given.count("help")) {
      std::ostringstream help;
      help << "usage: s5066-traffic udp|tcp send|receive [OPTIONS]\n" << shown;
      instead.help = help.str();
      return std::nullopt;
    }
    if (given.count("version")) {
      instead.help = version_line("s5066-traffic");
      return std::nullopt;
    }
    return read(given);
  } catch (const po::unknown_option& error) {
    instead.problem = posix::unknown_option_text(error, shown);
  } catch (const po::error& error) {
    instead.problem = error.what();
  } catch (const Wrong& wrong) {
    instead.problem = wrong.what;
  }
  return std::nullopt;
}

}  // namespace s5066::traffic
