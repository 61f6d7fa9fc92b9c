// SPDX-License-Identifier: Apache-2.0
#include "s5066d/dts/config.h"

#include <algorithm>

#include "modem/api/airtime.h"
#include "modem/api/receive_modes.h"
#include "s5066d/pdu/dpdu.h"
#include "s5066d/pdu/eow.h"

namespace s5066::dts {
namespace {

std::size_t usual_segment_octets(const modem::Mode& mode) {
  if (mode.rate_bps <= 300) return 200;
  return mode.rate_bps <= 2400 ? 400 : 800;
}

/// Returns the octets that the longest transmission holds beside an acknowledgement.
std::size_t room_for_segment(const Config& config, const modem::Mode& mode) {
  const std::size_t holds = modem::capacity(mode, config.transmission_max);
  return holds - std::min(holds, pdu::data_ack_octets(0, pdu::kSelectiveOctetsMax));
}

}  // namespace

bool hears(const Config& config, const modem::Mode& mode) {
  return modem::is_heard(mode, modem::listen_modes(config.receive_modes, config.mode));
}

std::uint8_t extensions(const Config& config) {
  if (!config.offer_extensions) return 0;
  const auto modes = modes_in_use(config);
  const bool adapts = config.adaptation &&
                      std::all_of(modes.begin(), modes.end(), [&config](const modem::Mode& mode) {
                        return hears(config, mode);
                      });
  std::uint8_t bits = pdu::extension::kAnySegmentLength | pdu::extension::kLargeWindow;
  if (!adapts) return bits;
  bits |= pdu::extension::kAdapts;
  const auto own = modes_to_choose_from(config.mode, *config.adaptation);
  if (modes_of_one_choice(config).size() > own.size()) bits |= pdu::extension::kOneChoice;
  return bits;
}

std::vector<modem::Mode> modes_of_one_choice(const Config& config) {
  const RateLimits limits = config.adaptation.value_or(RateLimits{});
  const auto own = modes_to_choose_from(config.mode, limits);
  if (!config.adaptation || !limits.one_choice) return own;
  auto modes = modes_of_one_choice(config.mode, limits);
  const auto usable = [&config](const modem::Mode& mode) {
    return hears(config, mode) && may_use(config, mode);
  };
  return std::all_of(modes.begin(), modes.end(), usable) ? modes : own;
}

std::size_t segment_octets(const Config& config, const modem::Mode& mode) {
  if (config.segment_octets > 0) return config.segment_octets;
  const std::size_t usual = usual_segment_octets(mode);
  return mode == config.mode ? usual : std::min(usual, segment_octets_max(config));
}

std::size_t segment_octets_max(const Config& config) {
  if (config.segment_octets > 0) return config.segment_octets;
  std::size_t longest = pdu::kSegmentOctetsMax;
  for (const modem::Mode& mode : modes_in_use(config)) {
    longest = std::min(longest, room_for_segment(config, mode));
  }
  return std::max(longest, usual_segment_octets(config.mode));
}

std::vector<modem::Mode> modes_in_use(const Config& config) {
  std::vector<modem::Mode> modes;
  if (config.adaptation) modes = modes_to_choose_from(config.mode, *config.adaptation);
  modes.push_back(config.mode);
  return modes;
}

bool holds_segment(const Config& config, const modem::Mode& mode, std::size_t octets) {
  return room_for_segment(config, mode) >= octets;
}

bool may_use(const Config& config, const modem::Mode& mode) {
  return holds_segment(config, mode, segment_octets_max(config));
}

}  // namespace s5066::dts
