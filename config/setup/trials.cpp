// SPDX-License-Identifier: Apache-2.0
#include "config/setup/trials.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>

#include "modem/api/port.h"
#include "modem/audio/level_meter.h"
#include "modem/audio/sound_cards.h"
#include "modem/tools/device_options.h"
#include "modem/tools/examination.h"
#include "modem/tools/key_trial.h"
#include "modem/waveforms/burst_events.h"
#include "modem/worker/worker.h"

namespace s5066::config {
namespace {

using modem::LevelMeter;
using modem::tools::Examination;
using modem::tools::KeyWay;

/// The first sound of a device is not judged.
constexpr double kSettleSeconds = 2;
constexpr double kListenSeconds = 2;
constexpr const char* kLoopMode = "110a-1200-short";
constexpr std::size_t kLoopOctets = 100;
/// A busy machine loses samples, and one lost block spoils a burst.
constexpr unsigned kLoopBurstsMax = 3;
constexpr double kMeterInterval = 0.25;

std::string db_text(double db) {
  char text[40];
  std::snprintf(text, sizeof text, "%.1f dB", db);
  return text;
}

/// A bar of 40 columns from -80 to 0 dB.
std::string bar(double db) {
  const auto filled = static_cast<std::size_t>(std::clamp((db + 80) / 2, 0.0, 40.0));
  return "[" + std::string(filled, '#') + std::string(40 - filled, ' ') + "]";
}

std::string meter_text(const LevelMeter::Reading& level) {
  const double db = modem::power_db(level.power);
  return "receive level " + bar(db) + " " + db_text(db) + "  " +
         std::string(to_string(level.verdict()));
}

}  // namespace

/// One run of the trials on an open device.
class TrialSteps {
 public:
  TrialSteps(Trials& trials, Examination& examination)
      : trials_(trials), examination_(examination) {}

  /// Shows the level until a key is pressed, so that the person can turn the knobs.
  Result<void> show_meter() {
    const std::vector<float> silence(examination_.block_samples());
    const double block = static_cast<double>(silence.size()) / modem::kSampleRate;
    double shown = 0;
    static_cast<void>(examination_.take_level());
    for (double passed = 0; passed < Trials::kMeterSecondsMax; passed += block) {
      if (trials_.view_.pressed()) return {};
      if (auto got = examination_.exchange(silence); !got) return got.error();
      if (passed - shown < kMeterInterval) continue;
      shown = passed;
      trials_.view_.live(meter_text(examination_.take_level()));
    }
    return {};
  }

  Result<void> judge_level(double seconds) {
    const auto sound = examination_.listen(seconds);
    if (!sound) return sound.error();
    const auto verdict = sound->level.verdict();
    const std::string text = meter_text(sound->level);
    if (verdict != LevelMeter::Verdict::good) {
      trials_.fault(text + "; it should be good, between -40 and -10 dB");
    } else {
      trials_.good(text);
    }
    if (sound->lost > 0) trials_.fault(std::to_string(sound->lost) + " samples were lost");
    return {};
  }

  /// Sends the tone. Keys change its level by 1 dB or end it. The result is an error if the sound
  /// fails; a key that fails is a fault.
  Result<void> send_tone(KeyWay& key, double seconds) {
    double level_db = trials_.answers_.transmit_level_db();
    const auto level = [&]() -> std::optional<double> {
      const auto pressed = trials_.view_.pressed();
      if (pressed == '+' || pressed == '-') {
        level_db =
            std::clamp(level_db + (pressed == '+' ? 1 : -1), modem::kTransmitLevelMinDb, 0.0);
        trials_.view_.live("transmit level " + db_text(level_db));
      } else if (pressed) {
        return std::nullopt;
      }
      return level_db;
    };
    Result<Examination::Sound> tone = Error{ErrorCode::refused, "not keyed"};
    const auto send = [&] { tone = examination_.send_tone(seconds, level); };
    if (key.ptt) {
      const auto tried = modem::tools::try_key(std::move(key.ptt), seconds, send);
      if (!tried) {
        trials_.fault("key: " + to_string(tried.error()));
        return {};
      }
      trials_.good("key: " + modem::tools::text_of(*tried, key));
    } else {
      send();
    }
    if (!tone) return tone.error();
    trials_.good("tone: sent at " + db_text(level_db));
    if (trials_.answers_.has_transmit_level_db() || level_db < 0) {
      trials_.answers_.set_transmit_level_db(level_db);
    }
    return {};
  }

  void measure_round_trip() {
    const auto mode = modem::parse_mode(kLoopMode);
    const Duration lead = trials_.answers_.has_vox() ? modem::kVoxLead : Duration::zero();
    Result<Examination::Loop> loop = Error{ErrorCode::refused, "not sent"};
    bool whole = false;
    for (unsigned burst = 0; burst < kLoopBurstsMax && !whole; ++burst) {
      loop = examination_.send_around(*mode, kLoopOctets, lead);
      if (!loop) return trials_.fault("round trip: " + to_string(loop.error()));
      whole = loop->heard && loop->octets_right == loop->octets;
    }
    if (!whole && loop->lost > 0) {
      return trials_.fault("round trip: " + std::to_string(loop->lost) +
                           " samples were lost; end what else keeps this machine busy");
    }
    if (!whole) {
      return trials_.fault("round trip: the burst did not come back; connect output and input");
    }
    const auto ms = static_cast<unsigned>(std::clamp(std::lround(loop->round_trip_ms), 1L, 2000L));
    trials_.good("round trip: " + std::to_string(ms) + " ms");
    trials_.answers_.mutable_sound_card()->set_round_trip_ms(ms);
  }

