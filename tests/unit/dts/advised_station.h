// SPDX-License-Identifier: Apache-2.0
// Runs one station that adapts, and reads its advice to a peer that the test plays.
#pragma once

#include "s5066d/dts/data_rate.h"
#include "tests/support/lone_station.h"
#include "tests/unit/dts/dts_world.h"

namespace s5066::dts {

using modem::Interleaver;
inline constexpr modem::Mode kSlow{.rate_bps = 300, .interleaver = Interleaver::short_};
inline constexpr modem::Mode kSlowLong{.rate_bps = 300, .interleaver = Interleaver::long_};
inline Config adapting() {
  Config config{.mode = kSlow};
  config.adaptation.emplace();
  return config;
}

inline constexpr Address kUs{2};
inline constexpr Address kPeer{1};

/// Makes a station that is connected to a peer that adapts.
inline test::LoneStation with_adapting_peer(Config config, Address peer = kPeer) {
  config.address = kUs;
  test::LoneStation station(config);
  station.made(peer);
  pdu::AckOnly ack{{.eot_half_s = 1, .destination = kUs, .source = peer}, {}};
  ack.common.eow = pdu::make_extensions(pdu::extension::kAdapts);
  station.hear({ack});
  station.run_for(3s);
  station.take_modes();
  return station;
}

inline pdu::Data data_from(Address source, std::uint8_t number) {
  return {{.eot_half_s = 1, .destination = kUs, .source = source},
          {.start = true, .end = true, .in_order = true},
          {number},
          pattern(900, number)};
}

/// Returns the mode that the sent acknowledgements advise.
inline std::optional<modem::Mode> advised(test::LoneStation& station) {
  std::optional<modem::Mode> mode;
  for (const auto& dpdu : station.take_sent()) {
    const pdu::Eow eow = pdu::common_of(dpdu).eow;
    if (eow.type != static_cast<std::uint8_t>(pdu::EowType::drc_request)) continue;
    const auto request = pdu::read_drc_request(eow);
    if (request.advisory) mode = mode_of(request, modem::Waveform::ms110a);
  }
  return mode;
}

/// Returns the mode that the answer to the peer's next data advises. The advice takes turns with
/// our offers.
inline std::optional<modem::Mode> advised_after_data(test::LoneStation& station,
                                                     std::uint8_t& number) {
  std::optional<modem::Mode> mode;
  for (int i = 0; i < 3 && !mode; ++i) {
    station.hear({data_from(kPeer, number++)});
    station.run_for(20s);
    mode = advised(station);
  }
  return mode;
}

inline test::LoneStation with_plain_peer(Config config = adapting()) {
  config.address = kUs;
  test::LoneStation station(config);
  station.set_heard(kSlow, 25);
  station.made(kPeer);
  return station;
}

}  // namespace s5066::dts
