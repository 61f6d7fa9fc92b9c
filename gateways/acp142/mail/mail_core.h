// The mail gateway between its three neighbours, without any of them: mail that SMTP sessions hand
// over, P_MUL, and the mail server of this station. Everything that must not be lost is in the
// spool before anything is said about it; a bounded number of messages is in memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "gateways/acp142/mail/address_table.h"
#include "gateways/acp142/mail/cdt.h"
#include "gateways/acp142/mail/delivery_report.h"
#include "gateways/acp142/mail/mail_store_port.h"
#include "gateways/acp142/mail/p_mul_names.h"
#include "gateways/acp142/mail/mule.h"
#include "gateways/p_mul/seldom.h"
#include "gateways/acp142/smtp/smtp_client_core.h"
#include "gateways/acp142/smtp/smtp_server_core.h"
#include "gateways/common/utc_reference.h"
#include "s5066d/base/time.h"

namespace s5066::acp142 {

/// One line of the log.
struct MailNews {
  enum class Kind : std::uint8_t {
    accepted,   // from SMTP
    repeated,   // from SMTP, all of it known already
    queued,     // another part of what was accepted or received, which goes another way
    refused,    // by the spool
    submitted,  // to P_MUL
    delivered,  // to a station, or to the mail server
    deferred,
    failed,
    expired,
    received,  // from the air
    received_again,
    not_for_us,   // from the air, no recipient of ours
    unreadable,   // from the air
    reported,     // a delivery report was made
    report_lost,  // a message without a return path, such as a report, ended undelivered
    station_dead,
    station_heard,  // a station that was dead, or the operator says that it answers
    store_failed,
    parked,       // what the spool cannot read, or not as it was accepted
    passed_over,  // what it cannot read now
    index_mended,
    table_left_out,  // of the spool, which is damaged: what it held is not known
    disk_full,       // what is under way has got the room that was kept for it
    clock_set,       // the time of day was set while we ran
    clock_apart,     // a trace field shows that the clock of a station is not as ours
    count
  };
  Kind kind = Kind::count;
  MailId mail;
  NodeId station;
  std::string address;
  std::string detail;
  std::uint64_t octets = 0;
  MessageName name{};   // on the air; number 0: it has none
  MailId first{};       // that has been accepted or received with it
  std::string label{};  // Message-ID
  std::vector<std::string> recipients{};
};
std::string_view to_string(MailNews::Kind kind);

/// What our trace fields have in them and those of other stations do not: "(MULE 10.1.1.1)".
std::string trace_mark(NodeId node, std::string_view with);

/// A header field of user programs that gives a message a precedence where nothing else does.
struct PriorityField {
  std::string name;
  std::string value;  // of which the first word counts, whatever its case
  int mt_priority = 0;
};

/// Names an SMTP session between its commit and the answer.
struct SessionId {
  std::uint64_t value = 0;
  friend auto operator<=>(const SessionId&, const SessionId&) = default;
};

/// For what is to be handed to the mail server, whatever time it had on the air.
inline constexpr std::int64_t kMailServerLifetimeS = 2 * 86400;

class MailCore {
 public:
  struct Config {
    NodeId node;
    std::string hostname = "localhost";
    std::string mail_server = "[127.0.0.1]";  // as reports name it
    // Limits of what is under way to stations, to stations in EMCON, where a message may take as
    // long as it lives, and to the mail server. P_MUL takes the first two together.
    DeliveryRoom::Limits air{.items_max = 48,
                             .items_reserve = 4,
                             .octets_max = 96u << 20,
                             .octets_reserve = 8u << 20,
                             .station_items_max = 4,
                             .station_items_reserve = 1,
                             .station_octets_max = 32u << 20,
                             .station_octets_reserve = 8u << 20};
    DeliveryRoom::Limits silent{.items_max = 40,
                                .items_reserve = 4,
                                .octets_max = 24u << 20,
                                .octets_reserve = 4u << 20,
                                .station_items_max = 16,
                                .station_items_reserve = 4,
                                .station_octets_max = 16u << 20,
                                .station_octets_reserve = 2u << 20};
    DeliveryRoom::Limits smtp{.items_max = 8,
                              .items_reserve = 2,
                              .octets_max = 128u << 20,
                              .octets_reserve = 8u << 20,
                              .station_items_max = 8,
                              .station_items_reserve = 2,
                              .station_octets_max = 128u << 20,
                              .station_octets_reserve = 8u << 20};
    std::uint32_t taken_max = 32;  // messages from the spool in one request
    std::uint32_t late_max = 4;    // of these, such as are too late, each with its content
    // Until a message goes on that gave way to others because its stations did not answer. One
    // that waits for the end of EMCON goes on when the station is heard.
    Duration suspended_for = std::chrono::minutes(10);
    std::size_t commits_max = 512;           // SMTP sessions that wait for the spool
    std::size_t received_max = 32;           // messages from the air that do
    std::vector<std::uint32_t> lifetime_s =  // by P_MUL priority, where DELIVERBY says nothing
        {3600, 3600, 3600, 3600, 14400, 14400, 43200, 43200, 172800};
    Duration retry_min = std::chrono::seconds(30);  // to the mail server, doubled each time …
    Duration retry_max = std::chrono::hours(1);     // … up to this
    Duration dead_min = std::chrono::minutes(5);    // a station that let a message expire
    Duration dead_max = std::chrono::hours(4);
    // The time at which a station was heard last is written to the spool no more often than this.
    Duration heard_every = std::chrono::minutes(10);
    std::size_t stations_max = 4096;            // that are remembered because they were heard
    std::vector<std::vector<NodeId>> groups{};  // stations that one transmission reaches
    bool any_group = false;            // one does any others, too: they join a group for it
    std::set<NodeId> explicit_tags{};  // stations that get the compressed data type so tagged
    std::vector<PriorityField> priority_fields{};  // the first that fits a message counts
    Duration spool_poll = std::chrono::seconds(2);
    Duration store_retry = std::chrono::seconds(5);
    Duration purge_every = std::chrono::hours(1);
    Duration delay_after = std::chrono::hours(4);   // NOTIFY=DELAY: then the sender is told, once
    Duration delay_poll = std::chrono::minutes(1);  // a look besides, as the clock may be set
    InflateLimits inflate{};
    MuleLimits mule{};
    std::size_t received_fields_max = 100;                // of what is relayed (RFC 5321 6.3)
    Duration clock_tolerance = std::chrono::seconds(60);  // how far clocks may be apart
  };

