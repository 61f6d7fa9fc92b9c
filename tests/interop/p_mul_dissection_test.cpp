// SPDX-License-Identifier: Apache-2.0
// Tests our P_MUL PDUs with tshark: as UDP datagrams, and in the U_PDUs of a UDOP client.
#include <gtest/gtest.h>

#include "gateways/common/rcop.h"
#include "s5066d/pdu/capture.h"
#include "sis/codec.h"
#include "tests/support/sis_capture.h"
#include "tests/support/tshark.h"
#include "tests/unit/p_mul/p_mul_vectors.h"

namespace s5066::p_mul {
namespace {

using namespace std::chrono_literals;

constexpr const char* kOptions =
    "-d udp.port==2751-2754,p_mul -o p_mul.relative_msgid:FALSE -o p_mul.reassemble:FALSE "
    "-o p_mul.seq_ack_analysis:FALSE";

Bytes udp_packet(std::uint16_t port, ByteSpan octets) {
  Bytes packet = {0x45, 0};
  put_u16(packet, static_cast<std::uint16_t>(28 + octets.size()));
  append(packet, Bytes{0, 0, 0x40, 0, 64, 17, 0, 0, 10, 1, 1, 1, 239, 1, 1, 1});
  put_u16(packet, 40000);
  put_u16(packet, port);
  put_u16(packet, static_cast<std::uint16_t>(8 + octets.size()));
  put_u16(packet, 0);
  append(packet, octets);
  return packet;
}

Bytes udp_capture(const std::vector<Bytes>& pdus) {
  Bytes file;
  pdu::append_capture_header(pdu::LinkType::raw_ip, file);
  Duration at = 1'800'000'000s;
  for (const Bytes& pdu : pdus) {
    pdu::append_capture_record(at += 1ms, udp_packet(2753, pdu), file);
  }
  return file;
}

Bytes udop_capture(const std::vector<Bytes>& pdus) {
  s5066::test::SisCapture capture;
  Duration at = 1'800'000'000s;
  for (const Bytes& pdu : pdus) {
    Bytes updu;
    gateways::encode(gateways::RcopHeader{.application_id = 0x2000}, updu);
    append(updu, pdu);
    Bytes frame;
    encode(sis::Primitive{sis::UnidataRequest{
               .destination_sap = {7},
               .destination = {0x01020306, true},
               .delivery = {.mode = sis::TransmissionMode::nonarq, .as_they_arrive = true},
               .updu = updu}},
           frame);
    capture.add(true, frame, at += 1ms);
  }
  return capture.file();
}

std::size_t values_of(const AckPdu& ack) {
  std::size_t values = 0;
  for (const AckEntry& entry : ack.entries) values += block_count(entry.missing);
  return values;
}

void expect_read(const s5066::test::DissectedPacket& packet, const Pdu& pdu, const Bytes& octets) {
  EXPECT_FALSE(packet.malformed);
  EXPECT_EQ(packet.complaints, std::vector<std::string>{});
  EXPECT_EQ(packet.numbers("p_mul.pdu_type").at(0), octets[3] & 0x3Fu);
  EXPECT_EQ(packet.numbers("p_mul.length").at(0), octets.size());
  EXPECT_EQ(packet.shown("p_mul.checksum_good"), std::vector<std::string>{"1"});
  EXPECT_EQ(packet.shown("p_mul.checksum_bad"), std::vector<std::string>{"0"});
  if (const auto* address = std::get_if<AddressPdu>(&pdu)) {
    EXPECT_EQ(packet.numbers("p_mul.no_pdus").at(0), address->total);
    EXPECT_EQ(packet.count("p_mul.dest_id"), address->destinations.size());
    EXPECT_EQ(packet.numbers("p_mul.message_id").at(0), address->name.message_id);
  }
  if (const auto* data = std::get_if<DataPdu>(&pdu)) {
    EXPECT_EQ(packet.numbers("p_mul.seq_no").at(0), data->number);
    EXPECT_EQ(packet.numbers("p_mul.message_id").at(0), data->name.message_id);
  }
  if (const auto* ack = std::get_if<AckPdu>(&pdu)) {
    std::size_t shown = packet.count("p_mul.missing_seq_no");
    EXPECT_TRUE(shown > 0 || values_of(*ack) == 0);
    EXPECT_EQ(packet.count("p_mul.timestamp"), ack->delay_100ms ? 1u : 0u);
  }
}

void expect_all_read(Bytes (*capture)(const std::vector<Bytes>&), const EncodeOptions& options) {
  std::vector<Bytes> pdus;
  std::vector<const test::Vector*> examples;
  for (const auto& example : test::vectors()) {
    if (!example.canonical) continue;
    EncodeOptions own = options;
    own.ranges = example.ranges;
    pdus.push_back(encode(example.pdu, own));
    examples.push_back(&example);
  }
  const auto packets = s5066::test::dissect(capture(pdus), kOptions);
  ASSERT_TRUE(packets.ok()) << to_string(packets.error());
  ASSERT_EQ(packets->size(), pdus.size());
  for (std::size_t i = 0; i < pdus.size(); ++i) {
    SCOPED_TRACE(examples[i]->name);
    expect_read((*packets)[i], examples[i]->pdu, pdus[i]);
  }
}

TEST(PMulDissection, tshark_reads_every_type_over_udp) {
  expect_all_read(udp_capture, {});
}

TEST(PMulDissection, tshark_reads_every_type_in_the_u_pdus_of_a_udop_client) {
  expect_all_read(udop_capture, {});
}

TEST(PMulDissection, tshark_agrees_with_the_internet_checksum) {
  expect_all_read(udp_capture, {.checksum = Checksum::internet});
}

// tshark does not know our own PDU type. It shows the header, and that the checksum is right.
TEST(PMulDissection, tshark_takes_parity_for_an_unknown_type) {
  const Bytes parity = encode(ParityPdu{.priority = 4,
                                        .name = {{0x0A010101}, 123456},
                                        .number = 3,
                                        .total = 9,
                                        .last_block_octets = 2,
                                        .parity = {1, 2, 3, 4}});
  const auto packets = s5066::test::dissect(udp_capture({parity}), kOptions);
  ASSERT_TRUE(packets.ok());
  EXPECT_EQ((*packets)[0].numbers("p_mul.pdu_type").at(0), 0x3Du);
  EXPECT_EQ((*packets)[0].shown("p_mul.checksum_good"), std::vector<std::string>{"1"});
}

}  // namespace
}  // namespace s5066::p_mul
