// SPDX-License-Identifier: Apache-2.0
// Settings of the data transfer sublayer, and what follows from them: segment sizes, modes in use,
// and the extensions that we offer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "s5066d/base/ids.h"
#include "s5066d/base/time.h"
#include "s5066d/dts/arq_sender.h"
#include "s5066d/dts/identification.h"
#include "s5066d/dts/rate_selector.h"
#include "s5066d/dts/service.h"

namespace s5066::dts {

struct Config {
  Address address;
  std::vector<Address> groups;  // subscribed, besides all stations
  modem::Mode mode;
  /// Modes that our receiver listens for, as modem::listen_modes completes them.
  std::vector<modem::Mode> receive_modes = {};
  /// Largest segment. 0 adapts it to the losses, beginning with 200 octets up to 300 bit/s, 400
  /// up to 2400 bit/s and 800 above. Unacknowledged data that is sent once uses the longest
  /// possible segments. If parts of such data are useful one by one, a segment lasts 15 s at
  /// most.
  std::size_t segment_octets = 0;
  unsigned window = kWindowMax;
  unsigned large_window = kLargeWindowMax;               // window with peers that offer it
  Duration transmission_max = kTransmissionMax;          // limit of the data part
  Duration turnaround = std::chrono::milliseconds(200);  // end of a burst to our own key-down
  Duration reply_margin = std::chrono::seconds(1);       // slack for an answer to be detected
  unsigned replies_missed_max = 8;  // missing replies in a row until the link is lost
  unsigned resyncs_max = 4;         // resyncs in a row without success until the link is lost
  unsigned resets_missed_max = 3;   // resets without an answer until the link is lost
  std::size_t links_max = 16;
  /// Received octets of each link that are not yet in order.
  std::size_t held_octets_max = 2 * 1024 * 1024;
  std::size_t link_queue_octets_max = 2 * 1024 * 1024;
  std::size_t expedited_queue_octets_max = 64 * 1024;  // limit for each link
  std::size_t nonarq_queue_octets_max = 256 * 1024;
  /// One C_PDU of this many begun on a link is of the flow served longest ago; 0: never. The queue
  /// of the sublayer above does the same, and its choice must hold at the antenna.
  unsigned fair_turn = 0;
  bool offer_extensions = true;  // offers them to peers, and uses them if a peer offers them too
  /// Offers and advertises data rate change, and follows advice (C.6.4): without a message if the
  /// receiver detects the mode by itself, else by agreement.
  bool rate_change = true;
  /// Each of two stations sends on its own frequency and receives the other meanwhile. In force
  /// while there is a link and the other station says so too.
  bool full_duplex = false;
  /// Two stations have the frequency to themselves. Once the other has been heard, third stations
  /// get slots only after they have been heard, too.
  bool dedicated_frequency = false;
  /// While undecodable energy is on the air, begin no exchange in which others may begin as well,
  /// for up to TurnControl::kOccupiedMax. Applies whenever stations take turns.
  bool wait_while_occupied = true;
  /// Advises peers by the quality of their transmissions. Follows their advice without a message
  /// only if both have offered that, else by agreement. A connection begins in `mode`.
  std::optional<RateLimits> adaptation;
  /// The station sends its call sign in Morse code; not at all without a text.
  Identification::Config identification = {};
  /// Repetitions of a type 6 without an answer; then its procedure and its link end
  /// (C.6.4.2(11)).
  unsigned management_repeats_max = 3;
  std::size_t peers_max = 64;  // peers with or without a connection; further stations get no answer
};

/// Bursts in a row that disagree about a window before it is made to agree.
inline constexpr unsigned kOutOfSyncMax = 3;
/// Returns the segment size to begin with, configured or by rate.
std::size_t segment_octets(const Config& config, const modem::Mode& mode);
inline std::size_t segment_octets(const Config& config) {
  return segment_octets(config, config.mode);
}
/// True if our receiver decodes this mode.
bool hears(const Config& config, const modem::Mode& mode);
/// Returns the extension bits that we offer to peers (EOW type 14).
std::uint8_t extensions(const Config& config);
/// Returns the largest segment size: one segment must fit the longest transmission in each of
/// `modes_in_use`, whichever of them it was cut for.
std::size_t segment_octets_max(const Config& config);
/// Returns the mode in which connections begin and the modes that adaptation may choose.
std::vector<modem::Mode> modes_in_use(const Config& config);
/// Returns the modes that adaptation may choose with a peer that offers kOneChoice as we do: the
/// same as with others, if we do not.
std::vector<modem::Mode> modes_of_one_choice(const Config& config);
/// True if a transmission in that mode may be long enough for a frame with this user data. We
/// never change to another mode, because transmissions are never longer than configured.
bool holds_segment(const Config& config, const modem::Mode& mode, std::size_t segment_octets);
/// True if that holds for segments of any size, so that we may transmit in this mode.
bool may_use(const Config& config, const modem::Mode& mode);

}  // namespace s5066::dts
