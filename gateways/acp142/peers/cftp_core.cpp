// SPDX-License-Identifier: Apache-2.0
#include "gateways/acp142/peers/cftp_core.h"

#include <algorithm>
#include <utility>

#include "gateways/acp142/peers/cftp_pdu.h"
#include "gateways/acp142/peers/cftp_record.h"
#include "gateways/common/sha256.h"
#include "s5066d/base/assert.h"
#include "s5066d/base/printable.h"
#include "s5066d/base/take_front.h"
#include "sis/text.h"

namespace s5066::acp142 {
namespace {

using Kind = RecipientOutcome::Kind;

constexpr std::uint8_t kConnection = 0;  // connection number of files that we send
constexpr std::size_t kFilesMax = 256;   // U_PDU_IDs
constexpr std::size_t kDetailOctetsMax = 100;
// Stands for the application identifier that RCOPv1 does not have.
constexpr std::uint16_t kNoApplication = 0;

constexpr CounterTable<CftpCounter> kTable({
    {CftpCounter::files_sent, "cftp_files_sent", "files", "files begun to be sent by CFTP"},
    {CftpCounter::files_acknowledged, "cftp_files_acknowledged", "files",
     "files that the other station has acknowledged"},
    {CftpCounter::files_failed, "cftp_files_failed", "files",
     "attempts to send a file that ended without an acknowledgement"},
    {CftpCounter::acknowledgements_unmatched, "cftp_acknowledgements_unmatched", "acknowledgements",
     "acknowledgements of no file under way"},
    {CftpCounter::files_received, "cftp_files_received", "files", "files received whole"},
    {CftpCounter::files_unreadable, "cftp_files_unreadable", "files",
     "files received that could not be read, and were not acknowledged"},
    {CftpCounter::files_given_up, "cftp_files_given_up", "files",
     "files of which only a part was received"},
    {CftpCounter::unknown_stations, "cftp_unknown_stations", "U_PDUs",
     "U_PDUs of stations that are not configured"},
    {CftpCounter::malformed, "cftp_malformed", "U_PDUs", "U_PDUs too short for their header"},
    {CftpCounter::busy, "cftp_busy", "files",
     "files not acknowledged because too many waited for the spool"},
});

/// Both kinds of PDU end where their first octets say.
Result<std::optional<std::uint64_t>> length_of(std::uint16_t, ByteSpan prefix) {
  const auto header = decode_bftp_v1_header(prefix);
  if (!header) return header.error();
  if (!*header) return std::optional<std::uint64_t>();
  return std::optional<std::uint64_t>((*header)->octets + std::uint64_t{(*header)->size});
}

gateways::RcopReassembler::Config reassembler_config(const CftpCore::Config& config) {
  return {.length_of = length_of,
          .pdu_octets_max = config.file_octets_max,
          .source_octets_max = config.source_octets_max};
}

/// Returns the U_PDU as RCOP has it (F.8.1), for the reassembler.
Bytes as_rcop(ByteSpan updu) {
  Bytes rcop;
  rcop.reserve(updu.size() + 2);
  append(rcop, updu.first(kRcopV1HeaderOctets));
  rcop.push_back(kNoApplication >> 8);
  rcop.push_back(kNoApplication & 0xFF);
  append(rcop, updu.subspan(kRcopV1HeaderOctets));
  return rcop;
}

}  // namespace

const CounterTable<CftpCounter>& counter_table(CftpCounter) {
  return kTable;
}

// The content has a Received field of ours with a number of its own, so no two messages have the
// same. Files for different recipients of one message differ, too.
std::string cftp_message_id(const Mail& mail) {
  constexpr std::size_t kOctets = 8;
  Bytes hashed = mail.content;
  const std::string& from = mail.envelope.from.address;
  hashed.insert(hashed.end(), from.begin(), from.end());
  for (const Path& one : mail.envelope.recipients) {
    hashed.push_back('\n');
    hashed.insert(hashed.end(), one.address.begin(), one.address.end());
  }
  std::string id = "S" + to_hex(ByteSpan(gateways::sha256_of(hashed)).first(kOctets));
  std::erase_if(id, [](char c) { return c == ' '; });
  return id;
}

CftpCore::CftpCore(const Config& config, Rng& rng)
    : config_(config), rng_(rng), reassembler_(reassembler_config(config)) {
  for (const auto& [node, station] : config_.stations) {
    S5066_ASSERT(station.files_max >= 1 && station.files_max <= kFilesMax);
    lanes_[node].next_updu_id = static_cast<std::uint8_t>(rng_.below(kFilesMax));
  }
}

// --- Requests ------------------------------------------------------------------------------------

void CftpCore::request_send(Instant now, const HandOver& hand_over) {
  const Mail& mail = *hand_over.mail;
  File file{.id = hand_over.id,
            .station = hand_over.station,
            .priority = hand_over.priority,
            .expires = now + hand_over.left,
            .mail = hand_over.mail};
  if (!lanes_.contains(file.station)) {
    return end(file, Kind::deferred, "the station is not configured for CFTP");
  }
  const LineCheck lines = check_lines(mail.content);
  if (lines.bare || lines.zero) {
    return end(file, Kind::failed, "CFTP carries no message with zero octets, or CR or LF alone");
  }
  Lane& lane = lanes_[file.station];
  lane.waiting.push_back(std::move(file));
}

void CftpCore::request_withdraw(Instant, MailId id) {
  for (auto& [node, lane] : lanes_) {
    for (auto& [updu_id, file] : lane.active) {
      if (file.id != id) continue;
      return end_active(lane, updu_id, Kind::deferred, "withdrawn by the operator");
    }
    const auto waits = std::find_if(lane.waiting.begin(), lane.waiting.end(),
                                    [id](const File& file) { return file.id == id; });
    if (waits == lane.waiting.end()) continue;
    const File file = std::move(*waits);
    lane.waiting.erase(waits);
    return end(file, Kind::deferred, "withdrawn by the operator");
  }
}

void CftpCore::on_committed(Instant, PeerTicket ticket, CommitOutcome outcome) {
  const auto found = committing_.find(ticket);
  if (found == committing_.end()) return;
  if (outcome == CommitOutcome::committed) acknowledgements_.push_back({found->second});
  committing_.erase(found);
}

// --- The subnetwork ------------------------------------------------------------------------------

void CftpCore::on_sis(Instant now, const gateways::SisEvent& event) {
  std::visit([&](const auto& one) { on(now, one); }, event);
}

void CftpCore::on(Instant, const gateways::SisBound& bound) {
  client_.on_bound(bound, kRcopV1HeaderOctets);
}

// Files that were under way begin again under another number, because nobody knows what the node
// still sends of them.
void CftpCore::on(Instant, const gateways::SisLost&) {
  client_.on_lost();
  acknowledgements_.clear();
  for (auto& [node, lane] : lanes_) {
    lane.outstanding = 0;
    for (auto& [updu_id, file] : lane.active) {
      file.outstanding.clear();
      file.answer_by.reset();
      file.octets = {};
      lane.waiting.push_front(std::move(file));
    }
    lane.active.clear();
  }
}

void CftpCore::on(Instant, const gateways::SisFlow& flow) {
  client_.on_flow(flow);
}

std::optional<NodeId> CftpCore::station_at(Address address) const {
  for (const auto& [node, station] : config_.stations) {
    if (station.address == address) return node;
  }
  return std::nullopt;
}

void CftpCore::on(Instant now, const gateways::SisIndication& indication) {
  const auto station = station_at(indication.source);
  if (!station) {
    counters_.add(CftpCounter::unknown_stations);
    return tell(PeerNews::Kind::peer_unknown, indication.source, {}, indication.updu.size());
  }
  if (!decode_rcop_v1(indication.updu)) {
    counters_.add(CftpCounter::malformed);
    return;
  }
  if (is_cftp_acknowledgement(indication.updu)) {
    return on_acknowledgement(now, *station, indication.updu);
  }
  const auto complete =
      reassembler_.on_updu(now, indication.source, indication.source_sap, as_rcop(indication.updu));
  note_dropped();
  if (complete) on_file(*station, *complete);
}

// The numbers are those of the file (F.14.4), and the segments need not have been confirmed yet.
void CftpCore::on_acknowledgement(Instant, NodeId station, const Bytes& updu) {
  const auto header = *decode_rcop_v1(updu);
  Lane& lane = lanes_[station];
  const auto active = lane.active.find(header.updu_id);
  const bool sent = active != lane.active.end() && header.connection_id == kConnection &&
                    active->second.next_segment == active->second.segments;
  if (!sent) {
    counters_.add(CftpCounter::acknowledgements_unmatched);
    return;
  }
  end_active(lane, header.updu_id, Kind::delivered, {});
}

void CftpCore::on_file(NodeId station, const gateways::RcopReassembler::Complete& complete) {
  const Address source = complete.key.source;
  if (committing_.size() == config_.committing_max) {
    counters_.add(CftpCounter::busy);
    return;  // its sender repeats it
  }
  const PeerTicket ticket{MailWay::cftp, ++last_ticket_};
  committing_[ticket] = {source, complete.key.source_sap, complete.key.connection_id,
                         complete.key.updu_id};
  const auto refuse = [&](const Error& why) {
    counters_.add(CftpCounter::files_unreadable);
    events_.push_back(PeerUnreadable{.ticket = ticket,
                                     .address = source,
                                     .why = printable(to_string(why), kDetailOctetsMax),
                                     .octets = complete.data});
  };
  const auto header = decode_bftp_v1_header(complete.data);
  if (!header || !*header) {
    return refuse({ErrorCode::bad_field, "the data is no file of CFTP"});
  }
  const auto content = ByteSpan(complete.data).subspan((*header)->octets);
  const auto record = inflated(content, config_.inflate, Container::gzip);
  if (!record) return refuse(record.error());
  auto read = decode_cftp_record(*record, config_.recipients_max);
  if (!read) return refuse(read.error());
  counters_.add(CftpCounter::files_received);
  events_.push_back(PeerReceived{.ticket = ticket,
                                 .station = station,
                                 .identity = gateways::sha256_of(*record),
                                 .octets = complete.data.size(),
                                 .mail = std::move(read->mail)});
}

void CftpCore::note_dropped() {
  while (const auto dropped = reassembler_.poll_dropped()) {
    counters_.add(CftpCounter::files_given_up);
    tell(PeerNews::Kind::peer_given_up, dropped->key.source, dropped->reason, dropped->octets);
  }
}

void CftpCore::tell(PeerNews::Kind kind, Address address, std::string detail,
                    std::uint64_t octets) {
  events_.push_back(PeerNews{.kind = kind,
                             .way = MailWay::cftp,
                             .address = address,
                             .detail = printable(detail, kDetailOctetsMax),
                             .octets = octets});
}

CftpCore::File* CftpCore::file_of(const Request& request, std::uint64_t number) {
  Lane& lane = lanes_[request.station];
  if (request.id.value != 0) --lane.outstanding;
  for (auto& [updu_id, file] : lane.active) {
    if (file.id == request.id && file.outstanding.erase(number) > 0) return &file;
  }
  return nullptr;
}

void CftpCore::on(Instant now, const gateways::SisConfirmed& confirmed) {
  const auto request = client_.take(confirmed.id);
  if (!request) return;
  File* const file = file_of(*request, confirmed.id.value);
  if (file == nullptr) return;
  if (file->outstanding.empty() && file->next_segment == file->segments) {
    file->answer_by =
        now + config_.answer_wait + airtime_at(config_.line_rate_bps, file->octets.size());
  }
}

void CftpCore::on(Instant, const gateways::SisRejected& rejected) {
  const auto request = client_.take(rejected.id);
  if (!request) return;
  File* const file = file_of(*request, rejected.id.value);
  if (file == nullptr) return;
  Lane& lane = lanes_[request->station];
  const std::string why(sis::to_string(rejected.reason));
  end_active(lane, file->updu_id, Kind::deferred, why, is_no_answer(rejected.reason));
  if (is_of_station(rejected.reason)) give_up_station(lane, why);
}

void CftpCore::on(Instant, const gateways::SisUnresolved& unresolved) {
  const auto request = client_.take(unresolved.id);
  if (!request) return;
  if (const File* const file = file_of(*request, unresolved.id.value)) {
    end_active(lanes_[request->station], file->updu_id, Kind::deferred,
               "the node did not say what became of it");
  }
}

// --- The end of a file ---------------------------------------------------------------------------

void CftpCore::end_active(Lane& lane, std::uint8_t updu_id, Kind kind, const std::string& why,
                          bool unanswered) {
  const auto active = lane.active.find(updu_id);
  S5066_ASSERT(active != lane.active.end());
  const File file = std::move(active->second);
  lane.active.erase(active);
  end(file, kind, why, unanswered);
}

void CftpCore::end(const File& file, Kind kind, const std::string& why, bool unanswered) {
  const bool delivered = kind == Kind::delivered;
  counters_.add(delivered ? CftpCounter::files_acknowledged : CftpCounter::files_failed);
  const char* const status = delivered ? "2.0.0" : kind == Kind::failed ? "5.6.1" : "4.4.1";
  PeerEnded ended{.id = file.id,
                  .station = file.station,
                  .done = done_with(*file.mail, Kind::deferred, status, why),
                  .unanswered = unanswered,
                  .more = delivered};
  std::size_t carried = 0;
  for (std::size_t i = 0; i < ended.done.outcomes.size(); ++i) {
    RecipientOutcome& outcome = ended.done.outcomes[i];
    const bool can = cftp_can_carry(file.mail->envelope.recipients[i].address);
    if (!can) {
      outcome = {Kind::failed, "5.1.3", "CFTP carries no address with a comma", 0};
    } else if (carried++ < file.recipients || !delivered) {
      outcome.kind = kind;
    } else {
      outcome.text = "the list of recipients of one file is full";
    }
  }
  const auto deferred = [](const RecipientOutcome& one) { return one.kind == Kind::deferred; };
  ended.more &= std::any_of(ended.done.outcomes.begin(), ended.done.outcomes.end(), deferred);
  events_.push_back(std::move(ended));
}

// One attempt has shown that the station does not answer; each of the others would take as long.
void CftpCore::give_up_station(Lane& lane, const std::string& why) {
  for (const File& file : std::exchange(lane.waiting, {})) end(file, Kind::deferred, why);
}

void CftpCore::on_deadline(Instant now) {
  reassembler_.on_deadline(now);
  note_dropped();
  for (auto& [node, lane] : lanes_) {
    std::vector<std::uint8_t> late;
    for (const auto& [updu_id, file] : lane.active) {
      if (file.answer_by && *file.answer_by <= now) late.push_back(updu_id);
    }
    const std::string why = "the station did not acknowledge the file";
    for (const std::uint8_t updu_id : late) {
      end_active(lane, updu_id, Kind::deferred, why, updu_id == late.front());
    }
    if (!late.empty()) give_up_station(lane, why);
    std::erase_if(lane.waiting, [&](const File& file) {
      if (file.expires > now) return false;
      end(file, Kind::deferred, "its lifetime ended");
      return true;
    });
  }
}

std::optional<Instant> CftpCore::next_deadline() const {
  std::optional<Instant> next = reassembler_.next_deadline();
  const auto earlier = [&next](Instant at) { next = next ? std::min(*next, at) : at; };
  for (const auto& [node, lane] : lanes_) {
    for (const auto& [updu_id, file] : lane.active) {
      if (file.answer_by) earlier(*file.answer_by);
    }
    for (const File& file : lane.waiting) earlier(file.expires);
  }
  return next;
}

std::optional<PeerEvent> CftpCore::poll_event() {
  return take_front(events_);
}

// --- Sending -------------------------------------------------------------------------------------

std::optional<gateways::SisUnidata> CftpCore::poll_unidata(Instant now) {
  if (!client_.may_answer()) return std::nullopt;
  if (auto acknowledgement = next_acknowledgement()) return acknowledgement;
  if (!client_.may_send()) return std::nullopt;
  return client_.serve(lanes_, config_.outstanding_max, [&](NodeId station, Lane& lane) {
    begin(now, lane);
    return next_segment(now, station, lane);
  });
}

std::optional<gateways::SisUnidata> CftpCore::next_acknowledgement() {
  const auto next = take_front(acknowledgements_);
  if (!next) return std::nullopt;
  return gateways::SisUnidata{
      .id = client_.new_id(),
      .priority = sis_priority(0),
      .destination = next->to.source,
      .destination_sap = next->to.source_sap,
      .delivery = {.mode = sis::TransmissionMode::arq, .confirmation = sis::Confirmation::node},
      .time_to_live_s = config_.updu_lifetime_s,
      .updu = cftp_acknowledgement(next->to.connection_id, next->to.updu_id)};
}

// The most urgent goes first, of those the one that has waited longest.
void CftpCore::begin(Instant now, Lane& lane) {
  if (lane.waiting.empty()) return;
  const NodeId station = lane.waiting.front().station;
  if (lane.active.size() >= config_.stations.at(station).files_max) return;
  const auto next =
      std::min_element(lane.waiting.begin(), lane.waiting.end(),
                       [](const File& a, const File& b) { return a.priority < b.priority; });
  File file = std::move(*next);
  lane.waiting.erase(next);
  if (file.expires <= now) return end(file, Kind::deferred, "its lifetime ended");
  file.mtu = client_.mtu();
  write(file);
  if (file.recipients == 0) return end(file, Kind::failed, "no recipient has an address for CFTP");
  while (lane.active.contains(lane.next_updu_id)) ++lane.next_updu_id;
  file.updu_id = lane.next_updu_id++;
  file.next_segment = 0;
  file.segments = cftp_segment_count(file.octets.size(), file.mtu);
  counters_.add(CftpCounter::files_sent);
  lane.active.emplace(file.updu_id, std::move(file));
}

void CftpCore::write(File& file) {
  Mail part{file.mail->envelope, file.mail->content};
  std::erase_if(part.envelope.recipients,
                [](const Path& one) { return !cftp_can_carry(one.address); });
  if (!cftp_can_carry(part.envelope.from.address)) part.envelope.from.address.clear();
  file.recipients = cftp_recipients_that_fit(part.envelope);
  part.envelope.recipients.resize(file.recipients);
  if (file.recipients == 0) return;
  const std::string id = cftp_message_id(part);
  file.octets = bftp_v1_file(id, deflated(encode_cftp_record(id, part), Container::gzip));
}

std::optional<gateways::SisUnidata> CftpCore::next_segment(Instant now, NodeId station,
                                                           Lane& lane) {
  if (lane.outstanding >= config_.station_outstanding_max) return std::nullopt;
  File* next = nullptr;
  for (auto& [updu_id, file] : lane.active) {
    if (file.next_segment == file.segments) continue;
    if (next == nullptr || file.priority < next->priority) next = &file;
  }
  if (next == nullptr) return std::nullopt;
  File& file = *next;
  const RcopV1Header header{.connection_id = kConnection,
                            .updu_id = file.updu_id,
                            .segment = static_cast<std::uint16_t>(file.next_segment)};
  ++file.next_segment;
  const gateways::SisRequestId id = client_.add({file.id, station});
  file.outstanding.insert(id.value);
  ++lane.outstanding;
  const auto left = std::chrono::duration_cast<std::chrono::seconds>(file.expires - now).count();
  const auto lifetime =
      config_.updu_lifetime_s +
      static_cast<std::int64_t>(to_seconds(airtime_at(config_.line_rate_bps, file.octets.size())));
  return gateways::SisUnidata{
      .id = id,
      .priority = sis_priority(file.priority),
      .destination = config_.stations.at(station).address,
      .destination_sap = kCftpSap,
      .delivery = {.mode = sis::TransmissionMode::arq, .confirmation = sis::Confirmation::client},
      .time_to_live_s = static_cast<std::uint32_t>(std::clamp<std::int64_t>(left, 2, lifetime)),
      .updu = cftp_segment(header, file.octets, file.mtu)};
}

}  // namespace s5066::acp142
