// SPDX-License-Identifier: Apache-2.0
// One file relay runs in virtual time with its real spool, in front of a node with many stations.
// Each station has a queue at the node, larger priority first. Transmissions last up to 127.5 s and
// take turns between the stations. A station that is away is called three times, and then all that
// waits for it is rejected.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gateways/common/sqlite_store.h"
#include "gateways/file_relay/relay_core.h"
#include "tests/support/virtual_time.h"
#include "tests/unit/gateways/temporary_folder.h"

namespace s5066::test {

class RelayStations {
 public:
  static constexpr Address station(unsigned number) { return Address{0x01020300u + number}; }
  static constexpr Duration kTransmission = std::chrono::milliseconds(127500);
  static constexpr Duration kTurn = std::chrono::seconds(5);
  // Three calls and the waits between them.
  static constexpr Duration kCalls = std::chrono::seconds(188);

  explicit RelayStations(const file_relay::RelayCore::Config& config = {}, double bit_rate = 2400)
      : octets_per_s_(bit_rate / 8) {
    gateways::SqliteStore::Config store;
    store.path = (folder_.path() / "spool.db").string();
    auto opened = gateways::SqliteStore::open(store);
    EXPECT_TRUE(opened);
    store_.emplace(std::move(opened).value());
    core_ = std::make_unique<file_relay::RelayCore>(config);
    core_->on_clock(now(), utc(), now().time_since_epoch());
    core_->on_start(now());
    pump();
    core_->on_sis(now(), gateways::SisBound{2048});
    pump();
  }

  void set_away(unsigned number, bool away) { peers_[station(number)].away = away; }

  gateways::SpoolId send(unsigned to, const std::string& name, std::size_t octets,
                         std::optional<std::uint8_t> priority = std::nullopt) {
    const auto id = store_->enqueue({station(to), name, Bytes(octets, 7), utc(), priority});
    EXPECT_TRUE(id);
    core_->on_spool_changed(now());
    pump();
    return *id;
  }
  void damage(gateways::SpoolId id) {
    auto db = gateways::Database::open({.path = (folder_.path() / "spool.db").string()});
    const std::string sql =
        "UPDATE outgoing_content SET content = x'00' WHERE id = " + std::to_string(id.value);
    EXPECT_TRUE(db && db->execute(sql.c_str()));
  }
  gateways::SpoolItem item(gateways::SpoolId id) { return **store_->find(id); }
  std::optional<Duration> arrived_at(unsigned at, const std::string& name) {
    const auto& files = peers_[station(at)].files;
    const auto found = files.find(name);
    if (found == files.end()) return std::nullopt;
    return found->second.time_since_epoch();
  }
  std::size_t files_at(unsigned at) { return peers_[station(at)].files.size(); }
  std::uint64_t updus_to(unsigned to) { return peers_[station(to)].updus; }
  std::size_t octets_at_node() const { return octets_at_node_; }

  void run_for(Duration time) { heap_.run_for(time); }
  /// Returns the time until the file is there, or nothing if it takes longer than `most`.
  std::optional<Duration> time_until_arrival(unsigned at, const std::string& name, Duration most) {
    const Instant start = now();
    while (now() - start < most && !arrived_at(at, name)) run_for(std::chrono::seconds(1));
    const auto arrived = arrived_at(at, name);
    if (!arrived) return std::nullopt;
    return *arrived - start.time_since_epoch();
  }
  /// Lets the station send us a U_PDU that acknowledges nothing.
  void hear(unsigned from) {
    Bytes updu;
    gateways::encode(gateways::RcopHeader{.application_id = 0x7777}, updu);
    core_->on_sis(now(), gateways::SisIndication{station(from), gateways::kRcopSap, updu});
    pump();
  }

  file_relay::RelayCore& core() { return *core_; }
  gateways::SqliteStore& store() { return *store_; }
  UtcSeconds utc() const {
    return {1'700'000'000 +
            std::chrono::duration_cast<std::chrono::seconds>(now().time_since_epoch()).count()};
  }
  Instant now() const { return heap_.now(); }

 private:
  struct Peer {
    bool away = false;
    bool called = false;
    std::multimap<int, gateways::SisUnidata> queue;  // by negative priority
    std::map<std::string, Instant> files;
    std::uint64_t updus = 0;
    std::optional<gateways::RcopReassembler> reassembler;
  };

