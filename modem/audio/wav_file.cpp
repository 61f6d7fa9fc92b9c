#include "modem/audio/wav_file.h"

#include <sndfile.h>

#include <utility>
#include <vector>

namespace s5066::modem {
namespace {

constexpr int kRateMin = 1000;
constexpr int kRateMax = 768000;
constexpr int kChannelsMax = 64;

Error io_error(const std::string& path, const std::string& why) {
  return Error{ErrorCode::io, path + ": " + why};
}

}  // namespace

struct WavWriter::State {
  State() = default;
  ~State() {
    if (file != nullptr) sf_close(file);
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  SNDFILE* file = nullptr;
  std::string path;
};

Result<WavWriter> WavWriter::open(const std::string& path, unsigned rate) {
  auto state = std::make_shared<State>();
  state->path = path;
  SF_INFO info{};
  info.samplerate = static_cast<int>(rate);
  info.channels = 1;
  info.format = SF_FORMAT_WAV | SF_FORMAT_PCM_16;
  state->file = sf_open(path.c_str(), SFM_WRITE, &info);
  if (state->file == nullptr) return io_error(path, sf_strerror(nullptr));
  sf_command(state->file, SFC_SET_CLIPPING, nullptr, SF_TRUE);
  return WavWriter(std::move(state));
}

Result<void> WavWriter::write(std::span<const float> samples) {
  const auto count = static_cast<sf_count_t>(samples.size());
  if (sf_write_float(state_->file, samples.data(), count) == count) return {};
  return io_error(state_->path, sf_strerror(state_->file));
}

Result<void> WavWriter::close() {
  const int failed = sf_close(std::exchange(state_->file, nullptr));
  if (failed != 0) return io_error(state_->path, sf_error_number(failed));
  return {};
}

Result<void> write_wav(const std::string& path, unsigned rate, std::span<const float> samples) {
  auto writer = WavWriter::open(path, rate);
  if (!writer) return writer.error();
  if (auto written = writer->write(samples); !written) return written;
  return writer->close();
}

struct WavReader::State {
  State() = default;
  ~State() {
    if (file != nullptr) sf_close(file);
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  SNDFILE* file = nullptr;
  SF_INFO info{};
  std::string path;
  std::vector<float> interleaved;
};

Result<WavReader> WavReader::open(const std::string& path) {
  auto state = std::make_shared<State>();
  state->path = path;
  state->file = sf_open(path.c_str(), SFM_READ, &state->info);
  if (state->file == nullptr) return io_error(path, sf_strerror(nullptr));
  const SF_INFO& info = state->info;
  if (info.samplerate < kRateMin || info.samplerate > kRateMax) {
    return io_error(path, "sample rate " + std::to_string(info.samplerate) + " is out of range");
  }
  if (info.channels < 1 || info.channels > kChannelsMax) {
    return io_error(path, "number of channels is out of range");
  }
  return WavReader(std::move(state));
}

unsigned WavReader::rate() const {
  return static_cast<unsigned>(state_->info.samplerate);
}

Result<std::size_t> WavReader::read(std::span<float> out) {
  State& s = *state_;
  const auto channels = static_cast<std::size_t>(s.info.channels);
  s.interleaved.resize(out.size() * channels);
  const sf_count_t frames =
      sf_readf_float(s.file, s.interleaved.data(), static_cast<sf_count_t>(out.size()));
  if (frames < 0 || sf_error(s.file) != SF_ERR_NO_ERROR) {
    return io_error(s.path, sf_strerror(s.file));
  }
  const auto count = static_cast<std::size_t>(frames);
  for (std::size_t i = 0; i < count; ++i) out[i] = s.interleaved[i * channels];
  return count;
}

}  // namespace s5066::modem
