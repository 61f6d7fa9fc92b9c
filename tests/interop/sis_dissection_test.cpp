// Our primitives in a TCP stream, read by tshark's SIS dissector.
//
// Known faults of the dissector (tshark 4.0): for SAPs 2, 6 and 7 it looks for a header of RCOP or
// UDOP in every U_PDU, also where types 22 and 23 quote only a part of one, and then calls the
// frame malformed behind its last field. These frames are checked apart.
#include <gtest/gtest.h>

#include <algorithm>

#include "s5066d/base/rng.h"
#include "s5066d/pdu/capture.h"
#include "sis/codec.h"
#include "tests/support/dpdu_samples.h"
#include "tests/support/tshark.h"

namespace s5066 {
namespace {

using namespace std::chrono_literals;
using sis::Primitive;
using test::DissectedPacket;

constexpr std::uint16_t kClientPort = 40000;

/// One TCP connection as raw IP packets: each primitive is a segment of its own.
class TcpCapture {
 public:
  TcpCapture() { pdu::append_capture_header(pdu::LinkType::raw_ip, file_); }

  void add(const Primitive& primitive) {
    const bool to_server = direction(type_of(primitive)) == sis::Direction::to_server;
    Bytes frame;
    encode(primitive, frame);
    add_segment(to_server, frame);
  }
  const Bytes& file() const { return file_; }

 private:
  void add_segment(bool to_server, const Bytes& payload) {
    Bytes packet = {0x45, 0};
    put_u16(packet, static_cast<std::uint16_t>(40 + payload.size()));
    append(packet, Bytes{0, 0, 0x40, 0, 64, 6, 0, 0});
    append(packet, to_server ? Bytes{10, 0, 0, 2, 10, 0, 0, 1} : Bytes{10, 0, 0, 1, 10, 0, 0, 2});
    put_u16(packet, to_server ? kClientPort : sis::kDefaultPort);
    put_u16(packet, to_server ? sis::kDefaultPort : kClientPort);
    put_u32(packet, sent_[to_server]);
    put_u32(packet, sent_[!to_server]);
    append(packet, Bytes{0x50, 0x18, 0xFF, 0xFF, 0, 0, 0, 0});  // PSH and ACK, no urgent data
    append(packet, payload);
    sent_[to_server] += static_cast<std::uint32_t>(payload.size());
    pdu::append_capture_record(at_, packet, file_);
    at_ += 1ms;
  }

  Bytes file_;
  Duration at_ = 1'800'000'000s;
  std::uint32_t sent_[2] = {1, 1};
};

/// Compares the fields of one packet with what we meant.
class Expect {
 public:
  explicit Expect(const DissectedPacket& packet) : packet_(packet) {}

  void number(const std::string& name, std::uint64_t value) const {
    EXPECT_EQ(packet_.numbers("s5066sis." + name), std::vector<std::uint64_t>{value}) << name;
  }
  void addresses(const std::vector<Address>& wanted) const {
    std::vector<std::string> values;
    std::vector<std::uint64_t> groups;
    for (const Address address : wanted) {
      values.push_back(to_string(address));
      groups.push_back(address.group);
    }
    EXPECT_EQ(packet_.shown("s5066sis.address.address"), values);
    EXPECT_EQ(packet_.numbers("s5066sis.address.group"), groups);
  }
  void delivery(const sis::DeliveryMode& mode) const {
    number("st.txmode", static_cast<std::uint8_t>(mode.mode));
    number("st.confirm", static_cast<std::uint8_t>(mode.confirmation));
    number("st.order", mode.as_they_arrive);
    number("st.extended", mode.extended);
    number("st.retries", mode.retransmissions);
  }
  void octets(const std::string& name, ByteSpan wanted) const {
    EXPECT_EQ(from_hex(packet_.hex(name)).value(), Bytes(wanted.begin(), wanted.end())) << name;
  }

