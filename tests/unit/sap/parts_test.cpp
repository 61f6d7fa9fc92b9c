// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "s5066d/base/rng.h"
#include "s5066d/sap/client_watch.h"
#include "s5066d/sap/delivery_table.h"
#include "s5066d/sap/sap_table.h"
#include "s5066d/sap/storage_ledger.h"
#include "s5066d/sap/unidata_queue.h"

namespace s5066::sap {
namespace {

using std::chrono::nanoseconds;

constexpr ClientId kA{1};
constexpr ClientId kB{2};
constexpr Address kPeer{0x01020305};

// --- Storage of each client ---

QueueConfig small_queue() {
  return {.client_octets_max = 5000,
          .client_updus_max = 3,
          .client_octets_reserved = 1000,
          .lent_octets_max = 6000};
}

TEST(StorageLedger, each_client_keeps_its_share_whatever_others_do) {
  StorageLedger ledger(small_queue(), 16);
  ASSERT_TRUE(ledger.take(kA, 5000));  // 4000 of it lent
  ASSERT_TRUE(ledger.take(kB, 3000));  // 2000 of it lent: nothing is left to lend
  EXPECT_EQ(ledger.octets_left(kB), 0u);
  EXPECT_FALSE(ledger.take(ClientId{3}, 1001));
  EXPECT_TRUE(ledger.take(ClientId{3}, 1000));
  ledger.give_back(kA, 5000);
  EXPECT_TRUE(ledger.take(kB, 2000));
}

TEST(StorageLedger, limits_octets_and_number) {
  StorageLedger ledger(small_queue(), 16);
  EXPECT_FALSE(ledger.take(kA, 5001));
  EXPECT_TRUE(ledger.take(kA, 1));
  EXPECT_TRUE(ledger.take(kA, 1));
  EXPECT_TRUE(ledger.take(kA, 1));
  EXPECT_FALSE(ledger.take(kA, 1));
  EXPECT_EQ(ledger.percent_used(kA), 100u);
  ledger.forget(kA);
  EXPECT_TRUE(ledger.take(kA, 5000));
}

// Two clients have a reserved share of 2 each of 10, so that 6 can be lent.
QueueConfig few_updus() {
  return {.client_updus_max = 9, .updus_max = 10, .client_updus_reserved = 2};
}

TEST(StorageLedger, of_all_clients_together_takes_the_last_in_number_and_not_one_more) {
  StorageLedger ledger(few_updus(), 2);
  for (int i = 0; i < 8; ++i) ASSERT_TRUE(ledger.take(kA, 1));
  EXPECT_EQ(ledger.percent_used(kA), 100u);
  EXPECT_FALSE(ledger.take(kA, 1));  // below its limit, but the rest is the other's share
  EXPECT_TRUE(ledger.take(kB, 1));
  EXPECT_TRUE(ledger.take(kB, 1));  // the tenth
  EXPECT_FALSE(ledger.take(kB, 1));
  ledger.give_back(kA, 1);
  EXPECT_TRUE(ledger.take(kB, 1));
  EXPECT_FALSE(ledger.take(kA, 1));
  ledger.forget(kB);
  EXPECT_TRUE(ledger.take(kA, 1));
}

TEST(StorageLedger, all_clients_hear_of_it_when_lent_numbers_change) {
  StorageLedger ledger(few_updus(), 2);
  ASSERT_TRUE(ledger.take(kA, 1));
  ASSERT_TRUE(ledger.take(kA, 1));
  EXPECT_FALSE(ledger.changed().all);
  ASSERT_TRUE(ledger.take(kA, 1));
  EXPECT_TRUE(ledger.changed().all);
}

TEST(StorageLedger, random_use_never_breaks_a_share) {
  Rng rng(3);
  QueueConfig config = small_queue();
  config.client_updus_max = 100;
  StorageLedger ledger(config, 16);
  std::map<std::uint32_t, std::vector<std::size_t>> stored;
  for (int i = 0; i < 20000; ++i) {
    const ClientId client{rng.below(6)};
    auto& mine = stored[client.value];
    const std::size_t octets = 1 + rng.below(700);
    if (rng.chance(0.55)) {
      std::size_t used = 0;
      for (const std::size_t one : mine) used += one;
      const bool taken = ledger.take(client, octets);
      ASSERT_TRUE(taken || used + octets > config.client_octets_reserved);
      if (taken) mine.push_back(octets);
    } else if (rng.chance(0.01)) {
      ledger.forget(client);
      mine.clear();
    } else if (!mine.empty()) {
      ledger.give_back(client, mine.back());
      mine.pop_back();
    }
    std::size_t lent = 0;
    for (const auto& [id, all] : stored) {
      std::size_t used = 0;
      for (const std::size_t one : all) used += one;
      ASSERT_EQ(ledger.usage(ClientId{id}).octets, used);
      ASSERT_LE(used, config.client_octets_max);
      if (used > config.client_octets_reserved) lent += used - config.client_octets_reserved;
    }
    ASSERT_LE(lent, config.lent_octets_max);
  }
}

// --- The queue ---

UnidataItem item(std::uint64_t id, std::uint8_t priority, std::uint8_t rank, Address to = kPeer) {
  UnidataItem i;
  i.id = UpduId{id};
  i.client = kA;
  i.priority = priority;
  i.rank = rank;
  i.destination = to;
  i.time_to_die = Instant(seconds(100 + id));
  i.spdu = DataSpdu{.source_sap = SapId{3}, .destination_sap = SapId{4}, .updu = Bytes(10)};
  return i;
}

TEST(UnidataQueue, priority_then_rank_then_age_decide) {
  UnidataQueue queue;
  queue.put(item(1, 0, 9));
  queue.put(item(2, 5, 1));
  queue.put(item(3, 5, 2));
  queue.put(item(4, 5, 2));
  queue.put(item(5, 9, 0));
  std::vector<std::uint64_t> order;
  while (auto next = queue.take({false, kPeer})) order.push_back(next->id.value);
  EXPECT_EQ(order, (std::vector<std::uint64_t>{5, 3, 4, 2, 1}));
  EXPECT_TRUE(queue.empty());
  EXPECT_EQ(queue.next_expiry(), std::nullopt);
}

TEST(UnidataQueue, what_comes_back_goes_before_what_came_later) {
  UnidataQueue queue;
  queue.put(item(1, 5, 0));
  queue.put(item(2, 5, 0));
  UnidataItem first = *queue.take({false, kPeer});
  queue.put(item(3, 5, 0));
  queue.put(std::move(first));
  EXPECT_EQ(queue.take({false, kPeer})->id.value, 1u);
}

// A hard link asks which U_PDU may go at each event, so the queue must ask only once for equal
// ones.
TEST(UnidataQueue, what_may_not_go_is_asked_about_once_however_much_there_is) {
  for (const unsigned fair_turn : {0u, 1u}) {
    UnidataQueue queue(fair_turn);
    for (std::uint64_t id = 1; id <= 1000; ++id) queue.put(item(id, 5, 0));
    UnidataItem other = item(1001, 5, 0);
    std::get<DataSpdu>(other.spdu).destination_sap = SapId{9};
    queue.put(other);
    unsigned asked = 0;
    const auto* found = queue.first({false, kPeer}, [&asked](const UnidataItem& candidate) {
      ++asked;
      return candidate.remote_sap() == SapId{9};
    });
    ASSERT_NE(found, nullptr);
    EXPECT_EQ(found->id.value, 1001u);
    EXPECT_LE(asked, 3u);
  }
}

TEST(UnidataQueue, destinations_are_listed_by_their_best) {
  UnidataQueue queue;
  queue.put(item(1, 2, 0, Address{7}));
  queue.put(item(2, 1, 0, Address{8}));
  queue.put(item(3, 9, 0, Address{8}));
  UnidataItem nonarq = item(4, 15, 0, Address{9});
  nonarq.service = cas::Service::nonarq;
  queue.put(nonarq);
  const auto waiting = queue.waiting();
  ASSERT_EQ(waiting.size(), 2u);
  EXPECT_EQ(waiting[0].peer, Address{8});
  EXPECT_EQ(waiting[1].peer, Address{7});
  EXPECT_EQ(queue.take({false, std::nullopt})->id.value, 4u);
}

TEST(UnidataQueue, expires_at_the_time_to_die_and_not_before) {
  UnidataQueue queue;
  queue.put(item(1, 0, 0));
  queue.put(item(2, 9, 0));
  EXPECT_EQ(queue.next_expiry(), Instant(seconds(101)));
  EXPECT_TRUE(queue.take_expired(Instant(seconds(101)) - nanoseconds(1)).empty());
  const auto expired = queue.take_expired(Instant(seconds(101)));
  ASSERT_EQ(expired.size(), 1u);
  EXPECT_EQ(expired[0].id.value, 1u);
  EXPECT_EQ(queue.size(), 1u);
  EXPECT_EQ(queue.octets(kPeer), 10u);
}

TEST(UnidataQueue, failed_attempts_are_counted_for_what_waits_there) {
  UnidataQueue queue;
  queue.put(item(1, 0, 0));
  EXPECT_TRUE(queue.take_after_failure(kPeer, 2).empty());
  queue.put(item(2, 0, 0));
  queue.put(item(3, 0, 0, Address{9}));
  const auto exhausted = queue.take_after_failure(kPeer, 2);
  ASSERT_EQ(exhausted.size(), 1u);
  EXPECT_EQ(exhausted[0].id.value, 1u);
  EXPECT_EQ(queue.size(), 2u);
}

// --- Binds ---

sis::BindRequest bind_request(std::uint8_t sap, std::uint8_t rank = 0) {
  sis::BindRequest request;
  request.sap = SapId{sap};
  request.rank = rank;
  request.service.mode = sis::TransmissionMode::arq;
  return request;
}

TEST(SapTable, a_sap_belongs_to_one_client) {
  SapTable table({}, 16);
  EXPECT_EQ(table.bind(kA, bind_request(3)), std::nullopt);
  EXPECT_EQ(table.bind(kB, bind_request(3)), BindRefusal::sap_taken);
  EXPECT_EQ(table.bind(kA, bind_request(4)), BindRefusal::bound_already);
  EXPECT_EQ(table.client_at(SapId{3}), kA);
  EXPECT_EQ(table.client_at(SapId{4}), std::nullopt);
  table.unbind(kA);
  EXPECT_EQ(table.bind(kB, bind_request(3)), std::nullopt);
}

TEST(SapTable, policy_refuses_reserved_saps_management_and_rank_15) {
  for (const int sap : {0, 10, 11}) {
    const auto barred = static_cast<std::uint8_t>(sap);
    SapTable table({}, 16);
    EXPECT_EQ(table.bind(kA, bind_request(barred)),
              sap == 0 ? BindRefusal::sap_not_allowed : BindRefusal::sap_reserved)
        << sap;
  }
  for (const int sap : {1, 9, 12, 15}) {
    const auto open = static_cast<std::uint8_t>(sap);
    SapTable table({}, 16);
    EXPECT_EQ(table.bind(kA, bind_request(open, 14)), std::nullopt) << sap;
  }
  SapTable strict({}, 16);
  EXPECT_EQ(strict.bind(kA, bind_request(1, 15)), BindRefusal::rank_not_allowed);
  SapTable open({.allow_reserved_saps = true, .allow_management_sap = true, .allow_rank_15 = true},
                16);
  EXPECT_EQ(open.bind(kA, bind_request(0, 15)), std::nullopt);
  EXPECT_EQ(open.bind(kB, bind_request(10)), std::nullopt);
}

// [A.2.1.1(6)]
TEST(SapTable, access_granted_to_a_client_stands_above_what_is_open_to_all) {
  SapTable table({.allow_management_sap = true, .allow_rank_15 = true}, 16);
  table.grant(kA, {.saps = 1u << 3 | 1u << 5, .rank_max = 9});
  for (const int sap : {0, 2, 4, 6, 10, 15}) {
    EXPECT_EQ(table.bind(kA, bind_request(static_cast<std::uint8_t>(sap), 9)),
              BindRefusal::sap_not_allowed)
        << sap;
  }
  EXPECT_EQ(table.bind(kA, bind_request(3, 10)), BindRefusal::rank_not_allowed);
  EXPECT_EQ(table.bind(kA, bind_request(3, 9)), std::nullopt);
  EXPECT_EQ(table.bind(kB, bind_request(0, 15)), std::nullopt) << "another client's";
  table.unbind(kA);
  EXPECT_EQ(table.bind(kA, bind_request(2, 1)), BindRefusal::sap_not_allowed)
      << "a bind used it up";
  table.revoke(kA);
  EXPECT_EQ(table.bind(kA, bind_request(2, 15)), std::nullopt);
}

TEST(SapTable, sap_0_and_rank_15_can_be_granted_to_one_client) {
  SapTable table({}, 16);
  table.grant(kA, {.saps = 1u << 0, .rank_max = 15});
  EXPECT_EQ(table.bind(kB, bind_request(0, 1)), BindRefusal::sap_not_allowed);
  EXPECT_EQ(table.bind(kB, bind_request(1, 15)), BindRefusal::rank_not_allowed);
  EXPECT_EQ(table.bind(kA, bind_request(0, 15)), std::nullopt);
}

TEST(SapTable, forbidden_service_types_are_refused_unless_lenient) {
  std::vector<sis::DeliveryMode> bad(5);
  bad[1].mode = static_cast<sis::TransmissionMode>(4);
  bad[2].mode = sis::TransmissionMode::arq;
  bad[2].confirmation = sis::Confirmation::undefined;
  bad[3].mode = sis::TransmissionMode::arq;
  bad[3].extended = true;
  bad[4].mode = sis::TransmissionMode::nonarq;
  bad[4].confirmation = sis::Confirmation::node;
  for (const auto& service : bad) {
    sis::BindRequest request = bind_request(3);
    request.service = service;
    SapTable strict({}, 16);
    EXPECT_EQ(strict.bind(kA, request), BindRefusal::illegal_service);
    SapTable lenient({.lenient = true}, 16);
    EXPECT_EQ(lenient.bind(kA, request), std::nullopt);
  }
}

TEST(SapTable, a_broadcast_only_node_takes_no_arq_clients) {
  SapTable table({}, 16);
  table.allow_arq(false);
  EXPECT_EQ(table.bind(kA, bind_request(3)), BindRefusal::no_arq);
  sis::BindRequest nonarq = bind_request(3);
  nonarq.service.mode = sis::TransmissionMode::nonarq;
  EXPECT_EQ(table.bind(kA, nonarq), std::nullopt);
}

TEST(SapTable, without_room_only_a_strictly_higher_rank_pushes_out_the_youngest_of_the_lowest) {
  SapTable table({}, 3);
  const ClientId high{1}, low{2}, low_too{3}, next{4};
  const auto ranked = [](std::uint8_t sap, std::uint8_t rank) {
    sis::BindRequest request = bind_request(sap);
    request.rank = rank;
    return request;
  };
  ASSERT_EQ(table.bind(high, ranked(1, 5)), std::nullopt);
  ASSERT_EQ(table.bind(low, ranked(2, 3)), std::nullopt);
  EXPECT_EQ(table.victim_of(next, ranked(4, 9)), std::nullopt);  // there is still room
  ASSERT_EQ(table.bind(low_too, ranked(3, 3)), std::nullopt);
  EXPECT_EQ(table.victim_of(next, ranked(4, 4)), low_too);
  EXPECT_EQ(table.victim_of(next, ranked(4, 3)), std::nullopt);
  EXPECT_EQ(table.bind(next, ranked(4, 3)), BindRefusal::no_room);
  // A bind that would be refused anyway takes no other client's place.
  EXPECT_EQ(table.victim_of(next, ranked(1, 9)), std::nullopt);
  EXPECT_EQ(table.bind(next, ranked(1, 9)), BindRefusal::sap_taken);
}

TEST(SapTable, each_refusal_has_its_reason_in_words_and_one_that_the_standard_knows) {
  using Reason = sis::BindRejectReason;
  for (std::size_t i = 0; i < static_cast<std::size_t>(BindRefusal::count); ++i) {
    EXPECT_FALSE(to_string(static_cast<BindRefusal>(i)).empty()) << i;
  }
  EXPECT_EQ(reject_reason_of(BindRefusal::sap_shut), Reason::invalid_sap);
  EXPECT_EQ(reject_reason_of(BindRefusal::sap_taken), Reason::sap_already_allocated);
  EXPECT_EQ(reject_reason_of(BindRefusal::no_arq), Reason::arq_unsupportable_in_broadcast);
  EXPECT_EQ(reject_reason_of(BindRefusal::rank_not_allowed), Reason::not_enough_resources);
}

// --- Watching a client ---

TEST(ClientWatch, one_invalid_primitive_too_many_is_noticed) {
  Config config;
  config.invalid_primitives_max = 10;
  config.invalid_primitives_window = minutes(10);
  ClientWatch watch(config, Instant{});
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(watch.on_invalid(Instant{})) << i;
  EXPECT_FALSE(watch.on_invalid(Instant{}));
}

TEST(ClientWatch, invalid_primitives_are_forgiven_as_fast_as_they_are_allowed) {
  Config config;
  config.invalid_primitives_max = 10;
  config.invalid_primitives_window = minutes(10);
  ClientWatch watch(config, Instant{});
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(watch.on_invalid(Instant{}));
  for (int i = 1; i <= 100; ++i) ASSERT_TRUE(watch.on_invalid(Instant(minutes(i)))) << i;
  EXPECT_FALSE(watch.on_invalid(Instant(minutes(101)) - nanoseconds(1)));
}

TEST(ClientWatch, keep_alives_are_answered_once_in_120_s) {
  ClientWatch watch({}, Instant{});
  watch.on_bound(Instant{});
  EXPECT_TRUE(watch.on_keep_alive(Instant(seconds(1))));
  EXPECT_FALSE(watch.on_keep_alive(Instant(seconds(121)) - nanoseconds(1)));
  EXPECT_TRUE(watch.on_keep_alive(Instant(seconds(121))));
}

// A.2.1.17(2)
TEST(ClientWatch, a_keep_alive_that_waited_here_for_more_than_10_s_is_heard_and_not_answered) {
  Config config;
  config.keep_alive_interval = seconds(300);
  ClientWatch watch(config, Instant{});
  watch.on_bound(Instant{});
  EXPECT_FALSE(watch.on_keep_alive(Instant(seconds(20)), seconds(10) + nanoseconds(1)));
  EXPECT_EQ(watch.next_deadline(), Instant(seconds(320)));
  EXPECT_TRUE(watch.on_keep_alive(Instant(seconds(21)), seconds(10)));
  ASSERT_EQ(watch.on_deadline(Instant(seconds(321))), ClientWatch::Verdict::send_keep_alive);
  EXPECT_FALSE(watch.on_keep_alive(Instant(seconds(340)), seconds(11)));
  EXPECT_EQ(watch.next_deadline(), Instant(seconds(640))) << "it answers our probe all the same";
}

TEST(ClientWatch, the_answer_to_our_probe_is_not_answered) {
  Config config;
  config.keep_alive_interval = seconds(120);
  ClientWatch watch(config, Instant{});
  watch.on_bound(Instant{});
  EXPECT_EQ(watch.next_deadline(), Instant(seconds(120)));
  EXPECT_EQ(watch.on_deadline(Instant(seconds(120)) - nanoseconds(1)), ClientWatch::Verdict::fine);
  EXPECT_EQ(watch.on_deadline(Instant(seconds(120))), ClientWatch::Verdict::send_keep_alive);
  EXPECT_FALSE(watch.on_keep_alive(Instant(seconds(121))));
  EXPECT_TRUE(watch.on_keep_alive(Instant(seconds(122))));   // its own probe, soon after
  EXPECT_FALSE(watch.on_keep_alive(Instant(seconds(123))));  // but no answer to the answer
}

TEST(ClientWatch, a_client_that_does_not_answer_is_inactive) {
  Config config;
  config.keep_alive_interval = seconds(120);
  config.keep_alive_answer_wait = seconds(30);
  ClientWatch watch(config, Instant{});
  watch.on_bound(Instant{});
  ASSERT_EQ(watch.on_deadline(Instant(seconds(120))), ClientWatch::Verdict::send_keep_alive);
  EXPECT_EQ(watch.on_deadline(Instant(seconds(150)) - nanoseconds(1)), ClientWatch::Verdict::fine);
  EXPECT_EQ(watch.on_deadline(Instant(seconds(150))), ClientWatch::Verdict::inactive);
}

TEST(ClientWatch, only_a_keep_alive_answers_our_probe) {
  Config config;
  config.keep_alive_interval = seconds(120);
  ClientWatch watch(config, Instant{});
  watch.on_bound(Instant{});
  watch.on_heard(Instant(seconds(60)));
  ASSERT_EQ(watch.next_deadline(), Instant(seconds(180)));  // data shows life before the probe …
  ASSERT_EQ(watch.on_deadline(Instant(seconds(180))), ClientWatch::Verdict::send_keep_alive);
  watch.on_heard(Instant(seconds(190)));  // … and is no answer to it
  EXPECT_EQ(watch.on_deadline(Instant(seconds(210))), ClientWatch::Verdict::inactive);
}

TEST(ClientWatch, a_client_that_is_not_read_is_neither_probed_nor_called_inactive) {
  Config config;
  config.keep_alive_interval = seconds(120);
  config.keep_alive_answer_wait = seconds(30);
  ClientWatch watch(config, Instant{});
  watch.on_bound(Instant{});
  watch.on_paused();
  EXPECT_EQ(watch.next_deadline(), std::nullopt);
  watch.on_resumed(Instant(seconds(500)));
  ASSERT_EQ(watch.on_deadline(Instant(seconds(620))), ClientWatch::Verdict::send_keep_alive);
  watch.on_paused();
  EXPECT_EQ(watch.on_deadline(Instant(seconds(1000))), ClientWatch::Verdict::fine);
  watch.on_resumed(Instant(seconds(1000)));  // the answer may be among what is read now
  EXPECT_EQ(watch.on_deadline(Instant(seconds(1030)) - nanoseconds(1)), ClientWatch::Verdict::fine);
  EXPECT_EQ(watch.on_deadline(Instant(seconds(1030))), ClientWatch::Verdict::inactive);
}

TEST(ClientWatch, one_expedited_request_too_many_is_noticed) {
  Config config;
  config.expedited_requests_max = 3;
  config.expedited_requests_window = minutes(3);
  ClientWatch watch(config, Instant{});
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(watch.on_expedited_request(Instant{})) << i;
  EXPECT_FALSE(watch.on_expedited_request(Instant{}));
}

TEST(ClientWatch, an_unbound_connection_may_idle_only_so_long) {
  Config config;
  config.unbound_idle_timeout = minutes(1);
  ClientWatch watch(config, Instant{});
  EXPECT_EQ(watch.on_deadline(Instant(minutes(1)) - nanoseconds(1)), ClientWatch::Verdict::fine);
  EXPECT_EQ(watch.on_deadline(Instant(minutes(1))), ClientWatch::Verdict::inactive);
  ClientWatch talking(config, Instant{});
  EXPECT_TRUE(talking.on_keep_alive(Instant(seconds(59))));  // a keep-alive is not a bind
  EXPECT_EQ(talking.next_deadline(), Instant(minutes(1)));
  ClientWatch bound(config, Instant{});
  bound.on_bound(Instant(seconds(59)));
  EXPECT_EQ(bound.next_deadline(), std::nullopt);
}

// --- Deliveries in progress ---

TEST(DeliveryTable, a_delivery_answer_finds_the_oldest_that_fits) {
  DeliveryTable table;
  const auto add = [&](std::uint64_t id, std::uint8_t to, Bytes updu) {
    UnidataItem i = item(id, 0, 0);
    i.spdu = DataSpdu{.source_sap = SapId{3},
                      .destination_sap = SapId{to},
                      .client_confirm_required = true,
                      .updu = std::move(updu)};
    table.hand_down(CpduId{100 - id}, std::move(i), 20);
  };
  add(1, 4, {1, 1});
  add(2, 4, {2, 2});
  add(3, 4, {2, 3});
  add(4, 5, {2, 2});
  EXPECT_EQ(table.octets_below(kPeer), 80u);
  const Bytes part{2};
  EXPECT_EQ(table.match(kPeer, SapId{3}, SapId{4}, part).below->item.id.value, 2u);
  EXPECT_EQ(table.match(kPeer, SapId{3}, SapId{4}, {}).below->item.id.value, 1u);
  EXPECT_EQ(table.match(kPeer, SapId{3}, SapId{5}, part).below->item.id.value, 4u);
  EXPECT_EQ(table.match(kPeer, SapId{4}, SapId{3}, part).below, nullptr);
  EXPECT_EQ(table.match(Address{9}, SapId{3}, SapId{4}, part).below, nullptr);

  table.await_client(table.take(CpduId{98})->item, Instant(seconds(9)));
  auto match = table.match(kPeer, SapId{3}, SapId{4}, part);
  ASSERT_TRUE(match.awaiting.has_value());
  EXPECT_EQ(match.awaiting->id.value, 2u);
  EXPECT_EQ(table.match(kPeer, SapId{3}, SapId{4}, part).below->item.id.value, 3u);
  EXPECT_EQ(table.octets_below(kPeer), 60u);
}

TEST(DeliveryTable, what_awaits_a_client_is_overdue_at_its_time) {
  DeliveryTable table;
  table.await_client(item(1, 0, 0), Instant(seconds(9)));
  EXPECT_TRUE(table.awaits_answer_of(kPeer));
  EXPECT_EQ(table.next_deadline(), Instant(seconds(9)));
  EXPECT_TRUE(table.take_overdue(Instant(seconds(9)) - nanoseconds(1)).empty());
  EXPECT_EQ(table.take_overdue(Instant(seconds(9))).size(), 1u);
  EXPECT_FALSE(table.awaits_answer_of(kPeer));
  EXPECT_EQ(table.next_deadline(), std::nullopt);
}

}  // namespace
}  // namespace s5066::sap
