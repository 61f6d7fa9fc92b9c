// How modem modes are named on the air: in a data rate change (EOW type 1, Tables C-5 and C-6) and
// in a change of high data rates (type 7, Tables C-9-1 to C-9-4). Pure functions.
#pragma once

#include <optional>
#include <span>

#include "modem/api/modes.h"
#include "s5066d/pdu/eow.h"

namespace s5066::dts {

/// Type 1 knows neither 12800 bit/s nor the interleavers that only STANAG 4539 has.
std::optional<pdu::DrcRequest> drc_request(const modem::Mode& mode);
/// The mode of that rate and interleaver, if there is one of the waveform in use; 110A and STANAG
/// 4539 count as one, because a receiver of either finds both.
std::optional<modem::Mode> mode_of(const pdu::DrcRequest& request, modem::Waveform in_use);
/// Why there is none that a receiver hears which listens for these (modem::is_heard): which of the
/// two is to blame (Table C-8).
pdu::DrcReason why_not(const pdu::DrcRequest& request, modem::Waveform in_use,
                       std::span<const modem::Mode> listened);

/// Of any mode; one channel.
pdu::HdrRequest hdr_request(const modem::Mode& mode);
/// Only of what a receiver in the waveform in use finds: to another nobody would listen.
std::optional<modem::Mode> mode_of(const pdu::HdrRequest& request, modem::Waveform in_use);
/// Why there is none (Table C-9-3): the numbers of DrcReason mean 2 waveform, 3 channels,
/// 4 interleaver there. STANDARD: none of them names the rate; it counts as the waveform's.
pdu::DrcReason why_not(const pdu::HdrRequest& request, modem::Waveform in_use,
                       std::span<const modem::Mode> listened);

/// What such a receiver hears, as capabilities (EOW type 4, Table C-9): whoever has data rate
/// change takes 75 to 2400 bit/s with both interleavers in the waveform in use.
std::uint8_t capabilities_of(modem::Waveform in_use, std::span<const modem::Mode> listened);

/// A higher rate, or the same with a shorter interleaver (C.6.4.2(23)).
bool less_robust(const modem::Mode& mode, const modem::Mode& than);

}  // namespace s5066::dts
