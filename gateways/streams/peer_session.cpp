// SPDX-License-Identifier: Apache-2.0
#include "gateways/streams/peer_session.h"

#include <algorithm>
#include <utility>

#include "s5066d/base/assert.h"
#include "s5066d/base/overloaded.h"

namespace s5066::streams {

using gateways::SisRequestId;
using gateways::SisUnidata;
using std::chrono::seconds;

namespace {

constexpr std::size_t kRetiredMax = 16;
/// A former epoch is remembered for this time. U_PDUs of an earlier run do not come later.
constexpr Duration kRetiredMemory = std::chrono::hours(1);
constexpr std::size_t kResetsMax = 4096;
constexpr std::size_t kLateAcksMax = 256;
/// The session waits this long after a refusal, because a node may refuse the next U_PDU at once.
constexpr Duration kHold = seconds(2);
constexpr Duration kOverdue = std::chrono::milliseconds(1);
constexpr std::size_t kUrgentOctets = 512;
constexpr std::size_t kUpduOctetsMin = 256;
constexpr std::size_t kUpduOctetsUnheard = 1024;
constexpr Duration kUpduTime = seconds(150);  // time on the air of one U_PDU on a slow line
constexpr Duration kSmallTookFirst = seconds(5);
constexpr int kSmallTookMemory = 16;  // a longer time counts for one part in this number
constexpr Duration kLifetimeMin = seconds(300);
constexpr Duration kLifetimeMax = std::chrono::hours(1);
constexpr Duration kLifetimeUnheard = seconds(600);

std::uint32_t whole_seconds(Duration duration) {
  return static_cast<std::uint32_t>(std::chrono::ceil<seconds>(duration).count());
}

}  // namespace

std::uint32_t SharedState::new_epoch() {
  std::uint32_t epoch = 0;
  while (epoch == 0) epoch = static_cast<std::uint32_t>(rng.next());
  return epoch;
}

PeerSession::PeerSession(SharedState& shared, Address station)
    : shared_(shared),
      station_(station),
      window_(shared.config.window),
      own_epoch_(shared.new_epoch()),
      updu_id_(static_cast<std::uint8_t>(shared.rng.next())),
      small_took_(kSmallTookFirst) {}

void PeerSession::emit(StreamEvent::Kind kind, std::string detail) {
  shared_.actions.emplace_back(StreamEvent{kind, station_, std::move(detail)});
}

// --- The application -----------------------------------------------------------------------------

Capability PeerSession::capability(Instant now) const {
  if (peer_epoch_) return Capability::capable;
  const bool remembered =
      incapable_since_ && now - *incapable_since_ < shared_.config.incapable_memory;
  return remembered ? Capability::incapable : Capability::unknown;
}

Stream& PeerSession::make(Instant now, StreamName name, bool compress) {
  const StreamId id{++shared_.last_stream};
  const bool compressed =
      compress && shared_.config.compress && shared_.compressors < shared_.config.compressors_max;
  auto [at, fresh] = streams_.try_emplace(name, now, id, name, shared_.config, compressed);
  S5066_ASSERT(fresh);
  if (compressed) ++shared_.compressors;
  if (!name.ours) ++shared_.of_peers;
  names_[id] = name;
  shared_.stations[id] = station_;
  return at->second;
}

Result<StreamId> PeerSession::open(Instant now, const Target& target, bool compress) {
  if (capability(now) == Capability::incapable) {
    return Error{ErrorCode::unsupported, "the station has no proxy"};
  }
  if (shared_.stations.size() >= shared_.config.streams_max) {
    shared_.counters.add(StreamCounter::refused_limit);
    return Error{ErrorCode::queue_full, "too many streams are open"};
  }
  const auto of_ours = std::count_if(streams_.begin(), streams_.end(),
                                     [](const auto& entry) { return entry.first.ours; });
  if (static_cast<std::size_t>(of_ours) >= own_streams_max()) {
    shared_.counters.add(StreamCounter::refused_limit);
    return Error{ErrorCode::queue_full, "too many streams to this station are open"};
  }
  Stream& stream = make(now, {true, next_number_++}, compress);
  stream.target = target;
  stream.opened = true;
  stream.waiting_since = now;
  shared_.counters.add(StreamCounter::opened);
  return stream.id;
}

Stream* PeerSession::find(StreamId id) {
  const auto name = names_.find(id);
  return name == names_.end() ? nullptr : &streams_.at(name->second);
}

std::size_t PeerSession::room(const Stream& stream) const {
  const StreamsConfig& config = shared_.config;
  const bool plenty = shared_.octets_held < config.octets_max;
  const std::size_t may = plenty ? config.send_octets_max : config.send_octets_sure;
  const std::size_t held = stream.send.held();
  return may > held ? may - held : 0;
}

void PeerSession::write(Instant now, Stream& stream, ByteSpan octets) {
  if (!stream.waiting_since) stream.waiting_since = now;
  stream.active_at = now;
  const bool compressed = stream.send.compressed();
  stream.send.write(octets);
  if (compressed && !stream.send.compressed()) {
    --shared_.compressors;
    shared_.counters.add(StreamCounter::compressions_given_up);
  }
}

void PeerSession::finish(Instant now, Stream& stream) {
  if (stream.send.finished()) return;
  if (!stream.waiting_since) stream.waiting_since = now;
  const bool compressed = stream.send.compressed();
  stream.send.finish();
  if (compressed) --shared_.compressors;
}

void PeerSession::reset(Stream& stream, ResetCode code) {
  shared_.counters.add(StreamCounter::reset_here);
  const StreamName name = stream.name;
  // A peer that has never seen the stream needs no RESET.
  const bool unseen =
      name.ours && stream.open == Stream::Open::queued && stream.send.outstanding() == 0;
  remove(name);
  if (!unseen && resets_.size() < kResetsMax) resets_[name] = code;
}

void PeerSession::consumed(Instant now, Stream& stream, std::size_t octets) {
  stream.receive.on_consumed(octets);
  deliver(now, stream);
}

void PeerSession::discover(Instant now) {
  if (capability(now) != Capability::unknown || asked_at_ || !handed_.empty()) return;
  if (discovered_at_ && now - *discovered_at_ < shared_.config.capability_wait) return;
  discovered_at_ = now;
  discovery_due_ = true;
}

void PeerSession::remove(StreamName name) {
  const auto found = streams_.find(name);
  if (found == streams_.end()) return;
  const Stream& stream = found->second;
  if (stream.send.compressed()) --shared_.compressors;
  if (!name.ours) --shared_.of_peers;
  shared_.windows -= stream.receive.window() - kFirstWindow;
  shared_.counters.add(StreamCounter::octets_before_compression, stream.send.octets_before());
  shared_.counters.add(StreamCounter::octets_after_compression, stream.send.octets_after());
  shared_.counters.add(StreamCounter::octets_resent, stream.send.octets_resent());
  if (!stream.was_bulk) interactive_at_ = std::max(interactive_at_, stream.interactive_at);
  std::optional<std::uint64_t> received;
  if (stream.complete()) received = stream.receive.received();
  names_.erase(stream.id);
  shared_.stations.erase(stream.id);
  streams_.erase(found);
  closed_[name] = received;
  closed_order_.push_back(name);
  if (closed_order_.size() > shared_.config.closed_max) {
    closed_.erase(closed_order_.front());
    closed_order_.pop_front();
  }
}

void PeerSession::remove_if_complete(StreamName name) {
  const auto found = streams_.find(name);
  if (found == streams_.end() || !found->second.complete()) return;
  shared_.counters.add(StreamCounter::completed);
  remove(name);
}

/// Removes a stream and tells the application that it was reset.
void PeerSession::abort(StreamName name, ResetCode code, bool by_peer) {
  const auto found = streams_.find(name);
  if (found == streams_.end()) return;
  shared_.counters.add(by_peer ? StreamCounter::reset_by_peer : StreamCounter::reset_here);
  if (found->second.opened) shared_.actions.emplace_back(Reset{found->second.id, code, by_peer});
  remove(name);
}

/// Resets a stream at both ends.
void PeerSession::fail_here(StreamName name, ResetCode code) {
  abort(name, code, false);
  if (resets_.size() < kResetsMax) resets_[name] = code;
}

void PeerSession::end_session(ResetCode code) {
  if (peer_epoch_) shared_.counters.add(StreamCounter::sessions_lost);
  while (!streams_.empty()) abort(streams_.begin()->first, code, false);
  ++session_;
  seen_ = SeenNumbers();
  resets_.clear();
  late_acks_.clear();
  closed_.clear();
  closed_order_.clear();
}

// --- Frames of the peer --------------------------------------------------------------------------

void PeerSession::heard(Instant now) {
  heard_at_ = now;
  asked_at_.reset();
  incapable_since_.reset();
  if (!silent_since_) return;
  silent_since_.reset();
  emit(StreamEvent::Kind::peer_answering);
}

void PeerSession::forget_question() {
  unanswered_since_.reset();
  questioned_at_.reset();
  questioned_ = false;
}

/// Returns true if the frames of the U_PDU belong to the session.
bool PeerSession::accept_session(Instant now, const StreamsHeader& header) {
  const bool proof = header.to_epoch == own_epoch_;
  while (!retired_.empty() && now - retired_.front().at >= kRetiredMemory) retired_.pop_front();
  if (std::any_of(retired_.begin(), retired_.end(),
                  [&](const Retired& one) { return one.epoch == header.from_epoch; })) {
    return false;
  }
  if (peer_epoch_ && *peer_epoch_ != header.from_epoch) {
    if (!proof) {
      challenge_ = header.from_epoch;
      return false;
    }
    if (proven_) {
      retired_.push_back({*peer_epoch_, now});
      if (retired_.size() > kRetiredMax) retired_.pop_front();
    }
    emit(StreamEvent::Kind::peer_restarted);
    end_session(ResetCode::peer_restarted);
    peer_epoch_.reset();
    proven_ = false;
  }
  if (!peer_epoch_) {
    peer_epoch_ = header.from_epoch;
    emit(StreamEvent::Kind::peer_capable);
  }
  proven_ = proven_ || proof;
  heard(now);
  forget_question();
  if (header.to_epoch != 0 && !proof) {
    answer_due_ = true;  // the peer does not know our epoch yet
    return false;
  }
  return true;
}

void PeerSession::on_pdu(Instant now, const StreamsPdu& pdu) {
  // If this is the first U_PDU of the peer, no earlier one has been lost, unless our node lost it.
  const bool first =
      !peer_epoch_ && pdu.header.lost && pdu.header.to_epoch == 0 && !shared_.node_lost;
  if (!accept_session(now, pdu.header)) {
    shared_.counters.add(StreamCounter::stale);
    return;
  }
  // Time passes between two pauses, so that a peer that sends all the time does not block the
  // U_PDUs to it.
  if (now >= received_at_ + 2 * shared_.config.answer_pieces) received_at_ = now;
  if (first) lost_due_ = false;
  for (const Frame& frame : pdu.frames) {
    std::visit([&](const auto& one) { on_frame(now, one); }, frame);
  }
  if (pdu.header.lost) on_peer_lost(now);
  if (pdu.header.answer_wanted) answer_due_ = true;
}

void PeerSession::on_peer_lost(Instant now) {
  for (auto& [name, stream] : streams_) {
    stream.send.on_lost(now);
    if (stream.open == Stream::Open::confirmed) stream.open = Stream::Open::queued;
    if (!stream.may_probe()) stream.probe_due = false;
    if (!stream.waiting_since) stream.waiting_since = now;
    if (stream.receive.received() > 0) stream.want_ack(now);
  }
}

/// Returns the number of streams that this end may open to the station. The number is a part of the
/// streams that other stations leave, so that stations that do not answer cannot take all streams.
std::size_t PeerSession::own_streams_max() const {
  const StreamsConfig& config = shared_.config;
  const std::size_t left = config.streams_max - (shared_.stations.size() - streams_.size());
  const bool answers = heard_at_ && !silent_since_;
  return std::max<std::size_t>(1, answers ? left - left / config.own_part : left / 2);
}

/// Returns the number of streams that the peer may open.
std::size_t PeerSession::share() const {
  return std::max(shared_.config.streams_max / 2, shared_.config.peer_streams_sure);
}

/// Returns true if the peer may have one more stream. The limits are the share of the peer, the
/// streams of the peer without an OPEN, and the part of all streams that is reserved for this end.
bool PeerSession::may_make(StreamName name, bool opens) const {
  const StreamsConfig& config = shared_.config;
  if (name.ours || shared_.stations.size() >= config.streams_max) return false;
  const std::size_t reserve = config.streams_max / config.own_part;
  if (shared_.of_peers + reserve >= config.streams_max) return false;
  std::size_t of_peer = 0;
  std::size_t unopened = 0;
  for (const auto& [other, stream] : streams_) {
    if (other.ours) continue;
    ++of_peer;
    if (!stream.opened) ++unopened;
  }
  if (!opens && unopened >= config.unopened_streams_max) return false;
  return of_peer < share();
}

/// Returns the stream. Makes the stream if the peer opens it with this frame or a later one.
/// Returns nothing if the stream is closed or is not allowed.
Stream* PeerSession::peer_stream(Instant now, StreamName name, bool opens) {
  const auto found = streams_.find(name);
  if (found != streams_.end()) return &found->second;
  if (name.ours || seen_.seen(name.number)) return nullptr;
  const bool may = may_make(name, opens);
  if (!may) shared_.counters.add(StreamCounter::refused_limit);
  // The data is discarded here. A later PROBE of the peer finds that.
  if (!may && !opens) return nullptr;
  seen_.mark(name.number);
  if (!may) {
    if (resets_.size() < kResetsMax) resets_[name] = ResetCode::limit;
    return nullptr;
  }
  return &make(now, name, true);
}

void PeerSession::on_frame(Instant now, const OpenFrame& open) {
  Stream* const stream = peer_stream(now, {false, open.number}, true);
  if (stream == nullptr || stream->opened) return;
  stream->opened = true;
  stream->open = Stream::Open::known;
  stream->target = open.target;
  shared_.counters.add(StreamCounter::accepted);
  shared_.actions.emplace_back(Opened{stream->id, station_, open.target});
  if (stream->receive.received() > 0 || stream->receive.ended()) {
    stream->want_ack(now + shared_.config.ack_end_delay);
  }
  deliver(now, *stream);
}

/// Sends the RESET of a stream again, because a peer that still sends on a stream that was reset
/// here has not got the RESET. Does nothing while the RESET is with the node.
void PeerSession::answer_closed(StreamName name) {
  const auto closed = closed_.find(name);
  if (closed == closed_.end() || closed->second) return;
  for (const auto& [id, handed] : handed_) {
    for (const Sent& part : handed.parts) {
      const auto* const reset = std::get_if<SentReset>(&part);
      if (reset != nullptr && reset->stream == name) return;
    }
  }
  if (resets_.size() < kResetsMax) resets_.try_emplace(name, ResetCode::unknown_stream);
}

void PeerSession::on_frame(Instant now, const DataFrame& data) {
  const StreamName name{!data.stream.ours, data.stream.number};
  Stream* const stream = peer_stream(now, name, false);
  if (stream == nullptr) return answer_closed(name);
  if (name.ours) stream->open = Stream::Open::known;
  stream->active_at = now;
  const auto fresh = stream->receive.on_data(data);
  if (!fresh) {
    emit(StreamEvent::Kind::nonsense_received, fresh.error().detail);
    return fail_here(name, ResetCode::protocol_error);
  }
  answer_until_ = Instant{};
  shared_.counters.add(StreamCounter::octets_received, *fresh);
  shared_.counters.add(StreamCounter::repeated_octets, data.octets.size() - *fresh);
  // If data comes again, our acknowledgement was lost.
  const bool soon = (*fresh == 0 && !data.octets.empty()) || stream->receive.ended();
  stream->want_ack(now + (soon ? shared_.config.ack_end_delay : shared_.config.ack_delay));
  deliver(now, *stream);
}

void PeerSession::on_frame(Instant now, const AckFrame& ack) {
  const auto found = streams_.find({!ack.stream.ours, ack.stream.number});
  if (found == streams_.end()) return;
  Stream& stream = found->second;
  if (stream.name.ours) stream.open = Stream::Open::known;
  stream.active_at = now;
  if (!stream.send.on_ack(ack.received, ack.limit)) {
    emit(StreamEvent::Kind::nonsense_received, "an acknowledgement of octets that were not sent");
    return fail_here(stream.name, ResetCode::protocol_error);
  }
  if (ack.answer && stream.probed_at) {
    stream.send.on_lost(*stream.probed_at);
    stream.probed_at.reset();
  }
  if (stream.send.waiting() > 0 && !stream.waiting_since) stream.waiting_since = now;
  tell_writable(stream);
  remove_if_complete(stream.name);
}

void PeerSession::on_frame(Instant, const ResetFrame& reset) {
  const StreamName name{!reset.stream.ours, reset.stream.number};
  if (!name.ours) seen_.mark(name.number);
  resets_.erase(name);
  abort(name, reset.code, true);
}

void PeerSession::on_frame(Instant now, const ProbeFrame& probe) {
  const StreamName name{!probe.stream.ours, probe.stream.number};
  const auto found = streams_.find(name);
  if (found != streams_.end() && found->second.opened) {
    found->second.want_ack(now);
    found->second.answer = true;
    return;
  }
  // Data without an OPEN was sent to an earlier run of this process.
  if (found != streams_.end()) remove(name);
  if (!name.ours) seen_.mark(name.number);
  const auto closed = closed_.find(name);
  if (closed != closed_.end() && closed->second) {
    const std::uint64_t all = *closed->second;
    if (late_acks_.size() < kLateAcksMax) late_acks_.push_back({name, true, all, all});
    return;
  }
  if (resets_.size() < kResetsMax) resets_[name] = ResetCode::unknown_stream;
}

/// Passes octets and the end to the application as far as it takes them.
void PeerSession::deliver(Instant now, Stream& stream) {
  if (!stream.opened) return;
  const StreamName name = stream.name;
  for (;;) {
    auto octets = stream.receive.poll_octets();
    if (!octets) {
      emit(StreamEvent::Kind::nonsense_received, octets.error().detail);
      return fail_here(name, ResetCode::protocol_error);
    }
    if (!*octets) break;
    shared_.actions.emplace_back(Arrived{stream.id, std::move(**octets)});
  }
  if (stream.receive.poll_end()) {
    shared_.actions.emplace_back(Ended{stream.id});
  }
  const std::size_t window = stream.receive.window();
  if (stream.receive.wants_larger_window() &&
      shared_.windows + window <= shared_.config.octets_max) {
    stream.receive.enlarge_window();
    shared_.windows += stream.receive.window() - window;
  }
  if (stream.receive.limit_due()) stream.want_ack(now);
  remove_if_complete(name);
}

void PeerSession::tell_writable(Stream& stream) {
  if (!stream.wants_room || room(stream) < shared_.config.send_octets_sure / 2) return;
  stream.wants_room = false;
  shared_.actions.emplace_back(Writable{stream.id});
}

// --- Making a U_PDU ------------------------------------------------------------------------------

/// Returns true if a challenge is due. A burst of U_PDUs of another session gets one challenge
/// only.
bool PeerSession::challenge_ready(Instant now) const {
  return challenge_ &&
         (!challenged_at_ || now >= *challenged_at_ + shared_.config.challenge_interval);
}

bool PeerSession::answer_ready(Instant now) const {
  return answer_due_ && (!answered_at_ || now >= *answered_at_ + shared_.config.challenge_interval);
}

/// Returns true while small data waits so that more small data can join it.
bool PeerSession::coalescing(Instant now, const Stream& stream) const {
  return urgent_with_node_ > 0 && stream.waiting_since &&
         now < *stream.waiting_since + shared_.config.coalesce;
}

bool PeerSession::urgent(Instant now, const Stream& stream) const {
  if (stream.wants_probe() || (stream.ack_at && *stream.ack_at <= now)) return true;
  if (stream.name.ours && stream.open == Stream::Open::queued) return !coalescing(now, stream);
  return stream.send.waiting() > 0 && stream.interactive(now, shared_.config) &&
         !coalescing(now, stream);
}

bool PeerSession::urgent(Instant now) const {
  if (answer_ready(now) || discovery_due_ || challenge_ready(now)) return true;
  if (lost_due_ && !streams_.empty()) return true;
  if (!resets_.empty() || !late_acks_.empty()) return true;
  return std::any_of(streams_.begin(), streams_.end(),
                     [&](const auto& entry) { return urgent(now, entry.second); });
}

std::size_t PeerSession::bulk_octets(Instant now) const {
  std::size_t octets = 0;
  for (const auto& [name, stream] : streams_) {
    const std::size_t waiting = stream.send.waiting();
    if (waiting > 0 && !stream.interactive(now, shared_.config)) octets += waiting;
  }
  return octets;
}

/// Returns true if small data was sent lately. The next small data will wait for the bulk data that
/// the node is then sending.
bool PeerSession::conversing(Instant now) const {
  const Duration lately = shared_.config.conversation;
  return (interactive_at_ && now - *interactive_at_ < lately) || has_small_stream(now, lately);
}

/// Returns true if an open stream has sent small data within this time, and never bulk data.
bool PeerSession::has_small_stream(Instant now, Duration within) const {
  return std::any_of(streams_.begin(), streams_.end(), [&](const auto& entry) {
    const Stream& stream = entry.second;
    return !stream.was_bulk && stream.interactive_at && now - *stream.interactive_at < within;
  });
}

/// Returns the octets of bulk data that may be with the node, or nothing if no small data is
/// expected.
std::optional<std::size_t> PeerSession::bulk_limit(Instant now) const {
  const StreamsConfig& config = shared_.config;
  const std::size_t as_small = line_octets(small_took_);
  if (conversing(now)) return as_small;
  if (!has_small_stream(now, config.small_expected)) return std::nullopt;
  return std::max(as_small, window_.round_octets(config.bulk_before_small));
}

/// Returns true while bulk data must wait, so that it does not delay the answer to small data.
bool PeerSession::bulk_waits(Instant now) const {
  if (now >= bulk_at_ + shared_.config.conversation_wait_max) return false;
  return urgent_with_node_ > 0 || now < answer_until_;
}

/// Returns the octets that the line takes in this time.
std::size_t PeerSession::line_octets(Duration time) const {
  const double rate = window_.rate_bps();
  return rate > 0 ? static_cast<std::size_t>(rate / 8 * to_seconds(time)) : kUpduOctetsUnheard;
}

/// Returns the octets of a U_PDU of bulk data. A transmission carries more than one U_PDU, also on
/// a slow line.
std::size_t PeerSession::updu_octets(Instant now) const {
  const auto all = bulk_limit(now);
  const std::size_t one =
      all ? std::max(line_octets(small_took_), *all / 2) : line_octets(kUpduTime);
  return std::clamp(one, kUpduOctetsMin, mtu_);
}

std::optional<std::uint8_t> PeerSession::wants(Instant now) const {
  const StreamsConfig& config = shared_.config;
  if (now < hold_until_ || now < received_at_ + config.answer_pieces) return std::nullopt;
  if (handed_.size() >= config.outstanding_max) return std::nullopt;
  if (!heard_at_ && handed_.size() >= config.unheard_outstanding_max) return std::nullopt;
  if (silent_since_ && (!handed_.empty() || now < probe_at_)) return std::nullopt;
  if (urgent(now)) {
    const bool room = window_.has_room(kUrgentOctets, config.interactive_priority);
    return room ? std::optional(config.interactive_priority) : std::nullopt;
  }
  const std::size_t bulk = bulk_octets(now);
  if (bulk == 0) return std::nullopt;
  if (const auto limit = bulk_limit(now)) {
    if (conversing(now) && bulk_waits(now)) return std::nullopt;
    const std::size_t octets = std::min(updu_octets(now), bulk + kStreamsHeaderOctets);
    if (bulk_with_node_ > 0 && bulk_with_node_ + octets > *limit) return std::nullopt;
  }
  // The last U_PDU may exceed the window, because the first is partly confirmed.
  return window_.has_room(1, config.priority) ? std::optional(config.priority) : std::nullopt;
}

void PeerSession::add(Draft& draft, const Frame& frame, Sent sent) {
  encode(frame, draft.octets);
  draft.parts.push_back(sent);
}

void PeerSession::add_ack(Draft& draft, Stream& stream) {
  if (draft.room() < kSmallFrameMax) return;
  const std::uint64_t received = stream.receive.received();
  add(draft, AckFrame{stream.name, stream.answer, received, stream.receive.limit()},
      SentAck{stream.name, received, stream.receive.ended(), stream.answer});
  stream.receive.on_granted();
  stream.ack_at.reset();
  stream.answer = false;
}

/// Adds the OPEN and as much data as fits and `octets_max` allows. Returns false if nothing was
/// added.
bool PeerSession::add_data(Instant now, Draft& draft, Stream& stream, std::size_t octets_max) {
  bool added = false;
  if (stream.name.ours && stream.open == Stream::Open::queued) {
    const OpenFrame open{stream.name.number, stream.target};
    if (draft.room() < encoded_octets(open)) return false;
    add(draft, open, SentOpen{stream.name});
    stream.open = Stream::Open::with_node;
    added = true;
  }
  if (draft.room() <= kDataOverheadMax) return added;
  stream.was_bulk = stream.was_bulk || !stream.interactive(now, shared_.config);
  const bool compressed = stream.send.compressed();
  const std::size_t room = std::min(draft.room() - kDataOverheadMax, octets_max);
  auto piece = stream.send.take(room);
  if (compressed && !stream.send.compressed()) {
    --shared_.compressors;
    shared_.counters.add(StreamCounter::compressions_given_up);
  }
  if (piece) {
    shared_.counters.add(StreamCounter::octets_sent, piece->octets.size());
    add(draft, DataFrame{stream.name, piece->end, piece->compressed, piece->offset, piece->octets},
        SentData{stream.name, piece->offset, piece->past()});
    if (!stream.was_bulk) stream.interactive_at = now;
    stream.note_sent(now, piece->octets.size(), shared_.config.recent_half_life);
    added = true;
  }
  stream.waiting_since.reset();
  if (stream.send.waiting() > 0) stream.waiting_since = now;
  return added;
}

/// Adds the resets, the acknowledgements of closed streams, and the ACKs and PROBEs that are due.
void PeerSession::add_control(Instant now, Draft& draft) {
  if (lost_due_) draft.parts.push_back(SentLost{});
  for (auto& [name, stream] : streams_) {
    if (lost_due_ && stream.receive.received() > 0) stream.want_ack(now);
  }
  while (!resets_.empty() && draft.room() >= kSmallFrameMax) {
    const auto [name, code] = *resets_.begin();
    resets_.erase(resets_.begin());
    add(draft, ResetFrame{name, code}, SentReset{name, code});
  }
  while (!late_acks_.empty() && draft.room() >= kSmallFrameMax) {
    encode(Frame(late_acks_.back()), draft.octets);
    late_acks_.pop_back();
  }
  for (auto& [name, stream] : streams_) {
    if (stream.ack_at && *stream.ack_at <= now) add_ack(draft, stream);
    if (!stream.wants_probe() || draft.room() < kSmallFrameMax) continue;
    add(draft, ProbeFrame{name}, SentProbe{name});
    stream.probe_due = false;
    stream.probed_at = now;
  }
}

/// Adds data of the streams, beginning with the one that was served longest ago.
void PeerSession::add_streams(Instant now, Draft& draft, bool bulk) {
  std::vector<Stream*> ready;
  for (auto& [name, stream] : streams_) {
    const bool interactive = stream.interactive(now, shared_.config);
    const bool opens = name.ours && stream.open == Stream::Open::queued;
    if (bulk ? stream.send.waiting() > 0 && !interactive
             : opens || (stream.send.waiting() > 0 && interactive)) {
      ready.push_back(&stream);
    }
  }
  std::sort(ready.begin(), ready.end(),
            [](const Stream* a, const Stream* b) { return a->served < b->served; });
  for (Stream* const stream : ready) {
    if (draft.room() <= kDataOverheadMax) break;
    if (stream->ack_at) add_ack(draft, *stream);  // an ACK costs few octets here
    // The opening of a bulk stream is urgent. The rest of its data is not.
    const bool opens_bulk = !bulk && !stream->interactive(now, shared_.config);
    const std::size_t octets_max = opens_bulk ? kUrgentOctets : draft.octets_max;
    if (add_data(now, draft, *stream, octets_max)) stream->served = ++shared_.turn;
  }
}

SisUnidata PeerSession::build(Instant now) {
  const bool is_urgent = urgent(now);
  Draft draft{.octets_max = is_urgent ? mtu_ : updu_octets(now)};
  if (!is_urgent) bulk_at_ = now;
  StreamsHeader header{.updu_id = updu_id_++,
                       .answer_wanted = !peer_epoch_ || discovery_due_,
                       .lost = lost_due_,
                       .from_epoch = own_epoch_,
                       .to_epoch = peer_epoch_.value_or(0)};
  std::optional<std::uint32_t> challenged;
  if (challenge_ready(now)) challenged = std::exchange(challenge_, std::nullopt);
  if (challenged) {
    header.to_epoch = *challenged;
    header.answer_wanted = header.lost = true;
    challenged_at_ = now;
    draft.parts.push_back(SentChallenge{*challenged});
  }
  encode(header, draft.octets);
  if (!challenged) {
    if (answer_due_) draft.parts.push_back(SentAnswer{});
    if (answer_due_) answered_at_ = now;
    if (discovery_due_) draft.parts.push_back(SentDiscovery{});
    answer_due_ = discovery_due_ = false;
    add_control(now, draft);
    lost_due_ = false;
    add_streams(now, draft, !is_urgent);
  }
  const SisRequestId id{++shared_.last_request};
  const auto turn = window_.turnaround();
  const Duration lifetime =
      turn ? std::clamp<Duration>(4 * *turn, kLifetimeMin, kLifetimeMax) : kLifetimeUnheard;
  const StreamsConfig& config = shared_.config;
  SisUnidata unidata{.id = id,
                     .priority = is_urgent ? config.interactive_priority : config.priority,
                     .destination = station_,
                     .destination_sap = config.sap,
                     .delivery = {.mode = sis::TransmissionMode::arq,
                                  .confirmation = sis::Confirmation::node,
                                  .as_they_arrive = true},
                     .time_to_live_s = whole_seconds(lifetime),
                     .updu = std::move(draft.octets)};
  window_.on_handed(now, id, unidata.updu.size(), unidata.priority);
  handed_[id] = {.at = now,
                 .session = session_,
                 .urgent = is_urgent,
                 .alone = bulk_with_node_ == 0,
                 .octets = unidata.updu.size(),
                 .parts = std::move(draft.parts)};
  count_handed(handed_[id], true);
  shared_.counters.add(StreamCounter::updus_sent);
  served_ = ++shared_.turn;
  return unidata;
}

void PeerSession::count_handed(const Handed& handed, bool more) {
  std::size_t& count = handed.urgent ? urgent_with_node_ : bulk_with_node_;
  const std::size_t by = handed.urgent ? 1 : handed.octets;
  count = more ? count + by : count - by;
}

// --- Outcomes ------------------------------------------------------------------------------------

void PeerSession::confirmed(Instant now, const Handed& handed, const Sent& part) {
  const auto with = [&](StreamName name, auto act) {
    const auto found = streams_.find(name);
    if (found != streams_.end()) act(found->second);
  };
  std::visit(Overloaded{[&](const SentOpen& open) {
                          with(open.stream, [](Stream& stream) {
                            if (stream.open == Stream::Open::with_node) {
                              stream.open = Stream::Open::confirmed;
                            }
                          });
                          if (!unanswered_since_) unanswered_since_ = now;
                        },
                        [&](const SentData& data) {
                          with(data.stream, [&](Stream& stream) {
                            stream.send.on_confirmed(now, data.offset, data.past);
                          });
                        },
                        [&](const SentAck& ack) {
                          with(ack.stream, [&](Stream& stream) {
                            stream.end_known = stream.end_known || ack.end;
                            remove_if_complete(ack.stream);
                          });
                        },
                        [&](const SentProbe& probe) {
                          with(probe.stream, [&](Stream& stream) { stream.probed_at = handed.at; });
                          if (!unanswered_since_) unanswered_since_ = now;
                        },
                        [&](const SentDiscovery&) {
                          if (questioned_) questioned_at_ = now;
                        },
                        [](const auto&) {}},
             part);
}

void PeerSession::failed(const Sent& part) {
  const auto with = [&](StreamName name, auto act) {
    const auto found = streams_.find(name);
    if (found != streams_.end()) act(found->second);
  };
  std::visit(Overloaded{[&](const SentOpen& open) {
                          with(open.stream, [](Stream& stream) {
                            if (stream.open == Stream::Open::with_node) {
                              stream.open = Stream::Open::queued;
                            }
                          });
                        },
                        [&](const SentData& data) {
                          with(data.stream, [&](Stream& stream) {
                            stream.send.on_failed(data.offset, data.past);
                          });
                        },
                        [&](const SentAck& ack) {
                          with(ack.stream, [&](Stream& stream) {
                            stream.want_ack(Instant::min());
                            stream.answer = stream.answer || ack.answer;
                          });
                        },
                        [&](const SentReset& reset) {
                          if (resets_.size() < kResetsMax) resets_[reset.stream] = reset.code;
                        },
                        [&](const SentProbe& probe) {
                          with(probe.stream, [](Stream& stream) { stream.probe_due = true; });
                        },
                        [&](const SentLost&) { lost_due_ = true; },
                        [&](const SentAnswer&) { answer_due_ = true; },
                        [&](const SentDiscovery&) {
                          discovered_at_.reset();
                          questioned_ = false;
                        },
                        [&](const SentChallenge& sent) { challenge_ = sent.epoch; }},
             part);
}

void PeerSession::on_confirmed(Instant now, SisRequestId id) {
  const auto found = handed_.find(id);
  if (found == handed_.end()) return;
  const Handed handed = std::move(found->second);
  handed_.erase(found);
  count_handed(handed, false);
  window_.on_confirmed(now, id);
  if (!peer_epoch_) {
    if (!asked_at_) {
      asked_at_ = now;
      asked_again_ = false;
    }
    silent_since_.reset();
  } else {
    heard(now);  // the node of the station answered
  }
  if (handed.session != session_) return;
  for (const Sent& part : handed.parts) confirmed(now, handed, part);
  const bool said = std::any_of(handed.parts.begin(), handed.parts.end(), [](const Sent& part) {
    return std::holds_alternative<SentData>(part);
  });
  if (!handed.urgent || !said) return;
  const Duration took = now - handed.at;
  if (took < small_took_) {
    small_took_ = took;
  } else if (handed.alone) {
    small_took_ += (took - small_took_) / kSmallTookMemory;
  }
  answer_until_ = now + small_took_;
}

void PeerSession::return_parts(SisRequestId id) {
  const auto found = handed_.find(id);
  const Handed handed = std::move(found->second);
  handed_.erase(found);
  count_handed(handed, false);
  window_.on_failed(id);
  if (handed.session != session_) return;
  for (const Sent& part : handed.parts) failed(part);
}

void PeerSession::on_rejected(Instant now, SisRequestId id, sis::RejectReason reason) {
  const auto found = handed_.find(id);
  if (found == handed_.end()) return;
  const Instant handed = found->second.at;
  return_parts(id);
  hold_until_ = now + kHold;
  const bool absent = reason == sis::RejectReason::destination_sap_not_bound;
  if (absent && !peer_epoch_) return set_incapable(now);
  if (reason == sis::RejectReason::ttl_expired && heard_at_ && *heard_at_ > handed) return;
  not_answered(now, handed);
}

void PeerSession::on_unresolved(Instant now, SisRequestId id) {
  if (!handed_.contains(id)) return;
  return_parts(id);
  hold_until_ = now + kHold;  // a node that refuses at once is not asked again at once
}

/// Call when the node is lost. The U_PDUs that were with the node are sent again. The peer is told
/// that U_PDUs to us may be lost, because the node may not have delivered them.
void PeerSession::on_node_lost() {
  while (!handed_.empty()) return_parts(handed_.begin()->first);
  window_.on_lost();
  questioned_at_.reset();
  questioned_ = false;
  if (peer_epoch_ || !streams_.empty()) lost_due_ = true;
}

// Counts the station as silent. A refusal soon after the station was heard has no effect, because
// it comes from a fade.
void PeerSession::not_answered(Instant now, Instant handed) {
  const StreamsConfig& config = shared_.config;
  if (heard_at_ && (now - *heard_at_ < config.retry_min || *heard_at_ > handed)) return;
  if (!silent_since_) {
    silent_since_ = now;
    emit(StreamEvent::Kind::peer_silent);
  }
  probe_at_ = now + std::clamp(now - *silent_since_, config.retry_min, config.retry_max);
}

void PeerSession::set_incapable(Instant now) {
  incapable_since_ = now;
  asked_at_.reset();
  forget_question();
  emit(StreamEvent::Kind::peer_incapable);
  end_session(ResetCode::unsupported);
  peer_epoch_.reset();
  proven_ = false;
  own_epoch_ = shared_.new_epoch();
}

/// Asks a known peer that does not answer, because its node may go on confirming without it. A peer
/// that does not answer the question either counts as a station without streams.
void PeerSession::question(Instant now, Duration wait) {
  if (silent_since_) {  // in a fade; the session asks again after it
    questioned_at_.reset();
    questioned_ = false;
  } else if (questioned_at_) {
    if (now - *questioned_at_ >= wait) set_incapable(now);
  } else if (unanswered_since_ && now - *unanswered_since_ >= wait / 2 &&
             !std::exchange(questioned_, true)) {
    discovery_due_ = true;
  }
}

// --- Time ----------------------------------------------------------------------------------------

void PeerSession::on_deadline(Instant now) {
  const StreamsConfig& config = shared_.config;
  const Duration turn = window_.turnaround().value_or(Duration::zero());
  const Duration wait = config.capability_wait + 4 * turn;
  if (asked_at_ && now - *asked_at_ >= wait) set_incapable(now);
  if (asked_at_ && now - *asked_at_ >= wait / 2 && !std::exchange(asked_again_, true)) {
    discovery_due_ = true;
  }
  if (peer_epoch_) question(now, wait);
  if (silent_since_ && now - *silent_since_ >= config.give_up_after) {
    emit(StreamEvent::Kind::peer_given_up);
    end_session(ResetCode::peer_silent);
    own_epoch_ = shared_.new_epoch();
    next_number_ = 1;
    peer_epoch_.reset();
    proven_ = false;
    silent_since_.reset();
    heard_at_.reset();
    forget_question();
  }
  std::vector<std::pair<StreamName, ResetCode>> over;
  for (auto& [name, stream] : streams_) {
    if (now - stream.active_at >= (stream.opened ? config.idle_max : config.unopened_max)) {
      over.emplace_back(name, ResetCode::idle);
      continue;
    }
    if (stream.may_probe() && now >= probe_due_at(stream)) stream.probe_due = true;
    tell_writable(stream);
  }
  for (const auto& [name, code] : over) fail_here(name, code);
}

// An acknowledgement, a limit or a reset may be lost with the node of either end. Only a PROBE then
// shows the loss.
Instant PeerSession::probe_due_at(const Stream& stream) const {
  const StreamsConfig& config = shared_.config;
  const auto oldest = stream.send.oldest_confirmed();
  const bool stuck = stream.send.blocked() || stream.wants_room;
  Duration patience = oldest ? config.probe_after : config.idle_probe_after;
  if (stuck) patience = oldest ? config.blocked_probe_after : config.probe_after;
  const Instant since = oldest.value_or(stream.active_at);
  const Instant last = std::max(since, stream.probed_at.value_or(Instant::min()));
  return last + patience + 4 * window_.turnaround().value_or(Duration::zero());
}

std::optional<Instant> PeerSession::next_deadline(Instant now) const {
  std::optional<Instant> next;
  const auto at = [&](Instant when) {
    if (when > now && (!next || when < *next)) next = when;
  };
  // A time that has passed unnoticed, because the turnaround became shorter, is due at once.
  const auto soon = [&](Instant when) { at(std::max(when, now + kOverdue)); };
  const StreamsConfig& config = shared_.config;
  const Duration turn = window_.turnaround().value_or(Duration::zero());
  if (asked_at_) {
    if (!asked_again_) soon(*asked_at_ + (config.capability_wait + 4 * turn) / 2);
    soon(*asked_at_ + config.capability_wait + 4 * turn);
  }
  if (!peer_epoch_ || silent_since_) {
    // The session asks no question now.
  } else if (questioned_at_) {
    soon(*questioned_at_ + config.capability_wait + 4 * turn);
  } else if (unanswered_since_ && !questioned_) {
    soon(*unanswered_since_ + (config.capability_wait + 4 * turn) / 2);
  }
  if (silent_since_) {
    at(*silent_since_ + config.give_up_after);
    at(probe_at_);
  }
  at(hold_until_);
  at(received_at_ + config.answer_pieces);
  at(answer_until_);
  at(bulk_at_ + config.conversation_wait_max);
  if (answer_due_ && answered_at_) at(*answered_at_ + config.challenge_interval);
  if (challenge_ && challenged_at_) at(*challenged_at_ + config.challenge_interval);
  for (const auto& [name, stream] : streams_) {
    at(stream.active_at + (stream.opened ? config.idle_max : config.unopened_max));
    if (stream.ack_at) at(*stream.ack_at);
    if (stream.waiting_since) at(*stream.waiting_since + config.coalesce);
    if (stream.may_probe() && !stream.probe_due) soon(probe_due_at(stream));
  }
  return next;
}

}  // namespace s5066::streams
