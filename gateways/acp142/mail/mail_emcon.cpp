// SPDX-License-Identifier: Apache-2.0
#include "gateways/acp142/mail/mail_emcon.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <chrono>
#include <utility>

#include "gateways/acp142/mail/mail_setup.h"

namespace s5066::acp142 {

namespace asio = boost::asio;
using std::chrono::seconds;

namespace {

constexpr NodeId kOurselves{0};  // our own row in the spool

bool is_configured(const MailConfig& config, NodeId node) {
  return std::any_of(config.stations.begin(), config.stations.end(),
                     [node](const auto& one) { return one.node == node; });
}

}  // namespace

MailEmcon::MailEmcon(asio::io_context& io, Parts parts)
    : io_(io), parts_(std::move(parts)), word_timer_(io) {}

Result<void> MailEmcon::load(SqliteMailStore& store) {
  store_ = &store;
  auto said = store.silences();
  if (!said) return said.error();
  silences_ = std::move(said).value();
  const auto own = silences_.extract(kOurselves);
  if (own_.on_operator(parts_.config.start_in_emcon || (!own.empty() && own.mapped()))) {
    on_changed();
  }
  for (const auto& station : parts_.config.stations) {
    parts_.mail.on_silence_of(station.node, is_silent(station.node));
    parts_.p_mul.on_silence_of(parts_.now(), station.node, is_silent(station.node));
  }
  return {};
}

bool MailEmcon::is_silent(NodeId node) const {
  if (const auto said = silences_.find(node); said != silences_.end()) return said->second;
  const auto& stations = parts_.config.stations;
  return std::any_of(stations.begin(), stations.end(),
                     [node](const auto& one) { return one.node == node && one.silent; });
}

void MailEmcon::on_changed() {
  const bool silent = own_.silent();
  LogLine(parts_.log, LogLevel::warning, silent ? "emcon_begins" : "emcon_ends")
      .kv("by", own_.reason());
  parts_.carrier.on_silence(parts_.now(), silent);
  parts_.p_mul.on_own_silence(parts_.now(), silent, own_.listened());
  parts_.mail.on_own_silence(parts_.now(), silent);
}

void MailEmcon::on_bound() {
  if (own_.on_bound()) wait_for_word();
}

void MailEmcon::on_availability(sis::NodeStatus status) {
  if (own_.on_availability(status)) on_changed();
}

// After a new bind the node reports silence, but it may omit a report that it is ready.
void MailEmcon::wait_for_word() {
  word_timer_.expires_after(parts_.word_of_node);
  word_timer_.async_wait([this](boost::system::error_code error) {
    if (error) return;
    if (own_.on_no_word()) on_changed();
    parts_.drain();
  });
}

// When its client leaves, the node drops our data in its queues, but not data that it has begun to
// prepare for transmission. Returns for how long the node may still transmit.
Duration MailEmcon::begin_by_operator(bool on) {
  const bool said_before = own_.by_operator();
  if (own_.on_operator(on)) on_changed();
  if (!on || said_before) return {};
  const Instant at = parts_.now();
  const Duration node_has = parts_.carrier.clear_at(at) - at;
  return parts_.bind_again() ? node_has : Duration{};
}

// Silence begins before it is saved, and ends after that is saved.
Result<std::string> MailEmcon::set_own(bool on) {
  const Duration node_has = on ? begin_by_operator(true) : Duration{};
  const auto kept = store_->set_silence(kOurselves, on);
  if (!kept && on) {
    return Error{kept.error().code, "on until a restart only: " + kept.error().detail};
  }
  if (!kept) return kept.error();
  if (!on) begin_by_operator(false);
  asio::post(io_, parts_.drain);
  if (own_.silent() && !on) return std::string("the node is in EMCON or cannot send");
  if (node_has > Duration{}) {
    const auto most = std::chrono::ceil<seconds>(node_has).count();
    return "the node may still transmit for " + std::to_string(most) + " s";
  }
  return std::string();
}

Result<void> MailEmcon::set_station(NodeId node, const std::string& word) {
  if (!is_configured(parts_.config, node)) return Error{ErrorCode::not_found, "no such station"};
  if (word != "silent" && word != "answering") {
    return Error{ErrorCode::bad_field,
                 "'" + word + "' is no state of a station; use silent or answering"};
  }
  const bool silent = word == "silent";
  if (auto kept = store_->set_silence(node, silent); !kept) return kept;
  LogLine(parts_.log, LogLevel::info, "station_changed")
      .kv("station", station_name(parts_.config, node))
      .kv("to", word);
  silences_[node] = silent;
  parts_.mail.on_silence_of(node, silent);
  parts_.p_mul.on_silence_of(parts_.now(), node, silent);
  if (!silent) parts_.mail.on_answering(parts_.now(), node);
  asio::post(io_, parts_.drain);
  return {};
}

void MailEmcon::on_left_silence(NodeId node) {
  silences_[node] = false;
  parts_.mail.on_silence_of(node, false);
  if (const auto kept = store_->set_silence(node, false); !kept) {
    LogLine(parts_.log, LogLevel::warning, "station_not_kept")
        .kv("reason", to_string(kept.error()));
  }
}

}  // namespace s5066::acp142
