// SPDX-License-Identifier: Apache-2.0
#include "gateways/ip_client/dns_core.h"

#include <algorithm>
#include <utility>

#include "s5066d/base/take_front.h"

namespace s5066::ip_client {

// --- Clients -------------------------------------------------------------------------------------

void DnsCore::refuse(DnsClientId client, std::optional<Bytes> reply) {
  counters_.add(DnsCounter::questions_refused);
  actions_.emplace_back(Reply{client, std::move(reply).value_or(Bytes())});
}

void DnsCore::on_message(Instant now, DnsClientId client, ByteSpan message, bool by_udp) {
  now_ = now;
  counters_.add(DnsCounter::questions);
  auto question = parse_dns_question(message);
  if (!question) {
    const bool unsupported = question.error().code == ErrorCode::unsupported;
    return refuse(client, dns_refusal(message, unsupported ? DnsOutcome::not_implemented
                                                           : DnsOutcome::malformed));
  }
  Waiting waiting{client, std::move(question).value(), kDnsTcpOctetsMax};
  if (by_udp) waiting.octets_max = waiting.question.udp_octets;
  Bytes key = encode_dns_question(waiting.question, 0);
  if (const auto cached = cache_.find(key); cached != cache_.end()) {
    if (now < cached->second.until) {
      counters_.add(DnsCounter::from_cache);
      return reply_from(now, cached->second, waiting);
    }
    forget(cached);
  }
  if (const auto open = by_key_.find(key); open != by_key_.end()) {
    auto& others = queries_.at(open->second).waiting;
    others.push_back(std::move(waiting));
    if (others.size() <= config_.waiting_max) return;
    actions_.emplace_back(Reply{others.front().client, {}});
    others.pop_front();
    return;
  }
  if (queries_.size() >= config_.open_max) {
    counters_.add(DnsCounter::refused_limit);
    actions_.emplace_back(Reply{client, dns_failure(waiting.question, DnsOutcome::server_failure)});
    return;
  }
  const DnsQueryId id{++last_query_};
  Bytes asked = encode_dns_question(waiting.question, static_cast<std::uint16_t>(rng_.next()));
  actions_.emplace_back(Ask{id, asked});
  by_key_[key] = id;
  Query& query = queries_[id];
  query = {std::move(key), std::move(asked), now + config_.timeout, {}};
  query.waiting.push_back(std::move(waiting));
  counters_.add(DnsCounter::asked);
}

void DnsCore::reply_from(Instant now, const Cached& cached, const Waiting& waiting) {
  Bytes message = cached.message.empty()
                      ? dns_failure(waiting.question, DnsOutcome::server_failure)
                      : dns_answer_for(waiting.question, cached.message, cached.answer,
                                       now - cached.at, waiting.octets_max);
  actions_.emplace_back(Reply{waiting.client, std::move(message)});
}

// --- The far end ---------------------------------------------------------------------------------

void DnsCore::on_answer(Instant now, DnsQueryId id, ByteSpan message) {
  now_ = now;
  const auto found = queries_.find(id);
  if (found == queries_.end()) return;
  auto answer = parse_dns_answer(message, found->second.asked);
  if (!answer) {
    counters_.add(DnsCounter::answers_refused);
    return end_and_keep(now, id, {});
  }
  counters_.add(DnsCounter::answered);
  const bool lasting =
      answer->outcome == DnsOutcome::no_error || answer->outcome == DnsOutcome::no_such_name;
  const Duration ttl = lasting ? answer->ttl.value_or(Duration::zero()) : Duration::zero();
  Cached outcome{.message = Bytes(message.begin(), message.end()),
                 .answer = std::move(answer).value()};
  outcome.until = now + std::clamp(ttl, config_.ttl_min, config_.ttl_max);
  end_and_keep(now, id, std::move(outcome));
}

void DnsCore::on_failed(Instant now, DnsQueryId id) {
  now_ = now;
  if (!queries_.contains(id)) return;
  counters_.add(DnsCounter::failed);
  end_and_keep(now, id, {});
}

void DnsCore::on_not_asked(Instant now, DnsQueryId id) {
  now_ = now;
  if (!queries_.contains(id)) return;
  counters_.add(DnsCounter::failed);
  end(now, id, {.at = now});
}

/// Ends the question and answers all clients that wait for it.
DnsCore::Query DnsCore::end(Instant now, DnsQueryId id, const Cached& outcome) {
  Query query = std::move(queries_.extract(id).mapped());
  by_key_.erase(query.key);
  actions_.emplace_back(Release{id});
  for (const Waiting& waiting : query.waiting) reply_from(now, outcome, waiting);
  return query;
}

void DnsCore::end_and_keep(Instant now, DnsQueryId id, Cached outcome) {
  outcome.at = now;
  // A failure is cached, too (RFC 2308 section 7), so that a client that repeats its question does
  // not fill the line.
  outcome.until = std::max(outcome.until, now + config_.ttl_min);
  const Query query = end(now, id, outcome);
  keep(now, query.key, std::move(outcome));
}

// --- The cache -----------------------------------------------------------------------------------

void DnsCore::forget(std::map<Bytes, Cached>::iterator entry) {
  cached_octets_ -= entry->first.size() + entry->second.message.size();
  cache_.erase(entry);
  counters_.set(DnsCounter::cached, cache_.size());
}

void DnsCore::keep(Instant now, const Bytes& key, Cached cached) {
  const std::size_t octets = key.size() + cached.message.size();
  const auto full = [&] {
    return cache_.size() >= config_.cached_max ||
           cached_octets_ + octets > config_.cached_octets_max;
  };
  if (full()) {
    for (auto at = cache_.begin(); at != cache_.end();) {
      const auto entry = at++;
      if (entry->second.until <= now) forget(entry);
    }
  }
  while (full() && !cache_.empty()) {
    forget(std::min_element(cache_.begin(), cache_.end(), [](const auto& a, const auto& b) {
      return a.second.until < b.second.until;
    }));
  }
  cached_octets_ += octets;
  cache_[key] = std::move(cached);
  counters_.set(DnsCounter::cached, cache_.size());
}

// --- Time and actions ----------------------------------------------------------------------------

void DnsCore::on_deadline(Instant now) {
  now_ = now;
  while (!queries_.empty() && queries_.begin()->second.until <= now) {
    on_failed(now, queries_.begin()->first);
  }
}

std::optional<DnsCore::Action> DnsCore::poll_action() {
  return take_front(actions_);
}

std::optional<Instant> DnsCore::next_deadline() const {
  if (!actions_.empty()) return now_;
  if (queries_.empty()) return std::nullopt;
  return queries_.begin()->second.until;
}

}  // namespace s5066::ip_client
