// Sound files through libsndfile. Every failure is a Result that names the file and the reason; a
// rate that files cannot have (file_rate.h) is one.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "s5066d/base/result.h"

namespace s5066::modem {

/// Mono, 16 bits, written in portions.
class WavWriter {
 public:
  static Result<WavWriter> open(const std::string& path, unsigned rate);

  Result<void> write(std::span<const float> samples);
  /// Completes the file; nothing is written after it. Without it the header may be wrong.
  Result<void> close();

 private:
  struct State;
  explicit WavWriter(std::shared_ptr<State> state) : state_(std::move(state)) {}
  std::shared_ptr<State> state_;
};

/// The same at once.
Result<void> write_wav(const std::string& path, unsigned rate, std::span<const float> samples);

/// What a file of bare samples does not say by itself.
struct RawFormat {
  std::string encoding;  // one of raw_encodings()
  unsigned rate = 0;
  unsigned channels = 1;
};
/// "s16le": signed, 16 bits, least significant octet first; f is for floating point.
std::vector<std::string_view> raw_encodings();

/// A sound file read in portions; of several channels the first is taken.
class WavReader {
 public:
  /// `rate` is believed instead of the header, which may lie.
  static Result<WavReader> open(const std::string& path, std::optional<unsigned> rate = {});
  /// Bare samples. "-" is standard input, which may be a pipe.
  static Result<WavReader> open_raw(const std::string& path, const RawFormat& format);

  unsigned rate() const;
  /// Fewer than asked for at the end of the file, then none.
  Result<std::size_t> read(std::span<float> out);

 private:
  struct State;
  explicit WavReader(std::shared_ptr<State> state) : state_(std::move(state)) {}
  static Result<WavReader> open(std::shared_ptr<State> state, std::optional<unsigned> rate);
  std::shared_ptr<State> state_;
};

}  // namespace s5066::modem
