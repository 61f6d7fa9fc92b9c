// SPDX-License-Identifier: Apache-2.0
// A data transfer sublayer alone with its modem. The test makes up what it hears frame by frame and
// reads back what it sends, so that peers can behave as no real station would.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "modem/api/airtime.h"
#include "s5066d/base/trace.h"
#include "s5066d/dts/data_transfer.h"
#include "tests/support/virtual_time.h"

namespace s5066::test {

class LoneStation {
 public:
  explicit LoneStation(const dts::Config& config, std::uint64_t seed = 1)
      : mode_(config.mode), parts_(std::make_unique<Parts>(config, seed)) {}

  dts::DataTransfer& dts() { return parts_->dts; }
  const Counters& counters() const { return parts_->counters; }
  Instant now() const { return now_; }
  /// Returns the traced events of one kind, the oldest first.
  std::vector<TraceEvent> traced(TraceKind kind) const {
    auto events = parts_->trace.events();
    std::erase_if(events, [kind](const TraceEvent& event) { return event.kind != kind; });
    return events;
  }

  /// Sets the mode and the ratio with which the next transmissions are heard.
  void set_heard(const modem::Mode& mode, float snr_db) {
    mode_ = mode;
    snr_db_ = snr_db;
  }
  /// Hears a transmission of another station for the time that it takes, and does not wait for the
  /// answer.
  void hear(ByteSpan octets) { hear(octets, {snr_db_}); }
  /// Hears the octets in one piece of equal length for each ratio.
  void hear(ByteSpan octets, const std::vector<float>& snr_db) {
    if (transmitting_) run_until(transmitting_->second);
    const Instant start = now_;
    give(modem::CarrierUp{now_, mode_, 20, 0});
    for (std::size_t i = 0, at = 0; i < snr_db.size(); ++i) {
      const std::size_t end = octets.size() * (i + 1) / snr_db.size();
      const Instant began = now_;
      run_until(start + modem::data_duration(mode_, end));
      modem::ReceivedBytes bytes{.at = now_, .first_bit_at = began, .mode = mode_};
      bytes.bytes.assign(octets.begin() + at, octets.begin() + end);
      bytes.channel.snr_db = snr_db[i];
      give(bytes);
      at = end;
    }
    give(modem::CarrierDown{now_, now_, modem::CarrierDownReason::end_of_message});
  }
  /// Hears one transmission whose end the modem reported by mistake after `cut` octets, and the
  /// rest of it after `pause`. Between the two the modem reports `joined` carriers without a bit.
  void hear_in_two(ByteSpan octets, std::size_t cut, Duration pause, unsigned joined = 0) {
    const Instant start = now_;
    const auto bits = [&](std::size_t from, std::size_t to, Instant first_bit_at) {
      give(modem::CarrierUp{now_, mode_, 20, 0});
      run_until(first_bit_at + modem::data_duration(mode_, to - from));
      modem::ReceivedBytes bytes{.at = now_, .first_bit_at = first_bit_at, .mode = mode_};
      bytes.bytes.assign(octets.begin() + static_cast<std::ptrdiff_t>(from),
                         octets.begin() + static_cast<std::ptrdiff_t>(to));
      give(bytes);
      give(modem::CarrierDown{now_, now_, modem::CarrierDownReason::end_of_message});
    };
    bits(0, cut, start);
    for (unsigned i = 0; i < joined; ++i) {
      give(modem::CarrierUp{now_, mode_, 20, 0});
      give(modem::CarrierDown{now_, now_, modem::CarrierDownReason::replaced});
    }
    const double sent_s = 8.0 * static_cast<double>(cut) / mode_.rate_bps;
    bits(cut, octets.size(), start + from_seconds(sent_s) + pause);
  }
  void hear(const std::vector<pdu::Dpdu>& dpdus) {
    Bytes octets;
    for (const auto& dpdu : dpdus) pdu::encode(dpdu, octets);
    hear(octets);
  }
  void request(dts::CpduRequest request) {
    parts_->dts.request_cpdu(now_, std::move(request));
    drain();
  }
  void made(Address peer) {
    parts_->dts.on_connection_made(now_, peer);
    drain();
  }
  void terminated(Address peer) {
    parts_->dts.on_connection_terminated(now_, peer);
    drain();
  }
  Result<void> ask_for(Address peer, const modem::Mode& mode) {
    auto done = parts_->dts.request_data_rate(now_, peer, mode);
    drain();
    return done;
  }
  void run_for(Duration d) { run_until(now_ + d); }

  /// Returns the D_PDUs sent since the last call, in order.
  std::vector<pdu::Dpdu> take_sent() { return std::exchange(sent_, {}); }
  /// Returns the modes of the transmissions since the last call.
  std::vector<modem::Mode> take_modes() { return std::exchange(modes_, {}); }
  /// Returns the other actions since the last call.
  std::vector<dts::Action> take_actions() { return std::exchange(actions_, {}); }

 private:
  void run_until(Instant end) {
    bool own = false;
    const auto next = [&] {
      const std::optional<Instant> due = parts_->dts.next_deadline();
      own = transmitting_ && (!due || transmitting_->second <= *due);
      return own ? transmitting_->second : due;
    };
    sim::run_deadlines(now_, end, next, [&] {
      if (own) {
        const auto id = std::exchange(transmitting_, std::nullopt)->first;
        return give(modem::TransmitFinished{now_, id, modem::TransmitOutcome::sent});
      }
      parts_->dts.on_deadline(now_);
      drain();
    });
  }
  void give(const modem::Event& event) {
    parts_->dts.on_modem_event(now_, event);
    drain();
  }
  void drain() {
    while (auto action = parts_->dts.poll_action()) {
      const auto* command = std::get_if<modem::Command>(&*action);
      if (!command) {
        actions_.push_back(std::move(*action));
        continue;
      }
      const auto* burst = std::get_if<modem::TransmitBurst>(command);
      if (!burst) continue;
      S5066_ASSERT(!transmitting_);
      modes_.push_back(burst->mode);
      transmitting_ = {burst->id, now_ + modem::airtime(burst->mode, burst->bytes.size())};
      for (std::size_t at = 0; at < burst->bytes.size();) {
        auto frame = pdu::decode(ByteSpan(burst->bytes).subspan(at));
        S5066_ASSERT(frame.ok());
        at += frame->octets;
        sent_.push_back(std::move(frame->dpdu));
      }
    }
  }

  modem::Mode mode_;
  float snr_db_ = 0;
  /// The data transfer sublayer and what it refers to; stays in place when the station is moved.
  struct Parts {
    Parts(const dts::Config& config, std::uint64_t seed)
        : rng(seed), dts(config, rng, counters, trace) {}
    Counters counters;
    TraceRing trace;
    Rng rng;
    dts::DataTransfer dts;
  };
  std::unique_ptr<Parts> parts_;
  Instant now_{std::chrono::minutes(1)};
  std::optional<std::pair<modem::BurstId, Instant>> transmitting_;
  std::vector<pdu::Dpdu> sent_;
  std::vector<modem::Mode> modes_;
  std::vector<dts::Action> actions_;
};

}  // namespace s5066::test
