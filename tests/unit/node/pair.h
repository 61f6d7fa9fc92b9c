// SPDX-License-Identifier: Apache-2.0
// The medium joins nodes on virtual time and delivers every burst whole. Its SIS clients keep all
// primitives that they were sent. The simulator models bad channels; this medium tests how the
// layers fit together.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <variant>
#include <vector>

#include "modem/api/airtime.h"
#include "s5066d/base/deadline_table.h"
#include "s5066d/node/node.h"
#include "sis/codec.h"
#include "sis/framer.h"
#include "tests/support/virtual_time.h"

namespace s5066::test {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

inline NodeConfig node_config(std::uint32_t address) {
  NodeConfig config;
  config.dts.address = Address{address};
  config.dts.mode = {modem::Waveform::ms110a, 2400, modem::Interleaver::short_};
  return config;
}

/// Encodes a C_PDU of one octet in type 8, as link control is sent.
inline Bytes link_control(const pdu::Common& common, std::uint8_t cpdu, std::uint16_t cpdu_id = 0) {
  Bytes octets;
  pdu::encode(pdu::Nonarq{.common = common,
                          .expedited = true,
                          .cpdu_id = cpdu_id,
                          .cpdu_size = 1,
                          .window_half_s = 20,
                          .segment = {cpdu}},
              octets);
  return octets;
}

struct ClientLog {
  std::vector<sis::Primitive> received;
  std::vector<Bytes> frames;  // the same frames as they were sent
  bool closed = false;
  bool discarded = false;
  bool paused = false;
  bool reads = true;

  template <typename T>
  std::vector<T> all() const {
    std::vector<T> found;
    for (const auto& primitive : received) {
      if (const auto* match = std::get_if<T>(&primitive)) found.push_back(*match);
    }
    return found;
  }
};

class Medium {
 public:
  struct Station {
    Station(const NodeConfig& config, std::uint64_t seed) : rng(seed), node(config, rng, trace) {}
    Rng rng;
    NullTrace trace;
    Node node;
    std::map<ClientId, ClientLog> clients;
    bool keyed = false;
    bool hears = false;
  };

  Station& add(const NodeConfig& config) {
    stations_.push_back(std::make_unique<Station>(config, stations_.size() + 1));
    return *stations_.back();
  }

  ClientId connect(Station& station) {
    const auto id = station.node.on_client_connected(now_);
    station.clients[id];
    collect();
    return id;
  }
  void send(Station& station, ClientId client, const sis::Primitive& primitive) {
    Bytes bytes;
    sis::encode(primitive, bytes);
    send_bytes(station, client, bytes);
  }
  void send_bytes(Station& station, ClientId client, ByteSpan bytes) {
    station.node.on_client_bytes(now_, client, bytes);
    collect();
  }
  void disconnect(Station& station, ClientId client) {
    station.node.on_client_closed(now_, client);
    collect();
  }
  template <typename Call>
  void with(Call&& call) {
    call(now_);
    collect();
  }

  /// Puts these octets on the air now as a burst of station `from`, without the knowledge of its
  /// node.
  void put_on_air(std::size_t from, const modem::Mode& mode, Bytes octets) {
    transmit(from, modem::TransmitBurst{{~std::uint64_t{0}}, mode, std::move(octets), now_});
  }

  Instant now() const { return now_; }
  /// True while nothing gets through.
  bool silent = false;
  /// Sees each burst with the number of its station, and may change what the others hear.
  std::function<void(std::size_t from, Bytes& octets)> on_burst;
  /// Called when the stations have finished their reactions to an input.
  std::function<void()> on_settled;

  void run_for(Duration duration) {
    const auto next = [this] {
      std::optional<Instant> due;
      if (!due_.empty()) due = due_.begin()->first;
      for (const auto& station : stations_) due = earlier(due, station->node.next_deadline());
      return due;
    };
    sim::run_deadlines(now_, now_ + duration, next, [this] { step(); });
  }

 private:
  void step() {
    while (!due_.empty() && due_.begin()->first <= now_) {
      const auto what = due_.begin()->second;
      due_.erase(due_.begin());
      what();
    }
    for (const auto& station : stations_) {
      const auto deadline = station->node.next_deadline();
      if (deadline && *deadline <= now_) station->node.on_deadline(now_);
    }
    collect();
  }

