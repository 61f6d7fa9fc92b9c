// S_PDUs, what two subnetwork interface sublayers say to each other (A.3.1). Types 0 to 2 are here;
// the hard link types 3 to 7 are refused as unsupported.
#pragma once

#include <cstdint>
#include <optional>
#include <variant>

#include "s5066d/base/bytes.h"
#include "s5066d/base/ids.h"
#include "s5066d/base/result.h"
#include "s5066d/base/time.h"

namespace s5066::sap {

/// TIME TO DIE as DATA S_PDUs carry it (A.3.1.1(15) to (18)).
struct TimeToDie {
  std::uint8_t day = 0;              // day of the year modulo 16, 1 January being 1
  std::uint16_t half_of_second = 0;  // GMT second of the day without its last bit
  friend bool operator==(const TimeToDie&, const TimeToDie&) = default;
};

/// Further ahead than this the day field may mean two dates around New Year, because 365 and 366
/// modulo 16 jump to 1.
inline constexpr int kTimeToDieDaysMax = 11;

/// Nothing when the date is too far ahead of `now` to be told apart.
std::optional<TimeToDie> encode_time_to_die(UtcSeconds now, UtcSeconds time_to_die);
/// Nothing when no date from yesterday to kTimeToDieDaysMax ahead fits: do not discard by it then.
std::optional<UtcSeconds> decode_time_to_die(UtcSeconds now, TimeToDie field);

struct DataSpdu {             // type 0
  std::uint8_t priority = 0;  // 4 bits
  SapId source_sap;
  SapId destination_sap;
  bool client_confirm_required = false;
  std::optional<TimeToDie> time_to_die;
  Bytes updu;
  friend bool operator==(const DataSpdu&, const DataSpdu&) = default;
};

/// The SAPs are those of the DATA S_PDU, not swapped: SOURCE SAP is the client to be told.
struct DeliveryConfirm {  // type 1
  SapId source_sap;
  SapId destination_sap;
  Bytes updu_part;  // first octets of the U_PDU
  friend bool operator==(const DeliveryConfirm&, const DeliveryConfirm&) = default;
};

struct DeliveryFail {       // type 2
  std::uint8_t reason = 1;  // 4 bits; 1: destination SAP not bound
  SapId source_sap;
  SapId destination_sap;
  Bytes updu_part;
  friend bool operator==(const DeliveryFail&, const DeliveryFail&) = default;
};

/// In order of their type numbers.
using Spdu = std::variant<DataSpdu, DeliveryConfirm, DeliveryFail>;

/// Longest S_PCI in front of a U_PDU.
inline constexpr std::size_t kSpciOctetsMax = 5;

Bytes encode(const Spdu& spdu);

/// Any input is safe; `unsupported` is a type above 2.
Result<Spdu> decode(ByteSpan octets);

}  // namespace s5066::sap
