// SPDX-License-Identifier: Apache-2.0
// Decides whether a mark ends the transmission. The bits behind it decide when there are enough of
// them in its last block. Otherwise the decision is whether the signal goes on at the place of the
// next block.
//
// A transmitter may go on behind the end of its message with zeros in further blocks and an
// unfinished last one. So a signal that goes on is received until a block has been decoded: zeros
// confirm the end, and other bits cancel it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "modem/api/modes.h"
#include "modem/waveforms/message/message_bits.h"

namespace s5066::modem {

/// The end of a transmission, if it is one.
struct Ending {
  std::uint64_t symbols = 0;  // length of the whole data part, from the first received block on
  bool certain = false;       // the end is as certain as can be known by then
  bool over = false;          // nothing more of this signal is expected
  bool followed = false;      // the signal went on behind the end
};

class EndWatch {
 public:
  struct Config {
    std::uint64_t frames_per_block = 1;
    std::uint64_t frames_at_once = 1;  // number of frames that are decoded together
    unsigned frames_ahead = 0;         // a frame is detected by this many later ones
    unsigned frames_before = 0;        // number of frames before the first block
    /// Blocks of the cycle before the first one received, after an entry in the middle.
    std::uint64_t blocks_before = 0;
  };

  EndWatch(const Mode& mode, const Config& config) : mode_(mode), config_(config) {}

  /// `evidence` is the logarithm, in nats, of how much likelier the next frame is with the signal
  /// than with noise alone.
  void note_frame(float evidence);
  /// Decides again, after each frame and when a block has been judged.
  void look(MessageBits& message);

  const std::optional<Ending>& ending() const { return ending_; }
  bool over() const { return ending_ && ending_->over; }

 private:
  /// The evidence of kFrames frames is kept. A reported end must be decided within kFramesWaited
  /// frames, if not before the next bits are decoded.
  static constexpr std::size_t kFrames = 32;
  static constexpr std::uint64_t kFramesWaited = 30;

  enum class Verdict : std::uint8_t { open, over, goes_on };
  Verdict by_frames(const MessageBits::Mark& mark, std::uint64_t frames) const;
  Verdict by_blocks(const MessageBits::Mark& mark);
  std::uint64_t frames_in(std::uint64_t bits) const;
  float heard_since(std::uint64_t frame) const;
  float heard_least_lately() const;

  Mode mode_;
  Config config_;
  std::uint64_t frames_ = 0;
  std::array<float, kFrames> evidence_{};  // evidence of the last frames
  std::uint64_t followed_ = 0;             // end of the mark behind which the signal goes on
  std::optional<Ending> ending_;
};

}  // namespace s5066::modem