  void pump() {
    while (auto action = core_->poll_action()) {
      if (auto* request = std::get_if<gateways::StoreRequest>(&*action)) {
        heap_.schedule(now() + std::chrono::milliseconds(2), [this, request = std::move(*request)] {
          core_->on_store_result(now(), store_->execute(request));
          pump();
        });
      } else if (auto* updu = std::get_if<gateways::SisUnidata>(&*action)) {
        Peer& peer = peers_[updu->destination];
        ++peer.updus;
        octets_at_node_ += updu->updu.size();
        peer.queue.emplace(-int{updu->priority}, std::move(*updu));
        if (!busy_ && !peer.away) transmit_next();
        if (peer.away) call(updu->destination);
      }
    }
    const auto wake = [this] {
      core_->on_deadline(now());
      pump();
    };
    timer_.arm(core_->next_deadline(), wake, std::chrono::milliseconds(1));
  }

  void call(Address address) {
    if (std::exchange(peers_[address].called, true)) return;
    heap_.schedule(now() + kCalls, [this, address] {
      Peer& peer = peers_[address];
      peer.called = false;
      if (!peer.away) {
        if (!busy_) transmit_next();
        return;
      }
      const auto waiting = std::exchange(peer.queue, {});
      for (const auto& [priority, updu] : waiting) {
        octets_at_node_ -= updu.updu.size();
        core_->on_sis(
            now(), gateways::SisRejected{updu.id, sis::RejectReason::destination_not_responding});
      }
      pump();
    });
  }

  /// Sends one transmission to the next station in turn that is present and has something to
  /// receive.
  void transmit_next() {
    const auto usable = [](const auto& entry) {
      return !entry.second.away && !entry.second.called && !entry.second.queue.empty();
    };
    auto next = std::find_if(peers_.upper_bound(last_served_), peers_.end(), usable);
    if (next == peers_.end()) next = std::find_if(peers_.begin(), peers_.end(), usable);
    busy_ = next != peers_.end();
    if (!busy_) return;
    last_served_ = next->first;
    std::vector<gateways::SisUnidata> sent;
    double seconds = 0;
    auto& queue = next->second.queue;
    while (!queue.empty() && (sent.empty() || seconds < to_seconds(kTransmission))) {
      seconds += static_cast<double>(queue.begin()->second.updu.size()) / octets_per_s_;
      sent.push_back(std::move(queue.begin()->second));
      queue.erase(queue.begin());
    }
    heap_.schedule(now() + from_seconds(seconds), [this, to = next->first, sent = std::move(sent)] {
      std::vector<gateways::SisUnidata> answers;
      for (const auto& updu : sent) deliver(to, updu, answers);
      heap_.schedule(now() + kTurn, [this, to, sent, answers = std::move(answers)] {
        for (const auto& updu : sent) {
          octets_at_node_ -= updu.updu.size();
          core_->on_sis(now(), gateways::SisConfirmed{updu.id});
        }
        for (const auto& answer : answers) {
          core_->on_sis(now(), gateways::SisIndication{to, gateways::kRcopSap, answer.updu});
        }
        pump();
        transmit_next();
      });
    });
  }

  void deliver(Address to, const gateways::SisUnidata& updu,
               std::vector<gateways::SisUnidata>& answers) {
    Peer& peer = peers_[to];
    if (!peer.reassembler) {
      peer.reassembler.emplace(
          gateways::RcopReassembler::Config{.length_of = &file_relay::application_length});
    }
    const auto pdu = peer.reassembler->on_updu(now(), station(0), gateways::kRcopSap, updu.updu);
    if (!pdu || pdu->application_id != file_relay::kBftpApplication) return;
    const auto header = file_relay::decode_bftp_header(pdu->data);
    peer.files.emplace(header->name, now());
    gateways::SisUnidata answer;
    answer.updu = file_relay::frap_v2_updu(pdu->key.connection_id, pdu->key.updu_id, *header);
    answers.push_back(std::move(answer));
  }

  double octets_per_s_;
  sim::EventHeap heap_;
  sim::Timer timer_{heap_};
  TemporaryFolder folder_;
  std::optional<gateways::SqliteStore> store_;
  std::unique_ptr<file_relay::RelayCore> core_;
  std::map<Address, Peer> peers_;
  Address last_served_{};
  bool busy_ = false;
  std::size_t octets_at_node_ = 0;
};

}  // namespace s5066::test
