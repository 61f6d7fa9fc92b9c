// SPDX-License-Identifier: Apache-2.0
#include "gateways/file_relay/receiver_core.h"

#include <algorithm>
#include <map>
#include <utility>

#include "gateways/common/sha256.h"
#include "s5066d/base/assert.h"
#include "s5066d/base/deadline_table.h"
#include "s5066d/base/take_front.h"

namespace s5066::file_relay {
namespace {

constexpr CounterTable<RelayReceiverCounter> kReceiverCounters({
    {RelayReceiverCounter::files, "relay_files_received", "files",
     "files received and stored in the inbox"},
    {RelayReceiverCounter::repeats, "relay_files_received_again", "files",
     "files received again and not stored again"},
    {RelayReceiverCounter::dropped, "relay_files_dropped", "files",
     "files received that could not be stored, or that their senders may not send"},
    {RelayReceiverCounter::acknowledgements, "relay_acknowledgements_sent", "messages",
     "acknowledgements that the node took"},
    {RelayReceiverCounter::acknowledgements_failed, "relay_acknowledgements_failed", "messages",
     "acknowledgements that were not sent; the other station sends the file again"},
    {RelayReceiverCounter::store_errors, "relay_receiver_store_errors", "errors",
     "files received that the disk or the spool could not store"},
});

}  // namespace

const CounterTable<RelayReceiverCounter>& counter_table(RelayReceiverCounter) {
  return kReceiverCounters;
}

using gateways::FileStored;
using gateways::SisRequestId;
using gateways::SisUnidata;
using gateways::StoreRequest;
using gateways::StoreResult;

ReceiverCore::ReceiverCore(const Config& config, IdSource& ids, const UtcClock& utc)
    : config_(config), ids_(ids), utc_(utc) {
  S5066_ASSERT(config.files_max > 0 && config.acknowledgements_max > 0);
  S5066_ASSERT(config.priority < 16);
}

template <typename About>
void ReceiverCore::emit(RelayEvent::Kind kind, const About& about, std::string detail) {
  events_.push_back({.kind = kind,
                     .item = {},
                     .transfer = about.transfer,
                     .peer = about.key.source,
                     .name = about.header.name,
                     .octets = about.header.size,
                     .attempt = 0,
                     .detail = std::move(detail)});
}

// --- Files ---------------------------------------------------------------------------------------

void ReceiverCore::on_file(Instant now, const gateways::RcopReassembler::Complete& pdu) {
  auto header = decode_bftp_header(pdu.data);
  S5066_ASSERT(header.ok());  // a PDU with a broken header is never complete
  const ByteSpan content = ByteSpan(pdu.data).subspan(encoded_bytes(*header));
  S5066_ASSERT(content.size() == header->size);

  File file{.transfer = transfer_id(pdu.key.updu_id, header->name, gateways::sha256_of(content)),
            .key = pdu.key,
            .header = std::move(header).value(),
            .content = std::make_shared<const Bytes>(content.begin(), content.end()),
            .ticket = {},
            .store_again = {},
            .store_retry = config_.store_retry_min,
            .reported = false};
  if (const std::string refusal = refusal_of(file); !refusal.empty()) {
    counters_.add(RelayReceiverCounter::dropped);
    emit(RelayEvent::Kind::file_dropped, file, refusal);
    return;
  }
  const bool waiting = std::any_of(files_.begin(), files_.end(), [&](const File& other) {
    return other.key == file.key && other.header == file.header && *other.content == *file.content;
  });
  if (waiting) {
    emit(RelayEvent::Kind::repeat_received, file, "the first copy still waits to be stored");
    return;
  }
  if (!has_room_for(content.size())) {
    counters_.add(RelayReceiverCounter::dropped);
    emit(RelayEvent::Kind::file_dropped, file, "too many files wait to be stored");
    return;
  }
  files_.push_back(std::move(file));
  request_store(files_.back(), now);
}

/// Returns the reason why its sender may not send the file; nothing if it may.
std::string ReceiverCore::refusal_of(const File& file) const {
  const StationAccess& access = config_.access.of(file.key.source);
  if (!access.put) return "this station may not send files here";
  const std::uint64_t most =
      std::min({std::uint64_t{config_.file_octets_max}, std::uint64_t{access.file_octets_max},
                access.quota.inbox_octets_max});
  if (file.header.size <= most) return {};
  return "the limit here is " + std::to_string(most) + " octets";
}

bool ReceiverCore::has_room_for(std::size_t octets) const {
  if (files_.size() >= config_.files_max) return false;
  for (const File& file : files_) octets += file.content->size();
  return octets <= config_.octets_max;
}

void ReceiverCore::request_store(File& file, Instant now) {
  file.store_again.reset();
  file.ticket = ask(gateways::StoreFile{.source = file.key.source,
                                        .source_sap = file.key.source_sap,
                                        .updu_id = file.key.updu_id,
                                        .name = file.header.name,
                                        .content = file.content,
                                        .now = utc_.utc(now),
                                        .quota = config_.access.of(file.key.source).quota});
}

gateways::StoreTicket ReceiverCore::ask(gateways::StoreOperation operation) {
  const gateways::StoreTicket ticket = ids_.next_ticket();
  requests_.push_back({ticket, std::move(operation)});
  return ticket;
}

bool ReceiverCore::on_store_result(Instant now, const StoreResult& result) {
  const auto file = std::find_if(files_.begin(), files_.end(), [&](const File& candidate) {
    return candidate.ticket == result.ticket;
  });
  if (file == files_.end()) return false;
  file->ticket.reset();
  if (!result.answer && result.answer.error().code == ErrorCode::refused) {
    counters_.add(RelayReceiverCounter::dropped);
    emit(RelayEvent::Kind::file_dropped, *file, result.answer.error().detail);
    files_.erase(file);
    return true;
  }
  if (!result.answer) {
    counters_.add(RelayReceiverCounter::store_errors);
    file->store_again = now + file->store_retry;
    file->store_retry = std::min(2 * file->store_retry, config_.store_retry_max);
    if (!std::exchange(file->reported, true)) {
      emit(RelayEvent::Kind::store_failed, *file, to_string(result.answer.error()));
    }
    return true;
  }
  const auto* stored = std::get_if<FileStored>(&*result.answer);
  S5066_ASSERT(stored != nullptr);
  counters_.add(stored->repeated ? RelayReceiverCounter::repeats : RelayReceiverCounter::files);
  emit(stored->repeated ? RelayEvent::Kind::repeat_received : RelayEvent::Kind::file_received,
       *file, stored->inbox_name);
  events_.back().sha256 = gateways::sha256_of(*file->content);
  acknowledge(*file);
  files_.erase(file);
  return true;
}

// --- Acknowledgements ----------------------------------------------------------------------------

void ReceiverCore::acknowledge(const File& file) {
  if (acknowledgement_of(file.key.source) == AckMode::none) return;
  const bool queued = std::any_of(
      acknowledgements_.begin(), acknowledgements_.end(),
      [&](const Pending& p) { return p.key == file.key && p.header == file.header && !p.request; });
  if (queued) return;
  if (acknowledgements_.size() >= config_.acknowledgements_max ||
      acknowledgements_to(file.key.source) >= config_.station_acknowledgements_max) {
    // The sender will send the file again, and be told then.
    counters_.add(RelayReceiverCounter::acknowledgements_failed);
    emit(RelayEvent::Kind::acknowledgement_failed, file,
         "too many acknowledgements wait to be sent");
    return;
  }
  acknowledgements_.push_back({.transfer = file.transfer,
                               .key = file.key,
                               .header = file.header,
                               .attempts = 0,
                               .request = {},
                               .send_again = {}});
}

std::size_t ReceiverCore::acknowledgements_to(Address station) const {
  return static_cast<std::size_t>(
      std::count_if(acknowledgements_.begin(), acknowledgements_.end(),
                    [&](const Pending& p) { return p.key.source == station; }));
}

// Acknowledgements for a silent station do not fill the queue of the node.
std::list<ReceiverCore::Pending>::iterator ReceiverCore::next_acknowledgement() {
  std::map<Address, std::size_t> outstanding;
  for (const Pending& pending : acknowledgements_) {
    if (pending.request) ++outstanding[pending.key.source];
  }
  return std::find_if(acknowledgements_.begin(), acknowledgements_.end(), [&](const Pending& p) {
    return !p.request && !p.send_again &&
           outstanding[p.key.source] < config_.station_outstanding_max;
  });
}

std::optional<SisUnidata> ReceiverCore::poll_updu() {
  const auto next = next_acknowledgement();
  if (next == acknowledgements_.end()) return std::nullopt;
  next->request = ids_.next_request();
  ++next->attempts;
  return SisUnidata{
      .id = *next->request,
      .priority = config_.priority,
      .destination = next->key.source,
      .destination_sap = gateways::kRcopSap,
      .delivery = {.mode = sis::TransmissionMode::arq, .confirmation = sis::Confirmation::client},
      .time_to_live_s = config_.updu_lifetime_s,
      .updu = encode_acknowledgement(*next)};
}

Bytes ReceiverCore::encode_acknowledgement(const Pending& pending) const {
  if (acknowledgement_of(pending.key.source) == AckMode::frap) {
    return frap_updu(pending.key.connection_id, pending.key.updu_id);
  }
  return frap_v2_updu(pending.key.connection_id, pending.key.updu_id, pending.header);
}

bool ReceiverCore::on_confirmed(Instant, SisRequestId id) {
  const auto sent = std::find_if(acknowledgements_.begin(), acknowledgements_.end(),
                                 [&](const Pending& p) { return p.request == id; });
  if (sent == acknowledgements_.end()) return false;
  counters_.add(RelayReceiverCounter::acknowledgements);
  emit(RelayEvent::Kind::acknowledgement_sent, *sent);
  acknowledgements_.erase(sent);
  return true;
}

bool ReceiverCore::on_refused(Instant now, SisRequestId id, const std::string& reason) {
  const auto sent = std::find_if(acknowledgements_.begin(), acknowledgements_.end(),
                                 [&](const Pending& p) { return p.request == id; });
  if (sent == acknowledgements_.end()) return false;
  sent->request.reset();
  if (sent->attempts < config_.acknowledgement_attempts_max) {
    sent->send_again = now + config_.acknowledgement_retry;
    return true;
  }
  counters_.add(RelayReceiverCounter::acknowledgements_failed);
  emit(RelayEvent::Kind::acknowledgement_failed, *sent, reason);
  acknowledgements_.erase(sent);
  return true;
}

// The node will not report on acknowledgements under way, so they are sent again. A second
// acknowledgement does no harm.
void ReceiverCore::on_lost(Instant) {
  for (Pending& pending : acknowledgements_) pending.request.reset();
}

std::size_t ReceiverCore::outstanding() const {
  return static_cast<std::size_t>(
      std::count_if(acknowledgements_.begin(), acknowledgements_.end(),
                    [](const Pending& p) { return p.request.has_value(); }));
}

// --- Time and output -----------------------------------------------------------------------------

void ReceiverCore::on_deadline(Instant now) {
  for (File& file : files_) {
    if (file.store_again && *file.store_again <= now) request_store(file, now);
  }
  for (Pending& pending : acknowledgements_) {
    if (pending.send_again && *pending.send_again <= now) pending.send_again.reset();
  }
}

std::optional<Instant> ReceiverCore::next_deadline() const {
  std::optional<Instant> next;
  for (const File& file : files_) next = earlier(next, file.store_again);
  for (const Pending& pending : acknowledgements_) next = earlier(next, pending.send_again);
  return next;
}

std::optional<RelayEvent> ReceiverCore::poll_event() {
  return take_front(events_);
}

std::optional<StoreRequest> ReceiverCore::poll_store() {
  return take_front(requests_);
}

}  // namespace s5066::file_relay
