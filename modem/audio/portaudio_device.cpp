// SPDX-License-Identifier: Apache-2.0
#include "modem/audio/portaudio_device.h"

#include <alsa/asoundlib.h>
#include <jack/jack.h>
#include <pa_linux_alsa.h>
#include <portaudio.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <optional>
#include <string_view>
#include <utility>

#include "modem/audio/card_rings.h"
#include "modem/audio/channel_choice.h"
#include "modem/audio/sound_cards.h"
#include "modem/audio/sound_server_list.h"
#include "s5066d/base/assert.h"
#include "s5066d/posix/socket.h"

namespace s5066::modem {
namespace {

/// An error lists at most this many names.
constexpr PaDeviceIndex kNamesMax = 16;
/// The channels of the input are compared for this long before one of them is chosen.
constexpr Duration kChannelWindow = std::chrono::seconds(1);
/// An output that asks for no samples while so many seconds of sound are received is lost. Sound
/// servers stand still for two seconds at the start.
constexpr unsigned kStandstillSeconds = 6;

Error portaudio_error(const std::string& what, PaError error) {
  return Error{ErrorCode::io, what + ": " + Pa_GetErrorText(error)};
}

void say_nothing(const char*) {}
void say_nothing_of_alsa(const char*, int, const char*, int, const char*, ...) {}

/// ALSA and JACK would otherwise write dozens of lines to standard error each time, for each name
/// without a card and each server that does not run.
PaError initialise_quietly() {
  snd_lib_error_set_handler(say_nothing_of_alsa);
  jack_set_error_function(say_nothing);
  jack_set_info_function(say_nothing);
  return Pa_Initialize();
}

/// PortAudio counts how often it is initialised and terminated.
class Library {
 public:
  Library() : error_(initialise_quietly()) {}
  ~Library() {
    if (error_ == paNoError) Pa_Terminate();
  }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;
  PaError error() const { return error_; }

