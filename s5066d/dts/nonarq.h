// SPDX-License-Identifier: Apache-2.0
// Unacknowledged delivery by types 7 and 8 (C.3.10, C.3.11, C.4.2): segments with offsets. Whole
// C_PDUs are repeated so that copies fall in different interleaver blocks. A C_PDU that has not
// arrived intact when its reception window ends is delivered with a list of its damaged and missing
// octets.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <vector>

#include "s5066d/base/node_counters.h"
#include "s5066d/base/result.h"
#include "s5066d/base/rng.h"
#include "s5066d/base/time.h"
#include "s5066d/dts/interval_packer.h"
#include "s5066d/dts/service.h"

namespace s5066::dts {

class NonarqSender {
 public:
  struct Config {
    /// 1..kSegmentOctetsMax. If the parts of a C_PDU are useful one by one, a segment lasts 15 s at
    /// most.
    std::size_t segment_octets;
    /// Length for a C_PDU that is useful only whole and sent only once.
    std::size_t segment_octets_once;
    std::size_t queue_octets_max;  // C_PDU octets accepted and not yet sent
  };

  /// C_PDU IDs start at random, so that a restarted station does not repeat recent ones.
  NonarqSender(const Config& config, Rng& rng);

  /// Takes over the C_PDU; on success exactly one outcome follows.
  Result<void> request(CpduRequest request);

  bool has_work(bool expedited) const { return !queue(expedited).empty(); }
  /// True if a C_PDU for that destination waits or is on the air.
  bool waits_for(Address destination, bool expedited) const;
  /// True if something remains to be sent after the last fill.
  bool has_unfinished() const;
  /// Returns the oldest expedited C_PDU that may go now; null if there is none.
  const CpduRequest* next_expedited(const std::vector<Address>& resting) const;

  /// Drops expired C_PDUs. A C_PDU that is on the air stays until that transmission is over.
  void drop_expired(Instant now);

  /// Call before the first fill of a transmission that is over by `ends_by`. If the reception
  /// window of a C_PDU already begun ends sooner, the C_PDU is sent again as a whole, under another
  /// ID and with a window of twice the length, at most kRenewalsMax times. If one copy of it has
  /// left, its further copies are dropped instead (C.3.10(24)-(27)).
  void begin_burst(Instant now, Instant ends_by);
  static constexpr unsigned kRenewalsMax = 2;
  /// Adds the next segments of one of the two services in order of request. With `only_to` it adds
  /// only those for that destination; it adds no more than `octets_max`.
  struct Share {
    std::optional<Address> only_to;
    std::size_t octets_max = SIZE_MAX;
    std::vector<Address> resting = {};  // destinations that get nothing now
    /// Octets that the next transmission may hold. A C_PDU that fits there whole waits for it once,
    /// instead of beginning in the rest of this one.
    std::size_t whole_octets = 0;
  };
  void fill(bool expedited, Address source, const Share& share, IntervalBudget& budget,
            BurstBuilder& burst);
  /// Call after the last fill. Sets the windows for BurstBuilder::encode: `past_end` after the end
  /// of this transmission for C_PDUs that go on in another one, and 0 for all others.
  void set_windows(Duration past_end, BurstBuilder& burst);
  /// Call with the end of that transmission, if nothing aborts it.
  void note_windows(Instant end);
  /// Call when the last fill has left the antenna: C_PDUs whose last copy was in it are reported.
  void on_sent();
  /// Call when the last fill did not leave, or only its first `dpdus_left` D_PDUs, counted over the
  /// whole transmission. A copy that has left counts as sent, so that no receiver gets it twice.
  /// Everything else is sent again from the beginning of the unfinished copy. A C_PDU whose window
  /// would be over by then begins again.
  void on_not_sent(std::size_t dpdus_left = 0);
  /// Returns when an ID becomes free, if one was needed and all were held.
  std::optional<Instant> next_deadline() const;

  struct Outcome {
    CpduId id;
    // Expired before its first copy had left, or no turn came within its windows.
    bool expired = false;
  };
  std::optional<Outcome> poll_outcome();

