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
  // Something urgent goes ahead of bulk data at the node, so bulk data may fill long transmissions.
  gateways::HandoverWindow::Config window{.span_min = std::chrono::seconds(60), .turnarounds = 6};
  std::uint8_t priority = 4;
  std::uint8_t interactive_priority = 6;
  bool compress = true;

  std::size_t streams_max = 512;
  /// One peer opens at most half of streams_max, or this number if that is more.
  std::size_t peer_streams_sure = 8;
  /// All peers together leave one part in this number of streams_max, rounded down, to this end.
  /// This end opens to one station at most what all others leave without such a part, or half of
  /// what they leave if the station does not answer; one stream in any case while there is room.
  std::size_t own_part = 4;
  /// Limit for one peer: streams with data whose OPEN has not come.
  std::size_t unopened_streams_max = 16;
  std::size_t peers_max = 128;
  std::size_t outstanding_max = 200;          // U_PDUs with the node for one station
  std::size_t unheard_outstanding_max = 4;    // limit for a station that has not answered
  std::size_t send_octets_max = 512 * 1024;   // limit for one stream
  std::size_t send_octets_sure = 32 * 1024;   // share that every stream has in any case
  std::size_t octets_max = 32 * 1024 * 1024;  // limit for all streams, beyond these shares
  std::size_t compressors_max = 64;
  ReceiveSide::Config receive;
  std::size_t closed_max = 512;  // closed streams of a station that are remembered

  std::size_t interactive_octets = 1500;  // limit for octets that wait
  std::size_t interactive_recent = 3000;  // limit for octets that were sent lately
  Duration recent_half_life = std::chrono::seconds(60);
  // For so long after small data, bulk data with the node takes no longer than small data, and
  // waits while small data is with the node and for an answer to it ...
  Duration conversation = std::chrono::minutes(2);
  Duration conversation_wait_max = std::chrono::minutes(1);  // ... but no longer than this
  // While a stream is open that has sent small data within `small_expected`, bulk data with the
  // node takes at most this time with the turnaround, or the time of small data or of two
  // turnarounds if that is longer, so that the next small data does not wait for a long
  // transmission.
  Duration small_expected = std::chrono::minutes(10);
  Duration bulk_before_small = std::chrono::seconds(20);
  // Small data waits this long for more while other small data is with the node.
  Duration coalesce = std::chrono::milliseconds(200);
  // After a U_PDU from the peer nothing is handed over for this time, so that the pieces of an
  // answer go together. It is much less than the turnaround of a node, of which the modem has taken
  // a part when the U_PDU comes; an answer that comes too late waits for the next turn. For as
  // long afterwards no further U_PDU has this effect.
  Duration answer_pieces = std::chrono::milliseconds(30);

  Duration ack_delay = std::chrono::minutes(15);      // while octets of the window are left
  Duration ack_end_delay = std::chrono::seconds(10);  // delay for the end of a direction
  Duration probe_after = std::chrono::minutes(30);    // confirmed and not acknowledged
  Duration blocked_probe_after = std::chrono::minutes(2);
  Duration idle_probe_after = std::chrono::hours(1);
  Duration retry_min = std::chrono::seconds(10);  // first wait for a silent station; it doubles
  Duration retry_max = std::chrono::seconds(120);
  Duration give_up_after = std::chrono::minutes(30);  // length of the silence
  Duration capability_wait = std::chrono::minutes(5);
  Duration incapable_memory = std::chrono::minutes(30);
  Duration challenge_interval = std::chrono::seconds(5);
  Duration idle_max = std::chrono::hours(8);
  /// Data whose OPEN has not come is kept for this time.
  Duration unopened_max = std::chrono::minutes(15);
};

}  // namespace s5066::streams
