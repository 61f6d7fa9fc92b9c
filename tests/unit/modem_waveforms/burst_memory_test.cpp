// SPDX-License-Identifier: Apache-2.0
#include "modem/waveforms/burst_memory.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace s5066::modem {
namespace {

TEST(BurstMemory, hands_out_what_it_has_and_all_of_it_again_after_a_release) {
  BurstMemory memory(256);
  for (int round = 0; round < 3; ++round) {
    const std::pmr::vector<std::uint8_t> all(256, std::uint8_t{7}, &memory);
    EXPECT_EQ(memory.used(), memory.capacity());
    memory.release();
    EXPECT_EQ(memory.used(), 0u);
  }
}

TEST(BurstMemory, keeps_every_alignment) {
  struct alignas(32) Wide {
    char value = 1;
  };
  BurstMemory memory(1024);
  for (std::size_t odd = 1; odd < 8; ++odd) {
    const std::pmr::vector<char> bytes(odd, 'x', &memory);
    const std::pmr::vector<Wide> wide(1, &memory);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(wide.data()) % alignof(Wide), 0u);
    EXPECT_GE(reinterpret_cast<const char*>(wide.data()), bytes.data() + odd);
  }
}

TEST(BurstMemory, ends_what_was_made_in_it) {
  struct Counted {
    explicit Counted(int& alive) : count(alive) { ++count; }
    Counted(const Counted&) = delete;
    Counted& operator=(const Counted&) = delete;
    virtual ~Counted() { --count; }
    int& count;
  };
  struct More final : Counted {
    using Counted::Counted;
    char more[100]{};
  };
  int alive = 0;
  BurstMemory memory(1024);
  {
    const InMemory<Counted> one = make_in<More>(memory, alive);
    EXPECT_EQ(alive, 1);
    EXPECT_GE(memory.used(), sizeof(More));
  }
  EXPECT_EQ(alive, 0);
}

TEST(BurstMemoryDeathTest, more_than_it_has_is_a_bug) {
  BurstMemory memory(16);
  EXPECT_DEATH(std::pmr::vector<char>(17, &memory), "capacity_");
}

}  // namespace
}  // namespace s5066::modem
