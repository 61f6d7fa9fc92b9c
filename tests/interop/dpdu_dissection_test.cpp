// SPDX-License-Identifier: Apache-2.0
// Tests our transmissions with tshark's D_PDU dissector, from captures as --capture writes them.
#include <gtest/gtest.h>

#include <set>

#include "s5066d/pdu/capture.h"
#include "s5066d/pdu/eow.h"
#include "s5066d/pdu/header.h"
#include "tests/support/dpdu_samples.h"
#include "tests/support/lone_station.h"
#include "tests/support/tshark.h"

namespace s5066 {
namespace {

using namespace std::chrono_literals;
using pdu::Dpdu;
using test::DissectedPacket;

Bytes capture_of(const std::vector<Dpdu>& dpdus) {
  Bytes file;
  pdu::append_capture_header(pdu::LinkType::dpdu, file);
  Duration at = 1'800'000'000s;
  for (const auto& dpdu : dpdus) {
    pdu::append_capture_record(at, test::encoded(dpdu), file);
    at += 250ms;
  }
  return file;
}

std::string plain_hex(ByteSpan octets) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const auto octet : octets) {
    text.push_back(kDigits[octet >> 4]);
    text.push_back(kDigits[octet & 15]);
  }
  return text;
}

/// Compares the fields of one packet with the encoded values.
class Expect {
 public:
  Expect(const DissectedPacket& packet, std::string prefix)
      : packet_(packet), prefix_("s5066dts." + std::move(prefix)) {}

  void number(const std::string& name, std::uint64_t value) const {
    EXPECT_EQ(packet_.numbers(prefix_ + name), std::vector<std::uint64_t>{value}) << prefix_ + name;
  }
  void octets(const std::string& name, ByteSpan value) const {
    EXPECT_EQ(packet_.hex(prefix_ + name), plain_hex(value)) << prefix_ + name;
  }

 private:
  const DissectedPacket& packet_;
  std::string prefix_;
};

void expect_common(const DissectedPacket& packet, const Dpdu& dpdu) {
  const pdu::Common& common = common_of(dpdu);
  const Expect expect(packet, "");
  expect.number("sync", 0x90EB);
  expect.number("type", type_of(dpdu));
  expect.number("eow.type", common.eow.type);
  expect.number("eot", common.eot_half_s);
  expect.number("address.size", 7);
  expect.number("dest_addr", common.destination.value);
  expect.number("src_addr", common.source.value);
  if (common.eow.type == 0) expect.number("eow.data", common.eow.contents);
}

void expect_flags(const Expect& expect, const pdu::DataFlags& flags) {
  expect.number("cpdu_start", flags.start);
  expect.number("cpdu_end", flags.end);
  expect.number("deliver_in_order", flags.in_order);
  expect.number("drop_cpdu", flags.drop);
  expect.number("tx_win_uwe", flags.uwe);
  expect.number("tx_win_lwe", flags.lwe);
}

void expect_ack(const Expect& expect, const pdu::Ack& ack) {
  expect.number("rx_lwe", ack.rx_lwe.value);
  expect.octets("acks", ack.selective);
}

void expect_segment(const DissectedPacket& packet, ByteSpan segment) {
  Expect(packet, "").octets("segmented_cpdu", segment);
}

void expect_specific(const DissectedPacket& packet, const pdu::Data& data) {
  const Expect expect(packet, "data_only.");
  expect_flags(expect, data.flags);
  expect.number("segmented_cpdu_size", data.segment.size());
  expect.number("transmit_sequence_number", data.number.value);
  expect_segment(packet, data.segment);
}

void expect_specific(const DissectedPacket& packet, const pdu::AckOnly& ack_only) {
  expect_ack(Expect(packet, "ack_only."), ack_only.ack);
}

