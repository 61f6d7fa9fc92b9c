// SPDX-License-Identifier: Apache-2.0
// Names of modem modes on the air: in a data rate change (EOW type 1, Tables C-5 and C-6) and in a
// change of high data rates (type 7, Tables C-9-1 to C-9-4). All functions are pure.
#pragma once

#include <optional>
#include <span>

#include "modem/api/modes.h"
#include "s5066d/pdu/eow.h"

namespace s5066::dts {

/// Returns the type 1 request for `mode`. Type 1 has neither 12800 bit/s nor the interleavers that
/// only STANAG 4539 has.
std::optional<pdu::DrcRequest> drc_request(const modem::Mode& mode);
/// Returns the mode with that rate and interleaver if the waveform in use has one. 110A and STANAG
/// 4539 count as one waveform, because a receiver of either detects both.
std::optional<modem::Mode> mode_of(const pdu::DrcRequest& request, modem::Waveform in_use);
/// Returns the type 13 advice for `mode` to a peer that may be told of any waveform (`one_choice`),
/// or of the one in use; nothing if type 13 has no such mode.
std::optional<pdu::OfferingAdvice> offering_advice(const modem::Mode& mode, bool one_choice);
/// Returns the mode that it advises to a station that uses this waveform.
std::optional<modem::Mode> mode_of(const pdu::OfferingAdvice& advice, modem::Waveform in_use);
/// True if a receiver that is set to one of them detects the other as well, so that the two count
/// as one waveform.
bool heard_together(modem::Waveform a, modem::Waveform b);
/// Returns why a receiver that listens for `listened` (modem::is_heard) decodes no such mode:
/// whether rate or interleaver is the cause (Table C-8).
pdu::DrcReason why_not(const pdu::DrcRequest& request, modem::Waveform in_use,
                       std::span<const modem::Mode> listened);

/// Returns the type 7 request for any mode, with one channel.
pdu::HdrRequest hdr_request(const modem::Mode& mode);
/// Returns the mode only if a receiver in the waveform in use detects it, because no station
/// listens for another one.
std::optional<modem::Mode> mode_of(const pdu::HdrRequest& request, modem::Waveform in_use);
/// Returns why there is no such mode (Table C-9-3); there the numbers of DrcReason mean 2 waveform,
/// 3 channels, 4 interleaver. STANDARD: none of them names the rate; it counts as the waveform's.
pdu::DrcReason why_not(const pdu::HdrRequest& request, modem::Waveform in_use,
                       std::span<const modem::Mode> listened);

/// Returns the modes that such a receiver decodes as capabilities (EOW type 4, Table C-9). A
/// station with data rate change accepts 75 to 2400 bit/s with both interleavers in the waveform in
/// use.
std::uint8_t capabilities_of(modem::Waveform in_use, std::span<const modem::Mode> listened);

/// True if `mode` has a higher rate, or the same rate with a shorter interleaver (C.6.4.2(23)).
bool less_robust(const modem::Mode& mode, const modem::Mode& than);

}  // namespace s5066::dts
