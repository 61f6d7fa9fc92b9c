// SPDX-License-Identifier: Apache-2.0
#include "gateways/chat/chat_core.h"

#include <algorithm>
#include <utility>

#include "gateways/chat/chat_text.h"
#include "s5066d/base/log.h"
#include "sis/text.h"

namespace s5066::chat {
namespace {

constexpr std::string_view kHelp =
    "/to ADDRESS  send to this station or group\n"
    "/history     show the last messages again\n"
    "/status      show destination, open messages and counts\n"
    "/quit        leave\n"
    "//TEXT       send a line that begins with /";

/// Returns the delivery mode of the default service (F.7.3).
sis::DeliveryMode delivery_to(Address destination, std::uint8_t repeats) {
  if (!destination.group) {
    return {.mode = sis::TransmissionMode::arq, .confirmation = sis::Confirmation::node};
  }
  return {.mode = sis::TransmissionMode::nonarq, .retransmissions = repeats};
}

std::string reason_of(const sis::SendOutcome& outcome) {
  using End = sis::SendOutcome::End;
  if (outcome.end == End::refused) return outcome.error ? to_string(*outcome.error) : "refused";
  if (outcome.end == End::unresolved) return "the node no longer tells";
  std::string text(sis::to_string(outcome.reason.value_or(sis::RejectReason{})));
  if (outcome.reach == sis::event::Reach::unknown) text += "; it may have arrived";
  return text;
}

}  // namespace

void ChatCore::on_bound(Instant now, std::size_t mtu) {
  actions_.on_input(now);
  if (mtu <= kEndOctets) {
    mtu_.reset();
    return notice("the node takes no message: its largest U_PDU has " + std::to_string(mtu) +
                  " octets");
  }
  mtu_ = mtu;
  notice("connected; a message has up to " + std::to_string(mtu - kEndOctets) + " characters");
}

void ChatCore::on_unbound(Instant now, std::string why) {
  actions_.on_input(now);
  mtu_.reset();
  notice("not connected: " + std::move(why));
}

void ChatCore::on_received(Instant now, const sis::UnidataIndication& indication) {
  actions_.on_input(now);
  counters_.add(ChatCounter::messages_received);
  remember({.kind = LineKind::received,
            .from = indication.source,
            .to = indication.destination,
            .text = shown(indication.updu)});
}

void ChatCore::on_outcome(Instant now, std::uint64_t number, const sis::SendOutcome& outcome) {
  actions_.on_input(now);
  const auto message = open_.find(number);
  if (message == open_.end()) return;
  using End = sis::SendOutcome::End;
  Line line{.number = number, .to = message->second};
  open_.erase(message);
  switch (outcome.end) {
    case End::confirmed:
      line.kind = LineKind::delivered;
      counters_.add(ChatCounter::messages_delivered);
      break;
    case End::sent:
      line.kind = LineKind::on_air;
      counters_.add(ChatCounter::messages_unconfirmed);
      break;
    case End::unresolved:
      line.kind = LineKind::unknown;
      counters_.add(ChatCounter::messages_unknown);
      break;
    case End::rejected:
    case End::refused:
      line.kind = LineKind::failed;
      counters_.add(ChatCounter::messages_failed);
      break;
  }
  if (!outcome.ok()) line.reason = reason_of(outcome);
  remember(std::move(line));
}

void ChatCore::on_line(Instant now, std::string_view line, bool cut) {
  actions_.on_input(now);
  if (line.ends_with('\r')) line.remove_suffix(1);
  if (cut || line.size() > config_.line_octets_max) {
    return refuse(line, "a line has at most " + std::to_string(config_.line_octets_max) +
                            " octets; send it in parts");
  }
  if (!config_.commands || !line.starts_with('/')) return send(line);
  if (line.starts_with("//")) return send(line.substr(1));
  command(line);
}

bool ChatCore::can_take() const {
  if (!mtu_ || !to_ || open_.empty()) return true;
  return messages_max(config_.line_octets_max, *mtu_) <= room_for(*to_);
}

bool ChatCore::any_failed() const {
  return counters_[ChatCounter::messages_failed] + counters_[ChatCounter::messages_unknown] +
             counters_[ChatCounter::lines_refused] >
         0;
}

void ChatCore::show(Line line) {
  line.at = actions_.now();
  actions_.push(Show{std::move(line)});
}

void ChatCore::remember(Line line) {
  line.at = actions_.now();
  history_.push_back(line);
  if (history_.size() > config_.history_max) history_.pop_front();
  show(std::move(line));
}

void ChatCore::notice(std::string text) {
  show({.kind = LineKind::notice, .text = std::move(text)});
}

void ChatCore::refuse(std::string_view text, std::string reason) {
  constexpr std::size_t kQuotedMax = 40;
  std::string quoted = escaped(text.substr(0, kQuotedMax));
  if (text.size() > kQuotedMax) quoted += "...";
  counters_.add(ChatCounter::lines_refused);
  show({.kind = LineKind::refused, .text = std::move(quoted), .reason = std::move(reason)});
}

void ChatCore::command(std::string_view line) {
  const std::size_t blank = std::min(line.find(' '), line.size());
  const std::string_view name = line.substr(1, blank - 1);
  std::string_view rest = line.substr(blank);
  while (rest.starts_with(' ')) rest.remove_prefix(1);
  while (rest.ends_with(' ')) rest.remove_suffix(1);
  if (name == "to") return change_destination(rest);
  if (name == "quit") return actions_.push(Quit{});
  if (name == "status") return notice(status());
  if (name == "help") return notice(std::string(kHelp));
  if (name != "history") return refuse(line, "there is no such command; /help lists them");
  for (const Line& before : history_) actions_.push(Show{before});
}

void ChatCore::change_destination(std::string_view text) {
  const auto address = parse_address(text);
  if (!address) return refuse("/to " + std::string(text), to_string(address.error()));
  to_ = *address;
  notice("messages go to " + to_string(*to_) +
         (to_->group ? ", a group; no station confirms them" : ""));
}

void ChatCore::send(std::string_view text) {
  if (text.find_first_not_of(" \t") == std::string_view::npos) return;
  if (!to_) return refuse(text, "no destination is set; /to ADDRESS sets it");
  if (!mtu_) return refuse(text, "the node is not connected");
  const auto ita5 = to_ita5(text);
  if (!ita5) return refuse(text, ita5.error().detail);
  auto messages = messages_of(*ita5, *mtu_);
  const std::size_t room = room_for(*to_);
  if (messages.size() > room) {
    return refuse(text, "it needs " + std::to_string(messages.size()) + " messages, and only " +
                            std::to_string(room) + " more may be on their way");
  }
  for (Bytes& message : messages) {
    const std::uint64_t number = ++last_number_;
    open_.emplace(number, *to_);
    counters_.add(ChatCounter::messages_sent);
    if (to_->group) unconfirmed_octets_ += message.size();
    remember({.kind = LineKind::sent, .number = number, .to = *to_, .text = text_of(message)});
    actions_.push(Submit{.number = number,
                         .request = {.priority = config_.priority,
                                     .destination_sap = kChatSap,
                                     .destination = *to_,
                                     .delivery = delivery_to(*to_, config_.repeats),
                                     .time_to_live = (config_.ttl_s + 1) / 2,  // in units of 2 s
                                     .updu = std::move(message)}});
  }
}

std::string ChatCore::status() const {
  std::string text = to_ ? "messages go to " + to_string(*to_) : "no destination is set";
  text += mtu_ ? "; connected" : "; not connected";
  text += "; " + std::to_string(open_.size()) + " on their way";
  CounterRows rows;
  counters_.list(rows);
  for (const CounterRow& row : rows) {
    text += '\n' + std::to_string(row.value) + ' ' + std::string(row.help);
  }
  return text;
}

std::size_t ChatCore::room_for(Address destination) const {
  const auto to_it = static_cast<std::size_t>(
      std::count_if(open_.begin(), open_.end(),
                    [destination](const auto& message) { return message.second == destination; }));
  const std::size_t all = config_.open_max - std::min(open_.size(), config_.open_max);
  // A silent station must leave room for messages to the others.
  const std::size_t own = config_.open_max / 2 - std::min(to_it, config_.open_max / 2);
  return std::min(all, own);
}

}  // namespace s5066::chat
