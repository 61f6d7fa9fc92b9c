// Tells whether a mark ends the transmission: by the bits behind it, where there are enough of them
// in its last block, and else by whether the signal goes on where the next block belongs.
//
// A transmitter may go on behind the end of its message, with zeros in further blocks and a last
// one that it does not finish. So a signal that goes on is listened to until a block has been
// decoded: zeros leave the end where it is, and anything else takes it back.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "modem/api/modes.h"
#include "modem/waveforms/message/message_bits.h"

namespace s5066::modem {

/// The end of a transmission, if it is one.
struct Ending {
  std::uint64_t symbols = 0;  // of the whole data part, from the first block received on
  bool certain = false;       // as far as can be told by then
  bool over = false;          // and nothing more of this signal is waited for
  bool followed = false;      // the signal went on behind it, or does
};

class EndWatch {
 public:
  struct Config {
    std::uint64_t frames_per_block = 1;
    std::uint64_t frames_at_once = 1;  // that are decoded together
    unsigned frames_ahead = 0;         // a frame is heard by what is sent of so many behind it
    unsigned frames_before = 0;        // come before the first block
    std::uint64_t blocks_before = 0;   // it, of a cycle that was entered in the middle
  };

  EndWatch(const Mode& mode, const Config& config) : mode_(mode), config_(config) {}

  /// How much in the next frame speaks for the signal and against noise alone, in nats.
  void note_frame(float evidence);
  /// Looks again, after each frame, and when a block has been judged.
  void look(MessageBits& message);

  const std::optional<Ending>& ending() const { return ending_; }
  bool over() const { return ending_ && ending_->over; }

 private:
  /// Frames whose evidence is remembered, and those behind an end that was told within which it
  /// must be decided, if not before what comes next is decoded.
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
  std::array<float, kFrames> evidence_{};  // of the last ones
  std::uint64_t followed_ = 0;             // the mark behind which the signal goes on, by its end
  std::optional<Ending> ending_;
};

}  // namespace s5066::modem