 private:
  PaError error_;
};

enum class Direction : std::uint8_t { input, output };

int channels(const PaDeviceInfo& info, Direction direction) {
  return direction == Direction::input ? info.maxInputChannels : info.maxOutputChannels;
}

/// Returns the names of the present cards, for an error about another name.
std::string names_of(Direction direction) {
  std::string names;
  for (PaDeviceIndex index = 0, named = 0; index < Pa_GetDeviceCount(); ++index) {
    const PaDeviceInfo* info = Pa_GetDeviceInfo(index);
    if (info == nullptr || channels(*info, direction) == 0) continue;
    if (named == kNamesMax) return "; there are: " + names + ", and more";
    names += (named++ == 0 ? "" : ", ") + std::string(info->name);
  }
  return names.empty() ? "; there is no such card" : "; there are: " + names;
}

/// Returns true if all of them are parts of one ALSA card or have the same name. Using the first of
/// several cards could key another radio's transmitter.
bool are_one_card(const std::vector<PaDeviceIndex>& devices) {
  const std::string_view first = Pa_GetDeviceInfo(devices.front())->name;
  return std::all_of(devices.begin(), devices.end(), [&](PaDeviceIndex index) {
    const std::string_view name = Pa_GetDeviceInfo(index)->name;
    const auto card = card_number_of(name);
    return name == first || (card && card == card_number_of(first));
  });
}

Result<PaDeviceIndex> find_device(const std::string& name, Direction direction) {
  const char* const word = direction == Direction::input ? "input" : "output";
  if (name.empty()) {
    const PaDeviceIndex index =
        direction == Direction::input ? Pa_GetDefaultInputDevice() : Pa_GetDefaultOutputDevice();
    if (index == paNoDevice) {
      return Error{ErrorCode::not_found,
                   std::string("no default audio ") + word + names_of(direction)};
    }
    return index;
  }
  std::optional<unsigned> card;
  if (name.starts_with(kUsbPrefix)) {
    const auto found = sound_card_at(list_sound_cards(), name);
    if (!found) return Error{found.error().code, found.error().detail + names_of(direction)};
    card = *found;
  }
  std::vector<PaDeviceIndex> matching;
  for (PaDeviceIndex index = 0; index < Pa_GetDeviceCount(); ++index) {
    const PaDeviceInfo* info = Pa_GetDeviceInfo(index);
    if (info == nullptr || channels(*info, direction) == 0) continue;
    if (info->name == name) return index;
    const bool matches = card ? card_number_of(info->name) == card
                              : std::string(info->name).find(name) != std::string::npos;
    if (matches) matching.push_back(index);
  }
  if (matching.empty()) {
    return Error{ErrorCode::not_found,
                 std::string("no audio ") + word + " named " + name + names_of(direction)};
  }
  if (!are_one_card(matching)) {
    return Error{ErrorCode::already_exists,
                 std::string("several audio ") + word + "s match the name " + name +
                     "; give a longer part of the name or a USB path" + names_of(direction)};
  }
  return matching.front();
}

/// A device of the sound server, which PortAudio does not list: ALSA's pulse plugin opens it by its
/// name.
Result<void> find_server_device(std::string_view name, Direction direction) {
  const std::string_view own = name.substr(kServerPrefix.size());
  const bool input = direction == Direction::input;
  const std::string what = std::string(input ? "source" : "sink") + " " + std::string(own);
  if (!is_server_device_name(own)) {
    return Error{ErrorCode::bad_field, what + ": such a name cannot be a device of a sound server"};
  }
  const auto devices = list_server_devices();
  if (!devices) return devices.error();
  std::string names;
  PaDeviceIndex named = 0;
  for (const ServerDevice& device : *devices) {
    if (device.input != input) continue;
    if (device.name == own) return {};
    if (named == kNamesMax) continue;
    names += (named++ == 0 ? "; there are: " : ", ") + device.name;
  }
  return Error{ErrorCode::not_found, "the sound server has no " + what + names};
}

/// One direction of a stream as PortAudio opens it.
struct End {
  std::string name;       // name for people
  std::string alsa_name;  // name of a device that PortAudio does not list
  PaAlsaStreamInfo alsa{};
  PaStreamParameters parameters{};
  unsigned channels_max = 1;
};

bool is_of_server(const std::string& name) {
  return name.starts_with(kServerPrefix);
}

/// Returns true for ALSA's names of devices behind which a sound server usually stands, too.
bool may_be_of_server(const End& end) {
  return is_of_server(end.name) || end.name == "default" || end.name == "pulse" ||
         end.name == "pipewire";
}

Result<void> find(const std::string& name, Direction direction) {
  if (is_of_server(name)) return find_server_device(name, direction);
  const auto index = find_device(name, direction);
  return index ? Result<void>{} : index.error();
}

/// Fills an end, which must stay where it is because it has pointers to itself.
Result<void> choose(const std::string& name, Direction direction, End& end) {
  end.parameters.channelCount = 1;
  end.parameters.sampleFormat = paFloat32;
  if (is_of_server(name)) {
    if (auto found = find_server_device(name, direction); !found) return found;
    end.name = name;
    end.alsa_name = "pulse:DEVICE=" + name.substr(kServerPrefix.size());
    PaAlsa_InitializeStreamInfo(&end.alsa);
    end.alsa.deviceString = end.alsa_name.c_str();
    end.parameters.device = paUseHostApiSpecificDeviceSpecification;
    end.parameters.hostApiSpecificStreamInfo = &end.alsa;
    end.channels_max = 2;  // the server converts
    return {};
  }
  const auto index = find_device(name, direction);
  if (!index) return index.error();
  const PaDeviceInfo& info = *Pa_GetDeviceInfo(*index);
  end.name = info.name;
  end.parameters.device = *index;
  end.channels_max = static_cast<unsigned>(std::max(0, channels(info, direction)));
  return {};
}

std::string usb_path_of(std::string_view device_name, const std::vector<SoundCard>& cards) {
  const auto number = card_number_of(device_name);
  const auto card = std::find_if(cards.begin(), cards.end(),
                                 [&](const SoundCard& c) { return c.number == number; });
  return card == cards.end() ? "" : card->usb_path;
}

std::size_t to_samples(double seconds, unsigned rate_hz) {
  return static_cast<std::size_t>(std::lround(std::max(0.0, seconds) * rate_hz));
}

}  // namespace

/// A card has one stream with one callback. Devices of the sound server have a stream for each
/// direction: when PortAudio 19.6 waits for both in one stream, ALSA's pulse plugin reports one as
/// ready again and again, and the wait takes a whole core.
struct PortAudioDevice::Stream {
  Stream(std::size_t capacity, std::size_t ahead) : rings(capacity, ahead) {}
  ~Stream() {
    for (PaStream* const handle : handles) {
      if (handle != nullptr) Pa_CloseStream(handle);
    }
  }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  static int both(const void* input, void* output, unsigned long frames,
                  const PaStreamCallbackTimeInfo*, PaStreamCallbackFlags flags, void* self) {
    Stream& stream = *static_cast<Stream*>(self);
    stream.keep(static_cast<const float*>(input), frames,
                (flags & (paInputOverflow | paOutputUnderflow)) != 0);
    stream.rings.fill(static_cast<float*>(output), frames, false);
    return paContinue;
  }
  static int heard(const void* input, void*, unsigned long frames, const PaStreamCallbackTimeInfo*,
                   PaStreamCallbackFlags flags, void* self) {
    Stream& stream = *static_cast<Stream*>(self);
    stream.keep(static_cast<const float*>(input), frames, (flags & paInputOverflow) != 0);
    stream.begun.store(true, std::memory_order_release);
    return paContinue;
  }
  /// The samples that are ready stay where they are until the first sound is heard.
  static int sent(const void*, void* output, unsigned long frames, const PaStreamCallbackTimeInfo*,
                  PaStreamCallbackFlags flags, void* self) {
    Stream& stream = *static_cast<Stream*>(self);
    float* const samples = static_cast<float*>(output);
    if (stream.begun.load(std::memory_order_acquire)) {
      stream.rings.fill(samples, frames, (flags & paOutputUnderflow) != 0);
    } else {
      std::fill_n(samples, frames, 0.0F);
    }
    return paContinue;
  }
  void keep(const float* input, std::size_t frames, bool card_loss) {
    if (input == nullptr) return rings.keep(nullptr, frames, card_loss);
    std::array<float, kPortion> one;
    const unsigned channel = choice.heard();
    for (std::size_t done = 0; done < frames;) {
      const std::size_t count = std::min(frames - done, one.size());
      for (std::size_t i = 0; i < count; ++i) {
        const float* const frame = input + (done + i) * input_channels;
        one[i] = frame[channel];
        for (unsigned c = 0; c < input_channels; ++c) choice.add(c, frame[c]);
      }
      rings.keep(one.data(), count, card_loss);
      card_loss = false;
      done += count;
    }
  }
  static constexpr std::size_t kPortion = 256;