  /// Hand it to PMulCore::request_submit and answer with on_accepted or on_submit_refused.
  struct Submit {
    Submission submission;
  };
  struct ConfirmReceived {
    MessageName name;
    bool committed = false;
  };
  /// Handed to PMulCore at the start.
  struct Known {
    MessageName name;
    UtcSeconds expiry;
  };
  struct AnswerSession {
    SessionId session;
    CommitOutcome outcome = CommitOutcome::failed;
    MailId mail{};          // under which it is kept
    bool repeated = false;  // it was, before
  };
  /// Hand it to PMulCore::request_suspend, which answers likewise.
  struct Suspend {
    MessageKey key;
  };
  /// Hand it to PMulCore::request_cancel; each destination that has not ended ends by that.
  struct Cancel {
    MessageKey key;
  };
  /// To the mail server; answer with on_delivered.
  struct Deliver {
    MailId id;
    std::shared_ptr<const Mail> mail;
  };
  using Action = std::variant<MailNews, MailRequest, Submit, ConfirmReceived, Known, AnswerSession,
                              Cancel, Suspend, Deliver>;

  struct Stats {
    std::uint64_t accepted = 0;
    std::uint64_t delivered = 0;
    std::uint64_t failed = 0;
    std::uint64_t expired = 0;
    std::uint64_t received = 0;
    std::uint64_t received_again = 0;
    std::uint64_t unreadable = 0;
    std::uint64_t reports = 0;
    std::uint64_t store_errors = 0;
    std::uint64_t parked = 0;
    std::uint64_t passed_over = 0;
    std::uint64_t indexes_mended = 0;
    std::uint64_t tables_left_out = 0;
  };

  MailCore(const Config& config, const AddressTable& table);