void expect_specific(const DissectedPacket& packet, const pdu::DataAck& data_ack) {
  const Expect expect(packet, "data_ack.");
  expect_flags(expect, data_ack.flags);
  expect.number("segmented_cpdu_size", data_ack.segment.size());
  expect.number("transmit_sequence_number", data_ack.number.value);
  expect_ack(expect, data_ack.ack);
  expect_segment(packet, data_ack.segment);
}

void expect_specific(const DissectedPacket& packet, const pdu::Reset& reset) {
  const Expect expect(packet, "reset_win_resync.");
  expect.number("unused", 0);
  expect.number("full_reset", reset.full_reset);
  expect.number("reset_tx_win", reset.tx_window_request);
  expect.number("reset_rx_win", reset.rx_window_command);
  expect.number("reset_ack", reset.ack);
  expect.number("new_rx_lwe", reset.new_rx_lwe.value);
  expect.number("reset_frame_id", reset.frame_id);
}

void expect_specific(const DissectedPacket& packet, const pdu::ExpeditedData& data) {
  const Expect expect(packet, "exp_data_only.");
  expect.number("cpdu_start", data.start);
  expect.number("cpdu_end", data.end);
  expect.number("cpdu_id", data.cpdu_id);
  expect.number("segmented_cpdu_size", data.segment.size());
  expect.number("transmit_sequence_number", data.number.value);
  expect_segment(packet, data.segment);
}

void expect_specific(const DissectedPacket& packet, const pdu::ExpeditedAck& ack) {
  expect_ack(Expect(packet, "exp_ack_only."), ack.ack);
}

/// tshark 4.0 reads the flags as the type of the message. If all three of them are set, the type is
/// 7, and it reads the six octets of a high data rate change request.
bool has_all_flags(const pdu::Management& management) {
  return management.valid && management.ack && !management.extension.empty();
}

void expect_specific(const DissectedPacket& packet, const pdu::Management& management) {
  const Expect expect(packet, "management.");
  expect.number("unused", 0);
  expect.number("extended_message_flag", !management.extension.empty());
  expect.number("message", management.valid);
  expect.number("ack", management.ack);
  expect.number("management_frame_id", management.frame_id);
  // See has_all_flags.
  if (!has_all_flags(management)) expect.octets("extended_message", management.extension);
}

void expect_specific(const DissectedPacket& packet, const pdu::Nonarq& nonarq) {
  const Expect expect(packet, nonarq.expedited ? "exp_non_arq_data." : "non_arq_data.");
  expect.number("cpdu_id_1", nonarq.cpdu_id >> 8u);
  expect.number("cpdu_id_2", nonarq.cpdu_id & 0xFFu);
  expect.number("deliver_in_order", nonarq.in_order);
  expect.number("group_address", nonarq.common.destination.group);
  expect.number("segmented_cpdu_size", nonarq.segment.size());
  expect.number("cpdu_size", nonarq.cpdu_size);
  expect.number("cpdu_segment_offset", nonarq.offset);
  expect.number("cpdu_reception_window", nonarq.window_half_s);
  expect_segment(packet, nonarq.segment);
}

void expect_specific(const DissectedPacket& packet, const pdu::Warning& warning) {
  const Expect expect(packet, "warning.");
  expect.number("frame_type", warning.received_type);
  expect.number("reason", warning.reason);
}

// tshark decodes only the headers of our types 9 and 10.
void expect_specific(const DissectedPacket&, const pdu::LongData&) {
  FAIL() << "not dissected";
}
void expect_specific(const DissectedPacket&, const pdu::LongAckOnly&) {
  FAIL() << "not dissected";
}
void expect_specific(const DissectedPacket&, const pdu::Unsupported&) {
  FAIL() << "never sent";
}

bool has_segment(const Dpdu& dpdu) {
  return std::visit(
      [](const auto& d) {
        return requires {
          d.segment;
        };
      },
      dpdu);
}

