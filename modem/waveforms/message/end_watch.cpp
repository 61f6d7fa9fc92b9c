// SPDX-License-Identifier: Apache-2.0
#include "modem/waveforms/message/end_watch.h"

#include <algorithm>

#include "modem/api/airtime.h"

namespace s5066::modem {
namespace {

/// More evidence is needed to believe that a transmission goes on, because otherwise a burst that
/// has ended would never end.
constexpr float kHeard = 12;
constexpr float kGone = -5;
/// One frame may lie in a fade, which is more likely when bits speak against the mark.
constexpr float kGoneThoughDoubted = -25;

}  // namespace

void EndWatch::note_frame(float evidence) {
  if (config_.frames_before > 0) {
    --config_.frames_before;
    return;
  }
  evidence_[frames_ % kFrames] = evidence;
  ++frames_;
}

void EndWatch::look(MessageBits& message) {
  ending_.reset();
  const auto& mark = message.mark();
  if (!mark) return;
  const std::uint64_t blocks = mark->transmission / block_bits(mode_);
  const Verdict verdict =
      mark->bare ? by_blocks(*mark) : by_frames(*mark, frames_in(mark->transmission));
  if (verdict == Verdict::goes_on) {
    message.go_on();
    return;
  }
  const bool over = verdict == Verdict::over;
  const std::uint64_t before = config_.blocks_before;
  ending_ = Ending{.symbols = data_symbols(mode_, before + blocks) - data_symbols(mode_, before),
                   .certain = mark->filled || over,
                   .over = over,
                   .followed = followed_ == mark->end};
}

// Some ones are behind the mark in its own block. A transmitter that goes on does not send those,
// so the mark is the user's if a signal is received behind that block. The decision must come
// before more bits are decoded.
EndWatch::Verdict EndWatch::by_frames(const MessageBits::Mark& mark, std::uint64_t frames) const {
  const float heard = heard_since(frames - config_.frames_ahead);
  const bool last_look = frames_ >= frames + config_.frames_at_once;
  const float gone_below = mark.doubted ? kGoneThoughDoubted : kGone;
  const float heard_least = mark.doubted ? gone_below : 0;
  if (heard >= kHeard || (last_look && heard > heard_least)) return Verdict::goes_on;
  return heard <= gone_below || last_look ? Verdict::over : Verdict::open;
}

EndWatch::Verdict EndWatch::by_blocks(const MessageBits::Mark& mark) {
  const std::uint64_t frames = frames_in(mark.idle_until);
  const float heard = heard_since(frames - config_.frames_ahead);
  if (heard >= kHeard) followed_ = mark.end;
  const bool followed = followed_ == mark.end;
  const std::uint64_t waited = std::max(mark.filled ? kFramesWaited : 0, config_.frames_at_once);
  const bool last_look = frames_ >= frames + waited;
  if (mark.denied) {
    // An unfinished block is noise from the end of the signal on.
    if (heard_least_lately() <= kGoneThoughDoubted) return Verdict::over;
    const bool heard_enough = mark.filled ? heard >= kHeard : heard > 0;
    if (heard_enough && heard_least_lately() > kGone) return Verdict::goes_on;
    return last_look && !followed ? Verdict::over : Verdict::open;
  }
  if (followed) return Verdict::open;
  if (heard <= (mark.filled ? kGoneThoughDoubted : kGone)) return Verdict::over;
  // A reported end must be decided soon. Bits behind an end that was not reported are decoded if a
  // signal is received.
  return last_look && (mark.filled || heard <= 0) ? Verdict::over : Verdict::open;
}

std::uint64_t EndWatch::frames_in(std::uint64_t bits) const {
  return bits / block_bits(mode_) * config_.frames_per_block;
}

float EndWatch::heard_since(std::uint64_t frame) const {
  const std::uint64_t remembered = frames_ - std::min<std::uint64_t>(frames_, kFrames);
  float sum = 0;
  for (std::uint64_t f = std::max(frame, remembered); f < frames_; ++f) {
    sum += evidence_[f % kFrames];
  }
  return sum;
}

// Returns the lowest sum of evidence over any number of the last frames.
float EndWatch::heard_least_lately() const {
  const std::uint64_t remembered = frames_ - std::min<std::uint64_t>(frames_, kFrames);
  float sum = 0;
  float least = 0;
  for (std::uint64_t f = frames_; f > remembered; --f) {
    sum += evidence_[(f - 1) % kFrames];
    least = std::min(least, sum);
  }
  return least;
}

}  // namespace s5066::modem
