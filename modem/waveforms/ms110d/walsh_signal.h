// SPDX-License-Identifier: Apache-2.0
// The sets of 110D waveform number 0.
#pragma once

#include "modem/waveforms/burst_memory.h"
#include "modem/waveforms/framed/tail_biting_code.h"
#include "modem/waveforms/message/message_bits.h"
#include "modem/waveforms/ms110d/parameters.h"
#include "modem/waveforms/walsh/signal.h"

namespace s5066::modem::ms110d {

class WalshSignal final : public walsh::Signal {
 public:
  /// At least `super_frames` of the preamble are known to have been sent.
  WalshSignal(const Mode& mode, unsigned constraint, unsigned super_frames, BurstMemory& memory);

  unsigned preamble_sets() const override;
  walsh::Set preamble_set(unsigned index, bool other) const override;
  bool short_preamble() const override { return true; }
  unsigned block_sets() const override { return p_.frames_per_block; }
  bool interleaved() const override { return true; }
  walsh::Set set(std::uint64_t index, unsigned bits) const override;
  bool feed_back(std::span<const float> llr, std::span<float> extrinsic) override;
  Taken take(std::span<const float> llr) override;
  MessageBits& message() override { return message_; }

 private:
  Parameters p_;
  unsigned super_frames_;
  framed::TailBitingCode code_;
  std::pmr::vector<float> extrinsic_;
  MessageBits message_;
};

}  // namespace s5066::modem::ms110d
