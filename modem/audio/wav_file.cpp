// SPDX-License-Identifier: Apache-2.0
#include "modem/audio/wav_file.h"

#include <sndfile.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <filesystem>
#include <utility>
#include <vector>

#include "modem/audio/file_rate.h"
#include "modem/audio/repaired_file.h"

namespace s5066::modem {
namespace {

constexpr int kChannelsMax = 64;
/// A channel counts as silent when all its samples are smaller; the limit is -60 dB of full scale.
constexpr float kSoundMin = 0.001F;

Error io_error(const std::string& path, const std::string& why) {
  return Error{ErrorCode::io, path + ": " + why};
}

// Both limits fit int, because libsndfile counts with int.
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

struct Ending {
  std::string_view name;
  int format;
};
constexpr std::array kEndings = {
    Ending{"", SF_FORMAT_WAV | SF_FORMAT_PCM_16},
    Ending{".wav", SF_FORMAT_WAV | SF_FORMAT_PCM_16},
    Ending{".flac", SF_FORMAT_FLAC | SF_FORMAT_PCM_16},
    Ending{".au", SF_FORMAT_AU | SF_FORMAT_PCM_16},
    Ending{".aiff", SF_FORMAT_AIFF | SF_FORMAT_PCM_16},
    Ending{".aif", SF_FORMAT_AIFF | SF_FORMAT_PCM_16},
    Ending{".w64", SF_FORMAT_W64 | SF_FORMAT_PCM_16},
    Ending{".raw", SF_FORMAT_RAW | SF_FORMAT_PCM_16 | SF_ENDIAN_LITTLE},
};

Result<int> format_of(const std::string& path) {
  std::string ending = path == "-" ? ".raw" : std::filesystem::path(path).extension().string();
  std::transform(ending.begin(), ending.end(), ending.begin(),
                 [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
  const auto* const found = std::find_if(kEndings.begin(), kEndings.end(),
                                         [&](const Ending& known) { return known.name == ending; });
  if (found != kEndings.end()) return found->format;
  std::string known;
  for (const Ending& each : kEndings) known.append(" ").append(each.name);
  return Error{
      ErrorCode::bad_field,
      path + ": no sound file can be written with that ending; use one of" + known.substr(1)};
}

}  // namespace

Result<void> check_sound_file_name(const std::string& path) {
  const auto format = format_of(path);
  return format ? Result<void>{} : format.error();
}

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
  const auto format = format_of(path);
  if (!format) return format.error();
  SF_INFO info{};
  info.samplerate = static_cast<int>(rate);
  info.channels = 1;
  info.format = *format;
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
  std::optional<RepairedFile> repaired;  // empty for a raw file
  std::size_t channel = 0;
  std::vector<float> interleaved;
  std::vector<float> peaks;  // peak of each channel
};

namespace {

// libsndfile reads a RepairedFile through these functions.
RepairedFile& of(void* user) {
  return *static_cast<RepairedFile*>(user);
}
sf_count_t virtual_length(void* user) {
  return of(user).length();
}
sf_count_t virtual_tell(void* user) {
  return of(user).tell();
}
sf_count_t virtual_seek(sf_count_t offset, int whence, void* user) {
  return of(user).seek(offset, whence);
}
sf_count_t virtual_read(void* to, sf_count_t count, void* user) {
  return of(user).read({static_cast<std::uint8_t*>(to), static_cast<std::size_t>(count)});
}

}  // namespace

std::vector<std::string_view> raw_encodings() {
  std::vector<std::string_view> names;
  for (const Encoding& encoding : kEncodings) names.push_back(encoding.name);
  return names;
}

Result<WavReader> WavReader::open(const std::string& path, const SoundFileChoice& choice) {
  auto state = std::make_shared<State>();
  state->path = path;
  if (path != "-") {
    auto repaired = RepairedFile::open(path, choice.rate);
    if (!repaired) return repaired.error();
    state->repaired.emplace(std::move(*repaired));
  }
  return open(std::move(state), choice);
}

Result<WavReader> WavReader::open_raw(const std::string& path, const RawFormat& format,
                                      unsigned channel) {
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
  return open(std::move(state), {.rate = std::nullopt, .channel = channel});
}

Result<WavReader> WavReader::open(std::shared_ptr<State> state, const SoundFileChoice& choice) {
  const std::string& path = state->path;
  SF_VIRTUAL_IO by{.get_filelen = virtual_length,
                   .seek = virtual_seek,
                   .read = virtual_read,
                   .write = nullptr,
                   .tell = virtual_tell};
  state->file = state->repaired ? sf_open_virtual(&by, SFM_READ, &state->info, &*state->repaired)
                                : sf_open(path.c_str(), SFM_READ, &state->info);
  if (state->file == nullptr && state->repaired) {
    if (state->repaired->is_text()) return io_error(path, "this is text, not sound");
    const std::string reason = sf_strerror(nullptr);
    return io_error(path, "cannot be read as a sound file (" + reason +
                              "); if it holds samples without a header, give --raw and --rate");
  }
  if (state->file == nullptr) return io_error(path, sf_strerror(nullptr));
  const long long believed =
      choice.rate ? static_cast<long long>(*choice.rate) : state->info.samplerate;
  if (auto good = check_info(path, believed, state->info.channels); !good) return good.error();
  state->info.samplerate = static_cast<int>(believed);
  const auto channels = static_cast<unsigned>(state->info.channels);
  if (choice.channel < 1 || choice.channel > channels) {
    return io_error(path, "no channel " + std::to_string(choice.channel) + ", there are " +
                              std::to_string(channels));
  }
  state->channel = choice.channel - 1;
  state->peaks.resize(channels);
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
  for (std::size_t i = 0; i < count; ++i) out[i] = s.interleaved[i * channels + s.channel];
  for (std::size_t i = 0; i < count * channels; ++i) {
    float& peak = s.peaks[i % channels];
    peak = std::max(peak, std::abs(s.interleaved[i]));
  }
  return count;
}

bool WavReader::unfinished() const {
  return state_->repaired && state_->repaired->unfinished();
}

std::optional<unsigned> WavReader::channel_with_sound() const {
  const auto& peaks = state_->peaks;
  const auto loudest = std::max_element(peaks.begin(), peaks.end());
  if (peaks[state_->channel] >= kSoundMin || *loudest < kSoundMin) return std::nullopt;
  return static_cast<unsigned>(loudest - peaks.begin()) + 1;
}

}  // namespace s5066::modem
