// SPDX-License-Identifier: Apache-2.0
// One modem of the soak. It draws the node's behaviour by lot, and judges the modem's key, its
// carrier, and the octets it received. Time is the count of samples at its sound card.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "modem/waveforms/burst_events.h"
#include "modem/worker/worker.h"
#include "s5066d/base/rng.h"
#include "tests/bench/modem_soak/line.h"
#include "tests/bench/modem_soak/rig.h"

namespace s5066::modem {

struct Counts {
  // Bursts and faults of the run.
  std::uint64_t bursts = 0;   // requested
  std::uint64_t refused = 0;  // refused while the key or the device failed
  std::uint64_t cut = 0;      // cut by an abort, an xrun, or a failure of key or device
  std::uint64_t talked_over = 0;
  std::uint64_t xruns = 0;
  std::uint64_t xruns_keyed = 0;
  std::uint64_t device_losses = 0;
  std::uint64_t key_failures = 0;
  // Outcome of the bursts that went on the air.
  std::uint64_t whole = 0;
  std::uint64_t lost_disturbed = 0;
  std::uint64_t lost_undisturbed = 0;
  // Blocks of octets: as sent; or wrong with a soft quality that shows it; or wrong without. The
  // modem has no check of its own, because the D_PDU above it has one.
  std::uint64_t blocks = 0;
  std::uint64_t blocks_wrong_and_marked = 0;
  std::uint64_t blocks_wrong_disturbed = 0;
  std::uint64_t blocks_wrong_undisturbed = 0;
  std::uint64_t blocks_of_nothing = 0;  // received while no station was on the air
  // These counters must stay 0.
  std::uint64_t keys_stuck = 0;
  std::uint64_t bursts_without_end = 0;
  std::uint64_t hangs = 0;
  std::uint64_t events_out_of_order = 0;
  std::uint64_t events_lost = 0;
  std::uint64_t clock_errors = 0;
  // The closest approach to the limits.
  double busy_longest_s = 0;       // behind the end of the signal on the air
  double keyed_beyond_most_s = 0;  // beyond the burst's airtime, lead and tail

  std::uint64_t failures() const {
    return lost_undisturbed + blocks_wrong_undisturbed + keys_stuck + bursts_without_end + hangs +
           events_out_of_order + events_lost + clock_errors;
  }
};

class Station {
 public:
  /// A burst on the air, in samples of the receiver's clock.
  struct OnAir {
    Mode mode;
    Bytes bytes;
    std::uint64_t from = 0;
    std::optional<std::uint64_t> to;
    bool disturbed = false;
    bool whole = false;
    std::string received;  // octets, end and its reason, of each carrier since
  };

  Station(std::string name, const Rng& rng, Counts& counts);
  ~Station();
  Station(const Station&) = delete;
  Station& operator=(const Station&) = delete;

  void set_scene(const Scene& scene);
  /// Takes a block from `in` and sends the answer into `out`, to `other`.
  void step(Line& in, Line& out, Station& other);
  /// True if no burst is on the air and none is being received.
  bool idle() const { return !pending_ && !carrier_since_; }
  /// Counts the events that the worker lost; call this at the end of the run.
  void count_lost_events();
  /// Marks the bursts that are now on the channel as disturbed.
  void disturb_arrivals();

 private:
  struct Pending {
    TransmitBurst burst;
    std::uint64_t asked_at = 0;
    std::uint64_t ahead = 0;
    std::uint64_t keyed = 0;  // samples for which the key was down
    std::uint64_t late = 0;   // samples lost meanwhile
    std::uint64_t abort_at = std::numeric_limits<std::uint64_t>::max();
    bool aborted = false;
    bool told = false;
  };

  void stall(Line& in, Line& out, Station& other);
  void disturb(Station& other);
  void take_events();
  void on_event(const Event& event);
  void finish();
  void on_octets(const ReceivedBytes& received);
  void on_carrier_down(const CarrierDown& down);
  void act();
  void ask_for_burst();
  void follow_air(const Line& out, Station& other);
  void watch_key();
  void watch_burst();
  void watch_carrier();
  void judge_arrivals();
  void complain(const char* what, const std::string& detail) const;
  static std::uint64_t seconds(double s) { return static_cast<std::uint64_t>(s * kSampleRate); }

  std::string name_;
  Rng rng_;
  Counts& counts_;
  Scene scene_;
  bool modes_to_set_ = false;
  std::vector<float> block_;
  Key key_;
  Gate gate_;

  std::uint64_t clock_ = 0;
  std::uint64_t stall_ = 0;    // samples for which the sound card will be left alone
  std::uint64_t stalled_ = 0;  // samples for which it has been
  bool stall_told_ = false;    // the sound card reports them as lost
  std::uint64_t bursts_ = 0;
  std::optional<Pending> pending_;
  std::uint64_t next_at_ = 0;
  bool on_air_ = false;
  std::uint64_t on_air_number_ = 0;
  std::optional<std::uint64_t> key_down_since_;
  std::uint64_t key_number_ = 0;  // number of the burst that the key is down for
  std::uint64_t key_allowed_ = 0;
  std::uint64_t key_late_ = 0;  // samples lost since, even after its burst's end
  bool key_told_ = false;

  std::deque<OnAir> arriving_;
  std::uint64_t quiet_since_ = 0;  // the end of the newest arrival
  std::optional<std::uint64_t> carrier_since_;
  bool hang_told_ = false;
  Bytes octets_;  // received in this carrier
  Instant newest_event_{};

  std::unique_ptr<Worker> worker_;  // last, because its thread uses the others
};

}  // namespace s5066::modem
