// SPDX-License-Identifier: Apache-2.0
// These tests check the spool of mail after a power cut.
#include <gtest/gtest.h>

#include <optional>

#include "tests/unit/acp142/mail_store_fixture.h"
#include "tests/unit/gateways/power_vfs.h"

namespace s5066::acp142 {
namespace {

// The power fails at each change to a file. Each promise that was made before must hold afterwards.
class MailPowerCut : public testing::TestWithParam<test::PowerVfs::Unsynced> {};

/// The steps of a message after it failed. Each step is one commit.
enum class Fate { incoming, failed, requeued, held, gone };

Fate fate_of(SqliteMailStore& store, MailId id) {
  const auto item = *store.find(id);
  if (!item) return Fate::gone;
  const bool failed = item->state == SpoolState::failed;
  EXPECT_EQ(failed, item->targets.at(0).state == SpoolState::failed);
  return failed                                   ? Fate::failed
         : item->state == SpoolState::held        ? Fate::held
         : item->expiry.value > kNow.value + 1000 ? Fate::requeued
                                                  : Fate::incoming;
}

/// State that the spool has confirmed, as far as the power lasted.
struct Confirmed {
  std::vector<MailId> kept;
  std::optional<MailId> delivered;
  bool told = false;
  std::optional<Fate> fate;  // of the second message
};

/// Lives through two messages until the power goes.
void live(const SqliteMailStore::Config& config, Confirmed& confirmed) {
  auto store = SqliteMailStore::open(config);
  if (!store) return;
  const auto ask = [&](std::vector<MailOperation> operations) {
    std::vector<MailRequest> requests;
    for (auto& operation : operations) requests.push_back({{}, std::move(operation)});
    return store->execute(requests);
  };
  std::vector<MailId>& kept = confirmed.kept;
  NewMail second = mail_to({3}, 6, 3000, "two");
  second.delay = kNow;
  const auto both = ask({AcceptMail{{mail_to({2}, 6, 3000, "one")}, kNow, {}, {}},
                         AcceptMail{{second}, kNow, {}, {}}});
  if (!both[0].answer) return;
  for (const auto& one : both) kept.push_back(std::get<MailKept>(*one.answer).ids[0]);
  if (!ask({TakeDue{Transport::air, kNow, 1}})[0].answer) return;
  if (!ask({SaveSubmission{kept[0], 5, 100, {{{2}, 1}}}})[0].answer) return;
  const SaveOutcome arrived{
      .id = kept[0], .changes = {{0, SpoolState::delivered, ""}}, .now = kNow};
  if (!ask({arrived})[0].answer) return;
  confirmed.delivered = kept[0];
  NewMail report = mail_to({0});
  report.transport = Transport::smtp;
  if (!ask({SaveDelayed{kept[1], kNow, {report}}})[0].answer) return;
  confirmed.told = true;
  confirmed.fate = Fate::incoming;
  const SaveOutcome end{.id = kept[1], .changes = {{0, SpoolState::failed, ""}}, .now = kNow};
  if (!ask({end})[0].answer) return;
  confirmed.fate = Fate::failed;
  if (!store->change(SpoolChange::retry, kept[1], {kNow.value + 10})) return;
  confirmed.fate = Fate::requeued;
  if (!store->change(SpoolChange::hold, kept[1], kNow)) return;
  confirmed.fate = Fate::held;
  if (!store->change(SpoolChange::cancel, kept[1], kNow)) return;
  confirmed.fate = Fate::gone;
}

/// The spool after the power cut holds what was confirmed, once.
void check(SqliteMailStore& store, const Confirmed& confirmed) {
  const auto& kept = confirmed.kept;
  const auto run = [&](MailOperation operation) {
    std::vector<MailRequest> one(1);
    one[0].operation = std::move(operation);
    return *store.execute(one)[0].answer;
  };
  if (kept.size() == 2) {
    const auto step = static_cast<int>(confirmed.fate.value_or(Fate::incoming));
    const int found = static_cast<int>(fate_of(store, kept[1])) - step;
    ASSERT_TRUE(found == 0 || found == 1) << found;  // the answer to the next step may be lost
    const auto late = std::get<TakenMail>(run(TakeDelayed{kNow, 4})).items.size();
    const auto reports = std::get<TakenMail>(run(TakeDue{Transport::smtp, kNow, 4})).items.size();
    ASSERT_EQ(late + reports, 1u);
    ASSERT_TRUE(reports == 1 || !confirmed.told);
  }
  run(Resume{kNow});
  const auto items = std::get<TakenMail>(run(TakeDue{Transport::air, kNow, 10})).items;
  for (const MailId id : kept) {
    const bool open = std::any_of(items.begin(), items.end(),
                                  [&](const MailItem& item) { return item.id == id; });
    if (id == confirmed.delivered) {
      ASSERT_FALSE(open);
    } else if (!open && id == kept[0]) {
      ASSERT_EQ((*store.find(id))->state, SpoolState::delivered);  // the answer was lost
    } else if (!open) {
      ASSERT_TRUE(confirmed.fate);
    }
    // The operator deleted it or it failed, and its mark went with it.
    const auto item = *store.find(id);
    const bool gone = !item || item->state == SpoolState::failed;
    const auto again =
        run(AcceptMail{{mail_to({2}, 6, 3000, id == kept[0] ? "one" : "two")}, kNow, {}, {}});
    ASSERT_EQ(std::get<MailKept>(again).ids[0] != MailId{}, gone);
  }
}

TEST_P(MailPowerCut, at_no_change_to_any_file_loses_or_repeats_a_message) {
  std::uint64_t cuts = 0;
  for (std::uint64_t change = 1;; ++change) {
    SCOPED_TRACE(change);
    const test::TemporaryFolder folder;
    SqliteMailStore::Config config;
    config.path = (folder.path() / "spool.db").string();
    Confirmed confirmed;
    bool dead = false;
    {
      test::PowerVfs vfs(GetParam());
      vfs.cut_at(change);
      config.vfs = vfs.name();
      live(config, confirmed);
      dead = vfs.dead();
      if (dead) vfs.restore();
    }
    config.vfs = nullptr;
    auto store = SqliteMailStore::open(config);
    ASSERT_TRUE(store) << to_string(store.error());
    check(*store, confirmed);
    if (HasFatalFailure()) return;
    if (!dead) {
      EXPECT_EQ(confirmed.fate, Fate::gone);
      break;
    }
    ++cuts;
  }
  EXPECT_GT(cuts, 30u);
}

INSTANTIATE_TEST_SUITE_P(Disks, MailPowerCut,
                         testing::Values(test::PowerVfs::Unsynced::lost,
                                         test::PowerVfs::Unsynced::kept,
                                         test::PowerVfs::Unsynced::torn));

}  // namespace
}  // namespace s5066::acp142
