// SPDX-License-Identifier: Apache-2.0
// Chooses whom the next transmission serves: type 6 first, then an owed acknowledgement, then the
// connections by turns. Nothing that waits is passed over more than kPassedOverMax times in a row.
#pragma once

#include <optional>
#include <vector>

#include "s5066d/base/ids.h"

namespace s5066::dts {

/// Work that waits for a transmission. Each list is in the order of the addresses.
struct WaitingWork {
  struct ToConnection {
    Address peer;
    bool answer_owed = false;
  };
  std::vector<Address> controls;              // peers with a type 6 to send
  std::vector<ToConnection> connections;      // connections that may be served
  bool nonarq = false;                        // any type 7 or 8
  std::optional<Address> expedited_audience;  // destination of the type 8 that goes next
};

/// The peers that one transmission serves; at most one of `control` and `connection` is set.
struct TransmissionPlan {
  std::optional<Address> control;
  std::optional<Address> connection;
  /// Answer the connection's peer without a new request for an answer, because others wait.
  bool only_answer = false;
  /// Destination of type 8 in this transmission.
  std::optional<Address> audience;

  std::optional<Address> served() const { return control ? control : connection; }
};

class TransmissionPlanner {
 public:
  /// Largest number of transmissions in a row that answers may take from waiting connections.
  static constexpr unsigned kPassedOverMax = 2;

  /// `run_is_over`: the peers of this exchange have had the channel for long enough.
  TransmissionPlan plan(const WaitingWork& work, bool run_is_over);
  /// The transmission carries type 6 or data to this peer.
  void on_served(Address peer) { last_served_ = peer; }
  /// Data for no single peer is unfinished and was in another mode, so it goes next.
  void give_next_to_nonarq(bool yes) { arq_turn_over_ = yes; }

 private:
  std::optional<Address> next_control(const WaitingWork& work) const;
  std::optional<WaitingWork::ToConnection> next_connection(const WaitingWork& work) const;
  std::optional<WaitingWork::ToConnection> next_connection(const WaitingWork& work,
                                                           bool owed) const;
  void share_with_audience(TransmissionPlan& plan,
                           std::optional<WaitingWork::ToConnection>& connection);
  bool comes_before(Address peer, Address other) const;

  std::optional<Address> last_served_;
  bool arq_turn_over_ = false;
  unsigned passed_over_ = 0;  // transmissions in a row that owed answers took from others
  unsigned put_off_ = 0;  // transmissions of type 8 for others that a connection has waited through
};

}  // namespace s5066::dts