void expect_dissected(const std::vector<Dpdu>& dpdus) {
  const auto packets = test::dissect(capture_of(dpdus));
  ASSERT_TRUE(packets.ok()) << to_string(packets.error());
  ASSERT_EQ(packets->size(), dpdus.size());
  for (std::size_t i = 0; i < dpdus.size(); ++i) {
    const DissectedPacket& packet = (*packets)[i];
    SCOPED_TRACE("packet " + std::to_string(i + 1) + ": " + to_hex(test::encoded(dpdus[i])));
    EXPECT_FALSE(packet.malformed);
    EXPECT_TRUE(packet.complaints.empty()) << packet.complaints.front();
    EXPECT_EQ(packet.lines_with("(Correct)"), has_segment(dpdus[i]) ? 2u : 1u);
    EXPECT_EQ(packet.lines_with("(Incorrect"), 0u);
    expect_common(packet, dpdus[i]);
    std::visit([&](const auto& dpdu) { expect_specific(packet, dpdu); }, dpdus[i]);
  }
}

TEST(DpduDissection, each_type_with_random_fields_shows_what_we_meant) {
  Rng rng(11);
  std::vector<Dpdu> dpdus;
  for (int i = 0; i < 400; ++i) {
    Dpdu dpdu = test::random_dpdu(rng, i % 20 == 0 ? pdu::kSegmentOctetsMax : 60);
    // Messages of other types than "none" have dissections of their own.
    std::visit([](auto& d) { d.common.eow.type = 0; }, dpdu);
    auto* management = std::get_if<pdu::Management>(&dpdu);
    if (management && has_all_flags(*management)) management->extension.resize(6);
    dpdus.push_back(std::move(dpdu));
  }
  expect_dissected(dpdus);
}

TEST(DpduDissection, the_shortest_and_the_longest_of_each_type_are_whole) {
  pdu::DataAck longest;
  longest.segment = Bytes(pdu::kSegmentOctetsMax, 0xA5);
  longest.ack.selective = Bytes(pdu::kSelectiveOctetsMax, 0xFF);
  pdu::Data data;
  data.segment = longest.segment;
  pdu::Nonarq nonarq;
  nonarq.segment = longest.segment;
  nonarq.cpdu_size = pdu::kSegmentOctetsMax;
  pdu::AckOnly ack_only;
  ack_only.ack = longest.ack;
  pdu::ExpeditedData expedited;
  expedited.segment = longest.segment;
  pdu::ExpeditedAck expedited_ack;
  expedited_ack.ack = longest.ack;
  pdu::Management management;
  management.extension = Bytes(pdu::kExtensionOctetsMax, 0x5A);
  expect_dissected({pdu::Data{}, data, pdu::AckOnly{}, ack_only, pdu::DataAck{}, longest,
                    pdu::Reset{}, pdu::ExpeditedData{}, expedited, pdu::ExpeditedAck{},
                    expedited_ack, pdu::Management{}, management, pdu::Nonarq{}, nonarq,
                    pdu::Warning{}});
}

