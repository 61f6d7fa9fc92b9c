// SPDX-License-Identifier: Apache-2.0
// Tries the sound card and the key that the answers name: receive level, a tone with the key down,
// and the round trip. It reports what it finds and fills in what it measures.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "config/proto/setup.pb.h"
#include "modem/audio/device.h"
#include "modem/tools/key_options.h"
#include "s5066d/base/result.h"
#include "s5066d/base/time.h"

namespace s5066::config {

/// The operator during a trial.
class TrialView {
 public:
  virtual ~TrialView() = default;
  virtual void line(const std::string& text) = 0;
  /// Replaces the last line that this function showed.
  virtual void live(const std::string& text) = 0;
  /// Returns a key that was pressed since the last call. Without a person it never returns one.
  virtual std::optional<char> pressed() { return std::nullopt; }
  /// True if a person can press keys.
  virtual bool has_person() const { return false; }
};

class Trials {
 public:
  /// A person may set the receive level for this long.
  static constexpr double kMeterSecondsMax = 600;
  static constexpr double kToneSecondsMax = 10;

  /// The objects outlive the trials.
  Trials(proto::SetupAnswers& answers, TrialView& view, std::function<Duration()> monotonic)
      : answers_(answers), view_(view), monotonic_(std::move(monotonic)) {}

  /// Runs the trials of the answers. Returns the number of faults found.
  unsigned run(modem::Device& device, modem::tools::KeyWay key);

 private:
  void fault(const std::string& text);
  /// The sound has failed, so the trials behind it are left out. The texts name them.
  void sound_fault(const std::string& text, const std::vector<std::string>& left_out);
  void good(const std::string& text);

  proto::SetupAnswers& answers_;
  TrialView& view_;
  std::function<Duration()> monotonic_;
  unsigned faults_ = 0;

  friend class TrialSteps;
};

/// Returns the device and the key that the answers name.
std::unique_ptr<modem::Device> device_of(const proto::SetupAnswers& answers);
Result<modem::tools::KeyWay> key_way_of(const proto::SetupAnswers& answers);
/// Puts the device file of the sound chip in place of cm108_of_card.
Result<void> pair_key_with_card(proto::SetupAnswers& answers);

}  // namespace s5066::config
