// When to look for a sound card that is missing. Each look loads the plugins of every sound system
// anew, and some of their memory is never given back; so after the first few there is one look in a
// long while, and others as soon as a card of this machine has come or gone.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "modem/audio/sound_cards.h"
#include "s5066d/base/time.h"

namespace s5066::modem {

/// Equal as long as no card comes or goes.
struct CardsPresent {
  std::vector<SoundCard> cards;
  /// When a device file appeared or went last: a card may be back in its socket by the next look.
  std::optional<std::filesystem::file_time_type> files_changed;
  friend bool operator==(const CardsPresent&, const CardsPresent&) = default;
};
CardsPresent cards_present(const std::filesystem::path& cards = "/sys/class/sound",
                           const std::filesystem::path& files = "/dev/snd");

class CardSearch {
 public:
  struct Config {
    /// In vain, before it is thought to be missing for good; anew whenever a card comes or goes,
    /// for that is some time before it can be used.
    unsigned looks = 10;
    /// From then on. Not every sound system shows its cards here (PulseAudio), nor that another
    /// program has let go of one.
    Duration pause = std::chrono::minutes(1);
  };

  explicit CardSearch(const Config& config) : config_(config) {}

  /// `names`: of the card; a USB path where there is none needs no look.
  bool due(Duration now, const CardsPresent& present, const std::vector<std::string>& names);
  /// Looked, in vain unless on_found() follows: a card that opens may give no sound.
  void on_look(Duration now);
  void on_found() { looks_ = 0; }

 private:
  Config config_;
  CardsPresent present_;
  unsigned looks_ = 0;
  Duration looked_at_{};
};

}  // namespace s5066::modem
