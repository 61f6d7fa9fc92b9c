// SPDX-License-Identifier: Apache-2.0
// Runs a subnetwork interface between clients and a channel access sublayer that the test plays.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "s5066d/sap/subnetwork_interface.h"

namespace s5066::sap {

class InterfaceFixture : public ::testing::Test {
 protected:
  static constexpr Address kOwn{0x01020304};
  static constexpr Address kPeer{0x01020305};
  static constexpr Address kOther{0x01020306};

  InterfaceFixture() { restart(); }

  void restart() {
    config.address = kOwn;
    core.emplace(config, counters, trace);
    log.clear();
    paused.clear();
    closed.clear();
    calls.clear();
    breaks.clear();
    spdus.clear();
  }

  ClientId connect(std::uint64_t host_key = 0) {
    const ClientId id{++last_client};
    core->on_client_connected(now, id, {.access = {}, .host_key = host_key});
    drain();
    return id;
  }
  static sis::BindRequest bind_to(std::uint8_t sap, sis::Confirmation confirmation) {
    sis::BindRequest request;
    request.sap = SapId{sap};
    request.service.mode = sis::TransmissionMode::arq;
    request.service.confirmation = confirmation;
    return request;
  }
  ClientId bind(std::uint8_t sap, sis::Confirmation confirmation) {
    const ClientId id = connect();
    give(id, bind_to(sap, confirmation));
    EXPECT_EQ(sent<sis::BindAccepted>(id), 1u);
    return id;
  }
  /// Makes a request to SAP 4 of the destination with the service type of the bind.
  static sis::UnidataRequest request(Address destination, Bytes updu) {
    sis::UnidataRequest r;
    r.destination = destination;
    r.destination_sap = SapId{4};
    r.updu = std::move(updu);
    return r;
  }
  static sis::ExpeditedUnidataRequest expedited(Address destination, Bytes updu) {
    sis::ExpeditedUnidataRequest r;
    r.destination = destination;
    r.destination_sap = SapId{4};
    r.updu = std::move(updu);
    return r;
  }
  void give(ClientId client, sis::Primitive primitive) {
    core->on_primitive(now, client, std::move(primitive));
    drain();
  }
  /// Lets a client that did not read take all indications that wait for it.
  void take_all(ClientId client) {
    for (const ReceiptId receipt : std::exchange(untaken[client], {})) {
      core->on_indication_taken(now, receipt);
    }
    drain();
  }
  void wait(Duration duration) {
    now += duration;
    core->on_deadline(now);
    drain();
  }

  void make(Address peer, bool we_called = true) {
    core->on_link_made(now, {peer, we_called, cas::LinkType::nonexclusive});
    drain();
  }
  void no_answer(Address peer, std::optional<cas::RejectReason> reason = std::nullopt,
                 cas::LinkType type = cas::LinkType::nonexclusive) {
    core->on_link_rejected(now, {peer, reason, type});
    drain();
  }
  /// Returns all U_PDUs and then ends the link, or the other way round. The sublayers below do
  /// either.
  void lose(Address peer, cas::LinkEnd end = cas::LinkEnd::connection_lost,
            bool link_first = false) {
    if (link_first) core->on_link_broken(now, {peer, end});
    for (const auto& spdu : std::exchange(below[peer], {})) {
      core->on_spdu_rejected(now, {spdu, cas::CpduFailure::not_connected});
    }
    if (!link_first) core->on_link_broken(now, {peer, end});
    drain();
  }
  void confirm(std::size_t index) {
    const CpduId id = spdus.at(index).id;
    below[spdus[index].destination].erase(id);
    core->on_spdu_confirm(now, {id});
    drain();
  }
  void refuse(std::size_t index, cas::CpduFailure why) {
    const CpduId id = spdus.at(index).id;
    below[spdus[index].destination].erase(id);
    core->on_spdu_rejected(now, {id, why});
    drain();
  }
  void hear(const Spdu& spdu, cas::Service service = cas::Service::arq,
            Address destination = kOwn) {
    core->on_spdu(now, {service, kPeer, destination, encode(spdu)});
    drain();
  }
  void hear_damaged(const Spdu& spdu, std::vector<OctetRange> errored,
                    std::vector<OctetRange> missing, cas::Service service = cas::Service::nonarq) {
    core->on_spdu(now, {service, kPeer, kOwn, encode(spdu), errored, missing});
    drain();
  }

  void drain() {
    while (auto action = core->poll_action()) {
      if (auto* send = std::get_if<SendPrimitive>(&*action)) {
        EXPECT_FALSE(closed.count(send->client));
        log[send->client].push_back(std::move(send->primitive));
        if (send->receipt && unread.count(send->client) > 0) {
          untaken[send->client].push_back(*send->receipt);
        } else if (send->receipt) {
          core->on_indication_taken(now, *send->receipt);
        }
      } else if (const auto* close = std::get_if<CloseClient>(&*action)) {
        closed.insert(close->client);
      } else if (const auto* pause = std::get_if<PauseData>(&*action)) {
        EXPECT_NE(paused[pause->client], pause->paused);
        paused[pause->client] = pause->paused;
      } else if (const auto* link = std::get_if<RequestLink>(&*action)) {
        calls.push_back(link->peer);
      } else if (auto* question = std::get_if<ManagementAsked>(&*action)) {
        asked.push_back(std::move(*question));
      } else if (const auto* end = std::get_if<RequestBreak>(&*action)) {
        breaks.push_back(end->peer);
      } else if (const auto* keep = std::get_if<KeepLink>(&*action)) {
        kept.push_back(keep->peer);
      } else {
        auto& spdu = std::get<cas::SpduRequest>(*action);
        below[spdu.destination].insert(spdu.id);
        spdus.push_back(std::move(spdu));
      }
    }
  }

  std::size_t calls_to(Address peer) const {
    return static_cast<std::size_t>(std::count(calls.begin(), calls.end(), peer));
  }
  template <typename T>
  std::size_t sent(ClientId client) {
    std::size_t n = 0;
    for (const auto& primitive : log[client]) n += std::holds_alternative<T>(primitive) ? 1 : 0;
    return n;
  }
  template <typename T>
  T last(ClientId client) {
    std::optional<T> found;
    for (const auto& primitive : log[client]) {
      if (const auto* match = std::get_if<T>(&primitive)) found = *match;
    }
    EXPECT_TRUE(found.has_value());
    return found.value_or(T{});
  }

  Config config;
  Counters counters;
  TraceRing trace;
  std::optional<SubnetworkInterface> core;
  Instant now{};
  std::uint32_t last_client = 0;

  std::map<ClientId, std::vector<sis::Primitive>> log;
  std::map<ClientId, bool> paused;
  std::set<ClientId> closed;
  std::set<ClientId> unread;  // clients that take nothing until take_all()
  std::map<ClientId, std::vector<ReceiptId>> untaken;
  std::vector<Address> calls;
  std::vector<Address> breaks;
  std::vector<Address> kept;
  std::vector<ManagementAsked> asked;
  std::vector<cas::SpduRequest> spdus;
  std::map<Address, std::set<CpduId>> below;
};

}  // namespace s5066::sap
