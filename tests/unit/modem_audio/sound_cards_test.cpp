// SPDX-License-Identifier: Apache-2.0
#include "modem/audio/sound_cards.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <optional>
#include <string>

#include "modem/audio/sound_server_list.h"
#include "tests/support/temporary_folder.h"

namespace s5066::modem {
namespace {

namespace fs = std::filesystem;

/// Builds a folder tree in the form in which the kernel shows sound cards.
class Sysfs {
 public:
  Sysfs() { fs::create_directories(cards()); }

  fs::path cards() const { return root_ / "class/sound"; }
  /// Adds the device at the path `device` below devices/, with the folder `name` in it and a link
  /// to that folder.
  void add(const std::string& device, const std::string& name) {
    fs::create_directories(root_ / "devices" / device / "sound" / name);
    fs::create_directory_symlink(fs::path("../../devices") / device / "sound" / name,
                                 cards() / name);
  }
  fs::path hid() const { return root_ / "class/hidraw"; }
  /// Adds an HID interface in the same way.
  void add_hid(const std::string& device, const std::string& name) {
    fs::create_directories(hid());
    fs::create_directories(root_ / "devices" / device / "hidraw" / name);
    fs::create_directory_symlink(fs::path("../../devices") / device / "hidraw" / name,
                                 hid() / name);
  }
  void remove(const std::string& name) { fs::remove(cards() / name); }

 private:
  test::TemporaryFolder folder_;
  fs::path root_ = folder_.path();
};

constexpr const char* kController = "pci0000:00/0000:00:14.0/";

std::vector<std::string> paths_of(const Sysfs& sysfs) {
  std::vector<std::string> paths;
  for (const SoundCard& card : list_sound_cards(sysfs.cards())) {
    paths.push_back(std::to_string(card.number) + " " + card.usb_path);
  }
  return paths;
}

TEST(SoundCards, are_told_apart_by_controller_and_ports) {
  Sysfs sysfs;
  sysfs.add(std::string(kController) + "usb1/1-1/1-1.2/1-1.2:1.0", "card2");
  sysfs.add(std::string(kController) + "usb1/1-1/1-1.4/1-1.4:1.0", "card1");
  sysfs.add("platform/scb/fd500000.pcie/pci0000:00/0000:00:00.0/0000:01:00.0/usb1/1-10/1-10:1.0",
            "card10");
  sysfs.add("pci0000:00/0000:00:1f.3", "card0");  // a chip on the main board
  sysfs.add(std::string(kController) + "usb1/1-1/1-1.2/1-1.2:1.0", "pcmC2D0p");
  sysfs.add(std::string(kController) + "usb1/1-1/1-1.2/1-1.2:1.0", "controlC2");
  fs::create_directory_symlink("../../devices/gone", sysfs.cards() / "card7");
  EXPECT_EQ(paths_of(sysfs),
            (std::vector<std::string>{"0 ", "1 usb:0000:00:14.0/1.4", "2 usb:0000:00:14.0/1.2",
                                      "10 usb:0000:01:00.0/10"}));
}

TEST(SoundCards, a_card_keeps_its_path_when_numbers_of_cards_and_buses_change) {
  const std::string path = "usb:0000:00:14.0/1.2";
  Sysfs before, after;
  before.add(std::string(kController) + "usb1/1-1/1-1.2/1-1.2:1.0", "card1");
  before.add(std::string(kController) + "usb1/1-1/1-1.4/1-1.4:1.0", "card2");
  after.add(std::string(kController) + "usb3/3-1/3-1.2/3-1.2:1.0", "card2");
  after.add(std::string(kController) + "usb3/3-1/3-1.4/3-1.4:1.0", "card1");
  EXPECT_EQ(*sound_card_at(list_sound_cards(before.cards()), path), 1U);
  EXPECT_EQ(*sound_card_at(list_sound_cards(after.cards()), path), 2U);
  after.remove("card2");
  EXPECT_EQ(sound_card_at(list_sound_cards(after.cards()), path).error().code,
            ErrorCode::not_found);
}

TEST(SoundCards, two_at_one_path_are_neither) {
  Sysfs sysfs;
  sysfs.add(std::string(kController) + "usb1/1-1/1-1:1.0", "card1");
  sysfs.add(std::string(kController) + "usb1/1-1/1-1:1.2", "card2");
  EXPECT_EQ(sound_card_at(list_sound_cards(sysfs.cards()), "usb:0000:00:14.0/1").error().code,
            ErrorCode::already_exists);
}

TEST(SoundCards, a_machine_without_any_has_none) {
  EXPECT_TRUE(list_sound_cards("/no/such/folder").empty());
}

TEST(SoundCards, the_key_pins_of_a_card_are_those_of_the_same_usb_device) {
  Sysfs sysfs;
  sysfs.add_hid(std::string(kController) + "usb1/1-1/1-1.4/1-1.4:1.3/0003:1", "hidraw0");
  sysfs.add_hid(std::string(kController) + "usb1/1-1/1-1.2/1-1.2:1.3/0003:2", "hidraw2");
  sysfs.add_hid(std::string(kController) + "usb1/1-1/1-1.2/1-1.2:1.4/0003:3", "hidraw1");
  EXPECT_EQ(hid_of_card("usb:0000:00:14.0/1.2", sysfs.hid()), "/dev/hidraw1");
  EXPECT_EQ(hid_of_card("usb:0000:00:14.0/1.4", sysfs.hid()), "/dev/hidraw0");
  EXPECT_EQ(hid_of_card("usb:0000:00:14.0/1.3", sysfs.hid()), std::nullopt);
  EXPECT_EQ(hid_of_card("", sysfs.hid()), std::nullopt);
  EXPECT_EQ(hid_of_card("usb:0000:00:14.0/1.2", sysfs.hid() / "none"), std::nullopt);
}

TEST(SoundCards, the_name_of_a_device_of_the_sound_server_has_only_plain_characters) {
  EXPECT_TRUE(is_server_device_name("alsa_input.usb-C-Media_USB-00.analog-stereo"));
  EXPECT_TRUE(is_server_device_name(std::string(200, 'x')));
  for (const std::string& bad : {std::string(), std::string(201, 'x'), std::string("a,b"),
                                 std::string("a b"), std::string("a'b"), std::string("a{b")}) {
    EXPECT_FALSE(is_server_device_name(bad)) << bad;
  }
}

TEST(SoundCards, the_card_of_a_device_stands_in_its_name) {
  EXPECT_EQ(card_number_of("USB Audio Device: - (hw:1,0)"), 1U);
  EXPECT_EQ(card_number_of("Odd (hw:3,0) name: - (hw:12,1)"), 12U);
  EXPECT_FALSE(card_number_of("pulse"));
  EXPECT_FALSE(card_number_of("odd (hw:x,0)"));
}

}  // namespace
}  // namespace s5066::modem
