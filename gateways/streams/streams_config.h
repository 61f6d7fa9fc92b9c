// SPDX-License-Identifier: Apache-2.0
// Limits and times of the streams.
#pragma once

#include <cstddef>
#include <cstdint>

#include "gateways/common/handover_window.h"
#include "gateways/streams/receive_side.h"
#include "s5066d/base/ids.h"
#include "s5066d/base/time.h"

namespace s5066::streams {

struct StreamsConfig {
  SapId sap{9};
  // The node sends urgent U_PDUs before bulk data, so bulk data may fill long transmissions.
  gateways::HandoverWindow::Config window{.span_min = std::chrono::seconds(60), .turnarounds = 6};
  std::uint8_t priority = 4;
  std::uint8_t interactive_priority = 6;
  bool compress = true;

  std::size_t streams_max = 512;
  /// A peer may open half of streams_max. This number is the limit if it is more.
  std::size_t peer_streams_sure = 8;
  /// Divides streams_max into parts. One part, rounded down, is reserved for the streams that this
  /// end opens. For one station, the number of streams left is streams_max less the streams with
  /// all other stations. This end opens to a station that answers at most the streams left less one
  /// part of them. It opens to a station that does not answer at most half of the streams left. One
  /// stream is always allowed while there is room.
  std::size_t own_part = 4;
  /// Limit for one peer: the number of streams that have data but no OPEN yet.
  std::size_t unopened_streams_max = 16;
  std::size_t peers_max = 128;
  std::size_t outstanding_max = 200;          // U_PDUs with the node for one station
  std::size_t unheard_outstanding_max = 4;    // limit for a station that has not answered
  std::size_t send_octets_max = 512 * 1024;   // limit for one stream
  std::size_t send_octets_sure = 32 * 1024;   // limit for one stream after octets_max is reached
  std::size_t octets_max = 32 * 1024 * 1024;  // limit for all streams together
  std::size_t compressors_max = 64;
  ReceiveSide::Config receive;
  std::size_t closed_max = 512;  // closed streams of a station that are remembered

  // A stream has small data while it keeps both limits, and bulk data otherwise.
  std::size_t interactive_octets = 1500;  // limit for octets that wait
  std::size_t interactive_recent = 3000;  // limit for octets that wait or were sent lately
  Duration recent_half_life = std::chrono::seconds(60);
  // For this time after small data, the bulk data with the node takes no longer than small data
  // takes. Bulk data also waits while small data is with the node or an answer to it is expected,
  // but at most `conversation_wait_max` after the last bulk data.
  Duration conversation = std::chrono::minutes(2);
  Duration conversation_wait_max = std::chrono::minutes(1);
  // A stream that has sent small data within `small_expected`, and never bulk data, may soon send
  // more. While such a stream is open, the bulk data with the node takes at most
  // `bulk_before_small` with the turnaround, so that the next small data does not wait for a long
  // transmission. The limit is higher if small data or two turnarounds take longer.
  Duration small_expected = std::chrono::minutes(10);
  Duration bulk_before_small = std::chrono::seconds(20);
  // While other small data is with the node, new small data waits this long so that more can join
  // it.
  Duration coalesce = std::chrono::milliseconds(200);
  // After a U_PDU from the peer, the session hands nothing to the node for this time, so that the
  // pieces of an answer go together. The time is much less than the turnaround of a node, because
  // the modem has used a part of the turnaround before the U_PDU comes, and an answer that is too
  // late waits for the next turn. After the pause, a further U_PDU starts no new pause for the same
  // time.
  Duration answer_pieces = std::chrono::milliseconds(30);

  Duration ack_delay = std::chrono::minutes(15);      // delay while the window has octets left
  Duration ack_end_delay = std::chrono::seconds(10);  // delay for the end of a direction
  Duration probe_after = std::chrono::minutes(30);    // for octets confirmed and not acknowledged
  Duration blocked_probe_after = std::chrono::minutes(2);
  Duration idle_probe_after = std::chrono::hours(1);
  Duration retry_min = std::chrono::seconds(10);  // first wait for a silent station; then doubles
  Duration retry_max = std::chrono::seconds(120);
  Duration give_up_after = std::chrono::minutes(30);  // length of the silence
  Duration capability_wait = std::chrono::minutes(5);
  Duration incapable_memory = std::chrono::minutes(30);
  Duration challenge_interval = std::chrono::seconds(5);
  Duration idle_max = std::chrono::hours(8);
  /// A stream without an OPEN is reset this long after its last data.
  Duration unopened_max = std::chrono::minutes(15);
};

}  // namespace s5066::streams
