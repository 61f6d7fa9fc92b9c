// SPDX-License-Identifier: Apache-2.0
// Engineering order wire messages (C.5, Tables C-4 to C-9-4): twelve bits in the header of a D_PDU,
// and for a change of high data rates six octets of extension in a type 6.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "s5066d/base/bytes.h"
#include "s5066d/pdu/dpdu.h"

namespace s5066::pdu {

/// EOW types of Table C-4; 8 to 15 are for users to define.
enum class EowType : std::uint8_t {
  none = 0,
  drc_request = 1,  // the same type is an advisory
  drc_response = 2,
  unrecognised = 3,
  capability = 4,
  frequency_request = 5,   // Annex I
  frequency_response = 6,  // Annex I
  hdr_request = 7,         // used only in a type 6, with an extension
  /// A type of this suite: an advisory type 1 that also offers all extensions that the peer has
  /// offered.
  offering_advice = 13,
  extensions = 14,  // type of this suite: extensions of the standard, offered to a peer
};

/// Bits of type 14. An extension is used only with a peer that has offered it.
namespace extension {
inline constexpr std::uint8_t kAnySegmentLength = 0x80;  // segments of a C_PDU differ in length
inline constexpr std::uint8_t kLargeWindow = 0x40;       // types 9 and 10 are understood
inline constexpr std::uint8_t kAdapts = 0x20;  // decodes every rate and interleaver, follows advice
/// Decodes 110A, STANAG 4539 and 110D, and is advised by type 13 in which of them to send. Comes
/// with kAdapts only.
inline constexpr std::uint8_t kOneChoice = 0x10;
}  // namespace extension

/// Fields of types 1 and 5 as on the air (C.5.1).
struct DrcRequest {
  std::uint8_t rate = 0;         // 4 bits: see rate_bps
  std::uint8_t interleaver = 0;  // 2 bits: 0 none, 1 short, 2 long
  bool advisory = false;
  bool equal = false;  // the sender's two directions must have the same parameters
  friend bool operator==(const DrcRequest&, const DrcRequest&) = default;
};

/// Fields of type 13. Bit 1 is set by a sender that offers no kOneChoice, and bit 0 then is 0.
struct OfferingAdvice {
  std::uint8_t rate = 0;         // as in DrcRequest
  std::uint8_t interleaver = 0;  // as in DrcRequest
  bool one_choice = false;       // the sender also offers kOneChoice
  bool ms110d = false;           // the advised mode is one of 110D; only with one_choice
  friend bool operator==(const OfferingAdvice&, const OfferingAdvice&) = default;
};

enum class DrcAnswer : std::uint8_t { accept = 0, refuse = 1, cancel = 2, confirm = 3 };

/// Reason of a response (Table C-8). Other values are passed on unchanged.
enum class DrcReason : std::uint8_t {
  none = 0,
  must_be_equal = 1,
  cannot_change_rate = 2,
  cannot_change_interleaver = 3,
  cannot_change_either = 4,
  not_consistent_with_conditions = 5,
  cannot_change_frequency = 6,  // Annex I, with type 6 only
};

std::string_view to_string(DrcReason reason);

/// Fields of types 2 and 6 (C.5.2).
struct DrcResponse {
  DrcAnswer answer = DrcAnswer::accept;  // 3 bits
  DrcReason reason = DrcReason::none;    // 5 bits
  friend bool operator==(const DrcResponse&, const DrcResponse&) = default;
};

/// Bits of type 4 (C.5.4, Table C-9).
namespace capability {
inline constexpr std::uint8_t kDrc = 0x80;
inline constexpr std::uint8_t kStanag4529 = 0x40;
inline constexpr std::uint8_t kMs110 = 0x20;
inline constexpr std::uint8_t kExtendedRates = 0x10;
inline constexpr std::uint8_t kFullDuplex = 0x08;
inline constexpr std::uint8_t kSplitFrequency = 0x04;
inline constexpr std::uint8_t kNonArcsAle = 0x02;
inline constexpr std::uint8_t kArcs = 0x01;
}  // namespace capability

/// Fields of type 7 with its extension (C.5.5).
struct HdrRequest {
  std::uint8_t waveform = 0;         // 5 bits
  std::uint8_t channels = 1;         // 1..8
  std::uint32_t rate_bps = 0;        // rate of each channel
  std::uint16_t interleaver_cs = 0;  // hundredths of a second
  friend bool operator==(const HdrRequest&, const HdrRequest&) = default;
};
inline constexpr std::size_t kHdrExtensionOctets = 6;

/// Returns the rate for the rate field of a DrcRequest (Table C-5); nothing for reserved values.
std::optional<unsigned> rate_bps(std::uint8_t rate);
/// Returns the rate field for this rate in bit/s.
std::optional<std::uint8_t> rate_code(unsigned bps);

Eow make_eow(EowType type, const DrcRequest& request);  // drc_request or frequency_request
Eow make_eow(const OfferingAdvice& advice);
Eow make_eow(EowType type, const DrcResponse& response);  // drc_response or frequency_response
Eow make_unrecognised(std::uint8_t offending_type);
Eow make_capability(std::uint8_t bits);
Eow make_extensions(std::uint8_t bits);
Eow make_hdr_request(const HdrRequest& request, Bytes& extension);

DrcRequest read_drc_request(const Eow& eow);
/// Returns nothing for the value that is reserved.
std::optional<OfferingAdvice> read_offering_advice(const Eow& eow);
DrcResponse read_drc_response(const Eow& eow);
/// Returns nothing if a type 7 has no extension of six octets.
std::optional<HdrRequest> read_hdr_request(const Eow& eow, ByteSpan extension);

}  // namespace s5066::pdu
