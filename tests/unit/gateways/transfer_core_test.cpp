// SPDX-License-Identifier: Apache-2.0
// Two relays with the transfer service: files go on from what the receiver has, whatever breaks.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <set>

#include "gateways/common/block_digests.h"
#include "gateways/common/image_codec.h"
#include "gateways/common/sha256.h"
#include "gateways/file_relay/relay_core.h"
#include "gateways/file_relay/transfer_messages.h"
#include "tests/unit/gateways/relay_world.h"

namespace s5066::file_relay {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;
using test::RelayWorld;
using Side = RelayWorld::Side;
using Kind = RelayEvent::Kind;
using gateways::SpoolChange;
using Files = std::map<std::string, Bytes>;

constexpr Side kLeft = RelayWorld::kLeft;
constexpr Side kRight = RelayWorld::kRight;
/// Octets of a large file that the node may have and that may be sent again after a break: three
/// quarters of the limit for one station.
const std::uint64_t kWindow = SenderCore::Config().station_outstanding_max * 3 / 4 * 2033;

Bytes content_of(std::size_t size, std::uint64_t seed = 1) {
  Rng rng(seed);
  Bytes bytes(size);
  for (auto& octet : bytes) octet = static_cast<std::uint8_t>(rng.below(256));
  return bytes;
}

Bytes text_of(std::size_t size) {
  std::string text;
  for (int line = 0; text.size() < size; ++line) text += "line " + std::to_string(line * 7) + "\n";
  return {text.begin(), text.begin() + static_cast<std::ptrdiff_t>(size)};
}

test::SubnetOptions both() {
  return {.transfers = {true, true}};
}

TransferManifest manifest_of(const Bytes& content, const std::string& name = "f") {
  TransferManifest file;
  file.name = name;
  file.size = file.image_octets = static_cast<std::uint32_t>(content.size());
  file.sha256 = gateways::sha256_of(content);
  file.block_size_log2 = gateways::block_size_log2_for(file.image_octets);
  file.block_digests = gateways::block_digests_of(content, file.block_size_log2);
  return file;
}

void inject(RelayWorld& world, Side to, const TransferMessage& message) {
  Bytes updu;
  gateways::encode(gateways::RcopHeader{.application_id = kTransferApplication}, updu);
  append(updu, encode(message));
  world.inject(to, updu);
}

/// Returns the messages of one kind that a station has sent: the last one.
template <typename Message>
std::optional<Message> last_message(const RelayWorld& world, Side from) {
  const auto pdu = gateways::decode_rcop(world.last_updu(from));
  if (!pdu || pdu->header.application_id != kTransferApplication) return std::nullopt;
  const auto message = decode_transfer_message(pdu->data);
  if (!message || !std::holds_alternative<Message>(*message)) return std::nullopt;
  return std::get<Message>(*message);
}

TEST(Transfer, a_file_crosses_whole_with_its_name) {
  for (const std::size_t size : {0u, 1u, 2033u, 2034u, 20'000u, 200'000u}) {
    SCOPED_TRACE(size);
    RelayWorld world(1, both());
    world.send(kLeft, "MAP.BIN", content_of(size));
    EXPECT_TRUE(world.run_until_delivered(hours(1)));
    EXPECT_EQ(world.inbox(kRight), (Files{{"MAP.BIN", content_of(size)}}));
    EXPECT_EQ(world.block_octets(kLeft), size);
    EXPECT_EQ(world.events(kLeft, Kind::service_found), 1u);
    const auto& log = world.log(kRight);
    const auto received = std::find_if(log.begin(), log.end(), [](const RelayEvent& event) {
      return event.kind == Kind::file_received;
    });
    ASSERT_NE(received, log.end());
    EXPECT_EQ(received->sha256, gateways::sha256_of(content_of(size)));
    ASSERT_TRUE(received->took);
    EXPECT_LT(*received->took, minutes(10));
  }
}

TEST(Transfer, a_station_without_the_service_gets_the_file_by_bftp) {
  RelayWorld world(1, {.transfers = {true, false}});
  for (const char* name : {"f", "g"}) {
    const auto id = world.send(kLeft, name, content_of(5000));
    EXPECT_TRUE(world.run_until_delivered(hours(1)));
    EXPECT_EQ(world.item(kLeft, id).state, SpoolState::delivered);
  }
  EXPECT_EQ(world.inbox(kRight), (Files{{"f", content_of(5000)}, {"g", content_of(5000)}}));
  EXPECT_EQ(world.events(kLeft, Kind::service_absent), 1u) << "it is asked once";
  EXPECT_EQ(world.block_octets(kLeft), 0u);
}

TEST(Transfer, several_offers_that_are_not_answered_leave_the_station_without_the_service) {
  RelayWorld world(1, {.transfers = {true, false}});
  std::vector<gateways::SpoolId> sent;
  for (unsigned i = 0; i < 4; ++i) {
    sent.push_back(world.send(kLeft, "f" + std::to_string(i), content_of(500, 10 + i)));
  }
  EXPECT_TRUE(world.run_until_delivered(minutes(30)));
  EXPECT_EQ(world.events(kLeft, Kind::service_absent), 1u);
  for (const auto id : sent) EXPECT_LE(world.item(kLeft, id).attempts, 2u);
  world.run_for(hours(3));  // in which stations without files are forgotten
  world.send(kLeft, "later", content_of(500, 20));
  EXPECT_TRUE(world.run_until_delivered(minutes(5)));
  EXPECT_EQ(world.events(kLeft, Kind::service_absent), 1u) << "it is not asked again";
}

TEST(Transfer, a_relay_without_the_service_still_sends_to_one_that_has_it) {
  RelayWorld world(1, {.transfers = {false, true}});
  world.send(kLeft, "f", content_of(5000));
  EXPECT_TRUE(world.run_until_delivered(hours(1)));
  EXPECT_EQ(world.inbox(kRight), (Files{{"f", content_of(5000)}}));
}

TEST(Transfer, a_station_that_gets_the_service_is_used_by_it_after_its_first_message) {
  RelayWorld world(1, {.transfers = {true, false}});
  world.send(kLeft, "f", content_of(500));
  EXPECT_TRUE(world.run_until_delivered(hours(1)));
  world.kill(kRight);
  world.subnet.transfers[kRight] = true;
  world.start(kRight);
  world.run_for(minutes(1));
  world.send(kRight, "back", content_of(700));
  EXPECT_TRUE(world.run_until_delivered(hours(1)));
  world.send(kLeft, "g", content_of(5000));
  EXPECT_TRUE(world.run_until_delivered(hours(1)));
  EXPECT_EQ(world.block_octets(kLeft), 5000u);
}

TEST(Transfer, the_second_file_does_not_wait_for_an_answer_to_its_offer) {
  RelayWorld world(1, both());
  world.send(kLeft, "f", content_of(100));
  EXPECT_TRUE(world.run_until_delivered(hours(1)));
  const auto before = world.updus_sent(kLeft);
  world.send(kLeft, "g", content_of(4066, 2));
  const auto answers = world.updus_sent(kRight);
  for (int i = 0; i < 100 && world.updus_sent(kLeft) - before < 3; ++i) {
    world.run_for(std::chrono::milliseconds(100));
  }
  EXPECT_EQ(world.updus_sent(kRight), answers);
  EXPECT_EQ(world.updus_sent(kLeft) - before, 3u) << "the offer and both blocks";
}

TEST(Transfer, a_sender_that_restarts_goes_on_with_what_is_missing) {
  RelayWorld world(1, both());
  const Bytes content = content_of(300'000);
  world.send(kLeft, "f", content);
  world.run_for(minutes(3));
  world.kill(kLeft);
  world.run_for(minutes(1));
  world.start(kLeft);
  EXPECT_TRUE(world.run_until_delivered(hours(3)));
  EXPECT_EQ(world.inbox(kRight), (Files{{"f", content}}));
  EXPECT_LE(world.block_octets(kLeft), content.size() + kWindow);
  EXPECT_GT(world.core(kLeft).sender().counters()[RelaySenderCounter::resumed_octets], 100'000u);
}

TEST(Transfer, a_receiver_that_restarts_goes_on_with_what_is_missing) {
  RelayWorld world(1, both());
  const Bytes content = content_of(300'000);
  world.send(kLeft, "f", content);
  world.run_for(minutes(3));
  world.kill(kRight);
  world.run_for(seconds(10));
  world.start(kRight);
  EXPECT_TRUE(world.run_until_delivered(hours(3)));
  EXPECT_EQ(world.inbox(kRight), (Files{{"f", content}}));
  EXPECT_LE(world.block_octets(kLeft), content.size() + kWindow);
  const auto& log = world.log(kRight);
  const auto received = std::find_if(log.begin(), log.end(), [](const RelayEvent& event) {
    return event.kind == Kind::file_received;
  });
  ASSERT_NE(received, log.end());
  ASSERT_TRUE(received->took);
  EXPECT_GT(*received->took, minutes(3)) << "from the offer, before the restart";
}

TEST(Transfer, a_link_that_breaks_again_and_again_sends_no_more_than_a_window_anew_each_time) {
  RelayWorld world(1, both());
  const Bytes content = content_of(400'000);
  world.send(kLeft, "f", content);
  for (int i = 0; i < 5; ++i) {
    world.run_for(minutes(2));
    world.lose_connection(kLeft, seconds(20));
  }
  EXPECT_TRUE(world.run_until_delivered(hours(5)));
  EXPECT_EQ(world.inbox(kRight), (Files{{"f", content}}));
  EXPECT_LE(world.block_octets(kLeft), content.size() + 5 * kWindow);
}

TEST(Transfer, a_receiver_that_is_off_for_a_day_gets_the_rest_without_help) {
  RelayWorld world(1, both());
  world.core_config.sender.lifetime_max = hours(48);
  for (const Side side : {kLeft, kRight}) {
    world.kill(side);
    world.start(side);
  }
  const Bytes content = content_of(300'000);
  world.send(kLeft, "f", content);
  world.run_for(minutes(3));
  world.kill(kRight);
  world.run_for(hours(24));
  world.start(kRight);
  EXPECT_TRUE(world.run_until_delivered(hours(3)));
  EXPECT_EQ(world.inbox(kRight), (Files{{"f", content}}));
  EXPECT_LE(world.block_octets(kLeft), content.size() + 2 * kWindow);
}

TEST(Transfer, a_sender_that_stops_half_way_for_a_week_goes_on_where_it_was) {
  RelayWorld world(1, both());
  world.core_config.sender.lifetime_max = hours(24 * 10);
  for (const Side side : {kLeft, kRight}) {
    world.kill(side);
    world.start(side);
  }
  const Bytes content = content_of(600'000);
  world.send(kLeft, "f", content);
  world.run_for(minutes(4));
  const std::uint64_t before = world.block_octets(kLeft);
  EXPECT_GT(before, kWindow);
  EXPECT_LT(before, content.size());
  world.kill(kLeft);
  world.run_for(hours(24 * 7));
  EXPECT_TRUE(world.inbox(kRight).empty());
  world.start(kLeft);
  EXPECT_TRUE(world.run_until_delivered(hours(3)));
  EXPECT_EQ(world.inbox(kRight), (Files{{"f", content}}));
  EXPECT_LE(world.block_octets(kLeft), content.size() + kWindow);
}

TEST(Transfer, a_link_of_ten_minutes_an_hour_is_enough) {
  RelayWorld world(1, both());
  const Bytes content = content_of(900'000);  // half an hour of line time
  world.send(kLeft, "f", content);
  for (int hour = 0; hour < 8; ++hour) {
    world.run_for(minutes(10));
    world.lose_connection(kLeft, minutes(50));
    world.run_for(minutes(50));
  }
  EXPECT_TRUE(world.run_until_delivered(minutes(10)));
  EXPECT_EQ(world.inbox(kRight), (Files{{"f", content}}));
}

TEST(Transfer, a_file_that_has_no_room_there_is_offered_ever_more_seldom) {
  RelayWorld world(1, both());
  world.kill(kRight);
  world.store_config(kRight).station_transfer_octets_max = 1000;
  world.start(kRight);
  const auto id = world.send(kLeft, "f", content_of(5000));
  world.run_for(hours(12));
  EXPECT_EQ(world.item(kLeft, id).state, SpoolState::deferred);
  EXPECT_GE(world.item(kLeft, id).attempts, 20u);
  EXPECT_LE(world.item(kLeft, id).attempts, 45u);
}

TEST(Transfer, offers_to_a_station_that_was_off_leave_the_attempts_by_bftp) {
  RelayWorld world(1, {.transfers = {true, false}});
  world.core_config.sender.attempts_max = 3;
  world.kill(kLeft);
  world.start(kLeft);
  world.kill(kRight);
  const auto id = world.send(kLeft, "f", content_of(500));
  world.run_for(hours(2));
  EXPECT_GT(world.item(kLeft, id).attempts, 3u);
  world.mute(kRight, true);
  world.start(kRight);
  world.run_for(minutes(40));
  EXPECT_EQ(world.events(kLeft, Kind::service_absent), 1u);
  EXPECT_EQ(world.item(kLeft, id).state, SpoolState::deferred) << "not acknowledged once";
  world.mute(kRight, false);
  EXPECT_TRUE(world.run_until_delivered(hours(3)));
}

TEST(Transfer, a_lost_acknowledgement_costs_one_more_offer_and_no_second_file) {
  RelayWorld world(1, both());
  const Bytes content = content_of(5000);
  world.send(kLeft, "first", content_of(10, 9));
  EXPECT_TRUE(world.run_until_delivered(hours(1)));
  world.mute(kRight, true);
  const auto id = world.send(kLeft, "f", content);
  world.run_for(minutes(2));
  EXPECT_EQ(world.inbox(kRight).size(), 2u);
  EXPECT_EQ(world.item(kLeft, id).state, SpoolState::active);
  world.mute(kRight, false);
  EXPECT_TRUE(world.run_until_delivered(hours(2)));
  EXPECT_EQ(world.inbox(kRight).size(), 2u);
  EXPECT_EQ(world.block_octets(kLeft), content.size() + 10);
}

TEST(Transfer,
     a_file_that_came_whole_before_its_sender_took_the_receiver_for_one_without_the_service) {
  RelayWorld world(1, both());
  world.mute(kRight, true);
  // The offer is not answered, so BFTP is used, and its acknowledgement is lost as well.
  world.send(kLeft, "f", content_of(5000));
  world.run_for(minutes(20));
  EXPECT_EQ(world.inbox(kRight).size(), 1u);
  world.mute(kRight, false);
  EXPECT_TRUE(world.run_until_delivered(hours(3)));
  EXPECT_EQ(world.inbox(kRight), (Files{{"f", content_of(5000)}}));
}

void inject_file_by_bftp(RelayWorld& world, Side to, const std::string& name,
                         const Bytes& content) {
  Bytes updu;
  gateways::encode(gateways::RcopHeader{.application_id = kBftpApplication}, updu);
  encode(BftpHeader{name, static_cast<std::uint32_t>(content.size())}, updu);
  append(updu, content);
  world.inject(to, updu);
}

TEST(Transfer, a_file_that_came_by_bftp_while_its_transfer_was_open_is_not_published_again) {
  const Bytes content = content_of(1000);
  for (const bool offered_again : {false, true}) {
    SCOPED_TRACE(offered_again);
    RelayWorld world(1, both());
    world.run_for(seconds(5));
    const OfferMessage offer{{7}, true, false, false, false, manifest_of(content)};
    inject(world, kRight, offer);
    world.run_for(seconds(1));
    inject_file_by_bftp(world, kRight, "f", content);
    world.run_for(seconds(1));
    if (offered_again) {
      inject(world, kRight, offer);
    } else {
      inject(world, kRight, BlockMessage{{7}, 0, content});
    }
    world.run_for(seconds(10));
    EXPECT_EQ(world.inbox(kRight), (Files{{"f", content}}));
    EXPECT_EQ(world.events(kRight, Kind::repeat_received), 1u);
  }
}

TEST(Transfer, text_crosses_compressed_and_is_the_same_text) {
  RelayWorld world(1, both());
  const Bytes text = text_of(100'000);
  world.send(kLeft, "log.txt", text);
  EXPECT_TRUE(world.run_until_delivered(hours(1)));
  EXPECT_EQ(world.inbox(kRight), (Files{{"log.txt", text}}));
  EXPECT_LT(world.block_octets(kLeft), text.size() / 2);
}

TEST(Transfer, a_content_that_the_receiver_has_does_not_cross_again) {
  RelayWorld world(1, both());
  const Bytes content = content_of(50'000);
  world.send(kLeft, "f", content);
  EXPECT_TRUE(world.run_until_delivered(hours(1)));
  world.send(kLeft, "other name", content);
  EXPECT_TRUE(world.run_until_delivered(hours(1)));
  EXPECT_EQ(world.inbox(kRight), (Files{{"f", content}, {"other name", content}}));
  EXPECT_EQ(world.block_octets(kLeft), content.size());
}

TEST(Transfer, a_new_version_crosses_as_a_difference) {
  RelayWorld world(1, both());
  const Bytes old = text_of(200'000);
  world.send(kLeft, "log.txt", old);
  EXPECT_TRUE(world.run_until_delivered(hours(1)));
  const auto before = world.block_octets(kLeft);
  Bytes changed = old;
  const Bytes fresh = content_of(2000, 5);
  std::copy(fresh.begin(), fresh.end(), changed.begin() + 90'000);
  world.send(kLeft, "log.txt", changed);
  EXPECT_TRUE(world.run_until_delivered(hours(1)));
  EXPECT_EQ(world.inbox(kRight), (Files{{"log.txt", old}, {"log.1.txt", changed}}));
  EXPECT_LT(world.block_octets(kLeft) - before, changed.size() / 20);
}

TEST(Transfer, an_older_version_that_is_gone_when_the_difference_arrives_costs_the_whole_file) {
  RelayWorld world(1, both());
  const Bytes old = content_of(100'000);
  world.send(kLeft, "f", old);
  EXPECT_TRUE(world.run_until_delivered(hours(1)));
  Bytes changed = old;
  for (std::size_t i = 0; i < 30'000; ++i) changed[2 * i] ^= 0x5A;
  world.send(kLeft, "f", changed);
  // It goes away while the difference is on its way.
  world.run_for(seconds(60));
  ASSERT_TRUE(std::filesystem::remove(world.inbox_path(kRight) / "f"));
  EXPECT_TRUE(world.run_until_delivered(hours(2)));
  EXPECT_EQ(world.inbox(kRight), (Files{{"f", changed}}));
}

TEST(Transfer, done_for_another_file_of_the_same_number_delivers_nothing) {
  RelayWorld world(1, both());
  const Bytes content = content_of(200'000);
  const auto id = world.send(kLeft, "f", content);
  world.run_for(minutes(1));
  const TransferNumber number{static_cast<std::uint32_t>(id.value)};
  inject(world, kLeft, DoneMessage{number, false, Bytes(8, 0)});
  world.run_for(seconds(5));
  EXPECT_EQ(world.item(kLeft, id).state, SpoolState::active);
  const Bytes sha256 = gateways::sha256_of(content);
  inject(world, kLeft, DoneMessage{number, false, Bytes(sha256.begin(), sha256.begin() + 8)});
  world.run_for(seconds(5));
  EXPECT_EQ(world.item(kLeft, id).state, SpoolState::delivered);
}

TEST(Transfer, a_number_that_comes_again_with_another_name_is_another_file) {
  RelayWorld world(1, both());
  world.run_for(seconds(5));
  const Bytes content = content_of(100);
  for (const char* name : {"f", "g"}) {
    inject(world, kRight,
           OfferMessage{{7}, false, false, false, false, manifest_of(content, name)});
    world.run_for(seconds(1));
    inject(world, kRight, BlockMessage{{7}, 0, content});
    world.run_for(seconds(5));
  }
  EXPECT_EQ(world.inbox(kRight), (Files{{"f", content}, {"g", content}}));
}

TEST(Transfer, a_longer_block_from_the_same_offset_takes_the_place_of_a_shorter_one) {
  RelayWorld world(1, both());
  world.run_for(seconds(5));
  const Bytes content = content_of(1000);
  auto store = gateways::SqliteStore::open(world.store_config(kRight));
  ASSERT_TRUE(store);
  const gateways::TransferKey key{Address{0x01020300}, 7};
  const auto ask = [&](gateways::StoreOperation operation) {
    return store->execute(gateways::StoreRequest{{1}, std::move(operation)}).answer;
  };
  EXPECT_TRUE(ask(gateways::OpenTransfer{.key = key,
                                         .source_sap = gateways::kRcopSap,
                                         .manifest = manifest_of(content),
                                         .now = {1'700'000'000}}));
  for (const long size : {500L, 1000L, 10L}) {
    const auto blocks = std::make_shared<const std::vector<gateways::SaveBlocks::Block>>(
        1, gateways::SaveBlocks::Block{0, Bytes(content.begin(), content.begin() + size)});
    EXPECT_TRUE(ask(gateways::SaveBlocks{key, blocks, {1'700'000'000}}));
  }
  const auto answer = ask(gateways::FinishTransfer{key, {1'700'000'000}});
  ASSERT_TRUE(answer);
  EXPECT_EQ(std::get<gateways::TransferNews>(*answer).state, gateways::TransferNews::State::done);
}

TEST(Transfer, a_difference_that_gives_another_file_is_answered_so_that_the_file_comes_whole) {
  RelayWorld world(1, both());
  auto store = gateways::SqliteStore::open(world.store_config(kRight));
  ASSERT_TRUE(store);
  const UtcSeconds at{1'700'000'000};
  const auto ask = [&](gateways::StoreOperation operation) {
    return store->execute(gateways::StoreRequest{{1}, std::move(operation)}).answer;
  };
  const auto arrive = [&](std::uint32_t number, const gateways::TransferManifest& manifest,
                          const Bytes& image) {
    const gateways::TransferKey key{Address{0x01020300}, number};
    EXPECT_TRUE(ask(gateways::OpenTransfer{
        .key = key, .source_sap = gateways::kRcopSap, .manifest = manifest, .now = at}));
    const auto blocks = std::make_shared<const std::vector<gateways::SaveBlocks::Block>>(
        1, gateways::SaveBlocks::Block{0, image});
    EXPECT_TRUE(ask(gateways::SaveBlocks{key, blocks, at}));
    const auto answer = ask(gateways::FinishTransfer{key, at});
    return std::get<gateways::TransferNews>(*answer);
  };
  const Bytes old = content_of(20'000);
  EXPECT_EQ(arrive(7, manifest_of(old), old).state, gateways::TransferNews::State::done);
  Bytes next = old;
  next[9000] ^= 1;
  Bytes other = old;
  other[9000] ^= 2;
  const Bytes image = *gateways::delta_image(*gateways::signature_of(old), other);
  gateways::TransferManifest manifest = manifest_of(next);
  manifest.form = gateways::ImageForm::delta;
  manifest.base = manifest_of(old).sha256;
  manifest.image_octets = static_cast<std::uint32_t>(image.size());
  const auto news = arrive(8, manifest, image);
  EXPECT_EQ(news.state, gateways::TransferNews::State::no_base);
  EXPECT_EQ(news.text, "the difference gives another file");
}

TEST(Transfer, what_one_station_has_begun_is_limited_and_ends_with_the_life_of_the_file) {
  RelayWorld world(1, both());
  auto& config = world.store_config(kRight);
  config.station_transfers_max = 2;
  config.station_transfer_octets_max = 5000;
  auto store = gateways::SqliteStore::open(config);
  ASSERT_TRUE(store);
  const auto ask = [&](gateways::StoreOperation operation) {
    return store->execute(gateways::StoreRequest{{1}, std::move(operation)}).answer;
  };
  const auto offer = [&](std::uint32_t number, std::size_t octets, std::int64_t at) {
    gateways::OpenTransfer open{.key = {Address{0x01020300}, number},
                                .source_sap = gateways::kRcopSap,
                                .manifest = manifest_of(content_of(octets, number)),
                                .now = {at}};
    open.manifest.expiry_s = 1000;
    const auto answer = ask(std::move(open));
    return std::get<gateways::TransferNews>(*answer).state;
  };
  const auto numbers = [&] {
    const auto answer = ask(gateways::ListTransfers{10});
    std::set<std::uint32_t> found;
    for (const auto& from : std::get<gateways::OpenTransfers>(*answer).transfers) {
      found.insert(from.key.number);
    }
    return found;
  };
  using State = gateways::TransferNews::State;
  using Numbers = std::set<std::uint32_t>;
  EXPECT_EQ(offer(1, 1000, 100), State::open);
  EXPECT_EQ(offer(2, 1000, 101), State::open);
  EXPECT_EQ(offer(1, 4000, 102), State::open);
  EXPECT_EQ(offer(1, 4001, 103), State::no_room);
  EXPECT_EQ(offer(3, 1000, 104), State::open) << "in place of the one that changed longest ago";
  EXPECT_EQ(numbers(), (Numbers{1, 3}));
  EXPECT_TRUE(ask(gateways::Purge{{1103}}));
  EXPECT_EQ(numbers(), (Numbers{3}));
}

TEST(Transfer, files_that_arrive_at_once_do_not_exceed_the_quota_of_the_inbox_together) {
  RelayWorld world(1, both());
  auto store = gateways::SqliteStore::open(world.store_config(kRight));
  ASSERT_TRUE(store);
  constexpr Address kFrom{0x01020300};
  const auto offer = [&](std::uint32_t number, std::uint64_t quota) {
    const auto answer =
        store->execute({{1},
                        gateways::OpenTransfer{.key = {kFrom, number},
                                               .source_sap = gateways::kRcopSap,
                                               .manifest = manifest_of(content_of(3000, number)),
                                               .now = {100},
                                               .quota = {.inbox_octets_max = quota}}});
    return std::get<gateways::TransferNews>(*answer.answer).state;
  };
  using State = gateways::TransferNews::State;
  EXPECT_EQ(offer(1, 5999), State::open);
  EXPECT_EQ(offer(2, 5999), State::no_room);
  EXPECT_EQ(offer(1, 5999), State::open) << "it does not count twice";
  EXPECT_EQ(offer(2, 6000), State::open);
  EXPECT_EQ(offer(1, 5999), State::open) << "the first does not wait for the second";
  EXPECT_EQ(offer(2, 5999), State::no_room);
  ASSERT_TRUE(store->execute({{2}, gateways::DropTransfer{{kFrom, 1}}}).answer);
  EXPECT_EQ(offer(2, 5999), State::open);
}

TEST(Transfer, a_file_of_a_folder_arrives_in_that_folder) {
  RelayWorld world(1, both());
  std::filesystem::create_symlink("/tmp", world.inbox_path(kRight) / "link");
  world.send(kLeft, "log/2026/one.txt", content_of(100));
  world.send(kLeft, "log/2026/one.txt", content_of(200));
  world.send(kLeft, "../../etc/passwd", content_of(300));
  world.send(kLeft, "link/evil", content_of(400));
  EXPECT_TRUE(world.run_until_delivered(hours(1)));
  const auto inbox = world.inbox_path(kRight);
  EXPECT_EQ(test::read_file(inbox / "log/2026/one.txt").size() +
                test::read_file(inbox / "log/2026/one.1.txt").size(),
            300u);
  EXPECT_EQ(test::read_file(inbox / "link_evil"), content_of(400));
  EXPECT_FALSE(std::filesystem::exists("/tmp/evil"));
  EXPECT_FALSE(std::filesystem::exists(inbox.parent_path() / "etc"));
}

TEST(Transfer, the_inbox_of_the_other_station_can_be_listed_and_files_fetched_and_deleted) {
  RelayWorld world(1, both());
  auto& others = world.core_config.inbox_server.access.others;
  others.get = others.list = others.remove = true;
  world.kill(kRight);
  world.start(kRight);
  world.run_for(seconds(5));
  for (int i = 0; i < 120; ++i) {
    std::ofstream(world.inbox_path(kRight) / ("file" + std::to_string(100 + i))) << i;
  }
  FarInbox& far = world.core(kLeft).far_inbox();
  const Address right{0x01020301};
  const auto ask = [&](InboxRequest request, const std::string& path) {
    const auto number = far.request(world.now(), right, request, path);
    world.core(kLeft).on_deadline(world.now());
    world.poke(kLeft);
    world.run_for(minutes(5));
    return *far.find(*number);
  };
  const auto listed = ask(InboxRequest::list, "");
  EXPECT_EQ(listed.state, FarInbox::State::done);
  ASSERT_EQ(listed.entries.size(), 120u) << "in several answers";
  EXPECT_EQ(listed.entries[119].name, "file219");
  const auto stat = ask(InboxRequest::stat, "file107");
  ASSERT_EQ(stat.entries.size(), 1u);
  EXPECT_EQ(stat.entries[0].sha256, gateways::sha256_of(Bytes{'7'}));
  const auto got = ask(InboxRequest::get, "file107");
  EXPECT_EQ(got.state, FarInbox::State::done);
  EXPECT_EQ(got.received_as, "file107");
  EXPECT_EQ(world.inbox(kLeft), (Files{{"file107", Bytes{'7'}}}));
  EXPECT_EQ(ask(InboxRequest::remove, "file107").state, FarInbox::State::done);
  EXPECT_FALSE(std::filesystem::exists(world.inbox_path(kRight) / "file107"));
  EXPECT_EQ(ask(InboxRequest::remove, "file107").state, FarInbox::State::failed);
  EXPECT_EQ(ask(InboxRequest::get, "../right.db").state, FarInbox::State::failed);
}

TEST(Transfer, a_station_may_ask_for_nothing_unless_the_access_table_says_so) {
  RelayWorld world(1, both());
  world.run_for(seconds(5));
  std::ofstream(world.inbox_path(kRight) / "f") << "text";
  FarInbox& far = world.core(kLeft).far_inbox();
  for (const InboxRequest request :
       {InboxRequest::get, InboxRequest::list, InboxRequest::remove, InboxRequest::stat}) {
    const auto number = far.request(world.now(), Address{0x01020301}, request, "f");
    world.poke(kLeft);
    world.run_for(minutes(1));
    EXPECT_EQ(far.find(*number)->state, FarInbox::State::failed);
  }
  EXPECT_TRUE(std::filesystem::exists(world.inbox_path(kRight) / "f"));
}

TEST(Transfer, a_receiver_can_suspend_resume_and_cancel_a_file) {
  RelayWorld world(1, both());
  const Bytes content = content_of(200'000);
  const auto id = world.send(kLeft, "f", content);
  world.run_for(minutes(1));
  auto& receiver = world.core(kRight).transfer_receiver();
  ASSERT_EQ(receiver.transfers().size(), 1u);
  const auto key = receiver.transfers()[0].key;
  const auto change = [&](ControlAction action) {
    EXPECT_TRUE(receiver.request(world.now(), key, action));
    world.poke(kRight);
  };
  change(ControlAction::suspend);
  world.run_for(minutes(10));
  EXPECT_EQ(world.item(kLeft, id).state, SpoolState::held);
  const auto before = world.block_octets(kLeft);
  world.run_for(hours(1));
  EXPECT_EQ(world.block_octets(kLeft), before);
  change(ControlAction::resume);
  world.run_for(minutes(1));
  EXPECT_EQ(world.item(kLeft, id).state, SpoolState::active);
  world.run_for(minutes(20));
  EXPECT_EQ(world.inbox(kRight), (Files{{"f", content}}));
  EXPECT_LE(world.block_octets(kLeft), content.size() + kWindow);

  const auto second = world.send(kLeft, "g", content_of(200'000, 2));
  world.run_for(minutes(1));
  ASSERT_EQ(receiver.transfers().size(), 1u);
  EXPECT_TRUE(receiver.request(world.now(), receiver.transfers()[0].key, ControlAction::cancel));
  world.poke(kRight);
  world.run_for(minutes(10));
  EXPECT_EQ(world.item(kLeft, second).state, SpoolState::failed);
  EXPECT_TRUE(receiver.transfers().empty());
}

TEST(Transfer, time_and_permissions_cross) {
  RelayWorld world(1, both());
  auto store = gateways::SqliteStore::open(world.store_config(kLeft));
  ASSERT_TRUE(store);
  const auto id = store->enqueue({.destination = Address{0x01020301},
                                  .name = "f",
                                  .content = content_of(100),
                                  .now = {1'700'000'000},
                                  .mtime = 1'600'000'000,
                                  .mode = 0644});
  ASSERT_TRUE(id);
  world.core(kLeft).on_spool_changed(world.now());
  world.run_for(minutes(5));
  struct stat status {};
  ASSERT_EQ(::stat((world.inbox_path(kRight) / "f").c_str(), &status), 0);
  EXPECT_EQ(status.st_mtime, 1'600'000'000);
  EXPECT_EQ(status.st_mode & 0777, 0644u);
}

TEST(Transfer, a_full_disk_at_the_receiver_delays_the_file_and_loses_nothing) {
  RelayWorld world(1, both());
  const Bytes content = content_of(50'000);
  world.set_inbox_errno(kRight, ENOSPC);
  world.send(kLeft, "f", content);
  world.run_for(minutes(10));
  EXPECT_TRUE(world.inbox(kRight).empty());
  EXPECT_GT(world.events(kRight, Kind::store_failed), 0u);
  world.set_inbox_errno(kRight, 0);
  EXPECT_TRUE(world.run_until_delivered(hours(2)));
  EXPECT_EQ(world.inbox(kRight), (Files{{"f", content}}));
  EXPECT_EQ(world.block_octets(kLeft), content.size());
}

TEST(Transfer, a_receiver_that_cannot_save_blocks_refuses_the_offer_until_it_can) {
  IdSource ids;
  UtcClock utc;
  const Instant now{};
  utc.set(now, {1'700'000'000}, Duration::zero());
  MessageOutbox outbox({}, ids);
  TransferReceiver receiver({}, ids, utc, outbox);
  const Address source{0x01020300};
  const Bytes content = content_of(1000);
  const auto offer = [&](Instant at) {
    receiver.on_offer(at, source, gateways::kRcopSap, 0,
                      {{7}, true, false, false, false, manifest_of(content)});
  };
  const auto answer = [&](Instant at, Result<gateways::StoreAnswer> with) {
    const auto request = receiver.poll_store();
    ASSERT_TRUE(request);
    EXPECT_TRUE(receiver.on_store_result(at, {request->ticket, std::move(with)}));
  };
  const auto sent = [&]() -> Result<TransferMessage> {
    const auto updu = outbox.poll_updu();
    if (!updu) return Error{ErrorCode::not_found, "nothing is sent"};
    return decode_transfer_message(gateways::decode_rcop(updu->updu)->data);
  };
  offer(now);
  answer(now, gateways::StoreAnswer(gateways::TransferNews{}));
  EXPECT_TRUE(std::holds_alternative<HaveMessage>(*sent()));
  receiver.on_block(now, source, {{7}, 0, Bytes(content.begin(), content.begin() + 500)});
  answer(now, Error{ErrorCode::queue_full, "disk"});
  offer(now + seconds(5));
  const auto refusal = sent();
  ASSERT_TRUE(refusal && std::holds_alternative<RefuseMessage>(*refusal));
  EXPECT_EQ(std::get<RefuseMessage>(*refusal).reason, RefuseReason::no_room);
  receiver.on_deadline(now + seconds(10));
  answer(now + seconds(10), gateways::StoreAnswer(gateways::Saved{}));
  const auto have = sent();
  ASSERT_TRUE(have && std::holds_alternative<HaveMessage>(*have));
  EXPECT_EQ(std::get<HaveMessage>(*have).ranges, (std::vector<FileRange>{{0, 500}}));
  EXPECT_FALSE(sent()) << "it is told once";
}

TEST(Transfer, a_cancelled_file_goes_away_at_its_receiver_too) {
  RelayWorld world(1, both());
  const auto id = world.send(kLeft, "f", content_of(200'000));
  world.run_for(minutes(1));
  ASSERT_EQ(world.core(kRight).transfer_receiver().transfers().size(), 1u);
  ASSERT_TRUE(world.change(kLeft, SpoolChange::cancel, id));
  world.run_for(minutes(20));
  EXPECT_TRUE(world.core(kRight).transfer_receiver().transfers().empty());
  EXPECT_TRUE(world.inbox(kRight).empty());
}

TEST(Transfer, a_file_that_is_held_keeps_its_part_at_a_receiver_that_restarts) {
  RelayWorld world(1, both());
  const Bytes content = content_of(600'000);  // more than waits at the node
  const auto id = world.send(kLeft, "f", content);
  world.run_for(minutes(2));
  ASSERT_TRUE(world.change(kLeft, SpoolChange::hold, id));
  world.run_for(minutes(5));
  world.kill(kRight);
  world.start(kRight);
  world.run_for(minutes(5));
  EXPECT_EQ(world.core(kRight).transfer_receiver().transfers().size(), 1u);
  ASSERT_TRUE(world.change(kLeft, SpoolChange::release, id));
  EXPECT_TRUE(world.run_until_delivered(hours(2)));
  EXPECT_EQ(world.inbox(kRight), (Files{{"f", content}}));
  EXPECT_LE(world.block_octets(kLeft), content.size() + kWindow);
}

TEST(Transfer, a_part_of_a_file_that_its_sender_no_longer_has_goes_away) {
  RelayWorld world(1, both());
  world.run_for(seconds(5));
  inject(world, kRight,
         OfferMessage{{77}, false, false, false, false, manifest_of(content_of(1000))});
  world.run_for(seconds(1));
  inject(world, kRight, BlockMessage{{77}, 0, Bytes(10, 1)});
  world.run_for(seconds(1));
  EXPECT_EQ(world.core(kRight).transfer_receiver().transfers().size(), 1u);
  world.lose_connection(kRight, seconds(1));
  world.run_for(minutes(1));
  EXPECT_TRUE(world.core(kRight).transfer_receiver().transfers().empty());
}

TEST(Transfer, blocks_that_overlap_repeat_or_lie_outside_do_not_harm_the_file) {
  RelayWorld world(1, both());
  world.run_for(seconds(5));
  const Bytes content = content_of(1000);
  inject(world, kRight, OfferMessage{{7}, false, false, false, false, manifest_of(content)});
  world.run_for(seconds(1));
  const auto block = [&](std::uint32_t at, std::size_t size) {
    const auto from = content.begin() + at;
    inject(world, kRight, BlockMessage{{7}, at, Bytes(from, from + static_cast<long>(size))});
  };
  inject(world, kRight, BlockMessage{{8}, 0, Bytes(100, 1)});   // not offered
  inject(world, kRight, BlockMessage{{7}, 990, Bytes(11, 1)});  // beyond the end
  block(100, 300);
  block(0, 350);  // overlaps
  block(100, 300);
  block(350, 650);
  world.run_for(seconds(10));
  EXPECT_EQ(world.inbox(kRight), (Files{{"f", content}}));
  const auto& counters = world.core(kRight).transfer_receiver().counters();
  EXPECT_EQ(counters[TransferReceiverCounter::blocks_unknown], 2u);
  EXPECT_EQ(counters[TransferReceiverCounter::blocks_repeated], 1u);
}

TEST(Transfer, octets_that_are_not_what_was_offered_are_asked_for_again_and_then_refused) {
  RelayWorld world(1, both());
  world.run_for(seconds(5));
  const Bytes content = content_of(1000);
  inject(world, kRight, OfferMessage{{7}, false, false, false, false, manifest_of(content)});
  world.run_for(seconds(1));
  inject(world, kRight, BlockMessage{{7}, 0, content_of(1000, 2)});
  world.run_for(seconds(10));
  const auto have = last_message<HaveMessage>(world, kRight);
  ASSERT_TRUE(have) << "all is wanted again";
  EXPECT_TRUE(have->ranges.empty());
  inject(world, kRight, BlockMessage{{7}, 0, content_of(1000, 3)});
  world.run_for(seconds(10));
  const auto refusal = last_message<RefuseMessage>(world, kRight);
  ASSERT_TRUE(refusal);
  EXPECT_EQ(refusal->reason, RefuseReason::bad_digest);
  EXPECT_TRUE(world.inbox(kRight).empty());
}

TEST(Transfer, of_a_large_file_only_the_damaged_block_is_asked_for_again) {
  RelayWorld world(1, both());
  world.run_for(seconds(5));
  const Bytes content = content_of(200'000);
  inject(world, kRight, OfferMessage{{7}, false, false, false, false, manifest_of(content)});
  world.run_for(seconds(1));
  for (std::size_t at = 0; at < content.size(); at += 2000) {
    Bytes octets(content.begin() + static_cast<long>(at),
                 content.begin() + static_cast<long>(at + 2000));
    if (at == 70'000) octets[5] ^= 1;
    inject(world, kRight, BlockMessage{{7}, static_cast<std::uint32_t>(at), octets});
  }
  world.run_for(seconds(10));
  const auto have = last_message<HaveMessage>(world, kRight);
  ASSERT_TRUE(have);
  std::uint64_t here = 0;
  for (const FileRange& range : have->ranges) here += range.octets();
  EXPECT_GT(here, 128'000u);
  EXPECT_LT(here, 136'000u);
}

TEST(Transfer, a_station_that_may_not_send_is_told_so) {
  RelayWorld world(1, both());
  world.core_config.transfers.access.others.put = false;
  world.kill(kRight);
  world.start(kRight);
  world.run_for(seconds(5));
  const auto id = world.send(kLeft, "f", content_of(100));
  world.run_for(minutes(10));
  EXPECT_EQ(world.item(kLeft, id).state, SpoolState::failed);
  EXPECT_NE(world.item(kLeft, id).reason.find("may not send"), std::string::npos);
}

TEST(Transfer, the_access_table_holds_for_files_by_bftp) {
  RelayWorld world(1, {.transfers = {false, true}});
  for (const bool put : {false, true}) {
    SCOPED_TRACE(put);
    world.core_config.receiver.access.others = {.put = put, .file_octets_max = 1000};
    world.kill(kRight);
    world.start(kRight);
    world.run_for(seconds(5));
    const auto dropped = world.events(kRight, Kind::file_dropped);
    world.send(kLeft, "large", content_of(1001));
    world.run_for(minutes(2));
    EXPECT_GT(world.events(kRight, Kind::file_dropped), dropped);
    EXPECT_EQ(world.events(kRight, Kind::acknowledgement_sent), 0u);
    EXPECT_TRUE(world.inbox(kRight).empty());
  }
  world.send(kLeft, "good", content_of(1000));
  world.run_for(minutes(5));
  EXPECT_EQ(world.inbox(kRight), (Files{{"good", content_of(1000)}}));
}

TEST(Transfer, a_file_above_the_limit_of_the_other_station_fails_with_that_limit) {
  RelayWorld world(1, both());
  world.core_config.transfers.file_octets_max = 1000;
  world.kill(kRight);
  world.start(kRight);
  world.run_for(seconds(5));
  const auto good = world.send(kLeft, "good", content_of(1000));
  const auto bad = world.send(kLeft, "bad", content_of(1001));
  world.run_for(minutes(10));
  EXPECT_EQ(world.item(kLeft, good).state, SpoolState::delivered);
  EXPECT_EQ(world.item(kLeft, bad).state, SpoolState::failed);
  EXPECT_NE(world.item(kLeft, bad).reason.find("1000 octets"), std::string::npos);
}

// Goal:   a file crosses once and whole, whichever step a relay dies at.
// Method: one transfer is killed before its n-th step, for every n. The relay is back 45 s later.
TEST(Transfer, a_crash_at_any_step_of_either_relay_costs_at_most_a_window) {
  const Bytes content = content_of(20'000);
  for (const Side side : {kLeft, kRight}) {
    for (std::uint64_t step = 1;; ++step) {
      SCOPED_TRACE(testing::Message() << "side " << side << " step " << step);
      RelayWorld world(1, both());
      world.kill_at_step(side, step);
      world.send(kLeft, "f", content);
      ASSERT_TRUE(world.run_until_delivered(hours(6)));
      ASSERT_EQ(world.inbox(kRight), (Files{{"f", content}}));
      ASSERT_LE(world.block_octets(kLeft), 2 * content.size());
      if (!world.was_killed(side) || step > 80) break;  // by then it kills an idle relay
    }
  }
}

// Method: anything may fail for an hour. Then the faults stop and everything must arrive.
TEST(TransferSwarm, every_file_arrives_once_under_any_mix_of_faults) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    test::SubnetOptions options{.rejected = rng.chance(0.5) ? 0.1 : 0,
                                .repeated = rng.chance(0.5) ? 0.1 : 0,
                                .reordered = rng.chance(0.3),
                                .transfers = {true, !rng.chance(0.2)}};
    RelayWorld world(seed, options);
    Files sent[2];
    for (int i = 0; i < 12; ++i) {
      const Side side = rng.chance(0.5) ? kLeft : kRight;
      const Side to = side == kLeft ? kRight : kLeft;
      const std::string name = "f" + std::to_string(i);
      const Bytes content = content_of(rng.below(30'000), 100 * seed + static_cast<unsigned>(i));
      world.send(side, name, content);
      sent[to][name] = content;
      world.run_for(minutes(rng.below(6)));
      if (rng.chance(0.4)) world.kill_at_step(rng.chance(0.5) ? kLeft : kRight, 1 + rng.below(30));
      if (rng.chance(0.3)) world.lose_connection(rng.chance(0.5) ? kLeft : kRight, minutes(1));
    }
    world.subnet.rejected = world.subnet.repeated = 0;
    ASSERT_TRUE(world.run_until_delivered(hours(24)));
    for (const Side side : {kLeft, kRight}) ASSERT_EQ(world.inbox(side), sent[side]);
  }
}

}  // namespace
}  // namespace s5066::file_relay
