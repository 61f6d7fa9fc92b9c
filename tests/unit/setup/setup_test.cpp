// SPDX-License-Identifier: Apache-2.0
// `s5066 setup` without hardware: the answers, the plan of the files, their writing, the questions
// and the trials.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cmath>
#include <deque>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>
#include <string>
#include <vector>

#include "config/load.h"
#include "config/setup/answers.h"
#include "config/setup/configuration_writer.h"
#include "config/setup/questions.h"
#include "config/setup/station_plan.h"
#include "config/setup/trials.h"
#include "tests/support/rigctld_stand_in.h"
#include "tests/support/temporary_folder.h"

namespace s5066::config {
namespace {

namespace fs = std::filesystem;

const std::string kAnswers = R"(
station { name: "alpha" call_sign: "DL0ABC" address: "1.2.0.1" }
peers { name: "bravo" address: "1.2.0.2" }
sound_card { input: "pulse:a.monitor" output: "pulse:b" round_trip_ms: 90 }
rigctld { port: 4532 data_input: true }
ptt_lead_ms: 50
transmit_level_db: -6
)";

std::string problems_of(const std::string& text) {
  std::string lines;
  for (const auto& problem : parse_answers("a", text).problems) lines += to_string(problem) + "\n";
  return lines;
}

proto::SetupAnswers answers(const std::string& text = kAnswers) {
  const auto parsed = parse_answers("a", text);
  EXPECT_TRUE(parsed.value) << problems_of(text);
  return parsed.value.value_or(proto::SetupAnswers());
}

std::string content(const std::string& path) {
  std::ostringstream out;
  out << std::ifstream(path).rdbuf();
  return out.str();
}

// --- The answers

TEST(SetupAnswers, what_is_missing_or_wrong_is_told_with_its_place) {
  EXPECT_EQ(problems_of(kAnswers), "");
  EXPECT_EQ(problems_of("vox {}\n"),
            "a:1:1: sound_card or cable: missing\n"
            "a:1:1: station: missing\n");
  EXPECT_EQ(problems_of(kAnswers + "trials { tone_s: 10.5 }\n"),
            "a:8:10: tone_s: 10.5 is above its limit 10\n");
  EXPECT_EQ(problems_of(kAnswers + "trials { tone_s: 10 }\n"), "");
  EXPECT_EQ(problems_of(kAnswers + "trials { tone_s: -1 }\n"),
            "a:8:10: tone_s: -1 is below its limit 0\n");
  EXPECT_EQ(problems_of(kAnswers + "folders: \"x\"\n"),
            "a:8:1: folders: unknown field; did you mean folder?\n");
}

TEST(SetupAnswers, a_folder_of_sockets_that_the_units_cannot_write_is_refused) {
  for (const char* good : {"/run/s5066", "/run/s5066/", "/run/s5066/alpha"}) {
    EXPECT_EQ(problems_of(kAnswers + "run_folder: \"" + good + "\"\n"), "") << good;
  }
  for (const char* bad : {"/run/s5066-alpha", "/run/s5066/bravo", "/srv/alpha"}) {
    const std::string setting = "run_folder: \"" + std::string(bad) + "\"\n";
    EXPECT_EQ(problems_of(kAnswers + setting),
              "a:8:1: run_folder: \"" + std::string(bad) +
                  "\" cannot be written by the services; name /run/s5066 or /run/s5066/alpha\n");
    EXPECT_EQ(problems_of(kAnswers + setting + "folder: \"/srv/etc\"\n"), "") << bad;
  }
}

TEST(SetupAnswers, a_file_beyond_the_limit_is_refused) {
  const std::string padded = kAnswers + std::string(kFileOctetsMax - kAnswers.size(), '\n');
  EXPECT_EQ(problems_of(padded), "");
  EXPECT_EQ(problems_of(padded + "\n"), "a: larger than the limit of 262144 octets\n");
}

TEST(SetupAnswers, no_truncation_of_answers_does_harm) {
  for (std::size_t length = 0; length < kAnswers.size(); ++length) {
    const auto parsed = parse_answers("a", kAnswers.substr(0, length));
    EXPECT_NE(parsed.value.has_value(), !parsed.problems.empty()) << length;
  }
}

TEST(SetupAnswers, the_answers_that_we_ship_have_every_field_and_load) {
  const std::string text = content(S5066_SOURCE_DIR "/config/examples/setup-answers.textproto");
  EXPECT_EQ(problems_of(text), "");
  const auto& type = *proto::SetupAnswers::descriptor();
  for (int i = 0; i < type.field_count(); ++i) {
    const std::string& name = type.field(i)->name();
    EXPECT_TRUE(text.find(name + ":") != std::string::npos ||
                text.find(name + " {") != std::string::npos)
        << name;
  }
}

// --- The files

TEST(SetupPlan, the_configurations_load_and_have_the_answers) {
  const test::TemporaryFolder folder;
  auto given = answers();
  given.set_folder(folder.path().string());
  const auto files = plan_station(given, {});
  ASSERT_TRUE(files) << files.error().detail;
  ASSERT_TRUE(write_configurations(*files, "now"));
  const auto node = load_node(folder / "alpha.textproto");
  ASSERT_TRUE(node.value);
  EXPECT_EQ(to_string(node.value->node.dts.address), "1.2.0.1");
  EXPECT_EQ(node.value->worker.transmit_level_db, -6);
  EXPECT_EQ(node.value->worker.ptt_lead, std::chrono::milliseconds(50));
  const auto& card = std::get<modem::PortAudioDevice::Config>(node.value->device);
  EXPECT_EQ(card.input_name, "pulse:a.monitor");
  EXPECT_EQ(card.output_name, "pulse:b");
  EXPECT_EQ(card.round_trip, std::chrono::milliseconds(90));
  EXPECT_TRUE(std::get<modem::RigctldPtt::Config>(node.value->key).data_input);
  EXPECT_EQ(node.value->book.name_of(Address{0x01020002}), "bravo");
  EXPECT_EQ(node.value->book.entries()[0].call_sign, "DL0ABC");
  const auto relay = load_relay(folder / "alpha-relay.textproto");
  ASSERT_TRUE(relay.value);
  EXPECT_EQ(relay.value->sis_host, node.value->sis.local->socket_path);
}

TEST(SetupPlan, other_stations_of_the_address_book_stay) {
  const AddressBook known({{.name = "shore", .call_sign = {}, .address = Address{0x01020009}},
                           {.name = "bravo", .call_sign = {}, .address = Address{0x01020007}},
                           {.name = "fleet", .call_sign = {}, .address = Address{5, true}}});
  const auto files = plan_station(answers(), known);
  ASSERT_TRUE(files) << files.error().detail;
  const auto book = parse_address_book("b", files->front().text);
  ASSERT_TRUE(book.value);
  EXPECT_EQ(to_string(*book.value->find("shore")), "1.2.0.9");
  EXPECT_EQ(to_string(*book.value->find("bravo")), "1.2.0.2") << "the answers are newer";
  EXPECT_TRUE(book.value->find("fleet")->group);
}

TEST(SetupPlan, an_entry_with_the_same_address_or_name_in_other_letters_is_replaced) {
  const AddressBook known({{.name = "shore", .call_sign = {}, .address = Address{0x01020001}},
                           {.name = "BRAVO", .call_sign = {}, .address = Address{0x01020007}}});
  const auto files = plan_station(answers(), known);
  ASSERT_TRUE(files) << files.error().detail;
  const auto book = parse_address_book("b", files->front().text);
  ASSERT_TRUE(book.value);
  EXPECT_EQ(book.value->entries().size(), 2u);
  EXPECT_EQ(book.value->name_of(Address{0x01020001}), "alpha");
}

TEST(SetupPlan, an_address_book_that_has_all_rows_already_stays_as_it_is) {
  const auto first = plan_station(answers(), {});
  ASSERT_TRUE(first) << first.error().detail;
  const auto book = parse_address_book("b", first->front().text);
  ASSERT_TRUE(book.value);
  auto other = answers();
  *other.mutable_station() = answers().peers(0);
  *other.mutable_peers(0) = answers().station();
  const auto second = plan_station(other, *book.value);
  ASSERT_TRUE(second) << second.error().detail;
  EXPECT_EQ(second->front().text, first->front().text);
}

TEST(SetupPlan, a_second_station_has_sockets_of_its_own_and_another_port) {
  const test::TemporaryFolder folder;
  auto given = answers();
  given.set_folder(folder.path().string());
  given.set_sis_port(5066);
  ASSERT_TRUE(write_configurations(*plan_station(given, {}, places_of_others(given)), "now"));
  EXPECT_TRUE(places_of_others(given).sockets.empty()) << "its own configuration is no other's";
  given.mutable_station()->set_name("charlie");
  given.mutable_station()->set_call_sign("DL0CHA");
  given.mutable_station()->set_address("1.2.0.3");
  const auto same_port = plan_station(given, {}, places_of_others(given));
  ASSERT_FALSE(same_port);
  EXPECT_NE(same_port.error().detail.find("sis_port"), std::string::npos);
  given.set_sis_port(5067);
  const auto files = plan_station(given, {}, places_of_others(given));
  ASSERT_TRUE(files) << files.error().detail;
  EXPECT_NE((*files)[1].text.find("/run/s5066/charlie-sis"), std::string::npos);
  given.clear_sis_port();
  const auto any_port = plan_station(given, {}, places_of_others(given));
  ASSERT_TRUE(any_port) << any_port.error().detail;
  EXPECT_NE((*any_port)[1].text.find("port: 0 "), std::string::npos);
  EXPECT_NE((*files)[2].text.find("/run/s5066/charlie-relay-control"), std::string::npos);
}

TEST(SetupPlan, a_station_with_the_name_of_a_socket_is_a_problem) {
  auto given = answers();
  given.mutable_station()->set_name("sis");
  const auto files = plan_station(given, {});
  ASSERT_FALSE(files);
  EXPECT_EQ(files.error().detail, "station: /run/s5066/sis is a socket; choose another name");
}

TEST(SetupPlan, one_address_for_two_stations_is_a_problem) {
  const auto files =
      plan_station(answers(kAnswers + "peers { name: \"shore\" address: \"1.2.0.1\" }"), {});
  ASSERT_FALSE(files);
  EXPECT_NE(files.error().detail.find("1.2.0.1 is given twice; it already has the name alpha"),
            std::string::npos)
      << files.error().detail;
}

TEST(SetupPlan, a_mode_that_is_given_is_in_the_file_and_else_there_is_none) {
  const auto usual = plan_station(answers(kAnswers), {});
  ASSERT_TRUE(usual) << usual.error().detail;
  EXPECT_EQ((*usual)[1].text.find("mode:"), std::string::npos);
  const auto given = plan_station(answers(kAnswers + "mode: \"4285-300-long\""), {});
  ASSERT_TRUE(given) << given.error().detail;
  EXPECT_NE((*given)[1].text.find("mode: \"4285-300-long\""), std::string::npos);
}

TEST(SetupWriter, a_file_is_replaced_with_a_copy_and_an_equal_one_is_left) {
  const test::TemporaryFolder folder;
  const std::string path = folder / "x.textproto";
  const auto first = write_configurations({{path, "one\n"}}, "S");
  ASSERT_TRUE(first);
  EXPECT_EQ(first->front().how, Written::fresh);
  EXPECT_TRUE(files_in_the_way({{path, "one\n"}})->empty());
  EXPECT_EQ(write_configurations({{path, "one\n"}}, "S")->front().how, Written::unchanged);
  EXPECT_EQ(*files_in_the_way({{path, "two\n"}}), std::vector<std::string>{path});
  for (const std::string text : {"two\n", "three\n"}) {
    const auto again = write_configurations({{path, text}}, "S");
    ASSERT_TRUE(again);
    EXPECT_EQ(again->front().how, Written::replaced);
    EXPECT_EQ(content(path), text);
  }
  EXPECT_EQ(content(path + ".before-S"), "one\n");
  EXPECT_EQ(content(path + ".before-S-2"), "two\n");
  EXPECT_FALSE(fs::exists(path + ".new"));
}

TEST(SetupWriter, a_file_has_the_mode_of_the_one_that_it_replaces_and_else_the_usual_one) {
  const test::TemporaryFolder folder;
  const std::string path = folder / "x.textproto";
  const mode_t before = ::umask(0077);
  ASSERT_TRUE(write_configurations({{path, "one\n"}}, "S"));
  EXPECT_EQ(fs::status(path).permissions(), fs::perms(0644));
  fs::permissions(path, fs::perms(0640));
  ASSERT_TRUE(write_configurations({{path, "two\n"}}, "S"));
  EXPECT_EQ(fs::status(path).permissions(), fs::perms(0640));
  ::umask(before);
}

TEST(SetupWriter, a_folder_in_place_of_a_file_is_an_error) {
  const test::TemporaryFolder folder;
  folder.make("x.textproto");
  EXPECT_FALSE(files_in_the_way({{folder / "x.textproto", "one\n"}}));
  EXPECT_FALSE(write_configurations({{folder / "x.textproto", "one\n"}}, "S"));
}

// --- The questions

Surroundings around() {
  return {.inputs = {{"usb:0000:00:14.0/1", "USB Audio", 2}, {"pulse:a.monitor", "A", 2}},
          .outputs = {{"usb:0000:00:14.0/1", "USB Audio", 2}, {"pulse:b", "B", 2}},
          .serial_ports = {}};
}

TEST(SetupQuestions, the_answers_of_a_person_make_the_same_message) {
  std::istringstream in(
      "alpha\nDL0ABC\n1.2.0.1\n"    // station
      "2\n2\n3\n"                   // input, output, right channel
      "1\n4533\ny\n40\n"            // rigctld
      "n\nn\n"                      // no tone, no round trip
      "y\nbravo\n\n1.2.0.2\nn\n");  // a peer
  std::ostringstream out;
  Dialogue dialogue(in, out);
  proto::SetupAnswers given;
  ask_before_trials(dialogue, around(), given);
  ask_after_trials(dialogue, given);
  EXPECT_EQ(given.station().call_sign(), "DL0ABC");
  EXPECT_FALSE(given.has_mode());
  EXPECT_EQ(given.sound_card().input(), "pulse:a.monitor");
  EXPECT_EQ(given.sound_card().output(), "pulse:b");
  EXPECT_EQ(given.sound_card().input_channel(), 2u);
  EXPECT_EQ(given.rigctld().port(), 4533u);
  EXPECT_TRUE(given.rigctld().data_input());
  EXPECT_EQ(given.ptt_lead_ms(), 40u);
  ASSERT_EQ(given.peers_size(), 1);
  EXPECT_EQ(given.peers(0).name(), "bravo");
  EXPECT_TRUE(plan_station(given, {}));
}

TEST(SetupQuestions, the_default_card_is_one_of_the_sound_server_and_no_monitor) {
  Surroundings all = around();
  const std::string rest = "\n\n\n6\nn\nn\n";  // cards, channel, no key, no trials
  const auto input_of = [&] {
    std::istringstream in("alpha\n\n1.2.0.1\n" + rest);
    std::ostringstream out;
    Dialogue dialogue(in, out);
    proto::SetupAnswers given;
    ask_before_trials(dialogue, all, given);
    return given.sound_card().input() + " " + given.sound_card().output();
  };
  EXPECT_EQ(input_of(), "usb:0000:00:14.0/1 usb:0000:00:14.0/1") << "only a monitor is an input";
  all.inputs.push_back({"pulse:c", "C", 2});
  EXPECT_EQ(input_of(), "pulse:c pulse:b");
}

TEST(SetupQuestions, after_a_fault_the_default_is_to_try_again) {
  for (const auto& [typed, wanted] :
       {std::pair("\n", AfterFault::try_again), std::pair("1\n", AfterFault::try_again),
        std::pair("2\n", AfterFault::go_on), std::pair("3\n", AfterFault::stop)}) {
    std::istringstream in(typed);
    std::ostringstream out;
    Dialogue dialogue(in, out);
    EXPECT_EQ(ask_after_fault(dialogue), wanted) << typed;
  }
}

TEST(SetupQuestions, a_wrong_answer_is_explained_and_asked_again) {
  std::istringstream in("two words\nshore\n");
  std::ostringstream out;
  Dialogue dialogue(in, out);
  const auto name = dialogue.ask(
      "Name", "", [](const std::string& text) { return station_problem("name", text); });
  EXPECT_EQ(name, "shore");
  EXPECT_NE(out.str().find("it has up to 32 letters"), std::string::npos) << out.str();
}

TEST(SetupQuestions, the_end_of_the_input_ends_the_questions) {
  std::istringstream none;
  std::ostringstream out;
  Dialogue dialogue(none, out);
  EXPECT_THROW(dialogue.ask_yes_no("Go on", true), InputEnded);
  std::string wrong;
  for (unsigned i = 0; i <= Dialogue::kWrongMax; ++i) wrong += "x\n";
  std::istringstream many(wrong);
  Dialogue another(many, out);
  EXPECT_THROW(another.ask_yes_no("Go on", true), InputEnded);
}

TEST(SetupQuestions, what_is_wrong_with_a_station_is_told_in_the_words_of_the_address_book) {
  EXPECT_FALSE(station_problem("name", "shore"));
  EXPECT_FALSE(station_problem("call_sign", "DL0ABC/P"));
  EXPECT_FALSE(station_problem("address", "1.2.3.4"));
  EXPECT_EQ(station_problem("address", "1.2.3"),
            "\"1.2.3\" is no address: address needs four numbers, w.x.y.z");
  EXPECT_TRUE(station_problem("address", "16.0.0.1"));
  EXPECT_TRUE(station_problem("name", "a\" address: \"1.1.1.1"));
}

// --- The trials

struct Lines final : TrialView {
  void line(const std::string& text) override { lines.push_back(text); }
  void live(const std::string& text) override { lives.push_back(text); }
  std::optional<char> pressed() override {
    if (keys.empty()) return std::nullopt;
    const char key = keys.front();
    keys.pop_front();
    return key;
  }
  std::string all() const {
    std::string text;
    for (const auto& one : lines) text += one + "\n";
    return text;
  }
  std::vector<std::string> lines;
  std::vector<std::string> lives;
  std::deque<char> keys;
};

/// A card whose output is its input after some blocks, with a hum that the level shows.
class LoopedCard final : public modem::Device {
 public:
  float hum = 0.05F;
  int blocks_left = 1 << 20;
  Duration clock{};
  float peak_sent = 0;
  unsigned keyed_blocks = 0;

