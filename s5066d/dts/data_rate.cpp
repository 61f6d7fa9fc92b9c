// SPDX-License-Identifier: Apache-2.0
#include "s5066d/dts/data_rate.h"

#include <algorithm>
#include <utility>

#include "modem/api/receive_modes.h"

namespace s5066::dts {
namespace {

using modem::Interleaver;
using modem::Mode;
using modem::Waveform;

/// Returns the interleaver code of Table C-6.
std::optional<std::uint8_t> interleaver_code(Interleaver interleaver) {
  switch (interleaver) {
    case Interleaver::zero:
      return std::uint8_t{0};
    case Interleaver::short_:
      return std::uint8_t{1};
    case Interleaver::long_:
      return std::uint8_t{2};
    default:
      return std::nullopt;
  }
}

/// Returns the interleaver length in hundredths of a second, as the waveform standards state it.
std::uint16_t interleaver_cs(const Mode& mode) {
  if (mode.waveform == Waveform::stanag4285) {
    return mode.interleaver == Interleaver::zero     ? 0
           : mode.interleaver == Interleaver::short_ ? 85
                                                     : 1024;
  }
  if (mode.waveform == Waveform::ms110d) {
    return mode.interleaver == Interleaver::ultra_short ? 12
           : mode.interleaver == Interleaver::short_    ? 48
           : mode.interleaver == Interleaver::medium    ? 192
                                                        : 768;
  }
  const bool hdr = mode.waveform == Waveform::stanag4539;
  switch (mode.interleaver) {
    case Interleaver::zero:
      return 0;
    case Interleaver::ultra_short:
      return 12;
    case Interleaver::very_short:
      return 36;
    case Interleaver::short_:
      return hdr ? 108 : 60;
    case Interleaver::medium:
      return 216;
    case Interleaver::long_:
      return hdr ? 432 : 480;
    case Interleaver::very_long:
      return 864;
  }
  return 0;
}

/// Returns the code of Table C-9-1. STANDARD: it is older than 110D, which gets the first of the
/// numbers for users.
std::uint8_t waveform_code(Waveform waveform) {
  switch (waveform) {
    case Waveform::ms110a:
      return 0;
    case Waveform::stanag4285:
      return 2;
    case Waveform::stanag4539:
      return 3;
    case Waveform::ms110d:
      return 7;
  }
  return 0;
}

template <typename Predicate>
std::optional<Mode> first_mode(Predicate matches) {
  const auto modes = modem::all_modes();
  const auto found = std::find_if(modes.begin(), modes.end(), matches);
  if (found == modes.end()) return std::nullopt;
  return *found;
}

}  // namespace

bool heard_together(Waveform a, Waveform b) {
  const auto preamble_tells = [](Waveform w) {
    return w == Waveform::ms110a || w == Waveform::stanag4539;
  };
  return a == b || (preamble_tells(a) && preamble_tells(b));
}

std::optional<pdu::DrcRequest> drc_request(const Mode& mode) {
  const auto rate = pdu::rate_code(mode.rate_bps);
  const auto interleaver = interleaver_code(mode.interleaver);
  if (!rate || !interleaver) return std::nullopt;
  const pdu::DrcRequest request{.rate = *rate, .interleaver = *interleaver};
  if (mode_of(request, mode.waveform) != mode) return std::nullopt;
  return request;
}

std::optional<Mode> mode_of(const pdu::DrcRequest& request, Waveform in_use) {
  const auto bps = pdu::rate_bps(request.rate);
  return first_mode([&](const Mode& mode) {
    return heard_together(mode.waveform, in_use) && mode.rate_bps == bps &&
           interleaver_code(mode.interleaver) == request.interleaver;
  });
}

std::optional<pdu::OfferingAdvice> offering_advice(const Mode& mode, bool one_choice) {
  const auto request = drc_request(mode);
  if (!request) return std::nullopt;
  return pdu::OfferingAdvice{.rate = request->rate,
                             .interleaver = request->interleaver,
                             .one_choice = one_choice,
                             .ms110d = one_choice && mode.waveform == Waveform::ms110d};
}

std::optional<Mode> mode_of(const pdu::OfferingAdvice& advice, Waveform in_use) {
  if (advice.one_choice) in_use = advice.ms110d ? Waveform::ms110d : Waveform::ms110a;
  return mode_of(pdu::DrcRequest{.rate = advice.rate, .interleaver = advice.interleaver}, in_use);
}

pdu::DrcReason why_not(const pdu::DrcRequest& request, Waveform in_use,
                       std::span<const Mode> listened) {
  const auto bps = pdu::rate_bps(request.rate);
  const auto heard = [&](auto matches) {
    return first_mode([&](const Mode& m) {
             return heard_together(m.waveform, in_use) && modem::is_heard(m, listened) &&
                    matches(m);
           })
        .has_value();
  };
  const bool rate = heard([&](const Mode& m) { return m.rate_bps == bps; });
  const bool interleaver =
      heard([&](const Mode& m) { return interleaver_code(m.interleaver) == request.interleaver; });
  if (!rate && !interleaver) return pdu::DrcReason::cannot_change_either;
  return rate ? pdu::DrcReason::cannot_change_interleaver : pdu::DrcReason::cannot_change_rate;
}

pdu::HdrRequest hdr_request(const Mode& mode) {
  return {.waveform = waveform_code(mode.waveform),
          .channels = 1,
          .rate_bps = mode.rate_bps,
          .interleaver_cs = interleaver_cs(mode)};
}

std::optional<Mode> mode_of(const pdu::HdrRequest& request, Waveform in_use) {
  return first_mode([&](const Mode& mode) {
    return heard_together(mode.waveform, in_use) && hdr_request(mode) == request;
  });
}

pdu::DrcReason why_not(const pdu::HdrRequest& request, Waveform in_use,
                       std::span<const Mode> listened) {
  const bool waveform = first_mode([&](const Mode& mode) {
                          return heard_together(mode.waveform, in_use) &&
                                 modem::is_heard(mode, listened) &&
                                 waveform_code(mode.waveform) == request.waveform &&
                                 mode.rate_bps == request.rate_bps;
                        }).has_value();
  if (!waveform) return pdu::DrcReason::cannot_change_rate;
  return request.channels != 1 ? pdu::DrcReason::cannot_change_interleaver
                               : pdu::DrcReason::cannot_change_either;
}

std::uint8_t capabilities_of(Waveform in_use, std::span<const Mode> listened) {
  namespace bits = pdu::capability;
  const auto hears = [listened](Waveform waveform, std::uint32_t min_bps, std::uint32_t max_bps) {
    const auto modes = modem::all_modes();
    return std::all_of(modes.begin(), modes.end(), [&](const Mode& mode) {
      const bool meant =
          mode.waveform == waveform && mode.rate_bps >= min_bps && mode.rate_bps <= max_bps &&
          (mode.interleaver == Interleaver::short_ || mode.interleaver == Interleaver::long_);
      return !meant || modem::is_heard(mode, listened);
    });
  };
  const Waveform base = in_use == Waveform::stanag4539 ? Waveform::ms110a : in_use;
  std::uint8_t capabilities = 0;
  if (hears(base, 75, 2400)) capabilities |= bits::kDrc;
  if (hears(Waveform::ms110a, 75, 2400)) capabilities |= bits::kMs110;
  if (hears(Waveform::stanag4539, 3200, 9600)) capabilities |= bits::kExtendedRates;
  return capabilities;
}

bool less_robust(const Mode& mode, const Mode& than) {
  if (mode.rate_bps != than.rate_bps) return mode.rate_bps > than.rate_bps;
  return mode.interleaver < than.interleaver;
}

}  // namespace s5066::dts