TEST(DpduDissection, each_engineering_order_wire_message_is_understood) {
  using namespace pdu;
  Management request{
      .common = {.eow = make_eow(
                     EowType::drc_request,
                     DrcRequest{.rate = 5, .interleaver = 2, .advisory = true, .equal = true})},
      .valid = true};
  Management response{
      .common = {.eow = make_eow(EowType::drc_response,
                                 DrcResponse{DrcAnswer::refuse, DrcReason::cannot_change_either})},
      .valid = true};
  AckOnly unrecognised{.common = {.eow = make_unrecognised(9)}, .ack = {}};
  AckOnly capabilities{.common = {.eow = make_capability(capability::kMs110 | capability::kArcs)},
                       .ack = {}};
  Management frequency{.common = {.eow = make_eow(EowType::frequency_response,
                                                  DrcResponse{DrcAnswer::refuse,
                                                              DrcReason::cannot_change_frequency})},
                       .valid = true};
  Management hdr{.valid = true, .ack = true};
  hdr.common.eow = make_hdr_request(
      {.waveform = 3, .channels = 2, .rate_bps = 9600, .interleaver_cs = 432}, hdr.extension);
  const auto packets =
      test::dissect(capture_of({request, response, unrecognised, capabilities, frequency, hdr}));
  ASSERT_TRUE(packets.ok());
  const auto field = [&](std::size_t packet, const std::string& name) {
    const auto numbers = packets->at(packet).numbers("s5066dts.eow." + name);
    return numbers.size() == 1 ? static_cast<int>(numbers[0]) : -1;
  };
  EXPECT_EQ(field(0, "drc_request.data_rate"), 5);
  EXPECT_EQ(field(0, "drc_request.interleaving"), 2);
  EXPECT_EQ(field(0, "drc_request.others"), 3);
  EXPECT_EQ(field(1, "drc_response.response"), 1);
  EXPECT_EQ(field(1, "drc_response.reason"), 4);
  EXPECT_EQ(field(2, "unrec_type.reason"), 9);
  EXPECT_EQ(field(3, "capability.mil_std_188_110a"), 1);
  EXPECT_EQ(field(3, "capability.arcs"), 1);
  EXPECT_EQ(field(3, "capability.adaptive"), 0);
  EXPECT_EQ(field(4, "alm_response.response"), 1);
  EXPECT_EQ(field(4, "alm_response.reason"), 6);
  EXPECT_EQ(field(5, "hdr_drc_request.waveform"), 3);
  EXPECT_EQ(field(5, "hdr_drc_request.num_channels"), 2);
  EXPECT_EQ(field(5, "hdr_drc_request.data_rate"), 9600);
  EXPECT_EQ(field(5, "hdr_drc_request.interleaver_length"), 432);
}

// The test covers every type that Table C-4 and the annexes name, and the free ones, in a type 6 as
// in any other D_PDU.
TEST(DpduDissection, every_type_of_wire_message_shows_its_number_and_contents) {
  std::vector<Dpdu> dpdus;
  for (std::uint8_t type = 0; type < 16; ++type) {
    const pdu::Common common{.eow = {type, 0x59}, .destination = {5}, .source = {6}};
    dpdus.emplace_back(pdu::AckOnly{.common = common, .ack = {}});
    dpdus.emplace_back(pdu::Management{.common = common, .valid = true});
  }
  const auto packets = test::dissect(capture_of(dpdus));
  ASSERT_TRUE(packets.ok()) << to_string(packets.error());
  ASSERT_EQ(packets->size(), dpdus.size());
  struct Field {
    int type;
    const char* name;
    unsigned value;
  };
  const Field fields[] = {
      {1, "drc_request.data_rate", 5},
      {1, "drc_request.interleaving", 2},
      {1, "drc_request.others", 1},
      {2, "drc_response.response", 2},
      {2, "drc_response.reason", 25},
      {3, "unrec_type.reason", 25},
      {4, "capability.stanag_4529", 1},
      {4, "capability.mil_std_188_110a", 0},
      {4, "capability.extended", 1},
      {4, "capability.full_duplex", 1},
      {4, "capability.split_frequency", 0},
      {4, "capability.non_arcs_ale", 0},
      {4, "capability.arcs", 1},
      {4, "capability.adaptive", 0},
      {5, "alm_request.data_rate", 5},
      {5, "alm_request.interleaving", 2},
      {5, "alm_request.others", 1},
      {6, "alm_response.response", 2},
      {6, "alm_response.reason", 25},
  };
  for (std::size_t i = 0; i < packets->size(); ++i) {
    const int type = static_cast<int>(i / 2);
    SCOPED_TRACE("message " + std::to_string(type) + " in packet " + std::to_string(i + 1));
    const bool only_in_type_6 = type == 7 || type == 15;
    EXPECT_EQ((*packets)[i].malformed, only_in_type_6 && i % 2 == 0);
    EXPECT_EQ((*packets)[i].numbers("s5066dts.eow.type"),
              std::vector<std::uint64_t>{static_cast<std::uint64_t>(type)});
    for (const Field& field : fields) {
      if (field.type != type) continue;
      EXPECT_EQ((*packets)[i].numbers(std::string("s5066dts.eow.") + field.name),
                std::vector<std::uint64_t>{field.value})
          << field.name;
    }
  }
}

