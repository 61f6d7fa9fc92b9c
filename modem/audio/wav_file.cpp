#include "modem/audio/wav_file.h"

#include <sndfile.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "modem/audio/file_rate.h"

namespace s5066::modem {
namespace {

constexpr int kChannelsMax = 64;

Error io_error(const std::string& path, const std::string& why) {
  return Error{ErrorCode::io, path + ": " + why};
}

// libsndfile counts both with int.
Result<void> check_info(const std::string& path, long long rate, long long channels) {
  if (auto good = check_file_rate(rate); !good) return io_error(path, good.error().detail);
  if (channels < 1 || channels > kChannelsMax) {
    return io_error(path, "number of channels is out of range");
  }
  return {};
}

struct Encoding {
  std::string_view name;
  int format;
};
constexpr std::array kEncodings = {
    Encoding{"u8", SF_FORMAT_PCM_U8},
    Encoding{"s8", SF_FORMAT_PCM_S8},
    Encoding{"s16le", SF_FORMAT_PCM_16 | SF_ENDIAN_LITTLE},
    Encoding{"s16be", SF_FORMAT_PCM_16 | SF_ENDIAN_BIG},
    Encoding{"s24le", SF_FORMAT_PCM_24 | SF_ENDIAN_LITTLE},
    Encoding{"s32le", SF_FORMAT_PCM_32 | SF_ENDIAN_LITTLE},
    Encoding{"f32le", SF_FORMAT_FLOAT | SF_ENDIAN_LITTLE},
    Encoding{"f64le", SF_FORMAT_DOUBLE | SF_ENDIAN_LITTLE},
};

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
  if (auto good = check_file_rate(rate); !good) return io_error(path, good.error().detail);
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

std::vector<std::string_view> raw_encodings() {
  std::vector<std::string_view> names;
  for (const Encoding& encoding : kEncodings) names.push_back(encoding.name);
  return names;
}

Result<WavReader> WavReader::open(const std::string& path, std::optional<unsigned> rate) {
  auto state = std::make_shared<State>();
  state->path = path;
  return open(std::move(state), rate);
}

Result<WavReader> WavReader::open_raw(const std::string& path, const RawFormat& format) {
  auto state = std::make_shared<State>();
  state->path = path;
  const auto* const encoding =
      std::find_if(kEncodings.begin(), kEncodings.end(),
                   [&](const Encoding& known) { return known.name == format.encoding; });
  if (encoding == kEncodings.end()) return io_error(path, "no encoding " + format.encoding);
  if (auto good = check_info(path, format.rate, format.channels); !good) return good.error();
  state->info.samplerate = static_cast<int>(format.rate);
  state->info.channels = static_cast<int>(format.channels);
  state->info.format = SF_FORMAT_RAW | encoding->format;
  return open(std::move(state), std::nullopt);
}

Result<WavReader> WavReader::open(std::shared_ptr<State> state, std::optional<unsigned> rate) {
  const std::string& path = state->path;
  state->file = sf_open(path.c_str(), SFM_READ, &state->info);
  if (state->file == nullptr) return io_error(path, sf_strerror(nullptr));
  const long long believed = rate ? static_cast<long long>(*rate) : state->info.samplerate;
  if (auto good = check_info(path, believed, state->info.channels); !good) return good.error();
  state->info.samplerate = static_cast<int>(believed);
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
