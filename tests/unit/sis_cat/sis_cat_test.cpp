// SPDX-License-Identifier: Apache-2.0
// These tests run the sis_cat program as a user does, against a scripted server on a loopback port.
#include <chrono>
#include <thread>

#include "sis/tools/sis_cat_options.h"
#include "tests/support/program_test.h"

namespace s5066::sis {
namespace {

namespace bp = boost::process;

class SisCat : public test::ProgramTest {
 protected:
  Outcome run(std::vector<std::string> arguments, const std::string& input = {}) {
    const std::vector<std::string> server{"--host", "127.0.0.1", "--port", port()};
    arguments.insert(arguments.end(), server.begin(), server.end());
    return ProgramTest::run(SIS_CAT, arguments, input);
  }
};

TEST_F(SisCat, sends_its_input_in_pieces_of_the_mtu_and_leaves_with_0_when_all_is_confirmed) {
  std::string input(1050, 'x');
  for (std::size_t i = 0; i < input.size(); ++i) input[i] = static_cast<char>('a' + i % 26);
  const Outcome outcome =
      run({"--sap", "6", "--to", "1.2.3.5", "--to-sap", "7", "--ttl", "61"}, input);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  std::string arrived;
  for (const UnidataRequest& request : received) {
    EXPECT_LE(request.updu.size(), kSmallMtu);
    EXPECT_EQ(request.destination_sap, SapId{7});
    EXPECT_EQ(request.destination, Address{0x01020305});
    EXPECT_EQ(request.time_to_live, 31u);  // units of 2 s, rounded up
    EXPECT_EQ(request.delivery.confirmation, Confirmation::node);
    arrived.append(request.updu.begin(), request.updu.end());
  }
  EXPECT_EQ(arrived, input);
}

TEST_F(SisCat, says_once_that_it_waits_when_no_answer_comes) {
  on_primitive = [usual = on_primitive](const Primitive& primitive) {
    if (std::get_if<UnidataRequest>(&primitive) != nullptr) {
      std::this_thread::sleep_for(std::chrono::milliseconds(8000));
    }
    usual(primitive);
  };
  const Outcome outcome = run({"--to", "1.2.3.5"}, "x");
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_EQ(
      outcome.err,
      "sis_cat: 1.2.3.5 has confirmed nothing for 5 s, still waiting; `s5066 station queue` at the "
      "node tells for what\n");
}

TEST_F(SisCat, leaves_with_1_and_the_reason_when_one_piece_is_rejected) {
  on_primitive = [this, usual = on_primitive](const Primitive& primitive) {
    const auto* request = std::get_if<UnidataRequest>(&primitive);
    if (request == nullptr || received.size() != 2) return usual(primitive);
    say(UnidataRequestRejected{.reason = RejectReason::ttl_expired,
                               .destination_sap = request->destination_sap,
                               .destination = request->destination,
                               .updu_part = request->updu});
  };
  const Outcome outcome = run({"--to", "1.2.3.5"}, std::string(500, 'x'));
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_NE(outcome.err.find("time to live expired"), std::string::npos) << outcome.err;
}

TEST_F(SisCat, leaves_with_1_when_the_connection_ends_before_the_last_confirmation) {
  on_primitive = [this, usual = on_primitive](const Primitive& primitive) {
    if (std::holds_alternative<BindRequest>(primitive)) return usual(primitive);
    say(UnbindIndication{UnbindReason::preempted});
  };
  const Outcome outcome = run({"--to", "1.2.3.5"}, "hello");
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_NE(outcome.err.find("pre-empted"), std::string::npos) << outcome.err;
}

TEST_F(SisCat, leaves_with_1_when_the_bind_is_rejected) {
  on_primitive = [this](const Primitive&) {
    say(BindRejected{BindRejectReason::sap_already_allocated});
  };
  const Outcome outcome = run({"--listen"});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_NE(outcome.err.find("already allocated"), std::string::npos) << outcome.err;
}

TEST_F(SisCat, prints_what_it_receives_as_a_line_of_hex_each) {
  on_primitive = [this, usual = on_primitive](const Primitive& primitive) {
    usual(primitive);
    if (!std::holds_alternative<BindRequest>(primitive)) return;
    for (const Bytes& updu : {Bytes{'H', 'i'}, Bytes{0, '\n'}}) {
      say(UnidataIndication{
          .destination_sap = {6}, .source_sap = {7}, .source = Address{0x01020305}, .updu = updu});
    }
  };
  const Outcome hex = run({"--sap", "6", "--listen", "--count", "2", "--hex"});
  EXPECT_EQ(hex.exit_code, 0) << hex.err;
  EXPECT_EQ(hex.out, "1.2.3.5 7 48 69\n1.2.3.5 7 00 0A\n");
}

TEST_F(SisCat, more_input_than_the_client_holds_at_once_arrives_whole) {
  const std::string input(kSmallMtu * 500, 'x');
  const Outcome outcome = run({"-t", "1.2.3.5"}, input);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  std::size_t octets = 0;
  for (const UnidataRequest& request : received) octets += request.updu.size();
  EXPECT_EQ(octets, input.size());
}

TEST_F(SisCat, sends_to_groups_without_arq_and_ends_after_the_linger) {
  const Outcome outcome =
      run({"--to", "31.255.255.255", "--repeats", "2", "--linger", "1"}, "to all");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(std::get<BindRequest>(seen.at(0)).service.mode, TransmissionMode::nonarq);
  ASSERT_EQ(received.size(), 1u);
  EXPECT_EQ(received[0].destination, Address::all_stations());
  EXPECT_EQ(received[0].delivery,
            (DeliveryMode{.mode = TransmissionMode::nonarq, .retransmissions = 2}));
}

TEST_F(SisCat, stays_bound_without_arq_and_leaves_with_1_when_the_server_ends_that) {
  on_primitive = [this, usual = on_primitive](const Primitive& primitive) {
    usual(primitive);
    if (std::holds_alternative<UnidataRequest>(primitive)) {
      say(UnbindIndication{UnbindReason::preempted});
    }
  };
  const Outcome outcome = run({"--to", "31.255.255.255", "--ttl", "600"}, "to all");
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_NE(outcome.err.find("unbound"), std::string::npos) << outcome.err;
}

TEST_F(SisCat, sends_expedited_data_with_confirmation_by_the_client) {
  on_primitive = [this, usual = on_primitive](const Primitive& primitive) {
    usual(primitive);
    if (const auto* p = std::get_if<ExpeditedUnidataRequest>(&primitive)) {
      say(ExpeditedUnidataRequestConfirm{p->destination_sap, p->destination, p->updu});
    }
  };
  const Outcome outcome = run({"-t", "1.2.3.5", "-e", "-c", "client"}, "now");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  const auto& request = std::get<ExpeditedUnidataRequest>(seen.at(1));
  EXPECT_EQ(request.updu, (Bytes{'n', 'o', 'w'}));
  EXPECT_EQ(request.delivery.confirmation, Confirmation::client);
}

TEST_F(SisCat, sends_over_a_hard_link_and_ends_it) {
  on_primitive = [this, usual = on_primitive](const Primitive& primitive) {
    usual(primitive);
    if (const auto* p = std::get_if<HardLinkEstablish>(&primitive)) {
      EXPECT_TRUE(received.empty());
      say(HardLinkEstablished{1, p->link});
    }
  };
  const Outcome outcome =
      run({"-t", "1.2.3.5", "--to-sap", "7", "--hard-link", "2", "--link-priority", "3"}, "hello");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(received.size(), 1u);
  ASSERT_EQ(seen.size(), 5u);  // bind, link, data, end of the link, unbind
  EXPECT_EQ(std::get<HardLinkEstablish>(seen[1]).link,
            (HardLink{HardLinkType::full_bandwidth, 3, {7}, Address{0x01020305}}));
  EXPECT_EQ(seen[3], Primitive{HardLinkTerminate{Address{0x01020305}}});
}

TEST_F(SisCat, leaves_with_1_and_sends_nothing_when_the_hard_link_is_rejected) {
  on_primitive = [this, usual = on_primitive](const Primitive& primitive) {
    usual(primitive);
    if (const auto* p = std::get_if<HardLinkEstablish>(&primitive)) {
      say(HardLinkRejected{HardLinkRejectReason::remote_not_responding, p->link});
    }
  };
  const Outcome outcome = run({"-t", "1.2.3.5", "--hard-link", "0"}, "hello");
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_NE(outcome.err.find("not responding"), std::string::npos) << outcome.err;
  EXPECT_TRUE(received.empty());
}

TEST_F(SisCat, answers_offered_hard_links_as_told) {
  const HardLink link{HardLinkType::full_bandwidth, 0, {15}, Address{0x01020305}};
  on_primitive = [this, link, usual = on_primitive](const Primitive& primitive) {
    usual(primitive);
    if (std::holds_alternative<BindRequest>(primitive)) say(HardLinkIndication{1, link});
    if (std::holds_alternative<HardLinkAccept>(primitive) ||
        std::holds_alternative<HardLinkReject>(primitive)) {
      say(UnidataIndication{.destination_sap = {15}, .updu = {'x'}});
    }
  };
  EXPECT_EQ(run({"-l", "-n", "1", "--accept-links"}).exit_code, 0);
  EXPECT_EQ(seen.at(1), Primitive{HardLinkAccept{link}});
}

TEST_F(SisCat, tells_where_a_broadcast_has_errors) {
  on_primitive = [this, usual = on_primitive](const Primitive& primitive) {
    usual(primitive);
    const auto* bind = std::get_if<BindRequest>(&primitive);
    if (bind == nullptr) return;
    EXPECT_EQ(bind->service.mode, TransmissionMode::nonarq_with_errors);
    say(UnidataIndication{.destination_sap = {15},
                          .mode = TransmissionMode::nonarq_with_errors,
                          .source = Address{5},
                          .updu = {'a', 'b', 0, 'd'},
                          .errored = {{1, 1}},
                          .missing = {{2, 1}}});
  };
  const Outcome outcome = run({"-l", "-n", "1", "--errors"});
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_EQ(outcome.out, (std::string{'a', 'b', '\0', 'd'}));
  EXPECT_NE(outcome.err.find("from 0.0.0.5: errored 1 octets at 1\n"), std::string::npos);
  EXPECT_NE(outcome.err.find("from 0.0.0.5: missing 1 octets at 2\n"), std::string::npos);
}

TEST(SisCatLinger, lasts_as_asked_for_or_as_what_was_sent_takes_at_300_bit_per_second) {
  const auto linger = [](std::vector<std::string> arguments, std::uint64_t octets) {
    arguments.insert(arguments.begin(), {"sis_cat", "--to"});
    std::vector<char*> argv;
    for (std::string& argument : arguments) argv.push_back(argument.data());
    sis_cat::Instead instead;
    const auto options =
        sis_cat::read_command_line(static_cast<int>(argv.size()), argv.data(), instead);
    EXPECT_TRUE(options) << instead.problem;
    return options ? sis_cat::linger_of(*options, octets).count() : -1;
  };
  EXPECT_EQ(linger({"1.2.3.5"}, 10'000), 0);  // every U_PDU is confirmed
  EXPECT_EQ(linger({"31.255.255.255"}, 0), 0);
  EXPECT_EQ(linger({"31.255.255.255"}, 10), 30);
  EXPECT_EQ(linger({"31.255.255.255"}, 3750), 30 + 100);
  EXPECT_EQ(linger({"31.255.255.255", "--repeats", "2"}, 3750), 30 + 300);
  EXPECT_EQ(linger({"1.2.3.5", "--mode", "nonarq", "--ttl", "6"}, 3750), 6);
  EXPECT_EQ(linger({"31.255.255.255", "--ttl", "6", "--linger", "0"}, 3750), 0);
}

TEST_F(SisCat, prints_its_options) {
  bp::ipstream out;
  EXPECT_EQ(bp::system(std::string(SIS_CAT), "--help", bp::std_out > out), 0);
  std::string text(std::istreambuf_iterator<char>(out), {});
  for (const char* option :
       {"--listen", "--to", "--expedited", "--hard-link", "--confirm", "--linger"}) {
    EXPECT_NE(text.find(option), std::string::npos) << option;
  }
}

TEST_F(SisCat, leaves_with_2_when_an_argument_is_wrong) {
  for (const std::vector<std::string>& arguments : {std::vector<std::string>{},
                                                    {"--listen", "--sap", "16"},
                                                    {"--to", "1.2.3"},
                                                    {"--to", "1.2.3.5", "--confirm", "perhaps"},
                                                    {"--listen", "--unknown"},
                                                    {"--to", "1.2.3.5", "--ttl", "1296001"},
                                                    {"--to", "1.2.3.5", "--mode", "best"},
                                                    {"--to", "1.2.3.5", "--confirm", "none"},
                                                    {"--to", "1.2.3.5", "--linger", "1"},
                                                    {"--to", "16.0.0.1", "--mode", "arq"},
                                                    {"--to", "16.0.0.1", "--confirm", "node"},
                                                    {"--to", "16.0.0.1", "--hard-link", "0"},
                                                    {"--to", "1.2.3.5", "--hard-link", "3"},
                                                    {"--to", "1.2.3.5", "--repeats", "16"},
                                                    {"--listen", "--ca", "some.pem"},
                                                    {"--listen", "more"}}) {
    bp::ipstream err;
    const int code = bp::system(std::string(SIS_CAT), bp::args(arguments), bp::std_err > err,
                                bp::std_in<bp::null, bp::std_out> bp::null);
    EXPECT_EQ(code, 2) << testing::PrintToString(arguments);
    std::string line;
    std::getline(err, line);
    EXPECT_EQ(line.substr(0, 9), "sis_cat: ");
  }
}

}  // namespace
}  // namespace s5066::sis
