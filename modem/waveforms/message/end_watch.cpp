#include "modem/waveforms/message/end_watch.h"

#include <algorithm>

#include "modem/api/airtime.h"

namespace s5066::modem {
namespace {

/// It takes more to believe that a transmission goes on: a burst that has ended would be held for
/// one that never will.
constexpr float kHeard = 12;
constexpr float kGone = -5;
/// One frame may lie in a fade, and where bits speak against the mark that is likelier.
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
  const std::uint64_t frames = blocks * config_.frames_per_block;
  const float heard = heard_since(frames - config_.frames_ahead);
  // Before more is decoded it must be decided, or soon after: what is decoded waits meanwhile.
  const std::uint64_t waited = std::max(mark->filled ? kFramesWaited : 0, config_.frames_at_once);
  const bool last_look = frames_ >= frames + waited;
  const float gone_below = mark->doubted || mark->filled ? kGoneThoughDoubted : kGone;
  const float heard_least = mark->doubted ? gone_below : 0;
  if (heard >= kHeard || (last_look && !mark->filled && heard > heard_least)) {
    message.go_on();
    return;
  }
  const bool gone = heard <= gone_below || last_look;
  const std::uint64_t before = config_.blocks_before;
  ending_ = Ending{.symbols = data_symbols(mode_, before + blocks) - data_symbols(mode_, before),
                   .certain = mark->filled || gone,
                   .over = gone};
}

float EndWatch::heard_since(std::uint64_t frame) const {
  const std::uint64_t remembered = frames_ - std::min<std::uint64_t>(frames_, kFrames);
  float sum = 0;
  for (std::uint64_t f = std::max(frame, remembered); f < frames_; ++f) {
    sum += evidence_[f % kFrames];
  }
  return sum;
}

}  // namespace s5066::modem
