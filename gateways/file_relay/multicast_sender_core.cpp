// SPDX-License-Identifier: Apache-2.0
#include "gateways/file_relay/multicast_sender_core.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "gateways/file_relay/transfer_envelope.h"
#include "s5066d/base/assert.h"
#include "s5066d/base/deadline_table.h"
#include "s5066d/base/take_front.h"

namespace s5066::file_relay {

using gateways::FileGrade;
using gateways::SpoolItem;
using gateways::StoreRequest;
using gateways::StoreResult;
using gateways::StoreTicket;

namespace {

constexpr CounterTable<MulticastSenderCounter> kCounters({
    {MulticastSenderCounter::messages, "relay_multicast_messages", "messages",
     "messages with files that were handed to P_MUL"},
    {MulticastSenderCounter::delivered, "relay_multicast_delivered", "files",
     "files that a station has acknowledged by P_MUL"},
    {MulticastSenderCounter::sent, "relay_multicast_sent", "files",
     "files sent to a station without acknowledgement"},
    {MulticastSenderCounter::failed, "relay_multicast_failed", "files",
     "files by P_MUL that were given up for a station"},
    {MulticastSenderCounter::suspended, "relay_multicast_suspended", "times",
     "times that a file gave its place to others because no station answered"},
    {MulticastSenderCounter::corrupt, "relay_multicast_corrupt", "files",
     "files by P_MUL of the spool that were damaged"},
    {MulticastSenderCounter::store_errors, "relay_multicast_store_errors", "errors",
     "requests about files by P_MUL that the spool could not carry out"},
});

// Least urgent value of P_MUL, whose order is the reverse of ours.
constexpr std::uint8_t kPMulPriorityMax = 8;

/// A file has a message with acknowledgement and one without, of which it uses one or both.
p_mul::MessageKey key_of(SpoolId first, bool one_way) {
  return {static_cast<std::uint64_t>(first.value) * 2 + (one_way ? 1 : 0)};
}
SpoolId first_of(p_mul::MessageKey key) {
  return {static_cast<std::int64_t>(key.value / 2)};
}
bool is_one_way(p_mul::MessageKey key) {
  return key.value % 2 == 1;
}

// These are the reasons of rows of which one message is over. A row keeps its reason over a
// restart.
constexpr const char* kHeadThere = "the station has its head";
constexpr const char* kRestSent = "the rest has been sent";

bool is_acknowledged(FileGrade grade) {
  return grade == FileGrade::reliable || grade == FileGrade::head;
}
bool has_one_way(FileGrade grade) {
  return grade != FileGrade::reliable;
}
bool may_have_holes(FileGrade grade) {
  return grade == FileGrade::head || grade == FileGrade::best_effort;
}

/// Rows of parity for each block. Chance makes up for less of what is lost when the blocks are few,
/// so they get more.
double parity_ahead(std::uint8_t strength_percent, std::size_t blocks) {
  if (strength_percent == 0) return 0;
  return strength_percent / 100.0 + 2 / std::sqrt(static_cast<double>(blocks));
}

/// True if blocks without acknowledgement are not all with the node.
template <typename File>
bool has_rest_left(const File& file) {
  return has_one_way(file.facts.grade.grade) &&
         std::any_of(file.rows.begin(), file.rows.end(), [](const auto& entry) {
           const auto& row = entry.second;
           return !gateways::is_final(row.item.state) && !row.rest_done && !row.rest_leaves;
         });
}

/// Returns the addresses of the stations for which a file is not over.
template <typename Rows>
std::vector<Address> open_stations(const Rows& rows) {
  std::vector<Address> stations;
  for (const auto& [id, row] : rows) {
    if (!gateways::is_final(row.item.state)) stations.push_back(row.item.destination);
  }
  return stations;
}

}  // namespace

const CounterTable<MulticastSenderCounter>& counter_table(MulticastSenderCounter) {
  return kCounters;
}

MulticastSenderCore::MulticastSenderCore(const Config& config, IdSource& ids, const UtcClock& utc,
                                         p_mul::PMulCore& p_mul)
    : config_(config), ids_(ids), utc_(utc), p_mul_(p_mul) {
  S5066_ASSERT(config.messages_max > 0 && config.files_max > 0 && config.priority < 16);
}

// --- The spool -----------------------------------------------------------------------------------

StoreTicket MulticastSenderCore::ask(gateways::StoreOperation operation) {
  const StoreTicket ticket = ids_.next_ticket();
  requests_.push_back({ticket, std::move(operation)});
  return ticket;
}

void MulticastSenderCore::on_start(Instant now) {
  list(now);
}

void MulticastSenderCore::on_spool_changed(Instant now) {
  list(now);
}

void MulticastSenderCore::list(Instant now) {
  now_ = now;
  list_at_ = now + config_.spool_poll;
  if (list_ticket_) {
    list_again_ = true;
    return;
  }
  if (first_of_.size() >= config_.files_max) return;
  const auto room = static_cast<std::uint32_t>(config_.files_max - first_of_.size());
  list_ticket_ =
      ask(gateways::ListOpen{.after = last_listed_, .items_max = room, .by_p_mul = true});
}

void MulticastSenderCore::add(const SpoolItem& item) {
  if (!item.p_mul || first_of_.contains(item.id)) return;
  const SpoolId first = item.p_mul->first;
  const auto [at, added] = files_.try_emplace(first);
  File& file = at->second;
  const UtcSeconds created = std::min(item.created, utc_.utc(now_));
  const auto life = std::chrono::duration_cast<std::chrono::seconds>(config_.lifetime_max);
  const UtcSeconds expiry{created.value + life.count()};
  if (added) {
    file.facts = *item.p_mul;
    file.next_try = now_;
    file.expiry = expiry;
  }
  // A file that was let go has its whole lifetime again.
  file.expiry = std::max(file.expiry, expiry);
  file.expires = utc_.instant(file.expiry);
  file.resumed = file.resumed || item.attempts > 0;
  if (file.phase == Phase::sending) suspend(now_, first, file);
  if (item.attempts > 0) {
    p_mul_.on_begun_before(now_, file.facts.message_id, file.expires);
  }
  Row row;
  row.item = item;
  row.head_done = item.reason == kHeadThere;
  row.rest_done = item.reason == kRestSent;
  file.rows.emplace(item.id, std::move(row));
  first_of_[item.id] = first;
}

MulticastSenderCore::Row* MulticastSenderCore::find(SpoolId id) {
  const auto first = first_of_.find(id);
  if (first == first_of_.end()) return nullptr;
  return &files_.at(first->second).rows.at(id);
}

void MulticastSenderCore::forget(SpoolId id) {
  const auto first = first_of_.find(id);
  if (first == first_of_.end()) return;
  const auto file = files_.find(first->second);
  first_of_.erase(first);
  file->second.rows.erase(id);
  const bool idle = file->second.rows.empty() && !file->second.ticket;
  if (idle) files_.erase(file);
}

bool MulticastSenderCore::on_store_result(Instant now, const StoreResult& result) {
  if (result.ticket == list_ticket_) {
    now_ = now;
    list_ticket_.reset();
    const auto* open = result.answer ? std::get_if<gateways::OpenItems>(&*result.answer) : nullptr;
    if (open == nullptr) {
      counters_.add(MulticastSenderCounter::store_errors);
    } else {
      for (const SpoolItem& item : open->items) {
        last_listed_ = std::max(last_listed_, item.id);
        add(item);
      }
      for (const SpoolId id : open->parked) {
        counters_.add(MulticastSenderCounter::corrupt);
        events_.push_back(parked_event(id));
      }
    }
    if (std::exchange(list_again_, false)) list(now);
    admit(now);
    return true;
  }
  if (const auto at = file_tickets_.find(result.ticket); at != file_tickets_.end()) {
    now_ = now;
    const SpoolId first = at->second;
    file_tickets_.erase(at);
    const auto found = files_.find(first);
    if (found == files_.end() || found->second.ticket != result.ticket) return true;
    found->second.ticket.reset();
    if (found->second.rows.empty()) {
      files_.erase(found);
    } else if (found->second.phase == Phase::preparing) {
      on_prepared(now, first, found->second, result);
    } else if (found->second.phase == Phase::reading) {
      on_image(now, first, found->second, result);
    }
    admit(now);
    return true;
  }
  const auto at = row_tickets_.find(result.ticket);
  if (at == row_tickets_.end()) return false;
  now_ = now;
  const SpoolId id = at->second;
  row_tickets_.erase(at);
  on_saved(now, id, result);
  return true;
}

void MulticastSenderCore::save(Row& row, SpoolState state, const std::string& reason) {
  row.save = gateways::SaveItem{.id = row.item.id,
                                .state = state,
                                .attempts = row.item.attempts,
                                .next_try = utc_.utc(now_),
                                .now = utc_.utc(now_),
                                .reason = reason,
                                .without_updu_id = true};
  row.save_changed = true;
  if (!row.ticket) request_save(row);
}

void MulticastSenderCore::request_save(Row& row) {
  row.save_again.reset();
  row.ticket = ask(*row.save);
  row.save_changed = false;
  row_tickets_[*row.ticket] = row.item.id;
}

void MulticastSenderCore::on_saved(Instant now, SpoolId id, const StoreResult& result) {
  Row* row = find(id);
  if (row == nullptr || row->ticket != result.ticket) return;
  row->ticket.reset();
  if (!result.answer) {
    counters_.add(MulticastSenderCounter::store_errors);
    row->save_again = now + config_.store_retry;
    return;
  }
  if (row->save_changed) return request_save(*row);
  row->save.reset();
  if (gateways::is_final(row->item.state)) {
    forget(id);
    admit(now);
  }
}

// --- Places --------------------------------------------------------------------------------------

std::uint8_t MulticastSenderCore::priority_of(const File& file) const {
  return file.rows.begin()->second.item.priority.value_or(config_.priority);
}

Instant MulticastSenderCore::window_opens_at(Instant now, const File& file) const {
  const UtcSeconds utc = utc_.utc(now);
  const UtcSeconds opens =
      config_.sending.opens_at(utc, open_stations(file.rows), priority_of(file));
  return opens == utc ? now : utc_.instant(opens);
}

std::optional<Instant> MulticastSenderCore::window_closes_at(Instant now, const File& file) const {
  if (file.phase != Phase::sending) return std::nullopt;
  std::optional<Instant> closes;
  for (const Address station : open_stations(file.rows)) {
    const auto one = config_.sending.of(station).closes_at(utc_.utc(now), priority_of(file));
    if (one) closes = earlier(closes, utc_.instant(*one));
  }
  return closes;
}

// P_MUL keeps what it knows of the message, and goes on with it in the next window.
void MulticastSenderCore::stop_for_windows(Instant now) {
  for (auto& [first, file] : files_) {
    if (file.phase != Phase::sending) continue;
    if (window_opens_at(now, file) > now) suspend(now, first, file);
  }
}

void MulticastSenderCore::expire(Instant now) {
  for (auto& [first, file] : files_) {
    if (file.phase != Phase::waiting || file.expires > now) continue;
    for (auto& [id, row] : file.rows) {
      const std::string& before = row.item.reason;
      const std::string reason = before.empty() ? "its lifetime ended" : before;
      if (!gateways::is_final(row.item.state)) end(row, SpoolState::expired, reason);
    }
  }
}

void MulticastSenderCore::admit(Instant now) {
  now_ = now;
  expire(now);
  stop_for_windows(now);
  if (!bound_) return;
  std::vector<std::pair<SpoolId, File*>> due;
  std::size_t taken = 0;
  for (auto& [first, file] : files_) {
    if (file.phase != Phase::waiting) {
      ++taken;
      continue;
    }
    const bool open = std::any_of(file.rows.begin(), file.rows.end(), [](const auto& row) {
      return !gateways::is_final(row.second.item.state);
    });
    if (!open || file.ticket) continue;
    if (std::max(file.next_try, window_opens_at(now, file)) <= now) due.emplace_back(first, &file);
  }
  std::stable_sort(due.begin(), due.end(), [&](const auto& a, const auto& b) {
    const std::uint8_t first = priority_of(*a.second);
    const std::uint8_t second = priority_of(*b.second);
    return first != second ? first > second : a.second->next_try < b.second->next_try;
  });
  for (auto& [first, file] : due) {
    if (taken >= config_.messages_max && !make_place(now)) return;
    taken = std::min(taken + 1, config_.messages_max);
    prepare(first, *file);
  }
}

/// Takes its place from a file of which no station answers that is left.
bool MulticastSenderCore::make_place(Instant now) {
  for (auto& [first, file] : files_) {
    if (file.phase != Phase::sending) continue;
    const bool in_vain = std::all_of(file.rows.begin(), file.rows.end(), [](const auto& row) {
      return row.second.unanswered || gateways::is_final(row.second.item.state);
    });
    if (!in_vain) continue;
    counters_.add(MulticastSenderCounter::suspended);
    suspend(now, first, file);
    const Duration age = now - (file.expires - config_.lifetime_max);
    file.next_try = now + std::clamp(age, config_.retry_delay_min, config_.retry_delay_max);
    return true;
  }
  return false;
}

void MulticastSenderCore::put_back(Instant now, File& file, Duration wait) {
  file.phase = Phase::waiting;
  file.next_try = now + wait;
  for (auto& [id, row] : file.rows) row.unanswered = false;
}

void MulticastSenderCore::suspend(Instant now, SpoolId first, File& file) {
  for (const bool one_way : {false, true}) {
    static_cast<void>(p_mul_.request_suspend(now, key_of(first, one_way)));
  }
  file.resumed = true;
  put_back(now, file, Duration::zero());
}

// The node has dropped what it had not transmitted, and nobody asks for blocks without
// acknowledgement again.
void MulticastSenderCore::on_bound(Instant now, bool bound) {
  bound_ = bound;
  for (auto& [first, file] : files_) {
    if (file.phase == Phase::sending && has_rest_left(file)) suspend(now, first, file);
  }
  admit(now);
}

// --- One file ------------------------------------------------------------------------------------

void MulticastSenderCore::prepare(SpoolId first, File& file) {
  // A row that is over has given up its content.
  const auto open = std::find_if(file.rows.begin(), file.rows.end(), [](const auto& row) {
    return !gateways::is_final(row.second.item.state);
  });
  if (open == file.rows.end()) return;
  file.phase = Phase::preparing;
  file.content_of = open->first;
  file.ticket = ask(gateways::PrepareImage{.id = file.content_of,
                                           .signature = nullptr,
                                           .base = {},
                                           .plain = may_have_holes(file.facts.grade.grade)});
  file_tickets_[*file.ticket] = first;
}

void MulticastSenderCore::on_prepared(Instant now, SpoolId first, File& file,
                                      const StoreResult& result) {
  const Row* row = find(file.content_of);
  if (row == nullptr || gateways::is_final(row->item.state)) {
    return put_back(now, file, Duration::zero());
  }
  const auto* ready = result.answer ? std::get_if<gateways::ImageReady>(&*result.answer) : nullptr;
  if (ready == nullptr) {
    counters_.add(MulticastSenderCounter::store_errors);
    if (result.answer.error().code == ErrorCode::bad_checksum) {
      counters_.add(MulticastSenderCounter::corrupt);
      emit(RelayEvent::Kind::corrupt, *row, to_string(result.answer.error()));
      const SpoolId id = file.content_of;
      put_back(now, file, Duration::zero());
      return forget(id);
    }
    return put_back(now, file, config_.store_retry);
  }
  file.manifest = ready->manifest;
  file.phase = Phase::reading;
  file.ticket = ask(gateways::ReadImage{.id = file.content_of});
  file_tickets_[*file.ticket] = first;
}

void MulticastSenderCore::on_image(Instant now, SpoolId first, File& file,
                                   const StoreResult& result) {
  const auto* content = result.answer ? std::get_if<gateways::Content>(&*result.answer) : nullptr;
  if (content == nullptr || content->octets.size() != file.manifest.image_octets) {
    counters_.add(MulticastSenderCounter::store_errors);
    return put_back(now, file, config_.store_retry);
  }
  if (!bound_) return put_back(now, file, Duration::zero());
  const auto submitted = submit(now, first, file, content->octets);
  if (!submitted && submitted.error().code != ErrorCode::queue_full) {
    const std::string reason = to_string(submitted.error());
    put_back(now, file, config_.retry_delay_max);
    for (auto& [id, row] : file.rows) {
      if (!gateways::is_final(row.item.state)) end(row, SpoolState::failed, reason);
    }
    return;
  }
  if (!submitted) return put_back(now, file, config_.retry_delay_min);
  file.phase = Phase::sending;
  ++file.rounds;
  file.resumed = true;
  for (auto& [id, row] : file.rows) {
    const bool needs_head = is_acknowledged(file.facts.grade.grade) && !row.head_done;
    const bool all_leaves = row.rest_leaves && !needs_head;
    if (gateways::is_final(row.item.state) || all_leaves) continue;
    row.item.state = SpoolState::active;
    ++row.item.attempts;
    row.missing = file.manifest.image_octets;
    row.item.reason = progress_of(row);
    save(row, SpoolState::active, row.item.reason);
    emit(RelayEvent::Kind::attempt_started, row, "by P_MUL");
  }
}

std::string MulticastSenderCore::progress_of(const Row& row) {
  return row.head_done ? kHeadThere : row.rest_done ? kRestSent : "";
}

p_mul::Submission MulticastSenderCore::submission(const File& file, bool one_way) const {
  p_mul::Submission submission;
  submission.priority =
      static_cast<std::uint8_t>(kPMulPriorityMax - std::min(priority_of(file), kPMulPriorityMax));
  submission.message_id = file.facts.message_id + (one_way ? 1 : 0);
  submission.expiry = file.expiry;
  submission.acknowledged = !one_way;
  for (const auto& [id, row] : file.rows) {
    const bool done = one_way ? row.rest_done || row.rest_leaves : row.head_done;
    if (done || gateways::is_final(row.item.state)) continue;
    submission.destinations.push_back(
        {p_mul::NodeId{row.item.destination.value}, one_way ? 0 : row.item.p_mul->sequence});
  }
  return submission;
}

// A station may have blocks of an earlier time, so what the file becomes must be the same each
// time.
Result<void> MulticastSenderCore::submit(Instant now, SpoolId first, const File& file,
                                         ByteSpan image) {
  const gateways::GradeSettings& grade = file.facts.grade;
  OfferMessage offer{.number = {static_cast<std::uint32_t>(first.value & UINT32_MAX)},
                     .holes = may_have_holes(grade.grade),
                     .head = grade.grade == FileGrade::head,
                     .manifest = file.manifest};
  std::uint64_t head = is_acknowledged(grade.grade) ? image.size() : 0;
  if (grade.grade == FileGrade::head) head = std::min<std::uint64_t>(head, grade.head_octets);
  if (is_acknowledged(grade.grade)) {
    const EnvelopeOptions options{.record_octets = config_.block_octets};
    auto done = submit_reliable(now, first, file, to_envelope(offer, image, {0, head}, options));
    if (!done) return done;
  }
  if (!has_one_way(grade.grade)) return {};
  const std::size_t record =
      std::max<std::size_t>(config_.one_way_block_octets, record_octets_min(offer));
  return submit_rest(now, first, file,
                     to_envelope(offer, image, {head, image.size()},
                                 {.record_octets = record, .offer_again = true}),
                     record);
}

Result<void> MulticastSenderCore::submit_reliable(Instant now, SpoolId first, const File& file,
                                                  Bytes content) {
  p_mul::Submission reliable = submission(file, false);
  if (reliable.destinations.empty()) return {};
  reliable.key = key_of(first, false);
  reliable.content = std::move(content);
  // P_MUL takes a size of blocks for the sign that the message was sent before.
  if (file.resumed) reliable.block_octets = config_.block_octets;
  auto accepted = p_mul_.request_submit(now, std::move(reliable));
  if (!accepted) return accepted.error();
  counters_.add(MulticastSenderCounter::messages);
  return {};
}

Result<void> MulticastSenderCore::submit_rest(Instant now, SpoolId first, const File& file,
                                              Bytes content, std::size_t record_octets) {
  p_mul::Submission rest = submission(file, true);
  if (rest.destinations.empty()) return {};
  rest.key = key_of(first, true);
  rest.block_octets = static_cast<std::uint16_t>(record_octets);
  rest.parity_ahead = parity_ahead(file.facts.grade.strength_percent,
                                   (content.size() + record_octets - 1) / record_octets);
  rest.content = std::move(content);
  auto accepted = p_mul_.request_submit(now, std::move(rest));
  if (!accepted) {
    static_cast<void>(p_mul_.request_suspend(now, key_of(first, false)));
    return accepted.error();
  }
  counters_.add(MulticastSenderCounter::messages);
  return {};
}

void MulticastSenderCore::end(Row& row, SpoolState state, const std::string& reason) {
  row.item.state = state;
  row.item.reason = reason;
  save(row, state, reason);
  switch (state) {
    case SpoolState::delivered:
      counters_.add(MulticastSenderCounter::delivered);
      return emit(RelayEvent::Kind::delivered, row, reason);
    case SpoolState::sent:
      counters_.add(MulticastSenderCounter::sent);
      return emit(RelayEvent::Kind::sent, row);
    default:
      counters_.add(MulticastSenderCounter::failed);
      emit(state == SpoolState::expired ? RelayEvent::Kind::expired : RelayEvent::Kind::failed, row,
           reason);
  }
}

// --- From P_MUL ----------------------------------------------------------------------------------

void MulticastSenderCore::on_ended(Instant now, const p_mul::DestinationEnded& ended) {
  using p_mul::Outcome;
  now_ = now;
  const auto at = files_.find(first_of(ended.key));
  if (at == files_.end() || ended.outcome == Outcome::suspended ||
      ended.outcome == Outcome::cancelled) {
    return;
  }
  File& file = at->second;
  const FileGrade grade = file.facts.grade.grade;
  const bool one_way = is_one_way(ended.key);
  for (auto& [id, row] : file.rows) {
    if (row.item.destination.value != ended.node.value) continue;
    if (gateways::is_final(row.item.state)) continue;
    const bool good = ended.outcome == Outcome::delivered || ended.outcome == Outcome::sent;
    if (!good && !(one_way && is_acknowledged(grade))) {
      const bool late = ended.outcome == Outcome::expired;
      end(row, late ? SpoolState::expired : SpoolState::failed, ended.reason);
      continue;
    }
    (one_way ? row.rest_done : row.head_done) = true;
    const bool rest_missing = has_one_way(grade) && !row.rest_done;
    if ((is_acknowledged(grade) && !row.head_done) || rest_missing) {
      row.item.reason = progress_of(row);
      save(row, SpoolState::active, row.item.reason);
      continue;
    }
    const bool acknowledged = is_acknowledged(grade);
    end(row, acknowledged ? SpoolState::delivered : SpoolState::sent,
        grade == FileGrade::head ? "its head; the rest has no acknowledgement" : "");
  }
  const bool over = std::all_of(file.rows.begin(), file.rows.end(), [](const auto& row) {
    return gateways::is_final(row.second.item.state);
  });
  if (over) file.phase = Phase::waiting;
  admit(now);
}

void MulticastSenderCore::note_leaving(const p_mul::DestinationEnded& ended, bool leaves) {
  const auto at = files_.find(first_of(ended.key));
  if (at == files_.end()) return;
  for (auto& [id, row] : at->second.rows) {
    if (row.item.destination.value == ended.node.value) row.rest_leaves = leaves;
  }
}

void MulticastSenderCore::on_leaving(const p_mul::DestinationEnded& ended) {
  note_leaving(ended, true);
}

void MulticastSenderCore::on_unsent(Instant now, const p_mul::DestinationEnded& ended) {
  now_ = now;
  note_leaving(ended, false);
  const auto at = files_.find(first_of(ended.key));
  if (at == files_.end() || at->second.phase != Phase::sending) return;
  suspend(now, at->first, at->second);
}

void MulticastSenderCore::on_unanswered(Instant now, const p_mul::Unanswered& unanswered) {
  const auto at = files_.find(first_of(unanswered.key));
  if (at == files_.end()) return;
  for (auto& [id, row] : at->second.rows) {
    if (row.item.destination.value == unanswered.node.value) row.unanswered = true;
  }
  admit(now);
}

void MulticastSenderCore::on_partly_received(const p_mul::MessageNews& news) {
  for (auto& [first, file] : files_) {
    if (file.facts.message_id != news.name.message_id) continue;
    for (auto& [id, row] : file.rows) {
      if (row.item.destination.value != news.node.value) continue;
      row.unanswered = false;
      row.missing = std::min<std::uint64_t>(news.octets, file.manifest.image_octets);
    }
  }
}

/// Finds a file by its transfer number, or by the number of one of its messages. A station that has
/// only a part of a message does not know the transfer number.
MulticastSenderCore::Files::iterator MulticastSenderCore::find_file(TransferNumber number) {
  const auto at = files_.find(SpoolId{number.value});
  if (at != files_.end()) return at;
  return std::find_if(files_.begin(), files_.end(), [&](const auto& entry) {
    const std::uint32_t message = entry.second.facts.message_id;
    return message == number.value || message + 1 == number.value;
  });
}

/// Ends the file for one station. The others get it in another round.
bool MulticastSenderCore::end_for(Instant now, Address peer, TransferNumber number,
                                  SpoolState state, const std::string& reason) {
  const auto at = find_file(number);
  if (at == files_.end()) return false;
  now_ = now;
  File& file = at->second;
  for (auto& [id, row] : file.rows) {
    if (row.item.destination != peer || gateways::is_final(row.item.state)) continue;
    if (file.phase == Phase::sending) suspend(now, at->first, file);
    if (state == SpoolState::held) {
      row.item.state = state;
      row.item.reason = reason;
      save(row, state, reason);
    } else {
      end(row, state, reason);
    }
  }
  admit(now);
  return true;
}

bool MulticastSenderCore::on_refused(Instant now, Address peer, const RefuseMessage& message) {
  return end_for(now, peer, message.number, SpoolState::failed,
                 "the other station refuses it: " + message.text);
}

bool MulticastSenderCore::on_control(Instant now, Address peer, const ControlMessage& message) {
  if (message.action == ControlAction::resume) return false;  // the store finds the row
  if (message.action == ControlAction::suspend) {
    return end_for(now, peer, message.number, SpoolState::held,
                   std::string(gateways::kSuspendedThere));
  }
  return end_for(now, peer, message.number, SpoolState::failed, "cancelled by the other station");
}

// --- Operators -----------------------------------------------------------------------------------

SenderCore::InHand MulticastSenderCore::in_hand(SpoolId id) const {
  const auto first = first_of_.find(id);
  if (first == first_of_.end()) return SenderCore::InHand::no;
  const File& file = files_.at(first->second);
  const bool asked = file.phase == Phase::preparing || file.phase == Phase::reading;
  if (asked || file.rows.at(id).save) return SenderCore::InHand::busy;
  return file.phase == Phase::sending ? SenderCore::InHand::sending : SenderCore::InHand::no;
}

void MulticastSenderCore::on_changed(Instant now, const SpoolItem& row) {
  now_ = now;
  if (const auto first = first_of_.find(row.id); first != first_of_.end()) {
    File& file = files_.at(first->second);
    const bool only = file.rows.size() == 1;
    if (only && gateways::is_over(row.state)) {
      for (const bool one_way : {false, true}) {
        static_cast<void>(p_mul_.request_cancel(now, key_of(first->second, one_way)));
      }
    } else if (file.phase == Phase::sending) {
      suspend(now, first->second, file);
    }
    forget(row.id);
  }
  if (row.id > last_listed_) return list(now);
  if (!gateways::is_final(row.state)) add(row);
  admit(now);
}

std::vector<TransferStatus> MulticastSenderCore::transfers() const {
  std::vector<TransferStatus> list;
  for (const auto& [first, file] : files_) {
    if (file.phase != Phase::sending) continue;
    for (const auto& [id, row] : file.rows) {
      const std::uint64_t octets = file.manifest.image_octets;
      list.push_back({.item = id,
                      .destination = row.item.destination,
                      .name = row.item.name,
                      .attempt = row.item.attempts,
                      .octets = octets,
                      .octets_confirmed = octets - std::min(octets, row.missing)});
    }
  }
  return list;
}

// --- Time and output -----------------------------------------------------------------------------

// The age of a file counts, so its end moves with the clock.
void MulticastSenderCore::on_clock_set(std::chrono::seconds step) {
  for (auto& [first, file] : files_) {
    file.expiry.value += step.count();
    for (auto& [id, row] : file.rows) row.item.created.value += step.count();
  }
}

void MulticastSenderCore::on_deadline(Instant now) {
  now_ = now;
  if (list_at_ && *list_at_ <= now) list(now);
  for (auto& [first, file] : files_) {
    for (auto& [id, row] : file.rows) {
      if (row.save_again && *row.save_again <= now) request_save(row);
    }
  }
  admit(now);
}

std::optional<Instant> MulticastSenderCore::next_deadline() const {
  std::optional<Instant> next = list_at_;
  for (const auto& [first, file] : files_) {
    if (file.phase == Phase::waiting) {
      // Without rows, only the answer of the store is to come.
      if (!file.rows.empty()) {
        const Instant due = std::max(file.next_try, window_opens_at(now_, file));
        if (due > now_) next = earlier(next, due);
      }
      if (file.expires > now_) next = earlier(next, file.expires);
    }
    next = earlier(next, window_closes_at(now_, file));
    for (const auto& [id, row] : file.rows) next = earlier(next, row.save_again);
  }
  return next;
}

std::optional<RelayEvent> MulticastSenderCore::poll_event() {
  return take_front(events_);
}

std::optional<StoreRequest> MulticastSenderCore::poll_store() {
  return take_front(requests_);
}

// Both stations find the same name, because they make it from the number of the transfer.
std::string MulticastSenderCore::transfer_of(const Row& row) {
  return transfer_name(static_cast<std::uint32_t>(row.item.p_mul->first.value & UINT32_MAX),
                       row.item.sha256);
}

void MulticastSenderCore::emit(RelayEvent::Kind kind, const Row& row, std::string detail) {
  events_.push_back(event_of(kind, row.item, transfer_of(row), std::move(detail)));
}

}  // namespace s5066::file_relay
