// EMCON of the running mail gateway: who says so, what is kept of it over a restart, and who has to
// know.
#include <algorithm>
#include <boost/asio/post.hpp>
#include <chrono>

#include "gateways/acp142/mail/mail_service.h"

namespace s5066::acp142 {

namespace asio = boost::asio;
using std::chrono::seconds;

namespace {

constexpr NodeId kOurselves{0};           // in the spool
constexpr auto kWordOfNode = seconds(2);  // after a bind; at once, if any

}  // namespace

// Before any socket is open.
Result<void> MailService::load_silences() {
  auto said = operator_store_->silences();
  if (!said) return said.error();
  silences_ = std::move(said).value();
  const auto own = silences_.extract(kOurselves);
  if (silence_.on_operator(config_.start_in_emcon || (!own.empty() && own.mapped()))) {
    on_silence_changed();
  }
  for (const auto& station : config_.stations) {
    mail_.on_silence_of(station.node, is_silent(station.node));
    p_mul_.on_silence_of(now(), station.node, is_silent(station.node));
  }
  return {};
}

bool MailService::is_silent(NodeId node) const {
  if (const auto said = silences_.find(node); said != silences_.end()) return said->second;
  return std::any_of(config_.stations.begin(), config_.stations.end(),
                     [node](const auto& one) { return one.node == node && one.silent; });
}

void MailService::on_silence_changed() {
  const bool silent = silence_.silent();
  LogLine(log_, LogLevel::warning, silent ? "emcon_begins" : "emcon_ends")
      .kv("by", silence_.reason());
  carrier_.on_silence(silent);
  p_mul_.on_own_silence(now(), silent, silence_.listened());
  mail_.on_own_silence(now(), silent);
}

// A node that we have bound to anew says that it is silent; that it is not, it may leave unsaid.
void MailService::wait_for_word() {
  word_timer_.expires_after(kWordOfNode);
  word_timer_.async_wait([this](boost::system::error_code error) {
    if (error) return;
    if (silence_.on_no_word()) on_silence_changed();
    drain();
  });
}

// Silence begins before it is kept, and ends after. What the node has queued of ours it drops when
// its client leaves, but not what it has begun to prepare for transmission; the client binds again,
// to listen.
std::string MailService::emcon(const std::string& word) {
  if (word == "show") {
    return std::string(silence_.silent() ? "on" : "off") + " " + std::string(silence_.reason()) +
           "\n";
  }
  if (word != "on" && word != "off") return "error: emcon is on, off or show\n";
  const bool on = word == "on";
  Duration node_has{};
  const auto say = [&] {
    const bool said_before = silence_.by_operator();
    if (silence_.on_operator(on)) on_silence_changed();
    if (!on || said_before || !client_) return;
    const Instant at = now();
    node_has = carrier_.clear_at(at) - at;
    requests_.clear();
    to_carrier(gateways::SisLost{});
    silence_.on_lost();
    make_client();
    if (serving_) client_->start();
  };
  if (on) say();
  const auto kept = operator_store_->set_silence(kOurselves, on);
  if (!kept && on) return "error: on until a restart only: " + to_string(kept.error()) + "\n";
  if (!kept) return "error: " + to_string(kept.error()) + "\n";
  if (!on) say();
  asio::post(io_, [this] { drain(); });
  if (silence_.silent() && !on) return "ok, but the node is in EMCON or cannot send\n";
  if (node_has > Duration{}) {
    const auto most = std::chrono::ceil<seconds>(node_has).count();
    return "ok, but the node may still transmit for " + std::to_string(most) + " s\n";
  }
  return "ok\n";
}

std::string MailService::silence_station(NodeId node, const std::string& word) {
  const bool known = std::any_of(config_.stations.begin(), config_.stations.end(),
                                 [node](const auto& one) { return one.node == node; });
  if (!known) return "error: no such station\n";
  if (word != "silent" && word != "answering") return "error: a station is silent or answering\n";
  const bool silent = word == "silent";
  if (const auto kept = operator_store_->set_silence(node, silent); !kept) {
    return "error: " + to_string(kept.error()) + "\n";
  }
  LogLine(log_, LogLevel::info, "station_changed").kv("station", name_of(node)).kv("to", word);
  silences_[node] = silent;
  mail_.on_silence_of(node, silent);
  p_mul_.on_silence_of(now(), node, silent);
  if (!silent) mail_.on_answering(now(), node);
  asio::post(io_, [this] { drain(); });
  return "ok\n";
}

// A station has acknowledged something: it is in EMCON no longer (PM-038).
void MailService::set_silence_of(NodeId node, bool silent) {
  silences_[node] = silent;
  mail_.on_silence_of(node, silent);
  if (const auto kept = operator_store_->set_silence(node, silent); !kept) {
    LogLine(log_, LogLevel::warning, "station_not_kept").kv("reason", to_string(kept.error()));
  }
}

}  // namespace s5066::acp142
