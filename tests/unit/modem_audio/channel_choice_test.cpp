// SPDX-License-Identifier: Apache-2.0
// Which channel of a stereo input is heard.
#include "modem/audio/channel_choice.h"

#include <gtest/gtest.h>

namespace s5066::modem {
namespace {

unsigned heard_after(ChannelChoice& choice, float first, float second) {
  choice.add(0, first);
  choice.add(1, -second);
  choice.decide();
  return choice.heard();
}

TEST(ChannelChoice, the_first_channel_is_heard_until_only_the_second_has_sound) {
  ChannelChoice choice;
  EXPECT_EQ(heard_after(choice, 0, 0), 0U);
  EXPECT_EQ(heard_after(choice, 0.1F, 0.1F), 0U);
  EXPECT_EQ(heard_after(choice, 0, 0.0009F), 0U);
  EXPECT_EQ(heard_after(choice, 0, 0.1F), 1U);
  EXPECT_EQ(heard_after(choice, 0, 0), 1U);
  EXPECT_EQ(heard_after(choice, 0.1F, 0.1F), 1U);
}

TEST(ChannelChoice, noise_of_an_open_input_does_not_keep_the_modem_from_the_radio) {
  ChannelChoice choice;
  EXPECT_EQ(heard_after(choice, 0, 0.002F), 1U);  // the radio is switched off
  EXPECT_EQ(heard_after(choice, 0.1F, 0.002F), 0U);
  EXPECT_EQ(heard_after(choice, 0.1F, 0.002F), 0U);
}

TEST(ChannelChoice, crosstalk_of_a_radio_is_not_taken_for_one) {
  ChannelChoice choice;
  choice.hear(1);
  EXPECT_EQ(heard_after(choice, 0.01F, 0.5F), 1U);
  EXPECT_EQ(heard_after(choice, 0.0005F, 0.0001F), 1U);
}

}  // namespace
}  // namespace s5066::modem
