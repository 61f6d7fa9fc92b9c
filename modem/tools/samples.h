// Sound files at any rate, as the modem sees them: samples at kSampleRate.
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

/// What a command line says about a file of samples.
struct SourceOptions {
  std::string path;
  std::string raw;        // empty: the file says by itself what it holds
  unsigned rate = 0;      // 0: as the file says
  unsigned channels = 1;  // of a raw file
  unsigned channel = 1;   // that is read; the first is 1
};
void describe(SourceOptions& options, boost::program_options::options_description& description);
/// What makes no sense, whatever the file holds.
Result<void> check(const SourceOptions& options);

/// Reads a file in portions.
class SampleSource {
 public:
  static Result<SampleSource> open(const SourceOptions& options);

  /// Of the file.
  unsigned rate() const { return rate_; }
  /// The next samples, valid until the next call; none at the end. What is no number is silence.
  Result<std::span<const float>> read();
  /// Of everything read so far, in the file's own samples.
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

/// Writes a file at another rate.
class SampleSink {
 public:
  SampleSink(WavWriter writer, unsigned rate);

  Result<void> write(std::span<const float> samples);
  Result<void> close();
  /// Samples of the file that were too loud for it.
  std::uint64_t clipped() const { return clipped_; }

 private:
  Result<void> write_converted(std::span<const float> samples);

  WavWriter writer_;
  std::optional<dsp::Resampler> resampler_;
  std::vector<float> resampled_;
  std::uint64_t clipped_ = 0;
};

}  // namespace s5066::modem::tools
