// SPDX-License-Identifier: Apache-2.0
// Packs one transmission: which D_PDUs fit, their order, and the END OF TRANSMISSION field of each.
// The field is exact, because the whole transmission is planned before the first octet is encoded
// (C.3.2.3).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "modem/api/modes.h"
#include "s5066d/base/bytes.h"
#include "s5066d/base/time.h"
#include "s5066d/dts/service.h"
#include "s5066d/pdu/dpdu.h"

namespace s5066::dts {

/// The octets left in a transmission with a limited data part.
class IntervalBudget {
 public:
  /// `data_time_max` is at most kTransmissionMax.
  IntervalBudget(const modem::Mode& mode, Duration data_time_max);

  const modem::Mode& mode() const { return mode_; }
  /// Returns the octets that the whole transmission can hold.
  std::size_t whole() const { return taken_ + left_; }
  std::size_t left() const { return left_; }
  bool fits(std::size_t octets) const { return octets <= left_; }
  void take(std::size_t octets);
  /// Returns the octets that still fit without another interleaver block.
  std::size_t left_in_block() const;

 private:
  modem::Mode mode_;
  std::size_t left_;
  std::size_t taken_ = 0;
};

/// The D_PDUs of one transmission in the order of sending.
class BurstBuilder {
 public:
  void add(pdu::Dpdu dpdu) { dpdus_.push_back(std::move(dpdu)); }
  bool empty() const { return dpdus_.empty(); }
  std::vector<pdu::Dpdu>& dpdus() { return dpdus_; }
  const std::vector<pdu::Dpdu>& dpdus() const { return dpdus_; }

  struct Encoded {
    Bytes octets;
    std::vector<std::size_t> ends;  // the offset in `octets` at which each D_PDU ends
  };
  /// Sets every EOT, or 0 in full duplex (C.3.2.3(9)). Converts the reception windows of types 7
  /// and 8 from times after the end of this transmission to times after each D_PDU (C.3.10(25)),
  /// then encodes.
  Encoded encode(const modem::Mode& mode, bool tells_end = true);

 private:
  std::vector<pdu::Dpdu> dpdus_;
};

}  // namespace s5066::dts
