// SPDX-License-Identifier: Apache-2.0
// Shift-register scramblers. One value of three bits per symbol is added, modulo 8, to the tribit.
#pragma once

#include <cstdint>

namespace s5066::modem::dsp {

/// A left-shifting Galois register: when the bit that leaves was 1, the taps are added.
class GaloisRegister {
 public:
  struct Config {
    unsigned bits = 12;
    std::uint32_t taps = 0x053;  // x^12 + x^6 + x^4 + x + 1
    std::uint32_t seed = 0xBAD;
  };

  explicit GaloisRegister(const Config& config) : config_(config), state_(config.seed) {}

  void reset() { state_ = config_.seed; }
  void shift() {
    const std::uint32_t top = std::uint32_t{1} << (config_.bits - 1);
    const bool leaves = (state_ & top) != 0;
    state_ = (state_ << 1) & ((top << 1) - 1);
    if (leaves) state_ ^= config_.taps;
  }
  std::uint32_t state() const { return state_; }

 private:
  Config config_;
  std::uint32_t state_;
};

}  // namespace s5066::modem::dsp
