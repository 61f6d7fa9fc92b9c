// SPDX-License-Identifier: Apache-2.0
// The mail gateway without SMTP sessions, P_MUL and the connection to the mail server of this
// station. Everything that must not be lost is in the spool before it is answered or acknowledged;
// the number of messages in memory is bounded.
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
#include "gateways/acp142/mail/attempt_end.h"
#include "gateways/acp142/mail/mail_core_config.h"
#include "gateways/acp142/mail/mail_news.h"
#include "gateways/acp142/mail/mail_relay.h"
#include "gateways/acp142/mail/mail_reporter.h"
#include "gateways/acp142/mail/mail_router.h"
#include "gateways/acp142/mail/mail_store_port.h"
#include "gateways/acp142/mail/p_mul_names.h"
#include "gateways/acp142/mail/trace_fields.h"
#include "gateways/acp142/peers/peer_types.h"
#include "gateways/acp142/smtp/smtp_client_core.h"
#include "gateways/acp142/smtp/smtp_server_core.h"
#include "s5066d/base/counter_set.h"
#include "s5066d/base/driven_core.h"
#include "s5066d/base/result.h"
#include "s5066d/base/time.h"
#include "s5066d/base/utc_clock.h"

namespace s5066::acp142 {

/// Number of an SMTP session between its commit and the answer.
struct SessionId {
  std::uint64_t value = 0;
  friend auto operator<=>(const SessionId&, const SessionId&) = default;
};

enum class MailCounter : std::uint8_t {
  accepted,
  delivered,
  failed,
  expired,
  received,
  received_again,
  unreadable,
  reports,
  store_errors,
  parked,
  count
};
const CounterTable<MailCounter>& counter_table(MailCounter);

class MailCore {
 public:
  using Config = MailCoreConfig;

  /// Hand it to PMulCore::request_submit and answer with on_accepted or on_submit_refused.
  struct Submit {
    Submission submission;
  };
  struct ConfirmReceived {
    MessageName name;
    bool committed = false;
  };
  /// Hand it to PMulCore at the start.
  struct Known {
    MessageName name;
    UtcSeconds expiry;
  };
  struct AnswerSession {
    SessionId session;
    CommitOutcome outcome = CommitOutcome::failed;
    MailId mail{};          // the number of the message in the spool
    bool repeated = false;  // the spool had the message already
  };
  /// Hand it to PMulCore::request_suspend. Each destination that has not ended ends as `suspended`.
  struct Suspend {
    MessageKey key;
  };
  /// Hand it to PMulCore::request_cancel. Each destination that has not ended ends as `cancelled`.
  struct Cancel {
    MessageKey key;
  };
  /// Hand the message to the mail server; answer with on_delivered.
  struct Deliver {
    MailId id;
    std::shared_ptr<const Mail> mail;
  };
  /// Answers on_peer_mail.
  struct ConfirmPeer {
    PeerTicket ticket;
    CommitOutcome outcome = CommitOutcome::failed;
  };
  /// The message of a HandOver must end now; answer with on_peer_ended.
  struct Withdraw {
    MailId id;
  };
  /// A HandOver goes to a station that takes no P_MUL, and is answered with on_peer_ended.
  using Action = std::variant<MailNews, MailRequest, Submit, ConfirmReceived, Known, AnswerSession,
                              Cancel, Suspend, Deliver, HandOver, Withdraw, ConfirmPeer>;

  MailCore(const Config& config, const AddressTable& table);

