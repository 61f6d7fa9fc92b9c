// SPDX-License-Identifier: Apache-2.0
#include "s5066d/pdu/eow.h"

#include <array>

#include "s5066d/base/assert.h"

namespace s5066::pdu {
namespace {

constexpr std::array<unsigned, 12> kRates = {75,   150,  300,  600,  1200, 2400,
                                             3200, 3600, 4800, 6400, 8000, 9600};

Eow with(EowType type, unsigned contents) {
  S5066_ASSERT(contents <= 0xFF);
  return {.type = static_cast<std::uint8_t>(type), .contents = static_cast<std::uint8_t>(contents)};
}

}  // namespace

std::string_view to_string(DrcReason reason) {
  switch (reason) {
    case DrcReason::none:
      return "none";
    case DrcReason::must_be_equal:
      return "must_be_equal";
    case DrcReason::cannot_change_rate:
      return "cannot_change_rate";
    case DrcReason::cannot_change_interleaver:
      return "cannot_change_interleaver";
    case DrcReason::cannot_change_either:
      return "cannot_change_either";
    case DrcReason::not_consistent_with_conditions:
      return "not_consistent_with_conditions";
    case DrcReason::cannot_change_frequency:
      return "cannot_change_frequency";
  }
  return "reserved";
}

std::optional<unsigned> rate_bps(std::uint8_t rate) {
  if (rate >= kRates.size()) return std::nullopt;
  return kRates[rate];
}

std::optional<std::uint8_t> rate_code(unsigned bps) {
  for (std::size_t i = 0; i < kRates.size(); ++i) {
    if (kRates[i] == bps) return static_cast<std::uint8_t>(i);
  }
  return std::nullopt;
}

Eow make_eow(EowType type, const DrcRequest& request) {
  S5066_ASSERT(type == EowType::drc_request || type == EowType::frequency_request);
  S5066_ASSERT(request.rate < 16 && request.interleaver < 4);
  return with(type, unsigned{request.rate} << 4 | unsigned{request.interleaver} << 2 |
                        unsigned{request.advisory} << 1 | unsigned{request.equal});
}

Eow make_eow(const OfferingAdvice& advice) {
  S5066_ASSERT(advice.rate < 16 && advice.interleaver < 4);
  S5066_ASSERT(advice.one_choice || !advice.ms110d);
  return with(EowType::offering_advice,
              unsigned{advice.rate} << 4 | unsigned{advice.interleaver} << 2 |
                  unsigned{!advice.one_choice} << 1 | unsigned{advice.ms110d});
}

std::optional<OfferingAdvice> read_offering_advice(const Eow& eow) {
  const bool one_choice = (eow.contents & 2) == 0;
  const bool ms110d = (eow.contents & 1) != 0;
  if (!one_choice && ms110d) return std::nullopt;
  return OfferingAdvice{.rate = static_cast<std::uint8_t>(eow.contents >> 4),
                        .interleaver = static_cast<std::uint8_t>(eow.contents >> 2 & 3),
                        .one_choice = one_choice,
                        .ms110d = ms110d};
}

DrcRequest read_drc_request(const Eow& eow) {
  return {.rate = static_cast<std::uint8_t>(eow.contents >> 4),
          .interleaver = static_cast<std::uint8_t>(eow.contents >> 2 & 3),
          .advisory = (eow.contents & 2) != 0,
          .equal = (eow.contents & 1) != 0};
}

Eow make_eow(EowType type, const DrcResponse& response) {
  S5066_ASSERT(type == EowType::drc_response || type == EowType::frequency_response);
  const auto answer = static_cast<unsigned>(response.answer);
  const auto reason = static_cast<unsigned>(response.reason);
  S5066_ASSERT(answer < 8 && reason < 32);
  return with(type, answer << 5 | reason);
}

DrcResponse read_drc_response(const Eow& eow) {
  return {.answer = static_cast<DrcAnswer>(eow.contents >> 5),
          .reason = static_cast<DrcReason>(eow.contents & 0x1F)};
}

Eow make_unrecognised(std::uint8_t offending_type) {
  S5066_ASSERT(offending_type < 16);
  return with(EowType::unrecognised, offending_type);
}

Eow make_extensions(std::uint8_t bits) {
  return {static_cast<std::uint8_t>(EowType::extensions), bits};
}

Eow make_capability(std::uint8_t bits) {
  return with(EowType::capability, bits);
}

// STANDARD: Figure C-41.1 splits the octet in the middle. Table C-9-1 gives the waveform five bits
// and the channels three, which 32 waveforms and eight channels need.
Eow make_hdr_request(const HdrRequest& request, Bytes& extension) {
  S5066_ASSERT(request.waveform < 32);
  S5066_ASSERT(request.channels >= 1 && request.channels <= 8);
  put_u32(extension, request.rate_bps);
  put_u16(extension, request.interleaver_cs);
  return with(EowType::hdr_request, unsigned{request.waveform} << 3 | (request.channels & 7u));
}

std::optional<HdrRequest> read_hdr_request(const Eow& eow, ByteSpan extension) {
  if (extension.size() != kHdrExtensionOctets) return std::nullopt;
  const std::uint8_t channels = eow.contents & 7;
  return HdrRequest{.waveform = static_cast<std::uint8_t>(eow.contents >> 3),
                    .channels = channels == 0 ? std::uint8_t{8} : channels,
                    .rate_bps = get_u32(extension, 0),
                    .interleaver_cs = get_u16(extension, 4)};
}

}  // namespace s5066::pdu