  Result<void> open() override {
    delayed_.assign(3, std::vector<float>(info_.block_samples));
    return {};
  }
  void close() override {}
  const Info& info() const override { return info_; }
  Result<Received> receive(std::span<float> samples) override {
    if (blocks_left-- == 0) return Error{ErrorCode::link_down, "unplugged"};
    for (std::size_t i = 0; i < samples.size(); ++i) {
      samples[i] = 0.5F * delayed_.front()[i] + (i % 2 == 0 ? hum : -hum);
    }
    delayed_.pop_front();
    clock += from_seconds(static_cast<double>(samples.size()) / info_.rate_hz);
    return Received{};
  }
  Result<void> transmit(bool keyed, std::span<const float> samples) override {
    keyed_blocks += keyed ? 1 : 0;
    for (const float sample : samples) peak_sent = std::max(peak_sent, std::abs(sample));
    delayed_.emplace_back(samples.begin(), samples.end());
    return {};
  }

 private:
  Info info_{.name = "looped", .rate_hz = 48000, .block_samples = 960};
  std::deque<std::vector<float>> delayed_;
};

unsigned run(proto::SetupAnswers& given, LoopedCard& card, Lines& view) {
  auto key = key_way_of(given);
  EXPECT_TRUE(key);
  return Trials(given, view, [&card] { return card.clock; }).run(card, std::move(*key));
}

TEST(SetupTrials, a_good_level_and_the_round_trip_are_found) {
  LoopedCard card;
  card.hum = 0.02F;
  Lines view;
  auto given = answers(kAnswers + "trials { listen_s: 1 round_trip: true }");
  given.mutable_no_key();
  EXPECT_EQ(run(given, card, view), 0u) << view.all();
  EXPECT_EQ(given.sound_card().round_trip_ms(), 40u) << view.all();
}

TEST(SetupTrials, silence_clipping_and_a_lost_card_are_faults) {
  auto given = answers(kAnswers + "trials { listen_s: 1 }");
  given.mutable_no_key();
  for (const float hum : {0.0F, 1.0F}) {
    LoopedCard card;
    card.hum = hum;
    Lines view;
    EXPECT_EQ(run(given, card, view), 1u) << view.all();
  }
  LoopedCard lost;
  lost.blocks_left = 120;
  Lines view;
  EXPECT_EQ(run(given, lost, view), 1u) << view.all();
  EXPECT_NE(view.all().find("unplugged"), std::string::npos) << view.all();
}

TEST(SetupTrials, what_is_not_tried_is_told) {
  auto given = answers(kAnswers + "trials { listen_s: 1 tone_s: 1 round_trip: true }");
  LoopedCard lost;
  lost.blocks_left = 120;  // the first two seconds are not judged
  Lines view;
  EXPECT_EQ(run(given, lost, view), 1u) << view.all();
  EXPECT_NE(view.all().find("the sound failed, so these were not tried: key and tone, round trip"),
            std::string::npos)
      << view.all();
  EXPECT_EQ(lost.keyed_blocks, 0u);

  given = answers(kAnswers + "trials { listen_s: 1 }");
  LoopedCard good;
  Lines quiet;
  EXPECT_EQ(run(given, good, quiet), 0u) << quiet.all();
  EXPECT_NE(quiet.all().find("key: not tried"), std::string::npos) << quiet.all();
}

TEST(SetupTrials, the_tone_keys_and_unkeys_and_has_the_level_that_keys_set) {
  test::RigctldStandIn rig;
  auto given = answers(kAnswers + "trials { listen_s: 0 tone_s: 2 }");
  given.mutable_rigctld()->set_port(rig.port());
  given.set_transmit_level_db(-10);
  LoopedCard card;
  Lines view;
  view.keys = {'+', '+', '-'};
  EXPECT_EQ(run(given, card, view), 0u) << view.all();
  EXPECT_EQ(given.transmit_level_db(), -9);
  EXPECT_NEAR(card.keyed_blocks, 100, 3);
  EXPECT_LT(card.peak_sent, 0.5 * std::pow(10.0, -8.0 / 20) + 0.01);
  const auto heard = rig.heard();
  EXPECT_NE(heard.find("T 3"), std::string::npos) << heard;
  EXPECT_GT(heard.rfind("T 0"), heard.rfind("T 3")) << heard;
}

TEST(SetupTrials, the_key_is_released_when_the_card_is_lost_in_the_tone) {
  test::RigctldStandIn rig;
  auto given = answers(kAnswers + "trials { listen_s: 0 tone_s: 10 }");
  given.mutable_rigctld()->set_port(rig.port());
  LoopedCard card;
  card.blocks_left = 150;  // the first two seconds are not judged
  Lines view;
  EXPECT_EQ(run(given, card, view), 1u) << view.all();
  const auto heard = rig.heard();
  EXPECT_GT(heard.rfind("T 0"), heard.rfind("T 3")) << heard;
}

TEST(SetupTrials, any_other_key_ends_the_tone) {
  auto given = answers(kAnswers + "trials { listen_s: 0 tone_s: 10 }");
  given.mutable_vox();
  LoopedCard card;
  Lines view;
  view.keys = {'+', '\n'};
  EXPECT_EQ(run(given, card, view), 0u) << view.all();
  EXPECT_LT(card.keyed_blocks, 5u);
}

TEST(SetupTrials, the_key_of_a_card_needs_the_usb_path_of_the_card) {
  auto given = answers(kAnswers);
  given.mutable_cm108_of_card();
  const auto paired = pair_key_with_card(given);
  ASSERT_FALSE(paired);
  EXPECT_NE(paired.error().detail.find("hfmodem devices"), std::string::npos);
}

}  // namespace
}  // namespace s5066::config
