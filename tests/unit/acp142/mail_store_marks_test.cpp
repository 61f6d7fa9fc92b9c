// SPDX-License-Identifier: Apache-2.0
// Marks show that a message is a repeat. The disk here returns other data than was written to it.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "tests/unit/acp142/damaged_spool.h"

namespace s5066::acp142 {
namespace {

// The first copy is lost here, so the second copy is not a repeat.
TEST_F(DamagedSpool, another_copy_of_what_is_parked_is_taken) {
  EXPECT_EQ(keep(7), MailId{});
  damage("content-h");
  take();
  ASSERT_FALSE(parked.empty());
  for (int i = 0; i < kMails; ++i) {
    const MailId first = ids[static_cast<std::size_t>(i)];
    const bool lost = std::find(parked.begin(), parked.end(), first) != parked.end();
    EXPECT_EQ(keep(i) != MailId{}, lost) << i;
    EXPECT_EQ(keep(i), MailId{}) << i;
  }
}

TEST_F(DamagedSpool, damaged_marks_stop_no_mail) {
  damage(root_of("mail_seen"));
  const MailId again = keep(3);
  EXPECT_NE(again, MailId{});  // the spool cannot know that it is a repeat
  EXPECT_EQ(left_out, std::vector<std::string>{"mail_seen"});
  EXPECT_TRUE(ask(PurgeMail{kMuchLater, PurgeMail::Part::marks}));
  EXPECT_EQ(take().size(), ids.size() + 1);
  EXPECT_EQ(left_out.size(), 1u);
  EXPECT_TRUE(parked.empty());
}

// The disk has failed only once to read the message.
TEST_F(DamagedSpool, what_is_not_parked_in_the_spool_keeps_its_marks) {
  const std::uint64_t page = page_of("label-d");
  std::fstream file(config.path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekg(static_cast<std::streamoff>(page));
  const char was = static_cast<char>(file.get());
  reopen();
  damage(page);
  const auto taken = take();
  EXPECT_EQ(taken, but_for(parked));
  EXPECT_GE(parked.size(), 2u);
  EXPECT_EQ(keep(3), MailId{});
  store.reset();
  file.seekp(static_cast<std::streamoff>(page)).put(was).flush();
  reopen();
  ASSERT_TRUE(ask(Resume{kNow}));
  auto all = take();
  std::sort(all.begin(), all.end());
  EXPECT_EQ(all, ids);
}

// The message was delivered but the spool could not be told. Without its marks it would be sent
// twice.
TEST_F(DamagedSpool, what_was_under_way_at_the_end_keeps_its_marks_where_it_cannot_be_read_again) {
  EXPECT_EQ(take().size(), ids.size());
  reopen();
  ASSERT_TRUE(ask(Resume{kNow}));
  ASSERT_TRUE(store->change(OperatorVerb::remove, ids[11], kNow));
  EXPECT_EQ(keep(11), MailId{});
  ids.pop_back();
  damage("content-d");
  ASSERT_TRUE(ask(Resume{kNow}));
  const auto taken = take();
  EXPECT_EQ(taken, but_for(parked));
  EXPECT_FALSE(parked.empty());
  for (int i = 0; i < kMails; ++i) EXPECT_EQ(keep(i), MailId{}) << i;
}

// The row says that the message is in progress, and cannot be written.
TEST_F(DamagedSpool, what_was_under_way_at_the_end_keeps_its_marks_where_its_row_is_damaged) {
  EXPECT_EQ(take().size(), ids.size());
  damage("label-d");
  for (int start = 0; start < 2; ++start) {
    ASSERT_TRUE(ask(Resume{kNow}));
    take();
    EXPECT_FALSE(parked.empty());
    for (int i = 0; i < kMails; ++i) EXPECT_EQ(keep(i), MailId{}) << i;
    reopen();
  }
}

// Damaged marks are no reason to take an unreadable message again and again.
TEST_F(DamagedSpool, what_is_damaged_is_parked_though_its_marks_are_too) {
  damage("mark-to-h-0");
  damage("content-h");
  const auto taken = take();
  EXPECT_EQ(taken, but_for(parked));
  EXPECT_FALSE(parked.empty());
  EXPECT_EQ(corrupt(), parked);
}

}  // namespace
}  // namespace s5066::acp142
