// SPDX-License-Identifier: Apache-2.0
#include "s5066d/pdu/eow.h"

#include <gtest/gtest.h>

#include "tests/unit/pdu/vectors.h"

namespace s5066::pdu {
namespace {

Management management(const char* vector) {
  return std::get<Management>(decode(test::vector_octets(vector))->dpdu);
}

// C.5.1(1)-(5)
// C.3.2.2(1)-(3)
TEST(Eow, the_worked_data_rate_changes_are_read_and_made) {
  const DrcRequest request{.rate = 4, .interleaver = 1, .advisory = false, .equal = true};
  EXPECT_EQ(read_drc_request(management("X16").common.eow), request);
  EXPECT_EQ(make_eow(EowType::drc_request, request), management("X16").common.eow);
  const DrcRequest advice{.rate = 5, .interleaver = 2, .advisory = true, .equal = false};
  EXPECT_EQ(make_eow(EowType::drc_request, advice), (Eow{.type = 1, .contents = 0x5A}));
}

// C.5.2(1)-(4)
TEST(Eow, the_worked_responses_are_read_and_made) {
  struct Case {
    const char* vector;
    DrcResponse response;
  };
  const Case cases[] = {
      {"X17", {DrcAnswer::accept, DrcReason::none}},
      {"X19", {DrcAnswer::confirm, DrcReason::none}},
      {"X21", {DrcAnswer::refuse, DrcReason::not_consistent_with_conditions}},
      {"X22", {DrcAnswer::cancel, DrcReason::none}},
  };
  for (const auto& c : cases) {
    EXPECT_EQ(read_drc_response(management(c.vector).common.eow), c.response) << c.vector;
    EXPECT_EQ(make_eow(EowType::drc_response, c.response), management(c.vector).common.eow);
  }
}

// C.5.3(1)-(4), C.5.4(1),(2)
TEST(Eow, an_unrecognised_type_and_a_capability_are_as_in_the_examples) {
  EXPECT_EQ(make_unrecognised(9), common_of(decode(test::vector_octets("X28"))->dpdu).eow);
  EXPECT_EQ(make_capability(capability::kDrc | capability::kMs110 | capability::kExtendedRates),
            common_of(decode(test::vector_octets("X27"))->dpdu).eow);
}

// C.5.5(2)-(5),(10),(11)
TEST(Eow, a_high_data_rate_request_has_six_octets_more) {
  const Management heard = management("X23");
  const HdrRequest request{.waveform = 3, .channels = 1, .rate_bps = 9600, .interleaver_cs = 432};
  EXPECT_EQ(read_hdr_request(heard.common.eow, heard.extension), request);
  Bytes extension;
  EXPECT_EQ(make_hdr_request(request, extension), heard.common.eow);
  EXPECT_EQ(extension, heard.extension);
  EXPECT_FALSE(read_hdr_request(heard.common.eow, {}));
  extension.push_back(0);
  EXPECT_FALSE(read_hdr_request(heard.common.eow, extension));
  extension.clear();
  const Eow eight = make_hdr_request({.waveform = 31, .channels = 8}, extension);
  EXPECT_EQ(eight.contents, 0xF8);
  EXPECT_EQ(read_hdr_request(eight, extension)->channels, 8);
}

TEST(Eow, every_value_of_the_octet_comes_back) {
  for (unsigned i = 0; i < 256; ++i) {
    for (const auto type : {EowType::drc_request, EowType::frequency_request}) {
      const Eow eow{static_cast<std::uint8_t>(type), static_cast<std::uint8_t>(i)};
      EXPECT_EQ(make_eow(type, read_drc_request(eow)), eow);
    }
    for (const auto type : {EowType::drc_response, EowType::frequency_response}) {
      const Eow eow{static_cast<std::uint8_t>(type), static_cast<std::uint8_t>(i)};
      EXPECT_EQ(make_eow(type, read_drc_response(eow)), eow);
    }
  }
}

// Method: the sender without one choice sets bit 1, as the advisory type 1 does.
TEST(Eow, advice_that_offers_tells_whether_one_choice_is_offered_and_what_it_is_for) {
  const OfferingAdvice plain{.rate = 5, .interleaver = 1};
  EXPECT_EQ(make_eow(plain), (Eow{.type = 13, .contents = 0x56}));
  EXPECT_EQ(make_eow(OfferingAdvice{.rate = 5, .interleaver = 1, .one_choice = true}).contents,
            0x54);
  EXPECT_EQ(make_eow(OfferingAdvice{5, 1, true, true}).contents, 0x55);
  for (unsigned i = 0; i < 256; ++i) {
    const Eow eow{.type = 13, .contents = static_cast<std::uint8_t>(i)};
    const auto advice = read_offering_advice(eow);
    EXPECT_EQ(advice.has_value(), (i & 3) != 3);
    if (advice) {
      EXPECT_EQ(make_eow(*advice), eow);
    }
  }
}

TEST(Eow, twelve_rates_have_a_code_and_the_13th_has_none) {
  EXPECT_EQ(rate_bps(0), 75u);
  EXPECT_EQ(rate_bps(11), 9600u);
  EXPECT_FALSE(rate_bps(12));
  for (std::uint8_t code = 0; code < 12; ++code) EXPECT_EQ(rate_code(*rate_bps(code)), code);
  EXPECT_FALSE(rate_code(1000));
}

TEST(EowDeathTest, fields_out_of_range_are_our_bug) {
  Bytes extension;
  EXPECT_DEATH(make_eow(EowType::drc_request, DrcRequest{.rate = 16}), "rate < 16");
  EXPECT_DEATH(make_eow(OfferingAdvice{.ms110d = true}), "one_choice");
  EXPECT_DEATH(make_unrecognised(16), "offending_type");
  EXPECT_DEATH(make_hdr_request({.channels = 9}, extension), "channels");
  EXPECT_DEATH(make_hdr_request({.channels = 0}, extension), "channels");
}

}  // namespace
}  // namespace s5066::pdu
