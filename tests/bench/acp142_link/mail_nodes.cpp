// SPDX-License-Identifier: Apache-2.0
#include "tests/bench/acp142_link/mail_nodes.h"

#include <utility>

#include "s5066d/base/assert.h"

namespace s5066::bench {

using acp142::MailCore;
using sim::PMulNodes;

namespace {

constexpr const char* kDomains[] = {"shore.example", "ship.example"};

acp142::Path path_of(const std::string& text, acp142::PathUse use) {
  auto path = acp142::parse_path(text, use);
  S5066_ASSERT(path.ok());
  return std::move(path).value();
}

}  // namespace

MailNodes::MailNodes(sim::Seed seed, const PMulNodes::Options& options) : nodes_(seed, options) {
  for (std::size_t i = 0; i < gateways_.size(); ++i) {
    Gateway& gateway = gateways_[i];
    const bool added =
        gateway.table.add({kDomains[i], {.own = true, .stations = {}}}).ok() &&
        gateway.table.add({kDomains[1 - i], {.own = false, .stations = {PMulNodes::id(1 - i)}}})
            .ok();
    S5066_ASSERT(added);
    MailCore::Config config;
    config.node = PMulNodes::id(i);
    config.hostname = std::string("gateway.") + kDomains[i];
    config.spool_poll = std::chrono::hours(1);  // each poll is a commit
    gateway.core = std::make_unique<MailCore>(config, gateway.table);
    acp142::SqliteMailStore::Config store;
    store.path = (folder_.path() / ("spool" + std::to_string(i) + ".db")).string();
    auto opened = acp142::SqliteMailStore::open(store);
    S5066_ASSERT(opened.ok());
    gateway.store.emplace(std::move(opened).value());
    gateway.core->on_clock(now(), nodes_.utc());
    gateway.core->on_start(now());
    drain(i);
  }
  nodes_.take_event = [this](std::size_t station, const p_mul::MessageEvent& event) {
    return take_event(station, event);
  };
}

void MailNodes::send(const std::string& mail) {
  acp142::SmtpServerCore::Commit commit;
  commit.client = "mail.shore.example";
  commit.mail.envelope.from = path_of("<operator@shore.example>", acp142::PathUse::reverse);
  commit.mail.envelope.recipients = {path_of("<operator@ship.example>", acp142::PathUse::forward)};
  commit.mail.content.assign(mail.begin(), mail.end());
  gateways_[0].core->on_clock(now(), nodes_.utc());
  gateways_[0].core->on_mail(now(), {1}, std::move(commit), {});
  drain(0);
}

bool MailNodes::take_event(std::size_t station, const p_mul::MessageEvent& event) {
  MailCore& core = *gateways_[station].core;
  core.on_clock(now(), nodes_.utc());
  if (const auto* received = std::get_if<p_mul::Received>(&event)) {
    core.on_received(now(), *received);
  } else if (const auto* ended = std::get_if<p_mul::DestinationEnded>(&event)) {
    if (ended->outcome == p_mul::Outcome::delivered) acknowledged_at_ = now();
    core.on_destination_ended(now(), *ended);
  }
  drain(station);
  return true;
}

void MailNodes::drain(std::size_t station) {
  while (auto action = gateways_[station].core->poll_action()) {
    carry_out(station, *std::move(action));
  }
}

void MailNodes::carry_out(std::size_t station, MailCore::Action action) {
  MailCore& core = *gateways_[station].core;
  p_mul::PMulCore& p_mul = *nodes_[station].core;
  if (auto* request = std::get_if<acp142::MailRequest>(&action)) {
    std::vector<acp142::MailRequest> one;
    one.push_back(std::move(*request));
    core.on_store_result(now(), gateways_[station].store->execute(one).at(0));
  } else if (auto* submit = std::get_if<MailCore::Submit>(&action)) {
    const p_mul::MessageKey key = submit->submission.key;
    content_octets_ = submit->submission.content.size();
    const auto accepted = p_mul.request_submit(now(), std::move(submit->submission));
    S5066_ASSERT(accepted.ok());
    core.on_accepted(now(), key, *accepted);
  } else if (const auto* confirm = std::get_if<MailCore::ConfirmReceived>(&action)) {
    S5066_ASSERT(confirm->committed);
    p_mul.on_committed(now(), confirm->name);
  } else if (std::holds_alternative<MailCore::Deliver>(action)) {
    if (!delivered_at_) delivered_at_ = now();
  }
}

}  // namespace s5066::bench
