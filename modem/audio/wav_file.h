// SPDX-License-Identifier: Apache-2.0
// Sound files through libsndfile. Every failure is a Result that names the file and the reason. A
// rate that files cannot have (file_rate.h) is such a failure.
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

/// Returns bad_field if the suffix of the name is no format that can be written. The suffixes .wav,
/// .flac, .au, .aiff, .aif, .w64 and .raw (bare samples, s16le) can. A name without a suffix means
/// WAV, and "-" means bare samples on standard output.
Result<void> check_sound_file_name(const std::string& path);

/// This class writes a mono file of 16 bits in portions; the suffix of the name selects the format.
class WavWriter {
 public:
  static Result<WavWriter> open(const std::string& path, unsigned rate);

  Result<void> write(std::span<const float> samples);
  /// Completes the file; nothing may be written after it. Without this call the header may be
  /// wrong.
  Result<void> close();

 private:
  struct State;
  explicit WavWriter(std::shared_ptr<State> state) : state_(std::move(state)) {}
  std::shared_ptr<State> state_;
};

/// Writes a whole file at once.
Result<void> write_wav(const std::string& path, unsigned rate, std::span<const float> samples);

/// A file of bare samples does not state these properties itself.
struct RawFormat {
  std::string encoding;  // one of raw_encodings()
  unsigned rate = 0;
  unsigned channels = 1;
};
/// An example is "s16le": signed, 16 bits, least significant octet first; f is floating point.
std::vector<std::string_view> raw_encodings();

/// This choice sets how a sound file is read.
struct SoundFileChoice {
  std::optional<unsigned> rate;  // replaces the rate in the header, which may be wrong
  unsigned channel = 1;          // the first is 1
};

/// This class reads one channel of a sound file in portions. "-" is standard input, which may be a
/// pipe.
class WavReader {
 public:
  static Result<WavReader> open(const std::string& path, const SoundFileChoice& choice = {});
  /// Opens a file of bare samples.
  static Result<WavReader> open_raw(const std::string& path, const RawFormat& format,
                                    unsigned channel = 1);

  unsigned rate() const;
  /// Returns true if the header has no number of samples, as a killed recorder leaves it. The
  /// samples are read anyway.
  bool unfinished() const;
  /// Returns another channel that has sound if the channel in use has had none so far.
  std::optional<unsigned> channel_with_sound() const;
  /// Returns fewer samples than requested at the end of the file, and then none.
  Result<std::size_t> read(std::span<float> out);

 private:
  struct State;
  explicit WavReader(std::shared_ptr<State> state) : state_(std::move(state)) {}
  static Result<WavReader> open(std::shared_ptr<State> state, const SoundFileChoice& choice);
  std::shared_ptr<State> state_;
};

}  // namespace s5066::modem
