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

/// bad_field if the ending of the name stands for no format that we write: .wav, .flac, .au,
/// .aiff, .aif, .w64 and .raw (bare samples, s16le) do. A name without an ending means WAV, and "-"
/// bare samples on standard output.
Result<void> check_sound_file_name(const std::string& path);

/// Mono, 16 bits, written in portions; the name says the format.
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

/// How a sound file is read.
struct SoundFileChoice {
  std::optional<unsigned> rate;  // believed instead of the header, which may lie
  unsigned channel = 1;          // the first is 1
};

/// A sound file read in portions, one channel of it. "-" is standard input, which may be a pipe.
class WavReader {
 public:
  static Result<WavReader> open(const std::string& path, const SoundFileChoice& choice = {});
  /// Bare samples.
  static Result<WavReader> open_raw(const std::string& path, const RawFormat& format,
                                    unsigned channel = 1);

  unsigned rate() const;
  /// True if the header had no number of samples, as a recorder leaves it that was killed; they are
  /// read all the same.
  bool unfinished() const;
  /// Returns a channel with sound if the one that is read has had none so far.
  std::optional<unsigned> channel_with_sound() const;
  /// Fewer than asked for at the end of the file, then none.
  Result<std::size_t> read(std::span<float> out);

 private:
  struct State;
  explicit WavReader(std::shared_ptr<State> state) : state_(std::move(state)) {}
  static Result<WavReader> open(std::shared_ptr<State> state, const SoundFileChoice& choice);
  std::shared_ptr<State> state_;
};

}  // namespace s5066::modem
