// SPDX-License-Identifier: Apache-2.0
#include "gateways/acp142/mail/mail_peers.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "gateways/acp142/mail/mail_setup.h"
#include "gateways/acp142/peers/cftp_pdu.h"

namespace s5066::acp142 {

namespace {

constexpr std::size_t kQueueMax = 256;  // limit for U_PDUs that a core has at the node

}  // namespace

MailPeers::MailPeers(boost::asio::io_context& io, Parts parts, Rng& rng)
    : io_(io),
      parts_(std::move(parts)),
      rng_(rng),
      quarantine_({.directory = parts_.config.spool_directory + "/quarantine"}) {
  const MailConfig& config = parts_.config;
  if (takes_mail_by(MailWay::cftp, config)) {
    cftp_.emplace(MailWay::cftp, kCftpSap, cftp_config(config), rng_);
  }
  if (takes_mail_by(MailWay::hmtp, config)) {
    if (auto table = table_for_peers(config)) table_ = *std::move(table);
    hmtp_.emplace(MailWay::hmtp, kHmtpSap, hmtp_config(config), table_);
  }
  each([this](auto& bearer) { make_client(bearer); });
}

template <typename Call>
void MailPeers::each(const Call& call) {
  if (cftp_) call(*cftp_);
  if (hmtp_) call(*hmtp_);
}

template <typename Core>
void MailPeers::make_client(Bearer<Core>& bearer) {
  sis::Client::Config client;
  client.host = parts_.config.sis_host;
  client.port = parts_.config.sis_port;
  client.core.sap = bearer.sap;
  client.core.queue_max = kQueueMax;
  client.core.rank = parts_.config.rank;
  client.core.service = {.mode = sis::TransmissionMode::arq,
                         .confirmation = sis::Confirmation::node};
  bearer.client = std::make_unique<sis::Client>(
      io_, client, rng_(), [this, &bearer](const sis::Event& event) { on_sis(bearer, event); });
}

template <typename Core>
void MailPeers::start(Bearer<Core>& bearer) {
  bearer.started = true;
  bearer.client->start();
}

template <typename Core>
void MailPeers::bind_again(Bearer<Core>& bearer) {
  if (!bearer.started) return;
  bearer.requests.clear();
  bearer.core.on_sis(parts_.now(), gateways::SisLost{});
  earlier_clients_.add(bearer.client->counters());
  make_client(bearer);
  bearer.client->start();
}

void MailPeers::start() {
  each([this](auto& bearer) { start(bearer); });
}

void MailPeers::bind_again() {
  each([this](auto& bearer) { bind_again(bearer); });
}

void MailPeers::stop() {
  each([](auto& bearer) { bearer.client->stop(); });
}

void MailPeers::set_quiet(bool quiet) {
  each([quiet](auto& bearer) { bearer.core.set_quiet(quiet); });
}

template <typename Core>
void MailPeers::on_sis(Bearer<Core>& bearer, const sis::Event& event) {
  const auto ours = bearer.requests.event_of(event);
  if (!ours) return;
  const bool bound = std::holds_alternative<gateways::SisBound>(*ours);
  const bool lost = std::holds_alternative<gateways::SisLost>(*ours);
  if (bound || lost) {
    LogLine(parts_.log, lost ? LogLevel::warning : LogLevel::info, "sis")
        .kv("way", std::string_view(to_string(bearer.way)))
        .kv("event", sis::to_string(event));
  }
  bearer.core.on_sis(parts_.now(), *ours);
  parts_.drain();
}

// --- From the mail side --------------------------------------------------------------------------

void MailPeers::carry_out(const HandOver& hand_over) {
  bool taken = false;
  each([&](auto& bearer) {
    if (bearer.way != hand_over.way) return;
    bearer.core.request_send(parts_.now(), hand_over);
    taken = true;
  });
  if (taken) return;
  parts_.mail.on_peer_ended(
      parts_.now(), {.id = hand_over.id,
                     .station = hand_over.station,
                     .done = done_with(*hand_over.mail, RecipientOutcome::Kind::deferred, "4.3.5",
                                       "the gateway has no client for this station")});
}

void MailPeers::carry_out(MailId withdrawn) {
  each([&](auto& bearer) { bearer.core.request_withdraw(parts_.now(), withdrawn); });
}

void MailPeers::carry_out(const MailCore::ConfirmPeer& confirm) {
  each([&](auto& bearer) {
    if (bearer.way != confirm.ticket.way) return;
    bearer.core.on_committed(parts_.now(), confirm.ticket, confirm.outcome);
  });
}

// --- From the cores ------------------------------------------------------------------------------

bool MailPeers::drain() {
  bool some = false;
  each([&](auto& bearer) { some |= drain(bearer); });
  return some;
}

template <typename Core>
bool MailPeers::drain(Bearer<Core>& bearer) {
  bool some = false;
  const Instant now = parts_.now();
  while (auto unidata = bearer.core.poll_unidata(now)) {
    const gateways::SisRequestId id = unidata->id;
    const auto accepted = bearer.requests.request(*bearer.client, *std::move(unidata));
    if (accepted) continue;
    LogLine(parts_.log, LogLevel::warning, "request_refused")
        .kv("way", std::string_view(to_string(bearer.way)))
        .kv("reason", to_string(accepted.error()));
    bearer.core.on_sis(now, gateways::SisUnresolved{id});
  }
  while (auto event = bearer.core.poll_event()) {
    some = true;
    if (auto* ended = std::get_if<PeerEnded>(&*event)) {
      parts_.mail.on_peer_ended(now, *ended);
    } else if (auto* received = std::get_if<PeerReceived>(&*event)) {
      parts_.mail.on_heard(now, received->station);
      parts_.mail.on_peer_mail(now, std::move(*received));
    } else if (const auto* unreadable = std::get_if<PeerUnreadable>(&*event)) {
      bearer.core.on_committed(now, unreadable->ticket, keep(*unreadable));
    } else {
      tell(std::get<PeerNews>(*event));
    }
  }
  return some;
}

CommitOutcome MailPeers::keep(const PeerUnreadable& file) {
  const auto kept = quarantine_.keep(file.address, file.octets);
  const std::string outcome = !kept ? to_string(kept.error())
                              : kept->full.empty()
                                  ? "kept as " + kept->name
                                  : "dropped, would be " + kept->name + ": " + kept->full;
  tell({.kind = PeerNews::Kind::peer_unreadable,
        .way = MailWay::cftp,
        .address = file.address,
        .detail = file.why + "; " + outcome,
        .octets = file.octets.size()});
  return kept ? CommitOutcome::committed : CommitOutcome::failed;
}

void MailPeers::tell(const PeerNews& news) {
  LogLine line(parts_.log, LogLevel::warning, to_string(news.kind));
  line.kv("way", std::string_view(to_string(news.way))).kv("address", to_string(news.address));
  if (news.octets != 0) line.kv("octets", news.octets);
  if (!news.detail.empty()) line.kv("detail", std::string_view(news.detail));
}

void MailPeers::on_deadline() {
  each([this](auto& bearer) { bearer.core.on_deadline(parts_.now()); });
}

std::optional<Instant> MailPeers::next_deadline() const {
  const auto of = [](const auto& bearer) {
    return bearer ? bearer->core.next_deadline() : std::nullopt;
  };
  const auto cftp = of(cftp_);
  const auto hmtp = of(hmtp_);
  return cftp && hmtp ? std::min(*cftp, *hmtp) : cftp ? cftp : hmtp;
}

void MailPeers::list(CounterRows& rows) const {
  (cftp_ ? cftp_->core.counters() : CounterSet<CftpCounter>()).list(rows);
  (cftp_ ? cftp_->core.reassembler().counters() : CounterSet<gateways::RcopCounter>()).list(rows);
  (hmtp_ ? hmtp_->core.counters() : CounterSet<HmtpCounter>()).list(rows);
}

void MailPeers::add_clients(CounterSet<sis::ClientCounter>& to) const {
  to.add(earlier_clients_);
  if (cftp_) to.add(cftp_->client->counters());
  if (hmtp_) to.add(hmtp_->client->counters());
}

void MailPeers::add_smtp(CounterSet<SmtpCounter>& to) const {
  if (hmtp_) to.add(hmtp_->core.smtp_counters());
}

}  // namespace s5066::acp142
