// SPDX-License-Identifier: Apache-2.0
// The tests see the stations on one channel from outside, in the octets of the standard. They write
// and read the octets of the clients and of the air in hex, without any codec of ours.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/unit/node/pair.h"

namespace s5066::test {

/// Removes the spaces from hex, "1537 00" to "153700", so that it can be compared.
inline std::string compact(std::string_view hex) {
  std::string out;
  for (const char c : hex) {
    if (c != ' ') out += c;
  }
  return out;
}

inline std::string compact(ByteSpan octets) {
  return compact(to_hex(octets));
}

/// Puts a primitive in its frame (A.2.2.2).
inline Bytes framed(std::string_view primitive) {
  const Bytes body = *from_hex(primitive);
  Bytes frame{0x90, 0xEB, 0x00, static_cast<std::uint8_t>(body.size() >> 8),
              static_cast<std::uint8_t>(body.size())};
  append(frame, body);
  return frame;
}

/// Returns the segments of the D_PDUs in a burst, each as "type:hex". A C_PDU shorter than a
/// segment appears whole. Of the copies of a link control C_PDU only the first appears. The
/// function reads the layout of C.3.2 and B.3.1 by itself.
inline std::vector<std::string> segments_of(ByteSpan burst) {
  std::vector<std::string> found;
  std::size_t at = 0;
  while (at + 6 <= burst.size() && burst[at] == 0x90 && burst[at + 1] == 0xEB) {
    const unsigned type = burst[at + 2] >> 4;
    const std::size_t addresses = burst[at + 5] >> 5;
    const std::size_t header = 2 + (burst[at + 5] & 0x1Fu) + addresses;
    const bool has_segment = type == 0 || type == 2 || type == 4 || (type >= 7 && type <= 10);
    std::size_t octets = 0;
    if (has_segment) octets = get_u16(burst, at + 6 + addresses) & 0x3FFu;
    if (at + header + octets > burst.size()) break;
    if (has_segment) {
      std::string segment =
          std::to_string(type) + ":" + compact(burst.subspan(at + header, octets));
      const bool data = octets > 0 && burst[at + header] >> 4 == 0;
      const bool copy = type == 8 && !data && !found.empty() && found.back() == segment;
      if (!copy) found.push_back(std::move(segment));
    }
    at += header + (has_segment ? octets + 4 : 0);
  }
  return found;
}

/// Plays a SIS client that writes and reads hex.
class HexClient {
 public:
  HexClient(Medium& medium, Medium::Station& station, ClientId id)
      : medium_(&medium), station_(&station), id_(id) {}

  void give(std::string_view primitive) { write(framed(primitive)); }
  void write(ByteSpan octets) { medium_->send_bytes(*station_, id_, octets); }
  void hang_up() { medium_->disconnect(*station_, id_); }

  /// Returns the primitives that came since the last call, each in hex, with a space between them.
  std::string got() {
    std::string all;
    for (const auto& frame : frames()) {
      all += (all.empty() ? "" : " ") + compact(ByteSpan(frame).subspan(5));
    }
    return all;
  }
  /// Returns the primitives that came since the last call, as they were on the wire.
  std::vector<Bytes> frames() {
    const auto& all = log().frames;
    std::vector<Bytes> fresh(all.begin() + static_cast<std::ptrdiff_t>(seen_), all.end());
    seen_ = all.size();
    return fresh;
  }
  bool closed() const { return log().closed; }
  ClientId id() const { return id_; }

 private:
  const ClientLog& log() const { return station_->clients.at(id_); }

  Medium* medium_;
  Medium::Station* station_;
  ClientId id_;
  std::size_t seen_ = 0;
};

class Stations : public ::testing::Test {
 protected:
  static constexpr std::uint32_t kAlpha = 0x01020304;    // E1020304
  static constexpr std::uint32_t kBravo = 0x01020305;    // E1020305
  static constexpr std::uint32_t kCharlie = 0x01020306;  // E1020306

  Stations() { restart(); }

  /// Makes three new stations with the present settings.
  void restart() {
    medium = std::make_unique<Medium>();
    heard.clear();
    alpha = &medium->add(config_a);
    bravo = &medium->add(config_b);
    charlie = &medium->add(config_c);
    medium->on_burst = [this](std::size_t from, Bytes& octets) {
      for (const auto& segment : segments_of(octets)) {
        heard.push_back(std::string(1, "ABC"[from]) + segment);
      }
      if (damage) damage(octets);
    };
  }

  HexClient connect(Medium::Station* station) {
    return {*medium, *station, medium->connect(*station)};
  }
  /// Binds a client to a SAP with rank 5. Of the service types, "14 00" is ARQ with node
  /// confirmation, "18 00" ARQ with client confirmation, "10 00" ARQ without confirmation, and "20
  /// 00" non-ARQ.
  HexClient bind(Medium::Station* station, unsigned sap, std::string_view service) {
    HexClient client = connect(station);
    client.give("01 " + to_hex(Bytes{static_cast<std::uint8_t>(sap << 4 | 5)}) + " " +
                std::string(service));
    const std::string wanted = "03" + compact(Bytes{static_cast<std::uint8_t>(sap << 4)});
    EXPECT_EQ(client.got().substr(0, 4), wanted);
    return client;
  }

  /// Returns the segments that went on the air since the last call: station, D_PDU type, ":",
  /// C_PDU.
  std::string air() {
    std::string all;
    for (const auto& one : std::exchange(heard, {})) all += (all.empty() ? "" : " ") + one;
    return all;
  }
  void run(Duration duration) { medium->run_for(duration); }
  std::uint64_t invalid(Medium::Station* station) const {
    return station->node.counters()[Counter::primitives_invalid];
  }

  NodeConfig config_a = node_config(kAlpha);
  NodeConfig config_b = node_config(kBravo);
  NodeConfig config_c = node_config(kCharlie);
  std::unique_ptr<Medium> medium;
  Medium::Station* alpha = nullptr;
  Medium::Station* bravo = nullptr;
  Medium::Station* charlie = nullptr;
  std::vector<std::string> heard;
  std::function<void(Bytes&)> damage;  // changes what the other stations hear
};

}  // namespace s5066::test
