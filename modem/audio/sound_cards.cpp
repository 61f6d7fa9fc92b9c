// SPDX-License-Identifier: Apache-2.0
#include "modem/audio/sound_cards.h"

#include <algorithm>
#include <charconv>
#include <system_error>

namespace s5066::modem {
namespace {

namespace fs = std::filesystem;

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/// Returns the number that the text is, or with which it begins.
std::optional<unsigned> number_at(std::string_view text, bool whole) {
  unsigned number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || (whole && end != text.data() + text.size())) return std::nullopt;
  return number;
}

std::optional<unsigned> number_behind(std::string_view prefix, std::string_view text, bool whole) {
  if (!text.starts_with(prefix)) return std::nullopt;
  return number_at(text.substr(prefix.size()), whole);
}

/// Returns true for "1-1.2" (bus and ports), but not for "1-1.2:1.0", which is a part of that
/// device.
bool is_usb_device(std::string_view folder) {
  const auto dash = folder.find('-');
  return dash != std::string_view::npos && dash > 0 && dash + 1 < folder.size() &&
         std::all_of(folder.begin(), folder.end(),
                     [](char c) { return is_digit(c) || c == '-' || c == '.'; });
}

/// An example is …/0000:00:14.0/usb1/1-1/1-1.2/1-1.2:1.0/sound/card1: a root hub below its
/// controller, and a directory for each hub and for the device. Numbers of buses change at each
/// start; those of ports do not.
std::string usb_path_of(const fs::path& device) {
  std::string before, controller, ports;
  for (const fs::path& part : device) {
    const std::string folder = part.string();
    if (number_behind("usb", folder, true)) {
      controller = before;
    } else if (!controller.empty() && is_usb_device(folder)) {
      ports = folder.substr(folder.find('-') + 1);
    }
    before = folder;
  }
  if (ports.empty()) return {};
  return std::string(kUsbPrefix) + controller + "/" + ports;
}

}  // namespace

std::vector<SoundCard> list_sound_cards(const fs::path& folder) {
  std::vector<SoundCard> cards;
  // The directory is absent on a machine without cards, and cards appear and disappear.
  std::error_code error;
  for (fs::directory_iterator at(folder, error); at != fs::directory_iterator();
       at.increment(error)) {
    const auto number = number_behind("card", at->path().filename().string(), true);
    if (!number) continue;
    std::error_code gone;
    const fs::path device = fs::canonical(at->path(), gone);
    if (!gone) cards.push_back({.number = *number, .usb_path = usb_path_of(device)});
  }
  std::sort(cards.begin(), cards.end(),
            [](const SoundCard& a, const SoundCard& b) { return a.number < b.number; });
  return cards;
}

Result<unsigned> sound_card_at(const std::vector<SoundCard>& cards, std::string_view usb_path) {
  const auto is_there = [&](const SoundCard& card) { return card.usb_path == usb_path; };
  const auto first = std::find_if(cards.begin(), cards.end(), is_there);
  if (first == cards.end()) {
    return Error{ErrorCode::not_found, "no sound card at " + std::string(usb_path)};
  }
  if (std::count_if(first, cards.end(), is_there) > 1) {
    return Error{ErrorCode::already_exists, "two sound cards at " + std::string(usb_path)};
  }
  return first->number;
}

std::optional<std::string> hid_of_card(std::string_view usb_path, const fs::path& folder) {
  std::error_code error;
  std::optional<std::string> found;
  for (fs::directory_iterator at(folder, error); at != fs::directory_iterator();
       at.increment(error)) {
    std::error_code gone;
    const fs::path device = fs::canonical(at->path(), gone);
    if (gone || usb_path.empty() || usb_path_of(device) != usb_path) continue;
    const std::string path = "/dev/" + at->path().filename().string();
    if (!found || path < *found) found = path;  // a device may have several
  }
  return found;
}

std::optional<unsigned> card_number_of(std::string_view device_name) {
  const auto at = device_name.rfind("(hw:");
  if (at == std::string_view::npos) return std::nullopt;
  return number_behind("(hw:", device_name.substr(at), false);
}

}  // namespace s5066::modem