/// Adds the D_PDUs that a station has sent.
void add_sent(test::LoneStation& station, std::vector<Dpdu>& all) {
  for (auto& dpdu : station.take_sent()) all.push_back(std::move(dpdu));
}

// Goal:   another program decodes a station's transmissions of all procedures as they were meant.
// Method: one station is made to send each type of D_PDU.
TEST(DpduDissection, what_a_station_sends_in_every_procedure_is_understood) {
  constexpr Address kUs{0x01020305};
  constexpr Address kPeer{0x01020304};
  const pdu::Common common{.eot_half_s = 1, .destination = kUs, .source = kPeer};
  test::LoneStation station({.address = kUs});
  std::vector<Dpdu> all;
  const auto hear = [&](Dpdu dpdu) {
    station.hear({std::move(dpdu)});
    station.run_for(3s);
    add_sent(station, all);
  };
  // The station answers data from a peer without a link with type 15.
  hear(pdu::Data{common, {.start = true, .end = true}, {0}, {1}});
  station.made(kPeer);
  hear(pdu::Data{common, {.start = true, .end = true}, {0}, {1}});
  for (const auto service : {dts::Service::arq, dts::Service::expedited_arq, dts::Service::nonarq,
                             dts::Service::expedited_nonarq}) {
    station.request({.id = {static_cast<std::uint64_t>(service)},
                     .service = service,
                     .destination = kPeer,
                     .cpdu = Bytes(500, 0xA5)});
    station.run_for(10s);
    add_sent(station, all);
    hear(pdu::AckOnly{common, {{2}, {}}});
    hear(pdu::ExpeditedAck{common, {{2}, {}}});
  }
  hear(pdu::DataAck{common, {.start = true, .end = true}, {1}, {{2}, {}}, {1}});
  hear(pdu::ExpeditedData{common, true, true, 1, {0}, {1}});
  hear(pdu::Reset{.common = common, .full_reset = true, .frame_id = 1});
  station.request({.id = {9}, .destination = kPeer, .cpdu = Bytes(50, 1)});
  hear(pdu::Data{common, {.start = true, .end = true}, {0}, {1}});
  hear(pdu::AckOnly{common, {{1}, {}}});
  for (std::uint8_t type = 0; type < 16; ++type) {
    pdu::Management management{.common = common, .valid = true, .frame_id = type};
    management.common.eow = {type, 0x15};
    hear(management);
    hear(pdu::Management{.common = common, .ack = true, .frame_id = type});
  }
  std::set<int> types;
  for (const auto& dpdu : all) types.insert(pdu::type_of(dpdu));
  EXPECT_EQ(types, (std::set<int>{0, 1, 2, 3, 4, 5, 6, 7, 8, 15}));
  expect_dissected(all);
}

TEST(DpduDissection, a_wrong_crc_would_be_noticed) {
  Bytes frame = test::encoded(pdu::Data{.common = {}, .flags = {}, .number = {}, .segment = {1}});
  frame.back() ^= 1;
  Bytes file;
  pdu::append_capture_header(pdu::LinkType::dpdu, file);
  pdu::append_capture_record(1s, frame, file);
  const auto packets = test::dissect(file);
  ASSERT_TRUE(packets.ok());
  EXPECT_EQ(packets->at(0).lines_with("(Incorrect"), 1u);
}

TEST(DpduDissection, times_of_a_capture_are_read_back) {
  const auto packets = test::dissect(capture_of({pdu::Warning{}, pdu::Warning{}}));
  ASSERT_TRUE(packets.ok());
  EXPECT_EQ(packets->at(1).shown("frame.time_epoch"),
            std::vector<std::string>{"1800000000.250000000"});
}

}  // namespace
}  // namespace s5066
