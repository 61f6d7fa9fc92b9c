// SPDX-License-Identifier: Apache-2.0
#include "modem/tools/samples.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "modem/tools/options.h"
#include "modem/waveforms/burst_events.h"

namespace s5066::modem::tools {
namespace {

constexpr std::size_t kPortion = 4096;
/// A file of floating point may hold any value; the filters behind it tolerate samples up to this.
constexpr float kSampleMax = 1000;

namespace po = boost::program_options;

std::string known_encodings() {
  std::string text;
  for (const std::string_view name : raw_encodings()) text += " " + std::string(name);
  return text;
}

}  // namespace

void describe(SourceOptions& o, po::options_description& description) {
  description.add_options()  //
      ("raw", po::value(&o.raw),
       ("the file has bare samples of this encoding:" + known_encodings()).c_str())  //
      ("rate", po::value(&o.rate)->default_value(0),
       "samples per second of a raw file, or of a file with a wrong header")  //
      ("channels", po::value(&o.channels)->default_value(1),
       "number of channels of a raw file")  //
      ("take-channel", po::value(&o.channel)->default_value(1),
       "number of the channel that is read, from 1");
}

Result<void> check(const SourceOptions& o) {
  if (o.rate != 0 || !o.raw.empty()) {
    if (auto good = check_within("--rate", o.rate, kFileRateMin, kFileRateMax); !good) return good;
  }
  if (auto good = check_within("--channels", o.channels, 1, 64); !good) return good;
  const unsigned channels_max = o.raw.empty() ? 64 : o.channels;
  if (auto good = check_within("--take-channel", o.channel, 1, channels_max); !good) return good;
  if (o.raw.empty()) return {};
  const auto known = raw_encodings();
  if (std::find(known.begin(), known.end(), o.raw) != known.end()) return {};
  return Error{ErrorCode::bad_field, "--raw must be one of" + known_encodings()};
}

Result<SampleSource> SampleSource::open(const SourceOptions& o) {
  const auto stated = o.rate == 0 ? std::nullopt : std::optional(o.rate);
  auto reader =
      o.raw.empty()
          ? WavReader::open(o.path, {.rate = stated, .channel = o.channel})
          : WavReader::open_raw(o.path, {.encoding = o.raw, .rate = o.rate, .channels = o.channels},
                                o.channel);
  if (!reader) return reader.error();
  const unsigned rate = reader->rate();
  return SampleSource(std::move(*reader), rate);
}

SampleSource::SampleSource(WavReader reader, unsigned rate)
    : reader_(std::move(reader)), rate_(rate) {
  if (rate == kSampleRate) return;
  resampler_.emplace(dsp::Resampler::Config{.rate_in = rate, .rate_out = kSampleRate});
}

Result<std::span<const float>> SampleSource::read() {
  for (;;) {
    portion_.resize(kPortion);
    const auto count = reader_.read(portion_);
    if (!count) return count.error();
    portion_.resize(*count);
    meter_.process(portion_);
    for (float& sample : portion_) {
      sample = std::isfinite(sample) ? std::clamp(sample, -kSampleMax, kSampleMax) : 0.0F;
    }
    if (!resampler_) return std::span<const float>(portion_);
    if (*count == 0) {
      if (std::exchange(drained_, true)) return std::span<const float>();
      portion_.assign(resampler_->zeros_to_drain(), 0.0F);
    }
    resampled_.clear();
    resampler_->process(portion_, resampled_);
    if (!resampled_.empty()) return std::span<const float>(resampled_);
  }
}

SampleSink::SampleSink(WavWriter writer, unsigned rate) : writer_(std::move(writer)) {
  if (rate == kSampleRate) return;
  resampler_.emplace(dsp::Resampler::Config{.rate_in = kSampleRate, .rate_out = rate});
}

Result<void> SampleSink::write(std::span<const float> samples) {
  if (!resampler_) return write_converted(samples);
  resampled_.clear();
  resampler_->process(samples, resampled_);
  return write_converted(resampled_);
}

Result<void> SampleSink::write_converted(std::span<const float> samples) {
  clipped_ += static_cast<std::uint64_t>(std::count_if(
      samples.begin(), samples.end(), [](float sample) { return std::abs(sample) > 1; }));
  return writer_.write(samples);
}

Result<void> SampleSink::close() {
  if (resampler_) {
    if (auto written = write(std::vector<float>(resampler_->zeros_to_drain())); !written) {
      return written;
    }
  }
  return writer_.close();
}

}  // namespace s5066::modem::tools