  // Inputs. `now` never goes backwards. Call on_clock at the start and about once a minute, because
  // a change of the clock moves the times of all that waits.
  void on_clock(Instant now, UtcSeconds utc);
  void on_start(Instant now);
  /// A message from an SMTP session. `mark_of`: the hashes by which a repeat of a recipient is
  /// recognised.
  void on_mail(Instant now, SessionId session, SmtpServerCore::Commit commit,
               const std::vector<std::string>& marks);
  void on_received(Instant now, const Received& received);
  void on_destination_ended(Instant now, const DestinationEnded& ended);
  void on_unanswered(const Unanswered& unanswered);
  void on_accepted(Instant now, MessageKey key, const Accepted& accepted);
  void on_submit_refused(Instant now, MessageKey key, const Error& why);
  void on_delivered(Instant now, MailId id, const SmtpClientCore::Done& done);
  /// A message that came from a station by CFTP or HMTP. ConfirmPeer answers it.
  void on_peer_mail(Instant now, PeerReceived received);
  void on_peer_ended(Instant now, const PeerEnded& ended);
  void on_spool_changed(Instant now);
  /// Call when the operator has changed a message in the spool that in_hand() called `under_way`.
  /// On the air it ends at once. A message that the mail server has been given cannot be recalled:
  /// that attempt ends by itself, and the recipients that are still open then are in the state that
  /// the operator chose.
  void on_operator(Instant now, MailId id, SpoolChange asked);
  /// Call when our own EMCON begins or ends. Messages that P_MUL does not have wait in the spool
  /// and can only expire there.
  void on_own_silence(Instant now, bool silent);
  /// Call when a station enters or leaves EMCON. It takes messages and does not answer, and does
  /// not count as dead for that.
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
  const CounterSet<MailCounter>& counters() const { return counters_; }
  std::size_t active() const { return active_.size(); }
  /// Returns the message that is under way with this message number of ours; 0: there is none.
  MailId under_way_as(std::uint32_t message_id) const;
  enum class InHand : std::uint8_t {
    no,         // the state in the spool is valid
    under_way,  // change it by SqliteMailStore::change(…, under_way) and call on_operator
    ending,     // the end of its attempt is not saved yet, so nothing may be changed
  };
  InHand in_hand(MailId id) const;
  /// Returns the stations that a message under way waits for; empty for any other message.
  std::vector<NodeId> waits_for(MailId id) const;
  /// Returns the time of the station's last PDU, also of one before the start; 0: none so far.
  UtcSeconds heard(NodeId station) const;
  using ClockApart = TraceClocks::Apart;
  const std::map<NodeId, ClockApart>& clocks_apart() const { return trace_clocks_.apart(); }
  /// True if the spool has told the known messages. Before that no message is accepted.
  bool started() const { return started_; }

 private:
  struct Active {
    MailItem item;
    Instant begun{};
    std::size_t waiting_for = 0;  // destinations that have not ended
    std::vector<Destination> destinations;
    Submission submission;          // kept until it is saved
    bool submitted = false;         // P_MUL has it, or will get it by an action that is out
    bool withdrawn = false;         // by the operator: no further attempt follows by itself
    bool removed = false;           // the sender gets no further reports
    bool suspended = false;         // the message gives way to others
    std::optional<NodeId> peer{};   // station of another make that has the message; none: P_MUL
    std::set<NodeId> unanswered{};  // stations that have not been heard since an attempt
  };
  // The steps that follow when the spool has answered a request; each has an `after`.
  struct MailAccepted {
    SessionId session;
    std::string address;
    std::vector<MailNews> parts;  // in the order of AcceptMail
  };
  struct ReceivedKept {
    MessageName name;
    MailNews came;
    std::vector<MailNews> more;
    std::vector<MailNews> parts;       // in the order of AcceptMail
    std::optional<PeerTicket> peer{};  // set if the message did not come by P_MUL
    /// The request with another number, for the case that this one is taken.
    std::optional<AcceptMail> again{};
    std::uint32_t numbers_tried = 1;
  };
  struct Taken {
    Transport transport = Transport::air;
    bool late = false;               // the request was for expired messages
    std::chrono::seconds stepped{};  // total change of the clock when this was asked
  };
  struct SubmissionSaved {
    MailId id;
  };
  struct BlocksSaved {};
  struct OutcomeSaved {
    MailId id;
  };
  struct DelayedTaken {};
  struct DelayTold {
    MailId id;
  };
  struct StationSaved {
    NodeId node;
  };
  struct Woken {};
  struct Purged {
    PurgeMail::Part part = PurgeMail::Part::mails;
  };
  struct ClockNoted {
    std::chrono::seconds step{};
  };
  struct SpoolOpened {};
  using Then =
      std::variant<MailAccepted, ReceivedKept, Taken, SubmissionSaved, BlocksSaved, OutcomeSaved,
                   DelayedTaken, DelayTold, StationSaved, Woken, Purged, ClockNoted, SpoolOpened>;
  /// A request that must not be given up is kept beside its ticket and asked again after a while.
  struct Pending {
    Then then;
    std::optional<MailOperation> again;
    std::chrono::seconds stepped{};  // total change of the clock when this was asked
  };
  enum class Next : std::uint8_t { done, ask_again };
  using Answer = Result<MailAnswer>;

