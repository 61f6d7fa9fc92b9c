// The sound cards of this machine by the USB socket they are plugged into. Numbers and names are
// given anew each time, and two cards of one make have the same name; the socket stays what it is.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "s5066d/base/result.h"

namespace s5066::modem {

struct SoundCard {
  unsigned number = 0;  // ALSA's, as in "hw:1,0"
  /// "usb:0000:00:14.0/1.2": the controller, and the ports from there on; empty for other cards.
  std::string usb_path;
  friend bool operator==(const SoundCard&, const SoundCard&) = default;
};

/// What a name begins with that is a USB path and no part of a device's name.
inline constexpr std::string_view kUsbPrefix = "usb:";

/// In the order of their numbers.
std::vector<SoundCard> list_sound_cards(const std::filesystem::path& folder = "/sys/class/sound");
/// The number of the one card there; not_found, or already_exists where it is not the only one.
Result<unsigned> sound_card_at(const std::vector<SoundCard>& cards, std::string_view usb_path);
/// "… (hw:1,0)" is a device of card 1.
std::optional<unsigned> card_number_of(std::string_view device_name);

}  // namespace s5066::modem
