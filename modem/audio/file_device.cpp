// SPDX-License-Identifier: Apache-2.0
#include "modem/audio/file_device.h"

#include <sndfile.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "modem/audio/file_rate.h"
#include "s5066d/base/assert.h"

namespace s5066::modem {
namespace {

constexpr unsigned kBlocksPerSecond = 50;
constexpr int kChannelsMax = 16;

struct Closer {
  void operator()(SNDFILE* file) const { sf_close(file); }
};
using File = std::unique_ptr<SNDFILE, Closer>;

}  // namespace

struct FileDevice::Files {
  File input;
  File output;
  int channels = 1;
  std::vector<float> frames;
};

FileDevice::FileDevice(Config config) : config_(std::move(config)) {}
FileDevice::~FileDevice() = default;

Result<void> FileDevice::open() {
  if (std::exchange(used_, true)) {
    return Error{ErrorCode::refused, "the recording was played to its end"};
  }
  auto files = std::make_unique<Files>();
  SF_INFO format{};
  files->input.reset(sf_open(config_.input_path.c_str(), SFM_READ, &format));
  if (!files->input) {
    return Error{ErrorCode::refused, config_.input_path + ": " + sf_strerror(nullptr)};
  }
  if (auto good = check_file_rate(format.samplerate); !good) {
    return Error{ErrorCode::refused, config_.input_path + ": " + good.error().detail};
  }
  const bool usable = format.channels >= 1 && format.channels <= kChannelsMax &&
                      format.samplerate % static_cast<int>(kBlocksPerSecond) == 0;
  if (!usable) {
    return Error{ErrorCode::refused, config_.input_path + ": rate or number of channels"};
  }
  const auto rate = static_cast<unsigned>(format.samplerate);
  if (!config_.output_path.empty()) {
    SF_INFO recorded{};
    recorded.samplerate = format.samplerate;
    recorded.channels = 1;
    recorded.format = SF_FORMAT_WAV | SF_FORMAT_FLOAT;
    files->output.reset(sf_open(config_.output_path.c_str(), SFM_WRITE, &recorded));
    if (!files->output) {
      return Error{ErrorCode::refused, config_.output_path + ": " + sf_strerror(nullptr)};
    }
  }
  files->channels = format.channels;
  info_ = {.name = config_.input_path,
           .rate_hz = rate,
           .block_samples = rate / kBlocksPerSecond,
           .lockstep = true,
           .transmit_delay = 0};
  files->frames.resize(info_.block_samples * static_cast<std::size_t>(format.channels));
  silence_left_ = static_cast<std::uint64_t>(to_seconds(config_.silence_after) * rate);
  files_ = std::move(files);
  return {};
}

void FileDevice::close() {
  files_.reset();
}

Result<Device::Received> FileDevice::receive(std::span<float> samples) {
  S5066_ASSERT(samples.size() == info_.block_samples);
  if (!files_) return Error{ErrorCode::link_down, "recording is not open"};
  const auto wanted = static_cast<sf_count_t>(samples.size());
  const sf_count_t got = sf_readf_float(files_->input.get(), files_->frames.data(), wanted);
  if (got < 0 || sf_error(files_->input.get()) != SF_ERR_NO_ERROR) {
    return Error{ErrorCode::io, config_.input_path + ": " + sf_strerror(files_->input.get())};
  }
  const auto count = static_cast<std::size_t>(got);
  if (count == 0 && silence_left_ == 0) return Error{ErrorCode::link_down, "end of the recording"};
  const auto channels = static_cast<std::size_t>(files_->channels);
  for (std::size_t i = 0; i < count; ++i) samples[i] = files_->frames[i * channels];
  std::fill(samples.begin() + got, samples.end(), 0.0F);
  silence_left_ -= std::min<std::uint64_t>(silence_left_, samples.size() - count);
  return Received{};
}

Result<void> FileDevice::transmit(bool, std::span<const float> samples) {
  S5066_ASSERT(samples.size() == info_.block_samples);
  if (!files_) return Error{ErrorCode::link_down, "recording is not open"};
  if (!files_->output) return {};
  const auto count = static_cast<sf_count_t>(samples.size());
  if (sf_writef_float(files_->output.get(), samples.data(), count) == count) return {};
  return Error{ErrorCode::io, config_.output_path + ": " + sf_strerror(files_->output.get())};
}

}  // namespace s5066::modem
