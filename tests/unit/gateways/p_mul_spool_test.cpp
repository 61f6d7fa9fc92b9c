// SPDX-License-Identifier: Apache-2.0
// Files by P_MUL in the spool: damage, a configuration without P_MUL, overdue files, names from the
// air; and the core that sends them, with its real spool.
#include <gtest/gtest.h>

#include <cerrno>
#include <deque>
#include <filesystem>

#include "gateways/common/sha256.h"
#include "gateways/common/sqlite_store.h"
#include "gateways/file_relay/multicast_core.h"
#include "s5066d/base/rng.h"
#include "tests/unit/gateways/temporary_folder.h"

namespace s5066::file_relay {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr Address kOwn{0x01020301};
constexpr Address kOne{0x01020302};
constexpr Address kTwo{0x01020303};
constexpr Address kGroup{0x01020309};
constexpr UtcSeconds kNow{1'700'000'000};
constexpr gateways::GradeSettings kCoded{gateways::FileGrade::coded, 50, 0};
constexpr gateways::GradeSettings kHead{gateways::FileGrade::head, 0, 100};

Bytes content_of(std::size_t size) {
  Rng rng(1);
  Bytes bytes(size);
  for (auto& octet : bytes) octet = static_cast<std::uint8_t>(rng.below(256));
  return bytes;
}

class PMulSpool : public testing::Test {
 protected:
  PMulSpool() {
    config.path = (folder.path() / "spool.db").string();
    config.inbox = folder.make("inbox");
    config.inbox_hook = [this](gateways::Inbox::Step) {
      return failures > 0 && failures-- > 0 ? EIO : 0;
    };
    auto opened = gateways::SqliteStore::open(config);
    EXPECT_TRUE(opened);
    store.emplace(std::move(opened).value());
  }
  std::vector<gateways::SpoolId> put(const std::vector<Address>& to,
                                     const gateways::GradeSettings& grade,
                                     std::size_t octets = 5000) {
    auto rows = store->enqueue_by_p_mul(
        {.destination = {}, .name = "f", .content = content_of(octets), .now = kNow}, to, grade);
    EXPECT_TRUE(rows);
    return *rows;
  }
  gateways::SpoolItem item(gateways::SpoolId id) { return **store->find(id); }
  gateways::OpenItems listed(bool by_p_mul) {
    const auto answer = ask(gateways::ListOpen{{}, 1000, by_p_mul});
    return std::get<gateways::OpenItems>(*answer);
  }
  Result<gateways::StoreAnswer> ask(gateways::StoreOperation operation) {
    return store->execute({gateways::StoreTicket{1}, std::move(operation)}).answer;
  }
  void execute(const std::string& sql) {
    auto db = gateways::Database::open({.path = config.path});
    ASSERT_TRUE(db && db->execute(sql.c_str()));
  }
  /// Lets a part of a file arrive, of which more is waited for until `expiry`.
  void arrive_in_part(std::uint32_t number, UtcSeconds expiry) {
    const Bytes content(100, static_cast<std::uint8_t>(number));
    TransferManifest manifest;
    manifest.name = "f" + std::to_string(number);
    manifest.size = manifest.image_octets = 100;
    manifest.sha256 = gateways::sha256_of(content);
    gateways::SaveBlocks::Block block{0, Bytes(content.begin(), content.begin() + 60)};
    const auto taken = ask(gateways::TakeMessage{
        .key = {kOne, number},
        .message_id = number,
        .expiry = expiry,
        .last = true,
        .holes = true,
        .head = true,
        .manifest = manifest,
        .blocks = std::make_shared<std::vector<gateways::SaveBlocks::Block>>(1, block),
        .now = kNow});
    ASSERT_TRUE(taken) << to_string(taken.error());
    EXPECT_EQ(std::get<gateways::TransferNews>(*taken).state, gateways::TransferNews::State::open);
  }

  test::TemporaryFolder folder;
  gateways::SqliteStore::Config config;
  int failures = 0;  // of steps of the inbox, from now on
  std::optional<gateways::SqliteStore> store;
};

TEST_F(PMulSpool, an_overdue_file_that_cannot_be_ended_holds_up_no_others) {
  for (const std::uint32_t number : {1u, 2u, 3u}) arrive_in_part(number, {kNow.value + 60});
  failures = 1;
  auto ended = ask(gateways::EndOverdue{{kNow.value + 61}});
  ASSERT_TRUE(ended);
  EXPECT_EQ(std::get<gateways::FilesEnded>(*ended).files.size(), 2u);
  ended = ask(gateways::EndOverdue{{kNow.value + 62}});
  ASSERT_TRUE(ended);
  EXPECT_EQ(std::get<gateways::FilesEnded>(*ended).files.size(), 1u);
  for (const char* name : {"f1", "f2", "f3"}) {
    EXPECT_EQ(std::filesystem::file_size(std::filesystem::path(config.inbox) / name), 100u) << name;
  }
}

TEST_F(PMulSpool, an_expiry_of_decades_is_cut) {
  arrive_in_part(1, {UINT32_MAX});
  const auto ended = ask(gateways::EndOverdue{{kNow.value + config.keep_partial_s + 1}});
  ASSERT_TRUE(ended);
  EXPECT_EQ(std::get<gateways::FilesEnded>(*ended).files.size(), 1u);
  const Bytes content(100, 9);
  TransferManifest manifest;
  manifest.name = "g";
  manifest.size = manifest.image_octets = 100;
  manifest.sha256 = gateways::sha256_of(content);
  const gateways::SaveBlocks::Block block{0, content};
  ASSERT_TRUE(ask(gateways::TakeMessage{
      .key = {kOne, 9},
      .message_id = 77,
      .expiry = {UINT32_MAX},
      .whole = true,
      .manifest = manifest,
      .blocks = std::make_shared<std::vector<gateways::SaveBlocks::Block>>(1, block),
      .now = kNow}));
  const auto names = ask(gateways::ListNames{kNow});
  ASSERT_TRUE(names);
  const auto& known = std::get<gateways::KnownNames>(*names).names;
  ASSERT_EQ(known.size(), 1u);
  EXPECT_EQ(known[0].expiry.value, kNow.value + 31 * 86400);
}

TEST_F(PMulSpool, a_damaged_row_is_parked_and_named_and_the_others_go_on) {
  const auto damaged = put({kOne}, kCoded)[0];
  const auto good = put({kTwo}, kCoded)[0];
  execute("UPDATE outgoing_p_mul SET grade = 99 WHERE item = " + std::to_string(damaged.value));
  EXPECT_EQ(item(damaged).state, SpoolState::corrupt);
  const auto open = listed(true);
  ASSERT_EQ(open.items.size(), 1u);
  EXPECT_EQ(open.items[0].id, good);
  EXPECT_EQ(open.parked, (std::vector<gateways::SpoolId>{damaged}));
  EXPECT_EQ(item(damaged).state, SpoolState::corrupt);
  EXPECT_TRUE(listed(true).parked.empty()) << "it is told once";
}

TEST_F(PMulSpool, without_p_mul_in_the_configuration_no_row_stays_open_unsent) {
  const auto reliable = put({kOne, kTwo}, {});
  const auto coded = put({kOne}, kCoded)[0];
  const auto over = put({kTwo}, kCoded)[0];
  ASSERT_TRUE(ask(gateways::SaveItem{.id = over, .state = SpoolState::sent, .now = kNow}));
  const auto changed = store->leave_p_mul(kNow);
  ASSERT_TRUE(changed);
  EXPECT_EQ(changed->size(), 3u);
  EXPECT_TRUE(listed(true).items.empty());
  EXPECT_EQ(listed(false).items.size(), 2u) << "they go by RCOP";
  EXPECT_EQ(item(reliable[0]).attempts, 0u);
  EXPECT_EQ(item(coded).state, SpoolState::failed);
  EXPECT_NE(item(coded).reason.find("p_mul"), std::string::npos);
  EXPECT_EQ(item(over).state, SpoolState::sent);
}

/// The core in front of a node that takes all and transmits at 300 bit/s.
class PMulSending : public PMulSpool {
 protected:
  void start() {
    core_config.own = kOwn;
    core_config.groups = {{.address = kGroup, .members = {kOne, kTwo}}};
    core_config.line_rate_bps = 300;
    outbox.emplace(MessageOutbox::Config{}, ids);
    utc.set(now, kNow);
    core.emplace(core_config, ids, utc, *outbox);
    core->on_clock(now, kNow);
    core->on_start(now);
    bind();
  }
  /// Puts the clock forward while the core runs.
  void set_clock(std::chrono::seconds step) {
    const auto passed = std::chrono::duration_cast<seconds>(now.time_since_epoch());
    const UtcSeconds then{kNow.value + passed.count() + step.count()};
    EXPECT_EQ(utc.set(now, then), step);
    core->on_clock(now, then);
    core->on_clock_set(step);
    pump();
  }
  void bind(std::uint16_t mtu = 2048) {
    core->on_sis(now, gateways::SisBound{mtu});
    pump();
  }
  void pump() {
    bool more = true;
    while (more) {
      more = false;
      while (updus < updus_max) {
        auto updu = core->poll_updu();
        if (!updu) break;
        ++updus;
        sent.push_back(std::move(*updu));
        more = true;
      }
      while (auto event = core->poll_event()) events.push_back(std::move(*event));
      while (const auto request = core->poll_store()) {
        core->on_store_result(now, store->execute(*request));
        more = true;
      }
    }
  }
  void run_for(Duration time) {
    const Instant end = now + time;
    while (true) {
      const auto next = core->next_deadline();
      if (!next || *next > end) break;
      now = std::max(now, *next);
      core->on_deadline(now);
      pump();
    }
    now = end;
  }

  Instant now{};
  IdSource ids;
  UtcClock utc;
  std::optional<MessageOutbox> outbox;
  std::optional<MulticastCore> core;
  MulticastCore::Config core_config;
  int updus = 0;
  int updus_max = 1'000'000;  // then the node takes no more
  std::vector<gateways::SisUnidata> sent;
  std::deque<RelayEvent> events;
};

TEST_F(PMulSending, a_file_without_acknowledgement_is_sent_when_it_has_left_the_node) {
  const auto id = put({kOne}, kCoded)[0];
  start();
  run_for(seconds(60));
  EXPECT_GT(updus, 20);
  EXPECT_EQ(item(id).state, SpoolState::active) << "5000 octets take more than two minutes";
  run_for(minutes(30));
  EXPECT_EQ(item(id).state, SpoolState::sent);
}

TEST_F(PMulSending, what_the_node_has_lost_is_sent_again) {
  const auto id = put({kOne}, kCoded)[0];
  start();
  run_for(seconds(60));
  const int before = updus;
  core->on_sis(now, gateways::SisLost{});
  pump();
  run_for(minutes(30));
  EXPECT_EQ(item(id).state, SpoolState::active);
  EXPECT_EQ(updus, before);
  bind();
  run_for(minutes(30));
  EXPECT_EQ(item(id).state, SpoolState::sent);
  EXPECT_GE(updus, 2 * before - 2);
}

// P_MUL asks nobody for blocks without acknowledgement, so the file would have a hole.
TEST_F(PMulSending, a_file_of_which_the_node_has_lost_a_part_is_sent_again_whole) {
  const auto id = put({kOne}, kCoded)[0];
  updus_max = 10;
  start();
  core->on_sis(now, gateways::SisFlow{false});
  run_for(seconds(5));
  ASSERT_EQ(updus, 10);
  core->on_sis(now, gateways::SisLost{});
  updus = 0;
  updus_max = 1'000'000;
  bind();
  run_for(hours(1));
  EXPECT_EQ(item(id).state, SpoolState::sent);
  EXPECT_EQ(item(id).attempts, 2u);
  const int again = updus;
  const auto other = put({kOne}, kCoded)[0];
  core->on_spool_changed(now);
  updus = 0;
  pump();
  run_for(hours(1));
  EXPECT_EQ(item(other).state, SpoolState::sent);
  EXPECT_GE(again, updus - 2) << "as many as for a file that went at once";
}

TEST_F(PMulSending, nothing_is_taken_for_sent_while_our_own_emcon_lasts) {
  const auto id = put({kOne}, kCoded)[0];
  start();
  run_for(seconds(60));
  ASSERT_EQ(item(id).state, SpoolState::active);
  const int before = updus;
  core->on_own_silence(now, true);
  pump();
  run_for(hours(2));
  EXPECT_EQ(item(id).state, SpoolState::active);
  EXPECT_EQ(updus, before);
  core->on_own_silence(now, false);
  pump();
  run_for(hours(1));
  EXPECT_EQ(item(id).state, SpoolState::sent);
  EXPECT_GE(updus, 2 * before - 2);
}

TEST_F(PMulSending, other_data_at_the_node_delays_the_report) {
  start();
  const auto behind = put({kOne}, kCoded)[0];
  core->on_other_handed(now, 15, 300 / 8 * 3600);
  core->on_spool_changed(now);
  pump();
  run_for(minutes(55));
  EXPECT_EQ(item(behind).state, SpoolState::active);
  run_for(minutes(30));
  EXPECT_EQ(item(behind).state, SpoolState::sent);
}

TEST_F(PMulSending, blocks_that_are_with_the_node_do_not_go_again_when_one_station_cancels) {
  const auto rows = put({kOne, kTwo}, kCoded);
  start();
  run_for(seconds(60));
  const int before = updus;
  const TransferNumber number{static_cast<std::uint32_t>(rows[0].value)};
  EXPECT_TRUE(core->on_control(now, kOne, {.number = number, .action = ControlAction::cancel}));
  pump();
  run_for(minutes(30));
  EXPECT_EQ(item(rows[0]).state, SpoolState::failed);
  EXPECT_EQ(item(rows[1]).state, SpoolState::sent);
  EXPECT_EQ(item(rows[1]).attempts, 1u);
  EXPECT_EQ(updus, before);
}

// The time is 22:13:20 at the start.
TEST_F(PMulSending, the_clock_that_is_set_opens_a_window) {
  core_config.sender.sending.others.windows = {{2 * 60, 3 * 60}};
  put({kOne}, kCoded);
  start();
  run_for(minutes(10));
  EXPECT_EQ(updus, 0);
  set_clock(hours(4));
  run_for(minutes(1));
  EXPECT_GT(updus, 20);
}

TEST_F(PMulSending, a_file_does_not_wait_for_the_window_of_a_station_that_has_cancelled_it) {
  core_config.sender.sending.stations[kOne].windows = {{23 * 60, 23 * 60 + 50}};
  core_config.sender.sending.stations[kTwo].windows = {{23 * 60 + 40, 23 * 60 + 50}};
  const auto rows = put({kOne, kTwo}, kCoded);
  start();
  run_for(minutes(50));
  EXPECT_EQ(updus, 0);
  const TransferNumber number{static_cast<std::uint32_t>(rows[0].value)};
  EXPECT_TRUE(core->on_control(now, kTwo, {.number = number, .action = ControlAction::cancel}));
  pump();
  run_for(minutes(1));
  EXPECT_GT(updus, 20);
}

TEST_F(PMulSending, a_damaged_row_is_counted) {
  const auto id = put({kOne}, kCoded)[0];
  execute("UPDATE outgoing_p_mul SET grade = 99 WHERE item = " + std::to_string(id.value));
  start();
  EXPECT_EQ(core->sender().counters()[MulticastSenderCounter::corrupt], 1u);
  ASSERT_FALSE(events.empty());
  EXPECT_EQ(events.front().kind, RelayEvent::Kind::corrupt);
  EXPECT_EQ(events.front().item, id);
}

TEST_F(PMulSending, a_restart_does_not_forget_that_the_head_has_arrived) {
  const auto id = put({kOne}, kHead)[0];
  execute(
      "UPDATE outgoing SET state = 'active', attempts = 1, reason = 'the station has its head'");
  start();
  run_for(hours(2));
  EXPECT_EQ(item(id).state, SpoolState::delivered) << item(id).reason;
  EXPECT_GT(updus, 20);
}

TEST_F(PMulSending, the_rest_that_has_been_sent_is_noted_and_not_sent_again_after_a_restart) {
  const auto id = put({kOne}, kHead)[0];
  start();
  run_for(minutes(20));
  EXPECT_EQ(item(id).reason, "the rest has been sent");
  const int before = updus;
  core.reset();
  updus = 0;
  start();
  run_for(minutes(20));
  EXPECT_LT(updus, before / 2);
}

TEST_F(PMulSending, a_receiver_suspends_resumes_and_cancels_a_file_and_the_others_get_it) {
  const auto rows = put({kOne, kTwo}, {});
  start();
  run_for(seconds(60));
  const TransferNumber number{static_cast<std::uint32_t>(rows[0].value)};
  const TransferNumber message{item(rows[0]).p_mul->message_id};
  EXPECT_TRUE(core->on_control(now, kOne, {.number = message, .action = ControlAction::suspend}));
  run_for(minutes(1));
  EXPECT_EQ(item(rows[0]).state, SpoolState::held);
  EXPECT_EQ(item(rows[0]).reason, gateways::kSuspendedThere);
  EXPECT_EQ(item(rows[1]).state, SpoolState::active);

  const auto released = ask(gateways::ReleaseSuspended{{message.value}, kOne, kNow});
  ASSERT_TRUE(released);
  const auto& open = std::get<gateways::OpenItems>(*released).items;
  ASSERT_EQ(open.size(), 1u);
  EXPECT_EQ(open[0].id, rows[0]);
  core->on_changed(now, open[0]);
  pump();
  run_for(minutes(1));
  EXPECT_EQ(item(rows[0]).state, SpoolState::active);

  EXPECT_TRUE(core->on_control(now, kTwo, {.number = number, .action = ControlAction::cancel}));
  run_for(minutes(1));
  EXPECT_EQ(item(rows[1]).state, SpoolState::failed);
  EXPECT_EQ(item(rows[1]).reason, "cancelled by the other station");
  EXPECT_EQ(item(rows[0]).state, SpoolState::active);
  EXPECT_FALSE(core->on_control(now, kTwo, {.number = {99}, .action = ControlAction::cancel}));
}

TEST_F(PMulSending, a_file_that_arrives_is_listed_and_can_be_cancelled_by_its_receiver) {
  put({kOne}, {});
  start();
  run_for(seconds(60));
  ASSERT_GE(sent.size(), 4u);
  MulticastCore::Config settings;
  settings.own = kOne;
  MessageOutbox answers({}, ids);
  MulticastCore receiver(settings, ids, utc, answers);
  receiver.on_clock(now, kNow);
  receiver.on_start(now);
  for (std::size_t i = 0; i < 4; ++i) {
    receiver.on_sis(now, gateways::SisIndication{kOwn, SapId{7}, sent[i].updu});
  }
  const auto arriving = receiver.p_mul().receiver().arriving();
  ASSERT_EQ(arriving.size(), 1u);
  EXPECT_GT(arriving[0].octets, 0u);
  const gateways::TransferKey key{kOwn, arriving[0].name.message_id};
  EXPECT_FALSE(receiver.request(now, {kTwo, key.number}, ControlAction::cancel));
  EXPECT_TRUE(receiver.request(now, key, ControlAction::cancel));
  EXPECT_TRUE(receiver.p_mul().receiver().arriving().empty());
  EXPECT_EQ(answers.size(), 1u);
  receiver.on_sis(now, gateways::SisIndication{kOwn, SapId{7}, sent[1].updu});
  EXPECT_TRUE(receiver.p_mul().receiver().arriving().empty()) << "it does not begin again";
}

TEST_F(PMulSending, what_still_comes_of_a_file_that_was_cancelled_in_the_spool_is_refused) {
  const auto id = put({kOne}, {})[0];
  start();
  run_for(minutes(10));
  for (const bool cancels : {false, true}) {
    MulticastCore::Config settings;
    settings.own = kOne;
    MessageOutbox answers({}, ids);
    MulticastCore receiver(settings, ids, utc, answers);
    receiver.on_clock(now, kNow);
    receiver.on_start(now);
    const gateways::TransferKey key{kOwn, static_cast<std::uint32_t>(id.value)};
    if (cancels) {
      EXPECT_TRUE(receiver.request(now, key, ControlAction::cancel, true));
    }
    for (const auto& unidata : sent) {
      receiver.on_sis(now, gateways::SisIndication{kOwn, SapId{7}, unidata.updu});
    }
    unsigned taken = 0;
    while (const auto request = receiver.poll_store()) {
      taken += std::holds_alternative<gateways::TakeMessage>(request->operation) ? 1 : 0;
    }
    EXPECT_EQ(taken, cancels ? 0u : 1u);
  }
}

TEST_F(PMulSending, a_small_mtu_of_the_node_is_told) {
  const auto id = put({kOne}, kCoded)[0];
  start();
  core->on_sis(now, gateways::SisLost{});
  updus = 0;
  bind(1005);
  run_for(minutes(10));
  EXPECT_NE(core->problem().find("1006"), std::string::npos);
  ASSERT_FALSE(events.empty());
  EXPECT_EQ(events.back().kind, RelayEvent::Kind::mtu_too_small);
  EXPECT_EQ(updus, 0);
  bind(1006);
  EXPECT_EQ(core->problem(), "");
  run_for(hours(1));
  EXPECT_EQ(item(id).state, SpoolState::sent);
}

}  // namespace
}  // namespace s5066::file_relay
