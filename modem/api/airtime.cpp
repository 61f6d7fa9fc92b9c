#include "modem/api/airtime.h"

#include "s5066d/base/assert.h"

namespace s5066::modem {
namespace {
constexpr std::size_t kEomBits = 32;
constexpr std::size_t kFlushBits = 144;
}  // namespace

Duration block_duration(const Mode& mode) {
  return std::chrono::milliseconds(mode.interleaver == Interleaver::short_ ? 600 : 4800);
}

// The preamble lasts as long as loading one block takes, at every rate.
Duration preamble_duration(const Mode& mode) {
  return block_duration(mode);
}

std::size_t block_bits(const Mode& mode) {
  S5066_ASSERT(is_supported(mode));
  return mode.rate_bps *
         static_cast<std::size_t>(block_duration(mode) / std::chrono::milliseconds(1)) / 1000;
}

std::size_t trailer_bits(const Mode&) {
  return kEomBits + kFlushBits;
}

std::size_t block_count(const Mode& mode, std::size_t octets) {
  const std::size_t per_block = block_bits(mode);
  return (8 * octets + trailer_bits(mode) + per_block - 1) / per_block;
}

Duration data_duration(const Mode& mode, std::size_t octets) {
  return static_cast<Duration::rep>(block_count(mode, octets)) * block_duration(mode);
}

Duration airtime(const Mode& mode, std::size_t octets) {
  return preamble_duration(mode) + data_duration(mode, octets);
}

std::size_t capacity(const Mode& mode, Duration data_time_max) {
  const auto blocks = data_time_max / block_duration(mode);
  if (blocks <= 0) return 0;
  const std::size_t bits = static_cast<std::size_t>(blocks) * block_bits(mode);
  return bits <= trailer_bits(mode) ? 0 : (bits - trailer_bits(mode)) / 8;
}

}  // namespace s5066::modem