  // Events in. `now` never goes backwards.
  /// At the start and every minute or so: a clock that was set meanwhile moves all that waits.
  void on_clock(Instant now, UtcSeconds utc);
  void on_start(Instant now);
  /// A session's message; `mark_of` are the hashes by which a repeat of a recipient is known.
  void on_mail(Instant now, SessionId session, SmtpServerCore::Commit commit,
               const std::vector<std::string>& marks);
  void on_received(Instant now, const Received& received);
  void on_destination_ended(Instant now, const DestinationEnded& ended);
  void on_unanswered(const Unanswered& unanswered);
  void on_accepted(Instant now, MessageKey key, const Accepted& accepted);
  void on_submit_refused(Instant now, MessageKey key, const Error& why);
  void on_delivered(Instant now, MailId id, const SmtpClientCore::Done& done);
  void on_spool_changed(Instant now);
  /// The operator has changed a message in the spool that in_hand() said is `under_way`. Over the
  /// air it ends at once. What the mail server has been given cannot be taken back: that attempt
  /// ends by itself, and what is still open then is as the operator wants it.
  void on_operator(Instant now, MailId id, OperatorVerb verb);
  /// Our own EMCON: what is not with P_MUL yet waits in the spool, and only ends there in time.
  void on_own_silence(Instant now, bool silent);
  /// A station in EMCON takes messages and does not answer; nobody gives it up for that.
  void on_silence_of(NodeId station, bool silent);
  /// Call for each PDU of a station.
  void on_heard(Instant now, NodeId station);
  /// Call when the operator says that the station answers; a PDU of it shows the same. Mail that
  /// waits because the station was dead is tried at once.
  void on_answering(Instant now, NodeId station);
  void on_store_result(Instant now, const MailResult& result);
  void on_deadline(Instant now);

  std::optional<Action> poll_action();
  std::optional<Instant> next_deadline() const;
  const Stats& stats() const { return stats_; }
  std::size_t active() const { return active_.size(); }
  /// The message that is under way under that number of ours; 0: none is.
  MailId under_way_as(std::uint32_t message_id) const;
  enum class InHand : std::uint8_t {
    no,         // whatever the spool says is true
    under_way,  // to be changed with SqliteMailStore::change(…, under_way) and told on_operator
    ending,     // its attempt is over and not saved yet: nothing may be changed
  };
  InHand in_hand(MailId id) const;
  /// Returns the stations that a message under way waits for; empty for any other message.
  std::vector<NodeId> waits_for(MailId id) const;
  /// Returns the time of the station's last PDU, also of one before the start; 0: none so far.
  UtcSeconds heard(NodeId station) const;
  /// By how much the clock of a station is not as ours, at least, as its trace fields show.
  struct ClockApart {
    std::chrono::seconds ahead{};  // of ours; negative: behind
    Instant seen_at{};
  };
  const std::map<NodeId, ClockApart>& clocks_apart() const { return clocks_apart_; }
  /// The spool has said what it knows; before that nothing is taken from anybody.
  bool started() const { return started_; }

 private:
  struct Active {
    MailItem item;
    Instant begun{};
    std::size_t waiting_for = 0;  // destinations that have not ended
    std::vector<Destination> destinations;
    Submission submission;          // until it is saved
    bool submitted = false;         // P_MUL has it, or the action that hands it over is out
    bool withdrawn = false;         // by the operator: no further attempt of its own accord
    bool removed = false;           // its sender is told nothing more
    bool suspended = false;         // it gives way to others
    std::set<NodeId> unanswered{};  // stations, since they were heard last
  };
  enum class Asked : std::uint8_t {
    mail,
    received,
    take,
    submission,
    outcome,
    delayed,
    told,
    station,
    wake,
    purge,
    clock,
    other
  };
  /// Which recipients of what came over the air are ours to deliver or to pass on.
  struct Duties {
    std::vector<bool> ours;
    bool certain = false;  // the sender has said so, and reports nothing of these itself
  };
  struct Pending {
    Asked asked = Asked::other;
    SessionId session;
    MessageName name;
    MailId id;
    NodeId node;
    Road road = Road::air;
    bool late = false;  // asked for what is too late
    PurgeMail::Part part = PurgeMail::Part::mails;
    MailOperation again{};           // for what must not be given up
    std::chrono::seconds stepped{};  // by how much the clock had been set when this was asked
    std::chrono::seconds step{};     // of NoteClock
    std::string address;
    std::uint64_t octets = 0;
    // From the air, to be told when it is kept.
    MailNews came{};
    std::vector<MailNews> more{};
    std::vector<MailNews> parts{};  // in the order of AcceptMail
  };

