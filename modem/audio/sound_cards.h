// SPDX-License-Identifier: Apache-2.0
// The sound cards of this machine, identified by the USB socket of each. Numbers and names change
// at each start, and two cards of one make have the same name, but the socket stays the same.
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
  /// An example is "usb:0000:00:14.0/1.2": the controller, and the ports from there on. It is empty
  /// for other cards.
  std::string usb_path;
  friend bool operator==(const SoundCard&, const SoundCard&) = default;
};

/// A name with this prefix is a USB path and no part of a device's name.
inline constexpr std::string_view kUsbPrefix = "usb:";

/// The result is sorted by number.
std::vector<SoundCard> list_sound_cards(const std::filesystem::path& folder = "/sys/class/sound");
/// Returns the number of the only card there; not_found, or already_exists when there are several.
Result<unsigned> sound_card_at(const std::vector<SoundCard>& cards, std::string_view usb_path);
/// Returns the device file of the HID interface that belongs to the same USB device as the card:
/// the pins of a CM108, which key the transmitter. Nothing if it has none.
std::optional<std::string> hid_of_card(std::string_view usb_path,
                                       const std::filesystem::path& folder = "/sys/class/hidraw");
/// The name "… (hw:1,0)" is a device of card 1.
std::optional<unsigned> card_number_of(std::string_view device_name);

}  // namespace s5066::modem