 private:
  const DissectedPacket& packet_;
};

void expect_fields(const Expect& expect, const sis::BindRequest& p) {
  expect.number("01.sapid", p.sap.value);
  expect.number("01.rank", p.rank);
  expect.delivery(p.service);
}
void expect_fields(const Expect&, const sis::UnbindRequest&) {}
void expect_fields(const Expect& expect, const sis::BindAccepted& p) {
  expect.number("03.sapid", p.sap.value);
  expect.number("03.mtu", p.mtu);
}
void expect_fields(const Expect& expect, const sis::BindRejected& p) {
  expect.number("04.reason", static_cast<std::uint8_t>(p.reason));
}
void expect_fields(const Expect& expect, const sis::UnbindIndication& p) {
  expect.number("05.reason", static_cast<std::uint8_t>(p.reason));
}
void expect_fields(const Expect&, const sis::DataFlowOn&) {}
void expect_fields(const Expect&, const sis::DataFlowOff&) {}
void expect_fields(const Expect&, const sis::KeepAlive&) {}
void expect_fields(const Expect& expect, const sis::UnidataRequest& p) {
  expect.number("20.priority", p.priority);
  expect.number("20.sapid", p.destination_sap.value);
  expect.addresses({p.destination});
  expect.delivery(p.delivery);
  expect.number("20.ttl", p.time_to_live);
  expect.number("20.size", p.updu.size());
}
void expect_fields(const Expect& expect, const sis::UnidataIndication& p) {
  expect.number("21.priority", p.priority);
  expect.number("21.sapid", p.destination_sap.value);
  expect.number("21.txmode", static_cast<std::uint8_t>(p.mode));
  expect.number("21.src_sapid", p.source_sap.value);
  expect.addresses({p.destination, p.source});
  expect.number("21.size", p.updu.size());
}
void expect_fields(const Expect& expect, const sis::UnidataRequestConfirm& p) {
  expect.number("22.sapid", p.destination_sap.value);
  expect.addresses({p.destination});
  expect.number("22.size", p.updu_part.size());
  expect.octets("s5066sis.22.data", p.updu_part);
}
void expect_fields(const Expect& expect, const sis::UnidataRequestRejected& p) {
  expect.number("23.reason", static_cast<std::uint8_t>(p.reason));
  expect.number("23.sapid", p.destination_sap.value);
  expect.addresses({p.destination});
  expect.number("23.size", p.updu_part.size());
  expect.octets("s5066sis.23.data", p.updu_part);
}

enum class Verdict : std::uint8_t { clean, fields_only };

void expect_dissected(const std::vector<Primitive>& primitives, Verdict verdict = Verdict::clean) {
  TcpCapture capture;
  for (const auto& primitive : primitives) capture.add(primitive);
  const auto packets = test::dissect(capture.file());
  ASSERT_TRUE(packets.ok()) << to_string(packets.error());
  ASSERT_EQ(packets->size(), primitives.size());
  for (std::size_t i = 0; i < primitives.size(); ++i) {
    Bytes frame;
    encode(primitives[i], frame);
    SCOPED_TRACE("packet " + std::to_string(i + 1) + ": " +
                 to_hex(ByteSpan(frame).first(std::min<std::size_t>(frame.size(), 24))));
    const DissectedPacket& packet = (*packets)[i];
    const Expect expect(packet);
    expect.number("version", 0);
    expect.number("size", frame.size() - sis::kHeaderOctets);
    expect.number("type", static_cast<std::uint8_t>(type_of(primitives[i])));
    std::visit([&](const auto& p) { expect_fields(expect, p); }, primitives[i]);
    if (verdict == Verdict::fields_only) continue;
    EXPECT_FALSE(packet.malformed);
    EXPECT_TRUE(packet.complaints.empty()) << packet.complaints.front();
  }
}

Address random_address(Rng& rng) {
  return {.value = rng.below(Address::kMax + 1), .group = rng.chance(0.3)};
}
SapId random_plain_sap(Rng& rng) {
  constexpr std::uint8_t kPlain[] = {0, 1, 3, 4, 5, 8, 9, 10, 11, 12, 13, 14, 15};
  return {kPlain[rng.below(std::size(kPlain))]};
}
template <typename Enum>
Enum random_reason(Rng& rng) {
  return static_cast<Enum>(1 + rng.below(5));
}
sis::DeliveryMode random_delivery(Rng& rng) {
  return {.mode = static_cast<sis::TransmissionMode>(rng.below(4)),
          .confirmation = static_cast<sis::Confirmation>(rng.below(3)),
          .as_they_arrive = rng.chance(0.5),
          .retransmissions = static_cast<std::uint8_t>(rng.below(16))};
}

Primitive random_primitive(Rng& rng, std::uint32_t kind) {
  const auto nibble = [&] { return static_cast<std::uint8_t>(rng.below(16)); };
  const auto octets = [&](std::uint32_t most) {
    return test::random_bytes(rng, rng.below(most + 1));
  };
  switch (kind) {
    case 0:
      return sis::BindRequest{{nibble()}, nibble(), random_delivery(rng)};
    case 1:
      return sis::UnbindRequest{};
    case 2:
      return sis::BindAccepted{{nibble()}, static_cast<std::uint16_t>(rng.below(65536))};
    case 3:
      return sis::BindRejected{static_cast<sis::BindRejectReason>(1 + rng.below(4))};
    case 4:
      return sis::UnbindIndication{random_reason<sis::UnbindReason>(rng)};
    case 5:
      return sis::DataFlowOn{};
    case 6:
      return sis::DataFlowOff{};
    case 7:
      return sis::KeepAlive{};
    case 8:
      return sis::UnidataRequest{nibble(),
                                 random_plain_sap(rng),
                                 random_address(rng),
                                 random_delivery(rng),
                                 rng.below(sis::kTimeToLiveMax + 1),
                                 octets(sis::kMtu)};
    case 9:
      return sis::UnidataIndication{nibble(),
                                    random_plain_sap(rng),
                                    random_address(rng),
                                    static_cast<sis::TransmissionMode>(1 + rng.below(2)),
                                    {nibble()},
                                    {.value = rng.below(Address::kMax + 1)},
                                    octets(sis::kMtu)};
    case 10:
      return sis::UnidataRequestConfirm{random_plain_sap(rng), random_address(rng), octets(100)};
    default:
      return sis::UnidataRequestRejected{random_reason<sis::RejectReason>(rng),
                                         random_plain_sap(rng), random_address(rng), octets(100)};
  }
}

TEST(SisDissection, each_of_the_twelve_primitives_shows_what_we_meant) {
  static_assert(std::variant_size_v<Primitive> == 12);
  Rng rng(12);
  std::vector<Primitive> primitives;
  for (std::uint32_t i = 0; i < 240; ++i) primitives.push_back(random_primitive(rng, i % 12));
  expect_dissected(primitives);
}

TEST(SisDissection, the_largest_primitives_are_whole) {
  sis::UnidataRequest request;
  request.destination_sap = {3};
  request.updu = Bytes(sis::kMtu, 0x55);
  sis::UnidataIndication indication;
  indication.destination_sap = {3};
  indication.updu = Bytes(4096, 0x55);
  expect_dissected({request, indication});
}

TEST(SisDissection, file_relay_traffic_is_clean_where_the_dissector_knows_it) {
  sis::UnidataRequest request;  // an RCOP header of six octets, then BFTP
  request.destination_sap = {6};
  request.updu = from_hex("10 01 00 00 10 02 AA BB CC").value();
  sis::UnidataIndication indication;
  indication.destination_sap = {6};
  indication.source_sap = {6};
  indication.updu = request.updu;
  expect_dissected({request, indication});
}

TEST(SisDissection, answers_to_saps_2_6_and_7_have_right_fields_whatever_the_dissector_calls_them) {
  std::vector<Primitive> answers;
  for (const SapId sap : {SapId{2}, SapId{6}, SapId{7}}) {
    const Bytes part = {'H', 'E', 'L', 'L', 'O'};
    answers.push_back(sis::UnidataRequestConfirm{sap, Address{0x1020305}, part});
    answers.push_back(
        sis::UnidataRequestRejected{sis::RejectReason::ttl_expired, sap, Address{0x1020305}, part});
  }
  expect_dissected(answers, Verdict::fields_only);
}

TEST(SisDissection, a_malformed_primitive_would_be_noticed) {
  const Bytes broken = from_hex("90EB00 0005 14 53 E1 02 03").value();  // a type 20 that ends early
  Bytes packet = from_hex("45 00 00 32 00 00 40 00 40 06 00 00 0A 00 00 02 0A 00 00 01").value();
  append(packet, from_hex("9C40 13CA 00000001 00000001 50 18 FFFF 0000 0000").value());
  append(packet, broken);
  Bytes file;
  pdu::append_capture_header(pdu::LinkType::raw_ip, file);
  pdu::append_capture_record(1s, packet, file);
  const auto packets = test::dissect(file);
  ASSERT_TRUE(packets.ok());
  EXPECT_TRUE(packets->at(0).malformed);
}

}  // namespace
}  // namespace s5066
