// SPDX-License-Identifier: Apache-2.0
// Counts the octets of files that a relay hands to its node more than once, from the SIS primitives
// between the two.
//
// A transfer resumes where its sender asks what the receiver has (OFFER with an answer) or is told
// so (HAVE). An octet is in flight from the request until the confirmation of its U_PDU.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "gateways/common/range_set.h"
#include "gateways/file_relay/transfer_messages.h"
#include "s5066d/base/ids.h"
#include "sis/primitives.h"

namespace s5066::live {

class SentAgain {
 public:
  struct Figures {
    std::uint64_t resumes = 0;              // after which something was sent again
    std::uint64_t handed = 0;               // octets of files in all
    std::uint64_t again = 0;                // octets of these that had been handed over before
    std::uint64_t again_max = 0;            // octets again after a resume, at most
    std::uint64_t confirmed_again = 0;      // octets again although their U_PDU had been confirmed
    std::uint64_t confirmed_again_max = 0;  // the same after one resume, at most
    std::uint64_t in_flight_max = 0;        // octets of all files without a confirmation, at most
  };

  /// Takes the primitives in the order in which they crossed the connection.
  void add(const sis::Primitive& primitive);
  const Figures& figures() const { return figures_; }

 private:
  using Key = std::pair<Address, std::uint32_t>;  // peer and number of the transfer
  struct Transfer {
    gateways::RangeSet handed;
    gateways::RangeSet confirmed;
    std::uint64_t again = 0;  // since it resumed
    std::uint64_t confirmed_again = 0;
  };
  struct Flight {
    Key key;
    gateways::FileRange range;
  };

  void on_handed(Address peer, const Bytes& updu);
  void on_confirmed(Address peer, const Bytes& updu_part);
  void on_received(Address peer, const Bytes& updu);
  void on_block(const Key& key, const file_relay::BlockMessage& block, const Bytes& updu);
  void resume(const Key& key);

  std::map<Key, Transfer> transfers_;
  std::map<std::pair<Address, std::string>, Flight> flights_;  // by peer and header of the U_PDU
  std::uint64_t in_flight_ = 0;
  Figures figures_;
};

}  // namespace s5066::live
