// SPDX-License-Identifier: Apache-2.0
// RCOP PDUs (F.8.1, Figure F-9; UDOP in F.9 is the same): a six-octet header in front of every
// piece of an application PDU, cutting into pieces (F.8.3), and putting them together again.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <vector>

#include "s5066d/base/bytes.h"
#include "s5066d/base/counter_set.h"
#include "s5066d/base/driven_core.h"
#include "s5066d/base/ids.h"
#include "s5066d/base/result.h"
#include "s5066d/base/time.h"

namespace s5066::gateways {

inline constexpr SapId kRcopSap{6};
inline constexpr std::size_t kRcopHeaderBytes = 6;
inline constexpr std::size_t kRcopSegmentsMax = 65536;  // segment numbers have 16 bits

struct RcopHeader {
  std::uint8_t connection_id = 0;    // 4 bits
  std::uint8_t updu_id = 0;          // one value per application PDU
  std::uint16_t segment = 0;         // the first segment is 0
  std::uint16_t application_id = 0;  // Table F-5
  friend bool operator==(const RcopHeader&, const RcopHeader&) = default;
};

struct RcopPdu {
  RcopHeader header;
  ByteSpan data;  // part of the input
};

void encode(const RcopHeader& header, Bytes& out);
/// Reserved bits are ignored. The data may be empty (FRAP).
Result<RcopPdu> decode_rcop(ByteSpan updu);

/// Returns how many U_PDUs carry an application PDU; an empty one takes one. The MTU must exceed
/// the header.
std::size_t rcop_segment_count(std::size_t application_octets, std::size_t mtu);
/// A part of an application PDU: the octets from `at` on.
struct RcopPart {
  ByteSpan octets;
  std::size_t at = 0;
  std::size_t pdu_octets = 0;  // octets of the whole PDU
};
/// Returns the U_PDU of segment `header.segment`, which the part must hold.
Bytes rcop_segment(const RcopHeader& header, const RcopPart& part, std::size_t mtu);
Bytes rcop_segment(const RcopHeader& header, ByteSpan application_pdu, std::size_t mtu);

enum class RcopCounter : std::uint8_t {
  segments,
  malformed,
  repeated,
  restarted,
  too_large,
  crowded_out,
  timed_out,
  completed,
  count
};
const CounterTable<RcopCounter>& counter_table(RcopCounter);

/// Collects segments in any order, with repeats, from many senders. Nothing on the air says where
/// an application PDU ends, so the application is asked, with the octets that are there so far.
class RcopReassembler {
 public:
  /// Returns the length of the application PDU that starts with `prefix`; nothing while the prefix
  /// is too short to tell; an error when it can never be told (the first segment is then all there
  /// is).
  using LengthOf = Result<std::optional<std::uint64_t>> (*)(std::uint16_t application_id,
                                                            ByteSpan prefix);
  struct Config {
    LengthOf length_of = nullptr;
    std::size_t contexts_max = 64;
    std::size_t pdu_octets_max = (16u << 20) + 260;  // limit of one application PDU
    std::size_t source_octets_max = 32u << 20;       // octets held for one source node
    std::size_t segments_max = kRcopSegmentsMax;
    /// A PDU without progress is given up after this time.
    Duration idle_timeout_max = std::chrono::hours(2);
  };
  struct Key {
    Address source;
    SapId source_sap;
    std::uint8_t connection_id = 0;
    std::uint8_t updu_id = 0;
    friend auto operator<=>(const Key&, const Key&) = default;
  };
  struct Complete {
    Key key;
    std::uint16_t application_id = 0;  // from segment 0
    Bytes data;
  };
  /// An application PDU that was given up because its end never came. Its beginning is there.
  struct Dropped {
    Key key;
    std::uint16_t application_id = 0;
    Bytes begin;             // at most kBeginOctetsMax
    std::size_t octets = 0;  // octets that had arrived in order
    const char* reason = "";
  };
  static constexpr std::size_t kBeginOctetsMax = 300;

  explicit RcopReassembler(const Config& config);

  /// Returns the application PDU that this U_PDU completes, if it does.
  std::optional<Complete> on_updu(Instant now, Address source, SapId source_sap, ByteSpan updu);
  std::optional<Instant> next_deadline() const;
  void on_deadline(Instant now);
  /// Drain after every call of the two above.
  std::optional<Dropped> poll_dropped();

  std::size_t contexts() const { return contexts_.size(); }
  std::size_t octets_held(Address source) const;
  const CounterSet<RcopCounter>& counters() const { return counters_; }

 private:
  struct Context {
    std::uint16_t application_id = 0;
    Bytes data;                            // segments 0..ends.size()-1 without a gap
    std::vector<std::size_t> ends;         // end of each of these segments in `data`
    std::map<std::uint16_t, Bytes> early;  // segments after a gap
    std::size_t early_octets = 0;
    bool closed = false;  // segments of this key are ignored until it times out
    Instant last_progress{};
    std::size_t octets() const { return data.size() + early_octets; }
  };
  using Contexts = std::map<Key, Context>;

  enum class Known { absent, same, different };
  Known known(const Context& context, const RcopPdu& pdu) const;
  void store(Context& context, const RcopPdu& pdu);
  std::optional<Complete> try_complete(Contexts::iterator at);
  void close(Contexts::value_type& entry);
  void note_dropped(const Contexts::value_type& entry, const char* reason);
  void forget_earlier_tries(const Complete& complete);
  bool make_room(const Key& key, std::size_t octets);
  Address busiest_source() const;
  void evict_oldest(Address source, const Key& keep);

  Config config_;
  Contexts contexts_;
  std::deque<Dropped> dropped_;  // drained after every input
  CounterSet<RcopCounter> counters_;
};
static_assert(TimedCore<RcopReassembler>);

}  // namespace s5066::gateways