 private:
  Trials& trials_;
  Examination& examination_;
};

void Trials::fault(const std::string& text) {
  ++faults_;
  view_.line("BAD  " + text);
}

void Trials::sound_fault(const std::string& text, const std::vector<std::string>& left_out) {
  fault(text);
  std::string names;
  for (const std::string& name : left_out) names += (names.empty() ? "" : ", ") + name;
  if (!names.empty()) view_.line("     the sound failed, so these were not tried: " + names);
}

void Trials::good(const std::string& text) {
  view_.line("ok   " + text);
}

unsigned Trials::run(modem::Device& device, KeyWay key) {
  faults_ = 0;
  const auto& wanted = answers_.trials();
  const double listen_s = wanted.has_listen_s() ? wanted.listen_s() : kListenSeconds;
  if (listen_s <= 0 && wanted.tone_s() <= 0 && !wanted.round_trip()) return 0;
  const std::vector<std::string> loop =
      wanted.round_trip() ? std::vector<std::string>{"round trip"} : std::vector<std::string>{};
  std::vector<std::string> behind = loop;
  if (wanted.tone_s() > 0) behind.insert(behind.begin(), key.ptt ? "key and tone" : "tone");
  auto begun = Examination::begin(device, monotonic_);
  if (!begun) {
    sound_fault("sound card: " + to_string(begun.error()), behind);
    return faults_;
  }
  good("sound card: " + device.info().name);
  TrialSteps steps(*this, *begun);
  Result<void> sound = begun->settle(kSettleSeconds);
  if (sound && view_.has_person() && listen_s > 0) sound = steps.show_meter();
  if (sound && listen_s > 0) sound = steps.judge_level(listen_s);
  if (!sound) {
    sound_fault("sound: " + to_string(sound.error()), behind);
  } else if (wanted.tone_s() > 0) {
    sound = steps.send_tone(key, std::min(wanted.tone_s(), kToneSecondsMax));
    if (!sound) sound_fault("tone: " + to_string(sound.error()), loop);
  } else if (key.ptt) {
    view_.line("     key: not tried");
  }
  if (sound && wanted.round_trip()) steps.measure_round_trip();
  device.close();
  return faults_;
}

std::unique_ptr<modem::Device> device_of(const proto::SetupAnswers& answers) {
  modem::tools::DeviceOptions options;
  if (answers.has_cable()) {
    options.cable = answers.cable().socket();
    if (answers.cable().has_station())
      options.station = static_cast<int>(answers.cable().station());
    return make_device(options);
  }
  const auto& card = answers.sound_card();
  options.card.input_name = card.input();
  options.card.output_name = card.output();
  options.card.input_channel = card.input_channel();
  if (card.has_rate_hz()) options.card.rate_hz = card.rate_hz();
  options.card.block_samples = options.card.rate_hz / 50;
  return make_device(options);
}

Result<KeyWay> key_way_of(const proto::SetupAnswers& answers) {
  modem::tools::KeyOptions options;
  if (answers.has_rigctld()) {
    options.rigctld_port = answers.rigctld().has_port() ? answers.rigctld().port() : 4532;
    options.data_input = answers.rigctld().data_input();
  }
  if (answers.has_serial_rts()) options.serial_rts = answers.serial_rts().path();
  if (answers.has_serial_dtr()) options.serial_dtr = answers.serial_dtr().path();
  options.other_line_up =
      answers.serial_rts().other_line_up() || answers.serial_dtr().other_line_up();
  if (answers.has_cm108()) {
    options.cm108 = answers.cm108().path();
    if (answers.cm108().has_pin()) options.pin = answers.cm108().pin();
  }
  return modem::tools::key_way_of(options);
}

Result<void> pair_key_with_card(proto::SetupAnswers& answers) {
  if (!answers.has_cm108_of_card()) return {};
  const auto wanted = answers.cm108_of_card();
  const std::string& card = answers.sound_card().output();
  if (!card.starts_with(modem::kUsbPrefix)) {
    return Error{ErrorCode::bad_field,
                 "cm108_of_card: name the output by its USB path, which `hfmodem devices` shows"};
  }
  const auto path = modem::hid_of_card(card);
  if (!path) {
    return Error{ErrorCode::not_found, "cm108_of_card: the card at " + card + " has no key pins"};
  }
  answers.mutable_cm108()->set_path(*path);
  if (wanted.has_pin()) answers.mutable_cm108()->set_pin(wanted.pin());
  return {};
}

}  // namespace s5066::config
