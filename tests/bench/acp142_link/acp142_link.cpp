// SPDX-License-Identifier: Apache-2.0
// Measures how well mail over HF uses the line, in virtual time, on a clean channel: the share of
// the line rate that a message of P_MUL or a mail has from the first key-up to its last octet
// received, the time until its acknowledgement, and the time of a small mail from one gateway's 250
// until the other gives it to its mail server, against the floor that the waveform sets.
#include <algorithm>
#include <cctype>
#include <cstdio>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "gateways/p_mul/p_mul_pdu.h"
#include "modem/api/airtime.h"
#include "s5066d/pdu/dpdu.h"
#include "s5066d/sap/spdu.h"
#include "tests/bench/acp142_link/mail_nodes.h"
#include "tests/bench/common/arguments.h"

namespace s5066::bench {
namespace {

using namespace std::chrono_literals;
using sim::PMulNodes;

/// Octets before the PDU: C_PCI, S_PCI with a time to die, and the header of UDOP.
constexpr std::size_t kBeforePdu = 1 + sap::kSpciOctetsMax + gateways::kRcopHeaderBytes;

struct Outcome {
  double line_share = 0;  // share of the line rate for the submitted octets
  double last_octet_s = 0;
  double acknowledged_s = 0;  // both times count from the first key-up
  std::size_t air_octets = 0;
};

PMulNodes::Options options_for(const modem::Mode& mode, bool rate_known) {
  PMulNodes::Options options{.world = {.stations = 2, .medium = {}, .mode = mode, .node = {}}};
  options.rate_known = rate_known;
  return options;
}

Outcome outcome(std::size_t octets, const modem::Mode& mode, Instant keyed, Instant last,
                Instant acknowledged) {
  Outcome made;
  made.last_octet_s = to_seconds(last - keyed);
  made.acknowledged_s = to_seconds(acknowledged - keyed);
  made.line_share = 8 * static_cast<double>(octets) / made.last_octet_s / mode.rate_bps;
  return made;
}

Outcome send_message(const modem::Mode& mode, std::size_t octets, bool rate_known) {
  PMulNodes nodes(1, options_for(mode, rate_known));
  nodes.run_for(10s);
  Rng rng(octets + 1);
  Bytes content(octets);
  for (auto& octet : content) octet = static_cast<std::uint8_t>(rng.next());
  nodes.submit(0, {1}, content);
  std::optional<Instant> keyed;
  while (nodes[0].ended.empty()) {
    nodes.run_for(50ms);
    if (!keyed && nodes.world().medium().bursts() > 0) keyed = nodes.world().now();
  }
  const Instant last = nodes[1].received_at.value_or(nodes.world().now());
  return outcome(octets, mode, *keyed, last, nodes.world().now());
}

Outcome send_mail(const modem::Mode& mode, const std::string& mail) {
  MailNodes nodes(1, options_for(mode, false));
  nodes.run_for(10s);
  nodes.send(mail);
  std::optional<Instant> keyed;
  while (!nodes.acknowledged_at()) {
    nodes.run_for(50ms);
    if (!keyed && nodes.bursts() > 0) keyed = nodes.now();
  }
  Outcome made =
      outcome(mail.size(), mode, *keyed, *nodes.delivered_at(), *nodes.acknowledged_at());
  made.air_octets = nodes.content_octets();
  return made;
}

/// Words of the mails, the most frequent ones first.
constexpr const char* kWords =
    "the of to and a in is it that for at on was with by from not are this be has as or an which "
    "but after when station message before time report they will there were one two all have more "
    "been course wind sea ship position north south east west hours between about against morning "
    "evening night day port sent received reply until over under again we our your he she their "
    "its if than then no only first last next three five ten twenty second minutes frequency "
    "channel antenna power signal noise weather pressure temperature visibility light heavy rain "
    "cloud wave height speed knots degrees harbour coast island bridge engine fuel water supply "
    "cargo crew passenger doctor medicine repair spare part arrived left expects needs asks "
    "reports confirms carries turned stopped continued changed lost found saw heard called because "
    "during without within since above below near far early late good poor fair strong weak clear "
    "open closed ready request answer order plan exercise patrol convoy aircraft helicopter boat "
    "buoy anchor rope cable pump valve battery charger generator radio operator captain officer "
    "engineer watch deck cabin hold store list number name date month week year";

/// Returns the first octets of one fixed text of random words, so that no edit of a document
/// changes the figures. Deflate compresses it about as well as English prose: 1,000 octets become
/// about 580, and 100,000 about 37,000.
std::string prose(std::size_t octets) {
  constexpr std::size_t kColumns = 70;
  std::istringstream in(kWords);
  const std::vector<std::string> words{std::istream_iterator<std::string>(in), {}};
  Rng rng(1);
  std::string text;
  std::size_t column = 0;
  while (text.size() < octets) {
    const std::uint32_t length = 6 + rng.below(13);
    for (std::uint32_t i = 0; i < length; ++i) {
      const double rank = rng.uniform() * rng.uniform() * static_cast<double>(words.size());
      std::string word = words[static_cast<std::size_t>(rank)];
      if (rng.chance(0.06)) word = std::to_string(rng.below(10'000));
      if (i == 0) word[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(word[0])));
      if (i + 1 == length) word += '.';
      const bool breaks = column + word.size() > kColumns;
      if (column > 0) text += breaks ? "\r\n" : " ";
      column = (breaks ? 0 : column + 1) + word.size();
      text += word;
    }
    if (rng.chance(0.2)) {
      text += "\r\n\r\n";
      column = 0;
    }
  }
  text.resize(octets);
  return text;
}

std::string mail_of(const std::string& body) {
  return "From: Operator <operator@shore.example>\r\n"
         "To: operator@ship.example\r\n"
         "Subject: Position report\r\n"
         "Date: Fri, 15 Jan 2027 08:00:00 +0000\r\n"
         "Message-ID: <20270115080000.1A2B3C@mail.shore.example>\r\n\r\n" +
         body;
}

/// Returns the time of one transmission of the Address_PDU and the one Data_PDU, each in its own
/// frame.
double floor_s(const modem::Mode& mode, std::size_t content_octets) {
  const std::size_t address = p_mul::kAddressHeaderOctets + p_mul::kAddressEntryOctets;
  const std::size_t data = p_mul::kDataHeaderOctets + content_octets;
  return to_seconds(modem::airtime(
      mode, pdu::nonarq_octets(kBeforePdu + address) + pdu::nonarq_octets(kBeforePdu + data)));
}

struct Small {
  double seconds = 0;  // median
  double worst_s = 0;
  double acknowledged_s = 0;  // median
  double floor = 0;
  std::size_t air_octets = 0;
};

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

Small send_small(const modem::Mode& mode, std::size_t runs) {
  std::vector<double> seconds, acknowledged;
  Small small;
  for (sim::Seed seed = 1; seed <= runs; ++seed) {
    auto options = options_for(mode, false);
    options.step = 10ms;
    MailNodes nodes(seed, options);
    Rng rng(seed);
    nodes.run_for(10s + from_seconds(60 * rng.uniform()));
    const Instant begin = nodes.now();
    nodes.send(mail_of(prose(200)));
    while (!nodes.acknowledged_at()) nodes.run_for(10ms);
    seconds.push_back(to_seconds(*nodes.delivered_at() - begin));
    acknowledged.push_back(to_seconds(*nodes.acknowledged_at() - begin));
    small.air_octets = nodes.content_octets();
  }
  small.worst_s = *std::max_element(seconds.begin(), seconds.end());
  small.seconds = median(seconds);
  small.acknowledged_s = median(acknowledged);
  small.floor = floor_s(mode, small.air_octets);
  return small;
}

std::vector<modem::Mode> modes(bool quick) {
  using modem::Interleaver;
  using modem::Waveform;
  std::vector<modem::Mode> out;
  for (const unsigned rate : {75u, 300u, 1200u, 2400u}) {
    if (quick && rate == 75) continue;
    for (const auto interleaver : {Interleaver::zero, Interleaver::short_, Interleaver::long_}) {
      if (rate == 75 && interleaver == Interleaver::zero) continue;  // 110A has no such mode
      out.push_back({Waveform::ms110a, rate, interleaver});
    }
  }
  for (const auto interleaver :
       {Interleaver::ultra_short, Interleaver::short_, Interleaver::long_}) {
    out.push_back({Waveform::stanag4539, 9600, interleaver});
  }
  return out;
}

}  // namespace
}  // namespace s5066::bench

int main(int argc, char** argv) {
  using namespace s5066;
  using namespace s5066::bench;
  const Arguments arguments(argc, argv, {}, {"json", "quick"});
  const bool json = arguments.has("json");
  const bool quick = arguments.has("quick");
  for (const std::size_t octets : {0u, 1'000u, 10'000u, 100'000u}) {
    if (quick && octets == 100'000) continue;
    for (const modem::Mode& mode : modes(quick)) {
      for (const bool rate_known : {false, true}) {
        if (rate_known && mode.rate_bps != 75) continue;  // the effect is negligible at other rates
        const Outcome made = send_message(mode, octets, rate_known);
        std::printf(json ? "{\"row\":\"p_mul\",\"octets\":%zu,\"mode\":\"%s\",\"settings\":\"%s\","
                           "\"share_of_line\":%.4f,\"last_octet_s\":%.2f,\"acknowledged_s\":%.2f}\n"
                         : "P_MUL %6zu octets  %-16s %-13s %6.4f of the line  last octet %9.2f s  "
                           "acknowledged %9.2f s\n",
                    octets, to_string(mode).c_str(), rate_known ? "line_rate_bps" : "default",
                    made.line_share, made.last_octet_s, made.acknowledged_s);
        std::fflush(stdout);
      }
      if (octets == 0) continue;
      const std::string mail = mail_of(prose(octets));
      const Outcome made = send_mail(mode, mail);
      std::printf(json ? "{\"row\":\"mail\",\"octets\":%zu,\"mode\":\"%s\",\"compressed\":%zu,"
                         "\"share_of_line\":%.4f,\"last_octet_s\":%.2f,\"acknowledged_s\":%.2f}\n"
                       : "mail  %6zu octets  %-16s %8zu %6.4f of the line  last octet %9.2f s  "
                         "acknowledged %9.2f s\n",
                  mail.size(), to_string(mode).c_str(), made.air_octets, made.line_share,
                  made.last_octet_s, made.acknowledged_s);
      std::fflush(stdout);
    }
  }
  for (const modem::Mode& mode : modes(quick)) {
    const Small small = send_small(mode, quick ? 3 : 21);
    std::printf(json ? "{\"row\":\"small_message\",\"mode\":\"%s\",\"content_octets\":%zu,"
                       "\"seconds\":%.2f,\"worst_s\":%.2f,\"floor\":%.2f,\"ratio\":%.3f,"
                       "\"acknowledged_s\":%.2f}\n"
                     : "small %-16s %zu octets  %7.2f s (worst %7.2f)  floor %7.2f s  %.3f  "
                       "acknowledged %7.2f s\n",
                to_string(mode).c_str(), small.air_octets, small.seconds, small.worst_s,
                small.floor, small.seconds / small.floor, small.acknowledged_s);
    std::fflush(stdout);
  }
}