  PaError open(const PaStreamParameters& in, const PaStreamParameters& out, unsigned rate_hz,
               bool apart) {
    constexpr unsigned long kAnyFrames = paFramesPerBufferUnspecified;
    if (!apart)
      return Pa_OpenStream(&handles[0], &in, &out, rate_hz, kAnyFrames, paNoFlag, both, this);
    const PaError error =
        Pa_OpenStream(&handles[0], &in, nullptr, rate_hz, kAnyFrames, paNoFlag, heard, this);
    if (error != paNoError) return error;
    return Pa_OpenStream(&handles[1], nullptr, &out, rate_hz, kAnyFrames, paNoFlag, sent, this);
  }
  /// Starts the output first, which is silent until the input has begun.
  PaError start() {
    PaError error = paNoError;
    for (std::size_t at = handles.size(); at-- > 0 && error == paNoError;) {
      if (handles[at] != nullptr) error = Pa_StartStream(handles[at]);
    }
    return error;
  }
  bool is_active() const {
    return std::all_of(handles.begin(), handles.end(), [](PaStream* handle) {
      return handle == nullptr || Pa_IsStreamActive(handle) == 1;
    });
  }
  /// Returns the latency of both directions together in seconds; nothing if the card reports none.
  std::optional<double> latency_s() const {
    double latency = 0;
    for (PaStream* const handle : handles) {
      if (handle == nullptr) continue;
      const PaStreamInfo* const info = Pa_GetStreamInfo(handle);
      if (info == nullptr) return std::nullopt;
      latency += info->inputLatency + info->outputLatency;
    }
    return latency;
  }

