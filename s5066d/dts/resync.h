// SPDX-License-Identifier: Apache-2.0
// Brings the windows of two stations into agreement again by type 3 D_PDUs, stop and wait (C.3.6,
// C.6.3, C.6.5). It exchanges the D_PDUs only; Effects tell the caller what to do with the windows.
#pragma once

#include <cstdint>
#include <optional>

#include "s5066d/dts/interval_packer.h"

namespace s5066::dts {

class Resync {
 public:
  enum class Kind : std::uint8_t {
    rx_window,  // RESET RX WIN CMND: the peer's RX LWE becomes our TX LWE
    tx_window,  // RESET TX WIN RQST: the peer answers with that command
    full,       // FULL RESET CMD: both directions are reset
  };
  /// Changes of our windows that a type 3 D_PDU asks for.
  struct Effects {
    bool restart_all = false;                    // set all pointers to their initial values
    bool restart_tx = false;                     // set before we announce our TX LWE
    std::optional<FrameNumber> restart_rx = {};  // new RX LWE
    bool answered = false;                       // the exchange that we began is complete
  };

  /// Types 0, 1 and 2 rest while an exchange is open (C.3.6(5)).
  bool open() const { return asked_.has_value(); }
  bool discards_data() const { return asked_ == Kind::full; }
  bool answer_owed() const { return ack_owed_ || full_ack_owed_; }
  bool has_work() const { return open() || answer_owed(); }

  /// Begins an exchange; it replaces an open one.
  void start(Kind kind);
  Effects on_reset(const pdu::Reset& reset);
  /// Call for a type 0 or 2: a frame ID met before is a new one from now on.
  void on_data() { executed_.reset(); }

  /// Adds owed acknowledgements and our request; copies fill the rest of a block. Returns true if
  /// our request was added.
  bool fill(const pdu::Common& common, FrameNumber tx_lwe, IntervalBudget& budget,
            BurstBuilder& burst);
  void on_transmitted(bool sent);
  /// Returns how many transmissions of the open exchange had no answer.
  unsigned tries() const { return tries_; }

 private:
  pdu::Reset request(const pdu::Common& common, FrameNumber tx_lwe) const;

  std::optional<Kind> asked_;
  std::uint8_t frame_id_ = 0;
  unsigned tries_ = 0;
  std::optional<std::uint8_t> executed_;  // frame ID of the peer's last command
  bool ack_owed_ = false;
  bool full_ack_owed_ = false;
  bool ack_filled_ = false;  // added by the last fill
  bool full_ack_filled_ = false;
  bool request_filled_ = false;
};

}  // namespace s5066::dts
