// Unacknowledged delivery by types 7 and 8 (C.3.10, C.3.11, C.4.2): segments with offsets, whole
// C_PDUs repeated so that copies fall in different interleaver blocks. What has not arrived well
// when its reception window ends is delivered with a note of what is wrong.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <vector>

#include "s5066d/base/metrics.h"
#include "s5066d/base/result.h"
#include "s5066d/base/rng.h"
#include "s5066d/base/time.h"
#include "s5066d/dts/interval_packer.h"
#include "s5066d/dts/service.h"

namespace s5066::dts {

class NonarqSender {
 public:
  struct Config {
    /// 1..kSegmentOctetsMax; where the parts of a C_PDU are of use each for itself no longer than
    /// what takes a quarter of a minute.
    std::size_t segment_octets;
    std::size_t segment_octets_once;  // of what is of use only whole, and sent only once
    std::size_t queue_octets_max;     // C_PDU octets accepted and not yet sent
  };

  /// C_PDU IDs start at random, so that a restarted station does not repeat recent ones.
  NonarqSender(const Config& config, Rng& rng);

  /// Takes the C_PDU over; on success exactly one outcome follows.
  Result<void> request(CpduRequest request);

  bool has_work(bool expedited) const { return !queue(expedited).empty(); }
  /// A C_PDU for that destination waits or is on the air.
  bool waits_for(Address destination, bool expedited) const;
  /// Something remains to be sent after the last fill.
  bool has_unfinished() const;
  /// Whom the oldest expedited C_PDU is for, of those that may go now.
  std::optional<Address> expedited_audience(const std::vector<Address>& resting) const;

  /// What is on the air stays until that transmission is over.
  void drop_expired(Instant now);

  /// Before the first fill of a transmission that is over by `ends_by`. A C_PDU begun before whose
  /// reception window ends sooner goes anew, whole, under another ID and with a window of twice the
  /// length, but only kRenewalsMax times; further copies of one of which a copy has left do not
  /// (C.3.10(24)-(27)).
  void begin_burst(Instant now, Instant ends_by);
  static constexpr unsigned kRenewalsMax = 2;
  /// Adds the next segments of one of the two services, in order of request; with `only_to` those
  /// for one destination, and of no more than `octets_max`.
  struct Share {
    std::optional<Address> only_to;
    std::size_t octets_max = SIZE_MAX;
    std::vector<Address> resting = {};  // nothing for these now
    /// So much the next transmission may take: what fits whole into it waits for it, once, rather
    /// than be begun in what is left of this one.
    std::size_t whole_octets = 0;
  };
  void fill(bool expedited, Address source, const Share& share, IntervalBudget& budget,
            BurstBuilder& burst);
  /// After the last fill: sets the windows of what will go on in another transmission so far past
  /// the end of this one, and of all others to 0 past it, for BurstBuilder::encode.
  void set_windows(Duration past_end, BurstBuilder& burst);
  /// The transmission with the windows so set ends then, if nothing aborts it.
  void note_windows(Instant end);
  /// The last fill has left the antenna: C_PDUs whose last copy was in it are reported.
  void on_sent();
  /// The last fill did not leave, or only its first `dpdus_left` D_PDUs, counted over the whole
  /// transmission. A copy that has left counts as sent, so that nobody who has it is given it
  /// twice. Anything else goes again from the beginning of what was unfinished, and what would come
  /// after its window anew.
  void on_not_sent(std::size_t dpdus_left = 0);
  /// When an ID is free again, if one was wanted and all were held.
  std::optional<Instant> next_deadline() const;

  struct Outcome {
    CpduId id;
    bool expired = false;  // before its first copy had left, or no turn came within its windows
  };
  std::optional<Outcome> poll_outcome();

 private:
  struct Copy {
    std::size_t ends = 0;  // so many D_PDUs of the transmission are needed for it
    unsigned copies_left = 0;
  };
  struct Transfer {
    CpduRequest request;
    std::optional<std::uint16_t> cpdu_id;  // from its first segment on
    std::optional<Instant> window_end;     // that was told last under this ID
    Duration past_end{};                   // so far past its transmission
    unsigned renewals = 0;                 // because its window was over too soon
    std::optional<std::uint64_t> put_off;  // in that transmission, because the next one holds it
    std::size_t sent = 0;                  // octets of the current copy
    unsigned copies_left = 0;              // after the current one
    std::size_t sent_before = 0;           // both as they were before the last fill
    unsigned copies_before = 0;
    std::vector<Copy> copies;  // that end in the last fill
  };
  /// C_PDU IDs of one type. None is given again before all windows of its last use have ended.
  struct Ids {
    std::uint16_t next = 0;
    std::size_t given = 0;  // for this transmission
    bool out = false;       // none was free
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
    std::size_t known_octets_max = 4 << 20;              // of memory, for those delivered
    Duration window_default = std::chrono::seconds(60);  // where a sender gives none
    Duration memory = std::chrono::seconds(60);          // a C_PDU is known so long past its window
  };
  NonarqReceiver(const Config& config, Counters& counters) : config_(config), counters_(counters) {}

  /// `first_bit_at` is when the sync of this D_PDU began. Of all its copies an octet is taken from
  /// a good segment if there is one, else from the first damaged one.
  void on_nonarq(Instant first_bit_at, const pdu::Nonarq& dpdu, bool segment_ok);

  /// Delivers what is past its reception window as it is, and in-order C_PDUs that waited for it.
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
    std::vector<Octet> octets;   // what is known of each octet of `cpdu`; none: all are good
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
  Contexts contexts_;  // not delivered
  Contexts known_;     // delivered: all they still do is to recognise repetitions
  std::size_t known_octets_ = 0;
  Instant now_{};  // at least
  Instant forgot_at_{};
  std::uint64_t arrivals_ = 0;
  std::deque<CpduIndication> complete_;
};

}  // namespace s5066::dts
