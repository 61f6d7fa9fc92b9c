// SPDX-License-Identifier: Apache-2.0
// Messages of the transfer service (docs/protocol/file_transfer.md). Each fills one RCOP segment.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "gateways/common/range_set.h"
#include "gateways/common/transfer_manifest.h"
#include "s5066d/base/bytes.h"
#include "s5066d/base/result.h"

namespace s5066::file_relay {

using gateways::FileRange;
using gateways::TransferManifest;

inline constexpr std::uint16_t kTransferApplication = 0x8F54;
inline constexpr std::uint8_t kTransferVersion = 1;
inline constexpr std::size_t kOfferHeaderOctets = 7;  // octets in front of the manifest
inline constexpr std::size_t kBlockHeaderOctets = 9;  // octets in front of those of the block
inline constexpr std::size_t kTransferTextMax = 200;
inline constexpr std::size_t kHaveRangesMax = 200;
inline constexpr std::size_t kEntriesMax = 50;
inline constexpr std::size_t kTransferMessageMax =
    4096 - 6;  // the largest U_PDU less RCOP's header

/// Names one file between two stations. The station that sends the file, or asks for one, chooses
/// the number.
struct TransferNumber {
  std::uint32_t value = 0;
  friend auto operator<=>(const TransferNumber&, const TransferNumber&) = default;
};

enum class TransferMessageType : std::uint8_t {
  offer = 1,
  block = 2,
  have = 3,
  done = 4,
  refuse = 5,
  cancel = 6,
  suspend = 7,
  resume = 8,
  signature = 9,
  get = 10,
  list = 11,
  remove = 12,
  stat = 13,
  answer = 14
};

// --- From the sender of a file -------------------------------------------------------------------

struct OfferMessage {
  TransferNumber number;
  bool answer = false;  // the sender waits for HAVE, SIGNATURE or DONE before it sends blocks
  bool takes_signature = false;  // the sender can send a difference instead
  bool holes = false;            // octets that do not arrive by P_MUL are left out
  bool head = false;  // the file comes by P_MUL, and its head in a message with acknowledgement
  TransferManifest manifest;
  friend bool operator==(const OfferMessage&, const OfferMessage&) = default;
};
struct BlockMessage {
  TransferNumber number;
  std::uint32_t at = 0;  // place in the image
  Bytes octets;
  friend bool operator==(const BlockMessage&, const BlockMessage&) = default;
};

// --- From its receiver ---------------------------------------------------------------------------

/// The receiver has these ranges of the image on its disk and wants the others.
struct HaveMessage {
  TransferNumber number;
  bool answer = false;            // answers an offer; otherwise the receiver has started anew
  std::vector<FileRange> ranges;  // ascending, with gaps between
  friend bool operator==(const HaveMessage&, const HaveMessage&) = default;
};
inline constexpr std::size_t kDoneDigestOctets = 8;
struct DoneMessage {
  TransferNumber number;
  bool had_it = false;  // the receiver had the content already
  Bytes digest;         // first octets of the SHA-256 of the file
  friend bool operator==(const DoneMessage&, const DoneMessage&) = default;
};
enum class RefuseReason : std::uint8_t {
  not_allowed = 1,  // the access table forbids the file for good
  too_large = 2,    // the file is too large for good
  no_room = 3,      // quota or disk is full; the sender tries again later
  bad_digest = 4,   // the octets that arrived are not those of the offer, twice
  bad_manifest = 5,
  cancelled = 6,  // the operator there cancelled the file
  not_found = 7,
  no_base = 8,  // the older file is gone, so the difference is of no use
  failed = 9    // the receiver failed for another reason
};
struct RefuseMessage {
  TransferNumber number;
  RefuseReason reason = RefuseReason::failed;
  std::string text;  // text for people
  friend bool operator==(const RefuseMessage&, const RefuseMessage&) = default;
};
/// A part of the rdiff signature of the older file that the receiver has.
struct SignatureMessage {
  TransferNumber number;
  std::uint32_t total = 0;  // octets of the signature
  std::uint32_t at = 0;
  Bytes base;  // SHA-256 of the older file
  Bytes octets;
  friend bool operator==(const SignatureMessage&, const SignatureMessage&) = default;
};

// --- From either ---------------------------------------------------------------------------------

enum class ControlAction : std::uint8_t { cancel, suspend, resume };
struct ControlMessage {
  TransferNumber number;
  ControlAction action = ControlAction::cancel;
  bool from_sender = false;  // from the sender of the file
  std::string text;
  friend bool operator==(const ControlMessage&, const ControlMessage&) = default;
};

// --- About the inbox of the other station --------------------------------------------------------

enum class InboxRequest : std::uint8_t { get, list, remove, stat };
/// Reads get, list, delete or stat.
std::optional<InboxRequest> parse_inbox_request(std::string_view text);
struct RequestMessage {
  TransferNumber number;
  InboxRequest request = InboxRequest::list;
  std::uint32_t first = 0;  // entry of a list from which the answer goes on
  std::string path;
  friend bool operator==(const RequestMessage&, const RequestMessage&) = default;
};
struct InboxEntry {
  std::string name;
  std::uint32_t size = 0;
  std::int64_t mtime = 0;
  bool folder = false;
  Bytes sha256;  // only in the answer to `stat`; otherwise empty
  friend bool operator==(const InboxEntry&, const InboxEntry&) = default;
};
struct AnswerMessage {
  TransferNumber number;
  bool ok = false;
  std::uint32_t first = 0;  // number of the first entry
  std::uint32_t total = 0;  // number of all entries
  std::string text;         // reason of a failure
  std::vector<InboxEntry> entries;
  friend bool operator==(const AnswerMessage&, const AnswerMessage&) = default;
};

using TransferMessage =
    std::variant<OfferMessage, BlockMessage, HaveMessage, DoneMessage, RefuseMessage,
                 SignatureMessage, ControlMessage, RequestMessage, AnswerMessage>;

/// The message must keep the limits above; texts that are too long are cut.
Bytes encode(const TransferMessage& message);
Result<TransferMessage> decode_transfer_message(ByteSpan from);

}  // namespace s5066::file_relay
