// SPDX-License-Identifier: Apache-2.0
// Runs a mail gateway's core with a real spool.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "gateways/acp142/mail/mail_core.h"
#include "gateways/acp142/store/sqlite_mail_store.h"
#include "tests/unit/acp142/now.h"
#include "tests/unit/gateways/temporary_folder.h"

namespace s5066::acp142 {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

inline constexpr NodeId kShip{2};
inline constexpr NodeId kBoat{3};

inline constexpr const char* kRoutine = "<op@shore.example> MT-PRIORITY=-2";
inline constexpr const char* kFlash = "<op@shore.example> MT-PRIORITY=4";

inline AddressTable table() {
  AddressTable table;
  EXPECT_TRUE(table.add({"shore.example", {.own = true, .stations = {}}}));
  EXPECT_TRUE(table.add({"ship.example", {.own = false, .stations = {kShip}}}));
  EXPECT_TRUE(table.add({"all@fleet.example", {.own = false, .stations = {kShip, kBoat}}}));
  return table;
}

inline Bytes octets(std::string_view text) {
  return {text.begin(), text.end()};
}

inline std::string text_of(ByteSpan content) {
  return {content.begin(), content.end()};
}

inline constexpr const char* kTenThousandOld =
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10000) "
    "INSERT INTO mail (road, state, priority, reverse_path, label, size, sha256, created_utc, "
    "expiry_utc, next_try_utc, delay_utc, lifetime_s, delay_s, finished_utc) "
    "SELECT 'air', 'failed', 6, '<a@b>', '', 0, x'00', 1, 1, 1, 0, 1, 0, 1 FROM n";

/// Runs the core of a station with a real spool. The test plays P_MUL and the mail server.
class MailCoreTest : public testing::Test {
 protected:
  MailCoreTest() {
    store_config.path = (folder.path() / "spool.db").string();
    config.hostname = "gw.shore.example";
    config.spool_poll = config.delay_poll = minutes(10);  // each look is a commit
    config.groups = {{kShip, kBoat}};
    start();
  }
  void start() {
    store.reset();
    store.emplace(std::move(SqliteMailStore::open(store_config)).value());
    core.emplace(config, addresses);
    core->on_clock(now, kUtc);
    core->on_start(now);
    drain();
  }
  void drain() {
    while (auto action = core->poll_action()) {
      std::visit([this](auto& value) { take(value); }, *action);
    }
  }
  void take(MailNews& one) {
    told.push_back(one.kind);
    news.push_back(std::move(one));
  }
  void take(MailRequest& request) {
    std::vector<MailRequest> one(1);
    one[0].ticket = request.ticket;
    one[0].operation = std::move(request.operation);
    const auto* search = std::get_if<TakeDue>(&one[0].operation);
    air_searches += search != nullptr && search->transport == Transport::air ? 1 : 0;
    const bool submission = std::holds_alternative<SaveSubmission>(one[0].operation);
    ++requests[one[0].operation.index()];
    const bool telling = std::holds_alternative<SaveDelayed>(one[0].operation);
    if (submission && submissions_taken-- <= 0) {
      core->on_store_result(now, {request.ticket, Error{ErrorCode::refused, "parked"}});
    } else if (store_fails || (submission && submissions_fail) || (telling && telling_fails)) {
      core->on_store_result(now, {request.ticket, Error{ErrorCode::io, "disk"}});
    } else {
      core->on_store_result(now, store->execute(one)[0]);
    }
  }
  void take(MailCore::Submit& submit) {
    submissions.push_back(submit.submission);
    core->on_accepted(now, submit.submission.key, {1000});
  }
  void take(MailCore::Cancel& cancel) { cancelled.push_back(cancel.key); }
  void take(MailCore::Suspend& suspend) { suspended.push_back(suspend.key); }
  void take(MailCore::ConfirmReceived& confirm) { confirmed.push_back(confirm.committed); }
  void take(MailCore::Known& one) { known.push_back(one.name); }
  void take(MailCore::AnswerSession& answer) {
    answers.push_back(answer.outcome);
    sessions.push_back(answer);
  }
  void take(MailCore::Deliver& deliver) { deliveries.push_back(deliver); }
  void take(HandOver& one) { handed_over.push_back(one); }
  void take(MailCore::Withdraw& one) { withdrawn.push_back(one.id); }
  void take(MailCore::ConfirmPeer& one) { peers_confirmed.push_back(one.outcome); }