 private:
  struct Copy {
    std::size_t ends = 0;  // number of D_PDUs of the transmission up to the end of this copy
    unsigned copies_left = 0;
  };
  struct Transfer {
    CpduRequest request;
    std::optional<std::uint16_t> cpdu_id;  // set from the first segment on
    std::optional<Instant> window_end;     // window announced last under this ID
    Duration past_end{};    // time between the end of its transmission and the end of its window
    unsigned renewals = 0;  // restarts because its window was over too soon
    // Transmission in which it was put off, because the next one holds it.
    std::optional<std::uint64_t> put_off;
    std::size_t sent = 0;         // octets of the current copy
    unsigned copies_left = 0;     // copies after the current one
    std::size_t sent_before = 0;  // both values as they were before the last fill
    unsigned copies_before = 0;
    std::vector<Copy> copies;  // copies that end in the last fill
  };
  /// C_PDU IDs of one type. An ID is not used again before all windows of its last use have ended.
  struct Ids {
    std::uint16_t next = 0;
    std::size_t given = 0;  // given in this transmission
    bool out = false;       // no ID was free
    std::map<std::uint16_t, Instant> held = {};
  };
  std::optional<std::uint16_t> new_id(bool expedited);
  void note();
  void drop(const Transfer& transfer);
  void report_done();
  std::size_t segment_octets(const Transfer& transfer, const modem::Mode& mode) const;
  std::size_t octets_on_air(const Transfer& transfer, const modem::Mode& mode) const;
  bool waits_for_next(Transfer& transfer, const Share& share, const IntervalBudget& budget,
                      std::size_t octets_left) const;
  std::deque<Transfer>& queue(bool expedited) { return expedited ? expedited_ : regular_; }
  const std::deque<Transfer>& queue(bool expedited) const {
    return expedited ? expedited_ : regular_;
  }
  static bool done(const Transfer& t) {
    return t.copies_left == 0 && t.sent == t.request.cpdu.size();
  }
  static bool first_copy_done(const Transfer& t) {
    return t.copies_left < t.request.repeats || t.sent == t.request.cpdu.size();
  }
  static bool on_air(const Transfer& t) {
    return t.sent != t.sent_before || t.copies_left != t.copies_before;
  }
  Config config_;
  std::deque<Transfer> expedited_;
  std::deque<Transfer> regular_;
  Ids ids_[2];  // regular, expedited
  std::uint64_t bursts_ = 0;
  std::size_t queued_octets_ = 0;
  std::map<Address, std::size_t> waiting_[2];  // C_PDUs by destination; regular, expedited
  std::deque<Outcome> outcomes_;
};

class NonarqReceiver {
 public:
  struct Config {
    std::size_t contexts_max = 64;  // C_PDUs begun and not delivered
    std::size_t cpdu_octets_max = kCpduOctetsMax;
    std::size_t known_octets_max = 4 << 20;              // memory for delivered C_PDUs
    Duration window_default = std::chrono::seconds(60);  // window if the sender gives none
    // A C_PDU is remembered for this time after its window.
    Duration memory = std::chrono::seconds(60);
  };
  NonarqReceiver(const Config& config, Counters& counters) : config_(config), counters_(counters) {}

  /// `first_bit_at` is when the sync of this D_PDU began. Each octet is taken from an intact
  /// segment of any copy if there is one, else from the first damaged one.
  void on_nonarq(Instant first_bit_at, const pdu::Nonarq& dpdu, bool segment_ok);

  /// Delivers C_PDUs past their reception window as they are, and in-order C_PDUs that waited for
  /// them.
  void on_deadline(Instant now);
  std::optional<Instant> next_deadline() const;

  std::optional<CpduIndication> poll_cpdu();

 private:
  struct Key {
    Address source;
    Address destination;
    bool expedited = false;
    std::uint16_t cpdu_id = 0;
    friend auto operator<=>(const Key&, const Key&) = default;
  };
  enum class Octet : std::uint8_t { missing, errored, good };
  struct Context {
    Bytes cpdu;
    std::vector<Octet> octets;   // state of each octet of `cpdu`; empty: all are good
    std::size_t octets_bad = 0;  // missing or errored
    bool in_order = false;
    bool expired = false;  // the reception window is over
    Instant window_end{};
    std::uint64_t arrival = 0;
  };

  using Contexts = std::map<Key, Context>;

  static bool contradicts(const Context& context, const pdu::Nonarq& dpdu, bool segment_ok);
  static void place(Context& context, const pdu::Nonarq& dpdu, bool segment_ok);
  static std::vector<OctetRange> ranges(const Context& context, Octet kind);
  bool is_known(const Key& key, Instant first_bit_at, Instant window_end, const pdu::Nonarq& dpdu,
                bool segment_ok);
  void release(const Key& like);
  void deliver(Contexts::iterator delivered);
  void make_room(Address source);
  static std::size_t memory_of(const Context& context);
  void forget_old();
  void forget_one();

  Config config_;
  Counters& counters_;
  Contexts contexts_;  // C_PDUs that are not delivered
  Contexts known_;     // delivered; kept only to recognise repetitions
  std::size_t known_octets_ = 0;
  Instant now_{};  // the time is at least this
  Instant forgot_at_{};
  std::uint64_t arrivals_ = 0;
  std::deque<CpduIndication> complete_;
};

}  // namespace s5066::dts