  UtcSeconds utc(Instant now) const { return utc_.utc(now); }
  void ask(MailOperation operation, Pending pending);
  void on_kept(Pending pending, const MailKept& kept);
  void on_mail_kept(Pending pending, const MailKept& kept);
  static std::vector<MailNews> parts_of(const std::vector<NewMail>& mails);
  void on_new_mail(Instant now);
  void take_more(Instant now, Road road);
  void take_late(Instant now, Road road);
  DeliveryRoom room(Road road) const;
  static std::vector<NodeId> open_stations(const MailItem& item);
  static bool gives_way(const Active& active);
  void make_room(Instant now);
  void suspend(Instant now, Active& active);
  void begin(Instant now, MailItem item);
  void begin_air(Instant now, Active& active);
  void begin_smtp(Active& active);
  void end_withdrawn(Instant now, MailId id);
  void on_delayed(Instant now, const TakenMail& taken);
  void end_suspended(Instant now, MailId id);
  void tell_delay(Instant now, const MailItem& item);
  std::vector<NewMail> report(Instant now, const MailItem& item,
                              const std::vector<ReportedRecipient>& recipients,
                              std::vector<MailNews>& told);
  static void move_times(MailItem& item, std::chrono::seconds step);
  static void move_times(SaveOutcome& outcome, std::chrono::seconds step);
  bool expire(Instant now, const MailItem& item);
  void save(Instant now, SaveOutcome outcome, const MailItem& item);
  void add_report(Instant now, SaveOutcome& outcome, const MailItem& item,
                  const std::vector<ReportedRecipient>& recipients);
  enum class Unrouted : std::uint8_t { left_out, to_mail_server };
  std::vector<NewMail> route(Instant now, Mail mail, const std::vector<std::string>& marks,
                             std::uint8_t priority, Unrouted unrouted = Unrouted::left_out);
  std::vector<NewMail> by_transmission(const NewMail& air) const;
  std::vector<NewMail> by_group(const NewMail& air) const;
  CdtTags tags_for(const MailItem& item) const;
  void settle_precedence(Mail& mail, int most) const;
  UtcSeconds expiry_of(Instant now, const Parameters& from, std::uint8_t priority) const;
  Duties duties(const Received& received, Mail& mail) const;
  bool for_others(const Received& received) const;
  std::vector<NewMail> relay(Instant now, const Received& received, Mail& mail,
                             std::vector<MailNews>& told);
  void add_trace(Instant now, Bytes& content, const std::string& from, const char* with);
  void note_clock(Instant now, NodeId source, ByteSpan content);
  void on_taken(Instant now, const Pending& pending, std::vector<MailItem> items);
  void on_resumed(Instant now, const Resumed& resumed);
  void wake(Instant now, NodeId station);
  bool is_held_back(Instant now, const MailItem& item, const StationRow& station) const;
  void note_station(Instant now, const DestinationEnded& ended, Instant begun);
  void save_station(NodeId node);
  void purge(Instant now, PurgeMail::Part part);
  Duration back_off(std::uint32_t attempts, Duration min, Duration max) const;
  void news(MailNews::Kind kind, MailId id = {}, NodeId station = {}, std::string address = {},
            std::string detail = {}, std::uint64_t octets = 0);
  void tell(MailNews one);

  const Config config_;
  const AddressTable& table_;
  gateways::UtcReference utc_;
  std::chrono::seconds stepped_{};  // by how much the clock has been set since the start
  std::chrono::seconds unnoted_{};  // of that, what the spool has still to be told
  Stats stats_;
  bool started_ = false;
  std::deque<Action> actions_;
  std::uint64_t last_ticket_ = 0;
  std::map<StoreTicket, Pending> pending_;
  std::deque<std::pair<Instant, Pending>> retries_;
  std::map<MailId, Active> active_;
  std::map<NodeId, StationRow> stations_;
  std::set<NodeId> unsaved_stations_;   // whose row could not be written as it is
  std::map<NodeId, Instant> heard_at_;  // of stations in `stations_`, or said to answer
  std::map<NodeId, Instant> heard_saved_at_;
  std::map<NodeId, ClockApart> clocks_apart_;
  p_mul::Seldom clock_news_;
  bool silent_ = false;
  std::set<NodeId> silent_stations_;
  std::uint32_t last_message_id_ = 0;
  std::uint64_t last_trace_ = 0;
  std::size_t commits_ = 0;
  std::size_t receiving_ = 0;
  bool taking_[2] = {false, false};
  bool taking_late_[2] = {false, false};
  std::set<NodeId> suspended_stations_;  // that mail waits for which gave way, till they are heard
  std::optional<Instant> poll_at_;
  Instant purge_at_{};
  Instant delay_at_{};
  std::size_t telling_ = 0;  // requests about delays that are under way
  bool told_all_ = true;     // when they have been answered there are no more
};

}  // namespace s5066::acp142
