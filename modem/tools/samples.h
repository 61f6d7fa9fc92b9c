// SPDX-License-Identifier: Apache-2.0
// Sound files at any rate, converted to the modem's samples at kSampleRate.
#pragma once

#include <boost/program_options.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "modem/audio/file_rate.h"
#include "modem/audio/level_meter.h"
#include "modem/audio/wav_file.h"
#include "modem/dsp/resampler.h"
#include "s5066d/base/result.h"

namespace s5066::modem::tools {

/// These are the options of a command line about a file of samples.
struct SourceOptions {
  std::string path;
  std::string raw;        // empty when the file itself states its content
  unsigned rate = 0;      // 0 takes the rate of the file
  unsigned channels = 1;  // channels of a raw file
  unsigned channel = 1;   // the channel that is read; the first is 1
};
void describe(SourceOptions& options, boost::program_options::options_description& description);
/// Returns an error for options that are wrong for every file.
Result<void> check(const SourceOptions& options);

/// This class reads a file in portions.
class SampleSource {
 public:
  static Result<SampleSource> open(const SourceOptions& options);

  /// Returns the rate of the file.
  unsigned rate() const { return rate_; }
  /// Returns the next samples, valid until the next call; none at the end. NaN and infinity become
  /// silence.
  Result<std::span<const float>> read();
  /// Returns the level of all samples read so far, at the file's own rate.
  LevelMeter::Reading take_level() { return meter_.take(); }
  const WavReader& file() const { return reader_; }

 private:
  SampleSource(WavReader reader, unsigned rate);

  WavReader reader_;
  unsigned rate_;
  std::optional<dsp::Resampler> resampler_;
  std::vector<float> portion_;
  std::vector<float> resampled_;
  LevelMeter meter_;
  bool drained_ = false;
};

/// This class writes a file at another rate.
class SampleSink {
 public:
  SampleSink(WavWriter writer, unsigned rate);

  Result<void> write(std::span<const float> samples);
  Result<void> close();
  /// Returns the number of samples of the file that were beyond full scale.
  std::uint64_t clipped() const { return clipped_; }

 private:
  Result<void> write_converted(std::span<const float> samples);

  WavWriter writer_;
  std::optional<dsp::Resampler> resampler_;
  std::vector<float> resampled_;
  std::uint64_t clipped_ = 0;
};

}  // namespace s5066::modem::tools
