// SPDX-License-Identifier: Apache-2.0
// Tests our primitives in a TCP stream with tshark's SIS dissector.
#include <gtest/gtest.h>

#include <algorithm>

#include "s5066d/base/rng.h"
#include "sis/codec.h"
#include "tests/support/dpdu_samples.h"
#include "tests/support/sis_capture.h"
#include "tests/support/sis_dissection.h"
#include "tests/support/tshark.h"
#include "tests/unit/sis/vectors.h"

namespace s5066 {
namespace {

using namespace std::chrono_literals;
using sis::Primitive;
using sis::Type;
using test::DissectedPacket;

Bytes frame_of(const Primitive& primitive) {
  Bytes frame;
  encode(primitive, frame);
  return frame;
}

/// Puts each frame into a segment of its own.
Result<std::vector<DissectedPacket>> dissect(const std::vector<Bytes>& frames) {
  test::SisCapture capture;
  Duration at = 1'800'000'000s;
  for (const Bytes& frame : frames) {
    const auto type = static_cast<Type>(frame.at(sis::kHeaderOctets));
    capture.add(direction(type) == sis::Direction::to_server, frame, at += 1ms);
  }
  return test::dissect(capture.file());
}

void expect_dissected(const std::vector<Primitive>& primitives) {
  std::vector<Bytes> frames;
  for (const auto& primitive : primitives) frames.push_back(frame_of(primitive));
  const auto packets = dissect(frames);
  ASSERT_TRUE(packets.ok()) << to_string(packets.error());
  ASSERT_EQ(packets->size(), primitives.size());
  for (std::size_t i = 0; i < primitives.size(); ++i) {
    SCOPED_TRACE("packet " + std::to_string(i + 1) + ": " +
                 to_hex(ByteSpan(frames[i]).first(std::min<std::size_t>(frames[i].size(), 24))));
    const auto shown = test::split_primitives((*packets)[i]);
    ASSERT_EQ(shown.size(), 1u);
    EXPECT_EQ(test::differences(shown[0], primitives[i]), std::vector<std::string>{});
  }
}

// --- Random primitives that the dissector reads without known faults
// ------------------------------

Address random_address(Rng& rng) {
  return {.value = rng.below(Address::kMax + 1), .group = rng.chance(0.3)};
}
std::uint8_t nibble(Rng& rng) {
  return static_cast<std::uint8_t>(rng.below(16));
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
          .retransmissions = nibble(rng)};
}
Bytes random_octets(Rng& rng, std::uint32_t most) {
  return test::random_bytes(rng, rng.below(most + 1));
}
sis::HardLink random_link(Rng& rng) {
  return {.type = static_cast<sis::HardLinkType>(rng.below(3)),
          .priority = static_cast<std::uint8_t>(rng.below(4)),
          .remote_sap = {nibble(rng)},
          .remote = {rng.below(Address::kMax + 1)}};
}
std::vector<OctetRange> random_blocks(Rng& rng) {
  std::vector<OctetRange> blocks(1 + rng.below(6));
  for (auto& block : blocks) {
    block.offset = static_cast<std::uint16_t>(rng.below(2000));
    block.octets = static_cast<std::uint16_t>(1 + rng.below(40));
  }
  return blocks;
}

template <typename Request>
Request random_request(Rng& rng) {
  Request p;
  if constexpr (requires { p.priority; }) p.priority = nibble(rng);
  p.destination_sap = random_plain_sap(rng);
  p.destination = random_address(rng);
  p.delivery = random_delivery(rng);
  p.time_to_live = rng.below(sis::kTimeToLiveMax + 1);
  p.updu = random_octets(rng, sis::kMtu);
  return p;
}
template <typename Indication>
Indication random_indication(Rng& rng) {
  Indication p;
  if constexpr (requires { p.priority; }) p.priority = nibble(rng);
  p.destination_sap = random_plain_sap(rng);
  p.destination = random_address(rng);
  p.mode = static_cast<sis::TransmissionMode>(1 + rng.below(3));
  p.source_sap = {nibble(rng)};
  p.source = {rng.below(Address::kMax + 1)};
  p.updu = random_octets(rng, sis::kMtu);
  if (p.mode == sis::TransmissionMode::nonarq_with_errors) {
    if (rng.chance(0.7)) p.errored = random_blocks(rng);
    if (p.errored.empty() || rng.chance(0.5)) p.missing = random_blocks(rng);
  }
  return p;
}
template <typename Answer>
Answer random_answer(Rng& rng) {
  Answer p;
  if constexpr (requires { p.reason; }) p.reason = random_reason<sis::RejectReason>(rng);
  p.destination_sap = random_plain_sap(rng);
  p.destination = random_address(rng);
  p.updu_part = random_octets(rng, 100);
  return p;
}

/// Returns a primitive that carries a U_PDU or a part of one, normal or expedited.
template <typename P>
Primitive random_data(Rng& rng) {
  if constexpr (requires(P p) { p.time_to_live; }) {
    return random_request<P>(rng);
  } else if constexpr (requires(P p) { p.errored; }) {
    return random_indication<P>(rng);
  } else if constexpr (requires(P p) { p.updu_part; }) {
    return random_answer<P>(rng);
  } else {
    return P{};
  }
}
template <typename... P>
Primitive random_data(Rng& rng, Type type, std::variant<P...>*) {
  Primitive made;
  ((sis::type_of(P{}) == type ? void(made = random_data<P>(rng)) : void()), ...);
  return made;
}

Primitive random_primitive(Rng& rng, Type type) {
  const auto octet = [&rng] { return static_cast<std::uint8_t>(rng.below(256)); };
  switch (type) {
    case Type::bind_request:
      return sis::BindRequest{{nibble(rng)}, nibble(rng), random_delivery(rng)};
    case Type::unbind_request:
      return sis::UnbindRequest{};
    case Type::bind_accepted:
      return sis::BindAccepted{{nibble(rng)}, static_cast<std::uint16_t>(rng.below(65536))};
    case Type::bind_rejected:
      return sis::BindRejected{static_cast<sis::BindRejectReason>(1 + rng.below(4))};
    case Type::unbind_indication:
      return sis::UnbindIndication{random_reason<sis::UnbindReason>(rng)};
    case Type::hard_link_establish:
      return sis::HardLinkEstablish{random_link(rng)};
    case Type::hard_link_terminate:
      return sis::HardLinkTerminate{random_link(rng).remote};
    case Type::hard_link_established:
      return sis::HardLinkEstablished{1, random_link(rng)};
    case Type::hard_link_rejected:
      return sis::HardLinkRejected{random_reason<sis::HardLinkRejectReason>(rng), random_link(rng)};
    case Type::hard_link_terminated:
      return sis::HardLinkTerminated{random_reason<sis::HardLinkEndReason>(rng), random_link(rng)};
    case Type::hard_link_indication:
      return sis::HardLinkIndication{1, random_link(rng)};
    case Type::hard_link_accept:
      return sis::HardLinkAccept{random_link(rng)};
    case Type::hard_link_reject:
      return sis::HardLinkReject{octet(), random_link(rng)};
    case Type::subnet_availability:
      return sis::SubnetAvailability{static_cast<sis::NodeStatus>(rng.below(6)),
                                     static_cast<sis::AvailabilityReason>(rng.below(3))};
    case Type::data_flow_on:
      return sis::DataFlowOn{};
    case Type::data_flow_off:
      return sis::DataFlowOff{};
    case Type::keep_alive:
      return sis::KeepAlive{};
    case Type::management_request:
      return sis::ManagementRequest{octet(), random_octets(rng, 300)};
    case Type::management_indication:
      return sis::ManagementIndication{octet(), random_octets(rng, 300)};
    default:
      return random_data(rng, type, static_cast<Primitive*>(nullptr));
  }
}

// --- Tests ---------------------------------------------------------------------------------------

TEST(SisDissection, each_of_the_27_primitives_shows_what_we_meant) {
  Rng rng(12);
  std::vector<Primitive> primitives;
  for (std::uint32_t i = 0; i < 20 * sis::kTypeMax; ++i) {
    primitives.push_back(random_primitive(rng, static_cast<Type>(1 + i % sis::kTypeMax)));
    ASSERT_FALSE(test::known_fault(primitives.back()));
  }
  expect_dissected(primitives);
}

TEST(SisDissection, every_worked_example_shows_the_value_it_stands_for) {
  std::vector<Bytes> frames;
  for (const sis::Vector& vector : sis::vectors()) frames.push_back(*from_hex(vector.hex));
  const auto packets = dissect(frames);
  ASSERT_TRUE(packets.ok()) << to_string(packets.error());
  ASSERT_EQ(packets->size(), frames.size());
  for (std::size_t i = 0; i < frames.size(); ++i) {
    SCOPED_TRACE(sis::vectors()[i].name);
    const auto shown = test::split_primitives((*packets)[i]);
    ASSERT_EQ(shown.size(), 1u);
    EXPECT_EQ(test::differences(shown[0], sis::vectors()[i].value), std::vector<std::string>{});
  }
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

// The test also fails if a newer dissector no longer has a fault that known_fault() names.
TEST(SisDissection, the_dissector_misreads_just_what_known_fault_says_it_does) {
  const Bytes header = {0x10, 0x01, 0x00, 0x00, 0x10, 0x02};
  std::vector<Primitive> primitives;
  for (std::uint8_t sap = 0; sap <= SapId::kMax; ++sap) {
    const Address node{0x1020305};
    using sis::RejectReason;
    primitives.push_back(sis::UnidataRequestConfirm{{sap}, node, header});
    primitives.push_back(
        sis::UnidataRequestRejected{RejectReason::ttl_expired, {sap}, node, header});
    primitives.push_back(sis::ExpeditedUnidataRequestConfirm{{sap}, node, header});
    primitives.push_back(
        sis::ExpeditedUnidataRequestRejected{RejectReason::ttl_expired, {sap}, node, header});
    for (std::size_t octets = 1; octets <= header.size(); ++octets) {
      const Bytes updu(header.begin(), header.begin() + static_cast<std::ptrdiff_t>(octets));
      primitives.push_back(sis::UnidataRequest{.destination_sap = {sap}, .updu = updu});
      primitives.push_back(sis::UnidataIndication{.destination_sap = {sap}, .updu = updu});
      primitives.push_back(sis::ExpeditedUnidataRequest{.destination_sap = {sap}, .updu = updu});
      primitives.push_back(sis::ExpeditedUnidataIndication{.destination_sap = {sap}, .updu = updu});
    }
  }
  const auto with_errors = sis::TransmissionMode::nonarq_with_errors;
  primitives.push_back(sis::UnidataIndication{
      .destination_sap = {3}, .mode = with_errors, .updu = header, .errored = {{0, 1}}});
  primitives.push_back(
      sis::UnidataIndication{.destination_sap = {3}, .mode = with_errors, .updu = header});
  primitives.push_back(
      sis::ExpeditedUnidataIndication{.destination_sap = {3}, .mode = with_errors, .updu = header});

  std::vector<Bytes> frames;
  for (const auto& primitive : primitives) frames.push_back(frame_of(primitive));
  const auto packets = dissect(frames);
  ASSERT_TRUE(packets.ok()) << to_string(packets.error());
  ASSERT_EQ(packets->size(), primitives.size());
  for (std::size_t i = 0; i < primitives.size(); ++i) {
    EXPECT_EQ((*packets)[i].malformed, test::known_fault(primitives[i])) << to_hex(frames[i]);
  }
  expect_dissected(primitives);
}

TEST(SisDissection, a_malformed_primitive_would_be_noticed) {
  const auto packets = dissect({from_hex("90EB00 0005 14 53 E1 02 03").value()});  // too short
  ASSERT_TRUE(packets.ok());
  EXPECT_TRUE(packets->at(0).malformed);
}

TEST(SisDissection, a_field_that_is_not_meant_would_be_noticed) {
  const sis::HardLink link{
      .type = sis::HardLinkType::full_bandwidth, .priority = 1, .remote_sap = {3}, .remote = {5}};
  const auto packets = dissect({frame_of(sis::HardLinkEstablish{link})});
  ASSERT_TRUE(packets.ok());
  const auto shown = test::split_primitives(packets->at(0));
  ASSERT_EQ(shown.size(), 1u);
  EXPECT_TRUE(test::differences(shown[0], sis::HardLinkEstablish{link}).empty());
  auto other = link;
  other.priority = 2;
  EXPECT_EQ(test::differences(shown[0], sis::HardLinkEstablish{other}),
            std::vector<std::string>{"06.priority: shown 1, meant 2"});
  other = link;
  other.remote.value = 6;
  EXPECT_EQ(test::differences(shown[0], sis::HardLinkEstablish{other}),
            std::vector<std::string>{"address: shown 0.0.0.5, meant 0.0.0.6"});
}

}  // namespace
}  // namespace s5066