  void send(std::vector<std::string> to, const std::string& from = "<op@shore.example>",
            std::vector<std::string> marks = {},
            const std::string& content = "Message-ID: <1@x>\r\n\r\nhello\r\n") {
    SmtpServerCore::Commit commit;
    commit.client = "mx";
    commit.mail.envelope.from = *parse_path(from, PathUse::reverse);
    for (const auto& line : to) {
      commit.mail.envelope.recipients.push_back(*parse_path(line, PathUse::forward));
    }
    commit.mail.content = octets(content);
    core->on_mail(now, {1}, std::move(commit), marks);
    drain();
  }
  void receive(const std::string& payload, std::uint32_t number = 7) {
    core->on_received(now, {{kShip, number}, 6, {kUtc.value + 1000}, encode_cdt(octets(payload))});
    drain();
  }
  void end(NodeId node, Outcome outcome, std::size_t submission = 0) {
    const bool unanswered = outcome == Outcome::expired;
    core->on_destination_ended(now,
                               {submissions.at(submission).key, node, outcome, "why", unanswered});
    drain();
  }
  /// Sets limits for a station that a few messages of a test reach.
  void limit_active(std::uint32_t all, std::uint32_t of_a_station) {
    config.air.items_max = all;
    config.air.station_items_max = of_a_station;
    config.air.items_reserve = config.air.station_items_reserve = 0;
  }
  /// Applies the verb as the service does it, to the youngest message or to another one.
  Result<void> operate(SpoolChange verb, std::optional<MailId> which = {}) {
    const MailId id = which ? *which : (*store->list(1)).at(0).id;
    const auto in_hand = core->in_hand(id);
    EXPECT_NE(in_hand, MailCore::InHand::ending);
    const UtcSeconds utc{kUtc.value + now.time_since_epoch() / seconds(1)};
    auto done = store->change(verb, id, utc, in_hand == MailCore::InHand::under_way);
    if (!done) return done;
    core->on_operator(now, id, verb);
    core->on_spool_changed(now);
    drain();
    return done;
  }
  SpoolState newest() { return (*store->list(1)).at(0).state; }
  void finish_delivery(RecipientOutcome::Kind kind, bool reports = true) {
    SmtpClientCore::Done done;
    done.reports = reports;
    done.outcomes.resize(deliveries.back().mail->envelope.recipients.size(), {kind, "5.1.1", "no"});
    core->on_delivered(now, deliveries.back().id, done);
    drain();
  }
  void wait(Duration time) {
    for (const Instant until = now + time; now < until;) {
      now = std::max(now, std::min(until, core->next_deadline().value_or(until)));
      core->on_deadline(now);
      drain();
    }
  }
  Mail payload(std::size_t i = 0) {
    return *decode_mule(*decode_cdt(submissions.at(i).content, {}), {});
  }
  template <typename Operation>
  int asked() {
    return requests[MailOperation(Operation{}).index()];
  }
  std::size_t count(MailNews::Kind kind) const {
    return static_cast<std::size_t>(std::count(told.begin(), told.end(), kind));
  }
  bool was_told(MailNews::Kind kind) const { return count(kind) > 0; }

  test::TemporaryFolder folder;
  SqliteMailStore::Config store_config;
  MailCore::Config config;
  AddressTable addresses = table();
  std::optional<SqliteMailStore> store;
  std::optional<MailCore> core;
  Instant now{};
  int air_searches = 0;
  std::map<std::size_t, int> requests;  // by their place in MailOperation
  bool store_fails = false;
  bool submissions_fail = false;
  int submissions_taken = 1'000'000;  // after these a message is parked
  bool telling_fails = false;
  std::vector<MailNews::Kind> told;
  std::vector<MailNews> news;
  std::vector<MailCore::AnswerSession> sessions;
  std::vector<Submission> submissions;
  std::vector<MessageKey> cancelled;
  std::vector<MessageKey> suspended;
  std::vector<bool> confirmed;
  std::vector<MessageName> known;
  std::vector<CommitOutcome> answers;
  std::vector<MailCore::Deliver> deliveries;
  std::vector<HandOver> handed_over;
  std::vector<MailId> withdrawn;
  std::vector<CommitOutcome> peers_confirmed;
};

}  // namespace s5066::acp142
