// SPDX-License-Identifier: Apache-2.0
#include "gateways/acp142/mail/attempt_end.h"

#include "gateways/acp142/mail/next_hops.h"
#include "s5066d/base/assert.h"

namespace s5066::acp142 {
namespace {

using Kind = MailNews::Kind;

void fail_all(const MailItem& item, SpoolState state, const std::string& reason, const char* status,
              const std::string& text, AttemptEnd& end) {
  for (const MailTarget& target : item.targets) {
    if (!is_open(target)) continue;
    end.outcome.changes.push_back({target.number, state, reason});
    end.told.push_back({target.recipient, ReportedRecipient::Action::failed, status, text});
  }
}

SpoolState state_after(Outcome outcome) {
  switch (outcome) {
    case Outcome::delivered:
    case Outcome::sent:
      return SpoolState::delivered;
    case Outcome::expired:
      return SpoolState::expired;
    case Outcome::failed:
      return SpoolState::deferred;
    default:
      return SpoolState::failed;
  }
}

Kind kind_of(SpoolState state) {
  switch (state) {
    case SpoolState::delivered:
      return Kind::delivered;
    case SpoolState::expired:
      return Kind::expired;
    case SpoolState::deferred:
      return Kind::deferred;
    default:
      return Kind::failed;
  }
}

SpoolState state_after(RecipientOutcome::Kind kind) {
  if (kind == RecipientOutcome::Kind::delivered) return SpoolState::delivered;
  return kind == RecipientOutcome::Kind::failed ? SpoolState::failed : SpoolState::deferred;
}

/// The server that reported the result for a recipient.
struct Reporter {
  NodeId station;
  std::string mta;       // its name in reports
  bool reports = false;  // the server itself reports success
};

void end_recipient(const MailItem& item, const MailTarget& target, const RecipientOutcome& one,
                   const Reporter& by, UtcSeconds again, AttemptEnd& end) {
  const SpoolState state = state_after(one.kind);
  const bool delivered = state == SpoolState::delivered;
  const bool failed = state == SpoolState::failed;
  end.outcome.changes.push_back({target.number, state, delivered ? std::string() : one.text});
  end.news.push_back(
      {kind_of(state), item.id, by.station, target.recipient.address, one.text, item.size});
  end.delivered += delivered ? 1 : 0;
  end.failed += failed ? 1 : 0;
  if (!delivered && !failed) {
    end.outcome.next_try = again;
  } else if (failed || !by.reports) {
    end.told.push_back(
        {target.recipient,
         failed ? ReportedRecipient::Action::failed : ReportedRecipient::Action::relayed,
         one.status, one.text, one.code, one.code != 0 ? by.mta : std::string()});
  }
}

}  // namespace

AttemptEnd end_expired(const MailItem& item, UtcSeconds now) {
  AttemptEnd end{.outcome = {.id = item.id, .now = now}};
  fail_all(item, SpoolState::expired, "its lifetime ended", "5.4.7",
           "its lifetime ended before it was delivered", end);
  end.expired = 1;
  end.news.push_back({Kind::expired, item.id, {}, item.from.address, {}, 0});
  return end;
}

AttemptEnd end_refused(const MailItem& item, const Error& why, UtcSeconds now, UtcSeconds again) {
  AttemptEnd end{.outcome = {.id = item.id, .counts_as_attempt = true, .now = now}};
  if (why.code == ErrorCode::too_large) {
    fail_all(item, SpoolState::failed, why.detail, "5.3.4", why.detail, end);
    end.failed = 1;
    end.news.push_back({Kind::failed, item.id, {}, item.from.address, why.detail, 0});
  } else {
    end.outcome.next_try = again;
    end.news.push_back({Kind::deferred, item.id, {}, item.from.address, to_string(why), 0});
  }
  return end;
}

AttemptEnd end_station(MailItem& item, const DestinationEnded& ended, UtcSeconds now) {
  AttemptEnd end{.outcome = {.id = item.id, .now = now}};
  const SpoolState state = state_after(ended.outcome);
  for (MailTarget& target : item.targets) {
    if (target.station != ended.node || !is_open(target)) continue;
    target.state = state;
    target.reason = ended.reason;
    end.outcome.changes.push_back({target.number, state, ended.reason});
    if (state == SpoolState::expired || state == SpoolState::failed) {
      end.told.push_back(
          {target.recipient, ReportedRecipient::Action::failed, "5.4.7",
           ended.reason.empty() ? "the station did not answer in time" : ended.reason, 0,
           "X-ACP142; " + dotted(ended.node)});
    }
  }
  end.news.push_back(
      {kind_of(state), item.id, ended.node, item.from.address, ended.reason, item.size});
  end.delivered = state == SpoolState::delivered ? 1 : 0;
  end.expired = state == SpoolState::expired ? 1 : 0;
  return end;
}

AttemptEnd end_handed_over(const MailItem& item, const SmtpClientCore::Done& done,
                           const std::string& mail_server, UtcSeconds now, UtcSeconds again) {
  AttemptEnd end{
      .outcome = {.id = item.id, .next_try = now, .counts_as_attempt = true, .now = now}};
  std::size_t i = 0;
  for (const MailTarget& target : item.targets) {
    if (!is_open(target)) continue;
    S5066_ASSERT(i < done.outcomes.size());
    const Reporter reporter{.station = {}, .mta = "dns; " + mail_server, .reports = done.reports};
    end_recipient(item, target, done.outcomes[i++], reporter, again, end);
  }
  return end;
}

AttemptEnd end_by_peer(const MailItem& item, const PeerEnded& ended, UtcSeconds now,
                       UtcSeconds again) {
  AttemptEnd end{
      .outcome = {.id = item.id, .next_try = now, .counts_as_attempt = true, .now = now}};
  std::size_t i = 0;
  for (const MailTarget& target : item.targets) {
    if (!is_open(target) || target.station != ended.station) continue;
    S5066_ASSERT(i < ended.done.outcomes.size());
    const Reporter reporter{.station = ended.station,
                            .mta = "X-STANAG5066; " + dotted(ended.station),
                            .reports = ended.done.reports};
    end_recipient(item, target, ended.done.outcomes[i++], reporter, again, end);
  }
  return end;
}

}  // namespace s5066::acp142