  unsigned input_channels = 1;
  ChannelChoice choice;
  Library library;  // outlives the handles, because it is declared before them
  CardRings rings;
  std::atomic<bool> begun{false};
  std::array<PaStream*, 2> handles{};  // input or both, and the output if it is apart
};

Result<std::vector<PortAudioDevice::Listed>> PortAudioDevice::list() {
  const Library library;
  if (library.error() != paNoError) return portaudio_error("PortAudio", library.error());
  const std::vector<SoundCard> cards = list_sound_cards();
  std::vector<Listed> devices;
  for (PaDeviceIndex index = 0; index < Pa_GetDeviceCount(); ++index) {
    const PaDeviceInfo* info = Pa_GetDeviceInfo(index);
    if (info == nullptr) continue;
    const PaHostApiInfo* api = Pa_GetHostApiInfo(info->hostApi);
    devices.push_back({.name = info->name,
                       .api = api == nullptr ? "" : api->name,
                       .usb_path = usb_path_of(info->name, cards),
                       .inputs = static_cast<unsigned>(std::max(0, info->maxInputChannels)),
                       .outputs = static_cast<unsigned>(std::max(0, info->maxOutputChannels)),
                       .rate_hz = info->defaultSampleRate,
                       .input_latency = from_seconds(info->defaultLowInputLatency),
                       .output_latency = from_seconds(info->defaultLowOutputLatency)});
  }
  return devices;
}

Result<void> PortAudioDevice::look_for(const Config& config) {
  const Library library;
  if (library.error() != paNoError) return portaudio_error("PortAudio", library.error());
  if (auto input = find(config.input_name, Direction::input); !input) return input;
  return find(config.output_name, Direction::output);
}

PortAudioDevice::PortAudioDevice(Config config)
    : config_(std::move(config)),
      info_{.name = config_.input_name,
            .rate_hz = config_.rate_hz,
            .block_samples = config_.block_samples,
            .has_level = true},
      search_(config_.search) {}
PortAudioDevice::~PortAudioDevice() = default;

void PortAudioDevice::close() {
  stream_.reset();
}

Result<void> PortAudioDevice::open() {
  close();
  const bool due = search_.due(posix::monotonic_now(), cards_present(),
                               {config_.input_name, config_.output_name});
  if (!due) return last_look_;
  auto opened = open_stream();
  search_.on_look(posix::monotonic_now());
  last_look_ =
      opened ? Error{ErrorCode::link_down, "no samples come from the sound card"} : opened.error();
  return opened;
}

Result<void> PortAudioDevice::open_stream() {
  const std::size_t ahead = config_.blocks_ahead * config_.block_samples;
  auto stream = std::make_unique<Stream>(config_.ring_blocks * config_.block_samples, ahead);
  if (stream->library.error() != paNoError) {
    return portaudio_error("PortAudio", stream->library.error());
  }
  End in, out;
  if (auto found = choose(config_.input_name, Direction::input, in); !found) return found;
  if (auto found = choose(config_.output_name, Direction::output, out); !found) return found;
  stream->input_channels = std::min(ChannelChoice::kChannels, in.channels_max);
  if (config_.input_channel > stream->input_channels) {
    return Error{ErrorCode::bad_field,
                 in.name + " has no input channel " + std::to_string(config_.input_channel)};
  }
  if (config_.input_channel > 0) stream->choice.hear(config_.input_channel - 1);
  in.parameters.channelCount = static_cast<int>(stream->input_channels);
  channel_looked_at_ = posix::monotonic_now();
  for (End* const end : {&in, &out}) end->parameters.suggestedLatency = to_seconds(config_.latency);
  watch_.expect_streams();
  const bool apart = may_be_of_server(in) || may_be_of_server(out);
  PaError error = stream->open(in.parameters, out.parameters, config_.rate_hz, apart);
  if (error != paNoError) return portaudio_error("open the sound card", error);

  const auto latency = stream->latency_s();
  if (!latency) return Error{ErrorCode::io, "the sound card reports no latency"};
  const std::size_t said = ahead + to_samples(*latency, config_.rate_hz);
  const bool measured = config_.round_trip > Duration::zero();
  info_ = {.name = in.name,
           .rate_hz = config_.rate_hz,
           .block_samples = config_.block_samples,
           .lockstep = false,
           .transmit_delay =
               measured ? to_samples(to_seconds(config_.round_trip), config_.rate_hz) : said,
           .has_level = true};
  error = stream->start();
  if (error != paNoError) return portaudio_error("start the sound card", error);
  stream_ = std::move(stream);
  asked_for_ = received_unasked_ = 0;
  return {};
}

Result<Device::Received> PortAudioDevice::receive(std::span<float> samples) {
  S5066_ASSERT(samples.size() == config_.block_samples);
  if (!stream_) return Error{ErrorCode::link_down, "sound card is not open"};
  // The callback must not wake a thread, so the ring is checked a few times in each block.
  const auto step = from_seconds(static_cast<double>(samples.size()) / config_.rate_hz / 8);
  for (Duration waited{}; stream_->rings.received() < samples.size(); waited += step) {
    if (!stream_->is_active()) {
      return Error{ErrorCode::link_down, "sound card stopped"};
    }
    if (waited >= config_.receive_timeout) return Error{ErrorCode::timed_out, "no samples"};
    Pa_Sleep(static_cast<long>(std::max<Duration::rep>(1, step / std::chrono::milliseconds(1))));
  }
  if (const auto misplaced = watch_.misplaced()) return Error{ErrorCode::link_down, *misplaced};
  if (config_.input_channel == 0 && posix::monotonic_now() - channel_looked_at_ >= kChannelWindow) {
    stream_->choice.decide();
    channel_looked_at_ = posix::monotonic_now();
  }
  if (!takes_samples(samples.size())) {
    return Error{ErrorCode::link_down, "the sound card takes no samples"};
  }
  search_.on_found();
  return stream_->rings.receive(samples);
}

/// Returns false if the output has stood still while the input went on.
bool PortAudioDevice::takes_samples(std::size_t received) {
  const std::uint64_t asked_for = stream_->rings.asked_for();
  received_unasked_ = asked_for == asked_for_ ? received_unasked_ + received : 0;
  asked_for_ = asked_for;
  return received_unasked_ <= kStandstillSeconds * config_.rate_hz;
}

Result<void> PortAudioDevice::transmit(bool keyed, std::span<const float> samples) {
  S5066_ASSERT(samples.size() == config_.block_samples);
  if (!stream_) return Error{ErrorCode::link_down, "sound card is not open"};
  stream_->rings.transmit(keyed, samples);
  return {};
}

}  // namespace s5066::modem
