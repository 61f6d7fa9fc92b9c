// One modem of the soak with the node's part of it played by lot, and the judge of what it did: of
// its key, its carrier, and the octets it heard. Time is the count of samples at its sound card.
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
  // What was done.
  std::uint64_t bursts = 0;   // asked for
  std::uint64_t refused = 0;  // while the key or the device was away
  std::uint64_t cut = 0;      // by us, by an xrun, or by a key or device that failed
  std::uint64_t talked_over = 0;
  std::uint64_t xruns = 0;
  std::uint64_t xruns_keyed = 0;
  std::uint64_t device_losses = 0;
  std::uint64_t key_failures = 0;
  // What came of the bursts that went on the air.
  std::uint64_t whole = 0;
  std::uint64_t lost_disturbed = 0;
  std::uint64_t lost_undisturbed = 0;
  // Blocks of octets: as sent; or not, with a soft quality that says so; or not, and it does not:
  // the modem has no check of its own, the D_PDU above it has.
  std::uint64_t blocks = 0;
  std::uint64_t blocks_wrong_and_marked = 0;
  std::uint64_t blocks_wrong_disturbed = 0;
  std::uint64_t blocks_wrong_undisturbed = 0;
  std::uint64_t blocks_of_nothing = 0;  // nobody was on the air
  // Must be none.
  std::uint64_t keys_stuck = 0;
  std::uint64_t bursts_without_end = 0;
  std::uint64_t hangs = 0;
  std::uint64_t events_out_of_order = 0;
  std::uint64_t events_lost = 0;
  std::uint64_t clock_errors = 0;
  // The nearest that was come to the limits.
  double busy_longest_s = 0;       // behind the end of what was on the air
  double keyed_beyond_most_s = 0;  // of the burst's airtime, lead and tail

  std::uint64_t failures() const {
    return lost_undisturbed + blocks_wrong_undisturbed + keys_stuck + bursts_without_end + hangs +
           events_out_of_order + events_lost + clock_errors;
  }
};

class Station {
 public:
  /// A burst as the hearer's clock saw it on the air.
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
  /// Nothing is on the air, and nothing is being received.
  bool idle() const { return !pending_ && !carrier_since_; }
  /// At the end of the run.
  void count_lost_events();
  /// What befell the channel befell the bursts that are now on it.
  void disturb_arrivals();

 private:
  struct Pending {
    TransmitBurst burst;
    std::uint64_t asked_at = 0;
    std::uint64_t ahead = 0;
    std::uint64_t keyed = 0;  // that long
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
  std::uint64_t stall_ = 0;    // samples for which nobody will look after the sound card
  std::uint64_t stalled_ = 0;  // for which nobody has
  bool stall_told_ = false;    // the sound card counts them
  std::uint64_t bursts_ = 0;
  std::optional<Pending> pending_;
  std::uint64_t next_at_ = 0;
  bool on_air_ = false;
  std::uint64_t on_air_number_ = 0;
  std::optional<std::uint64_t> key_down_since_;
  std::uint64_t key_number_ = 0;  // of the burst that it is down for
  std::uint64_t key_allowed_ = 0;
  std::uint64_t key_late_ = 0;  // samples lost since, though its burst has ended
  bool key_told_ = false;

  std::deque<OnAir> arriving_;
  std::uint64_t quiet_since_ = 0;  // the end of the newest arrival
  std::optional<std::uint64_t> carrier_since_;
  bool hang_told_ = false;
  Bytes octets_;  // of this carrier
  Instant newest_event_{};

  std::unique_ptr<Worker> worker_;  // last: its thread uses the others
};

}  // namespace s5066::modem