  UtcSeconds utc(Instant now) const { return utc_.utc(now); }
  void ask(MailOperation operation, Then then);
  static bool must_be_kept(const Then& then);
  static MailId mail_of(const Then& then);
  void note_troubles(const MailResult& result);
  Next after(Instant now, MailAccepted& then, const Answer& answer);
  Next after(Instant now, ReceivedKept& then, const Answer& answer);
  Next after(Instant now, Taken& then, const Answer& answer);
  Next after(Instant now, SubmissionSaved& then, const Answer& answer);
  Next after(Instant now, BlocksSaved& then, const Answer& answer);
  Next after(Instant now, OutcomeSaved& then, const Answer& answer);
  Next after(Instant now, DelayedTaken& then, const Answer& answer);
  Next after(Instant now, DelayTold& then, const Answer& answer);
  Next after(Instant now, StationSaved& then, const Answer& answer);
  Next after(Instant now, Woken& then, const Answer& answer);
  Next after(Instant now, Purged& then, const Answer& answer);
  Next after(Instant now, ClockNoted& then, const Answer& answer);
  Next after(Instant now, SpoolOpened& then, const Answer& answer);
  void tell_accepted(MailAccepted& then, const MailKept& kept);
  void tell_received(ReceivedKept& then, const MailKept& kept);
  static std::vector<MailNews> parts_of(const std::vector<NewMail>& mails);
  void expect_delays(Instant now, const std::vector<NewMail>& mails);
  void on_new_mail(Instant now);
  void take_more(Instant now, Transport transport);
  void take_late(Instant now, Transport transport);
  DeliveryRoom room(Transport transport) const;
  static std::vector<NodeId> open_stations(const MailItem& item);
  static bool gives_way(const Active& active);
  void make_room(Instant now);
  void suspend(Instant now, Active& active);
  void begin(Instant now, MailItem item);
  void begin_air(Instant now, Active& active);
  std::optional<UtcSeconds> choose_stations(Instant now, Active& active);
  void write_content(Active& active);
  void begin_smtp(Active& active);
  std::optional<NodeId> peer_of(const MailItem& item) const;
  void begin_peer(Instant now, Active& active);
  void defer(Instant now, const MailItem& item, std::optional<UtcSeconds> until);
  void end_withdrawn(Instant now, MailId id);
  void on_delayed(Instant now, const TakenMail& taken);
  void end_suspended(Instant now, MailId id);
  void tell_delay(Instant now, const MailItem& item);
  static void move_times(MailItem& item, std::chrono::seconds step);
  static void move_times(SaveOutcome& outcome, std::chrono::seconds step);
  bool expire(Instant now, const MailItem& item);
  void save(SaveOutcome outcome);
  void tell_end(const AttemptEnd& end);
  void finish(Instant now, const MailItem& item, AttemptEnd end, bool tell_sender);
  std::vector<NewMail> read_received(Instant now, const Received& received,
                                     const Result<Bytes>& content, ReceivedKept& then);
  std::vector<NewMail> mails_of(Instant now, const Received& received, Mail mail, MailWay by,
                                ReceivedKept& then);
  void confirm(const ReceivedKept& then, CommitOutcome outcome);
  bool try_next_number(ReceivedKept& then, const MailKept& kept);
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
  UtcClock utc_;
  MailRouter router_;
  MailReporter reporter_;
  MailRelay relay_;
  TraceClocks trace_clocks_;
  std::chrono::seconds stepped_{};  // total change of the clock since the start
  std::chrono::seconds unnoted_{};  // the part of it that the spool has still to be told
  CounterSet<MailCounter> counters_;
  bool started_ = false;
  std::deque<Action> actions_;
  std::uint64_t last_ticket_ = 0;
  std::map<StoreTicket, Pending> pending_;
  std::deque<std::pair<Instant, Pending>> retries_;
  std::map<MailId, Active> active_;
  std::map<NodeId, StationRow> stations_;
  std::set<NodeId> unsaved_stations_;  // stations whose row could not be written
  /// For stations in `stations_`, or those that the operator says answer.
  std::map<NodeId, Instant> heard_at_;
  std::map<NodeId, Instant> heard_saved_at_;
  bool silent_ = false;
  std::set<NodeId> silent_stations_;
  std::uint32_t last_message_id_ = 0;
  std::size_t commits_ = 0;
  std::size_t receiving_ = 0;
  bool taking_[2] = {false, false};
  bool taking_late_[2] = {false, false};
  /// Stations for which messages gave way, until they are heard.
  std::set<NodeId> suspended_stations_;
  std::optional<Instant> poll_at_;
  Instant purge_at_{};
  Instant delay_at_{};
  std::size_t telling_ = 0;  // requests about delays that are under way
  bool told_all_ = true;     // true: no more delays are to be told when they are answered
};
static_assert(DrivenCore<MailCore>);

}  // namespace s5066::acp142