  void collect() {
    for (std::size_t i = 0; i < stations_.size(); ++i) {
      sim::take_all([&] { return stations_[i]->node.poll_action(); },
                    [&](const NodeAction& action) { take(i, action); });
    }
    if (on_settled) on_settled();
  }

  void take(std::size_t from, const NodeAction& action) {
    auto& clients = stations_[from]->clients;
    if (const auto* send = std::get_if<SendToClient>(&action)) {
      const auto primitive = sis::decode(ByteSpan(send->bytes).subspan(sis::kHeaderOctets));
      S5066_ASSERT(primitive.ok());
      clients[send->client].received.push_back(*primitive);
      clients[send->client].frames.push_back(send->bytes);
      if (clients[send->client].reads) {
        stations_[from]->node.on_client_taken(now_, send->client, send->bytes.size());
      }
    } else if (const auto* close = std::get_if<CloseClient>(&action)) {
      clients[close->client].closed = true;
      clients[close->client].discarded = close->discard_unsent;
    } else if (const auto* pause = std::get_if<PauseClient>(&action)) {
      clients[pause->client].paused = pause->paused;
    } else {
      const auto& command = std::get<modem::Command>(action);
      if (const auto* burst = std::get_if<modem::TransmitBurst>(&command)) transmit(from, *burst);
    }
  }

  // A station hears nothing while it sends. If two bursts overlap, it hears only the earlier one.
  void transmit(std::size_t from, modem::TransmitBurst burst) {
    const Instant start = std::max(now_, burst.not_before);
    const Instant data = start + modem::preamble_duration(burst.mode);
    const Instant end = start + modem::airtime(burst.mode, burst.bytes.size());
    at(start, [=, this] {
      stations_[from]->keyed = true;
      tell(from, modem::TransmitStarted{start, burst.id});
    });
    at(end, [=, this] {
      stations_[from]->keyed = false;
      tell(from, modem::TransmitFinished{end, burst.id, modem::TransmitOutcome::sent});
    });
    if (on_burst) on_burst(from, burst.bytes);
    if (silent) return;
    for (std::size_t to = 0; to < stations_.size(); ++to) {
      if (to != from) at(data, [=, this] { arrive(to, burst, data, end); });
    }
  }

  void arrive(std::size_t to, const modem::TransmitBurst& burst, Instant data, Instant end) {
    Station& station = *stations_[to];
    if (station.keyed || station.hears) return;
    station.hears = true;
    tell(to, modem::CarrierUp{data, burst.mode, 30, 0});
    // The receiver gives one event for each block.
    const std::size_t piece = std::max<std::size_t>(modem::block_bits(burst.mode) / 8, 1);
    for (std::size_t from = 0; from < burst.bytes.size(); from += piece) {
      const std::size_t octets = std::min(piece, burst.bytes.size() - from);
      const auto begin = burst.bytes.begin() + static_cast<std::ptrdiff_t>(from);
      const Bytes bytes(begin, begin + static_cast<std::ptrdiff_t>(octets));
      const Instant first_bit =
          data + from_seconds(8.0 * static_cast<double>(from) / burst.mode.rate_bps);
      const std::uint64_t blocks = from / piece + 1;
      at(std::min(end, data + modem::data_duration_of_blocks(burst.mode, blocks)), [=, this] {
        tell(to, modem::ReceivedBytes{now_, first_bit, burst.mode, bytes, 1});
      });
    }
    at(end, [=, this] {
      stations_[to]->hears = false;
      tell(to, modem::CarrierDown{end, end, modem::CarrierDownReason::end_of_message});
    });
  }

  void tell(std::size_t station, const modem::Event& event) {
    stations_[station]->node.on_modem_event(now_, event);
    collect();
  }
  void at(Instant when, std::function<void()> what) { due_.emplace(when, std::move(what)); }

  Instant now_{};
  std::vector<std::unique_ptr<Station>> stations_;
  std::multimap<Instant, std::function<void()>> due_;
};

inline sis::BindRequest bind_to(std::uint8_t sap, sis::Confirmation confirmation) {
  sis::BindRequest request;
  request.sap = SapId{sap};
  request.service.mode = sis::TransmissionMode::arq;
  request.service.confirmation = confirmation;
  return request;
}

inline sis::UnidataRequest request_to(std::uint32_t node, std::uint8_t sap, Bytes updu) {
  sis::UnidataRequest request;
  request.destination = Address{node};
  request.destination_sap = SapId{sap};
  request.updu = std::move(updu);
  return request;
}

}  // namespace s5066::test
