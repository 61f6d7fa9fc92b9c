// SPDX-License-Identifier: Apache-2.0
// Decides when to look for a sound card that is missing. Each look loads the plugins of every sound
// system again, and some of their memory is never freed. So after the first few looks there is one
// per minute, and further ones as soon as a card of this machine appears or disappears.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "modem/audio/sound_cards.h"
#include "s5066d/base/time.h"

namespace s5066::modem {

/// Two objects are equal as long as no card appears or disappears.
struct CardsPresent {
  std::vector<SoundCard> cards;
  /// The time at which a device file appeared or disappeared last, because a card may be back in
  /// its socket by the next look.
  std::optional<std::filesystem::file_time_type> files_changed;
  friend bool operator==(const CardsPresent&, const CardsPresent&) = default;
};
CardsPresent cards_present(const std::filesystem::path& cards = "/sys/class/sound",
                           const std::filesystem::path& files = "/dev/snd");

class CardSearch {
 public:
  struct Config {
    /// After this many looks without success the card counts as missing for good. The count starts
    /// again whenever a card appears or disappears, because that happens some time before the card
    /// can be used.
    unsigned looks = 10;
    /// This pause applies from then on. Looks go on because not every sound system shows its cards
    /// here (PulseAudio), nor that another program has closed one.
    Duration pause = std::chrono::minutes(1);
  };

  explicit CardSearch(const Config& config) : config_(config) {}

  /// `names` are those of the card. A USB path without a card needs no look.
  bool due(Duration now, const CardsPresent& present, const std::vector<std::string>& names);
  /// A look was made. It counts as unsuccessful unless on_found() follows, because a card that
  /// opens may give no sound.
  void on_look(Duration now);
  void on_found() { looks_ = 0; }

 private:
  Config config_;
  CardsPresent present_;
  unsigned looks_ = 0;
  Duration looked_at_{};
};

}  // namespace s5066::modem
