// SPDX-License-Identifier: Apache-2.0
// LinkModel runs two nodes, a client at each, and a manager at the first. Events come in any order:
// data, hard links, management messages, a BREAK, silence on the air and time. After each event the
// channel access sublayer and the subnetwork interface sublayer must agree about the state of the
// link. At the end every U_PDU must have had one result that its client was told, and the link must
// carry data again.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <set>
#include <string>
#include <string_view>

#include "s5066d/cas/cpdu.h"
#include "s5066d/node/management_text.h"
#include "tests/unit/node/pair.h"

namespace s5066::test {

class LinkModel {
 public:
  enum class Event : std::uint8_t {
    submit,  // an ARQ U_PDU of our client
    submit_expedited,
    peer_submits,  // an ARQ U_PDU of the peer's client for ours
    establish,     // our client asks for a hard link
    terminate,     // our client ends it
    peer_establishes,
    peer_terminates,
    broadcast_on,
    broadcast_off,
    emcon_on,
    emcon_off,
    shut_sap,
    open_sap,
    hear_break,  // a BREAK in the name of the peer
    air_fails,   // nothing gets through any more
    air_returns,
    moment_passes,  // the answer to a short transmission may come
    minutes_pass,   // waits of the sublayers run out
    count
  };
  static std::string_view name(Event event) {
    static constexpr std::string_view kNames[] = {
        "submit",           "submit_expedited", "peer_submits", "establish",     "terminate",
        "peer_establishes", "peer_terminates",  "broadcast_on", "broadcast_off", "emcon_on",
        "emcon_off",        "shut_sap",         "open_sap",     "hear_break",    "air_fails",
        "air_returns",      "moment_passes",    "minutes_pass"};
    return kNames[static_cast<std::size_t>(event)];
  }

  LinkModel()
      : alpha_(medium_.add(config(kAlpha))),
        bravo_(medium_.add(config(kBravo))),
        manager_(medium_.connect(alpha_)),
        at_alpha_{.station = alpha_, .client = medium_.connect(alpha_), .peer = Address{kBravo}},
        at_bravo_{.station = bravo_, .client = medium_.connect(bravo_), .peer = Address{kAlpha}} {
    medium_.on_settled = [this] { check_agreement(); };
    sis::BindRequest manager = bind_to(1, sis::Confirmation::none);
    manager.rank = 15;
    manager.service.mode = sis::TransmissionMode::nonarq;
    medium_.send(alpha_, manager_, manager);
    for (Medium::Station* station : {&alpha_, &bravo_}) {
      medium_.with([&](Instant now) { station->node.on_utc(now, UtcSeconds{1772409540}); });
    }
    for (Side* side : {&at_alpha_, &at_bravo_}) bind(*side);
  }
  LinkModel(const LinkModel&) = delete;
  LinkModel& operator=(const LinkModel&) = delete;

  /// Makes the link that some histories need at their begin.
  void make_link() {
    happen(Event::submit);
    medium_.run_for(seconds(20));
    EXPECT_EQ(alpha_.node.status().links.at(0).state, cas::LinkState::made);
  }

  void happen(Event event) {
    switch (event) {
      case Event::submit:
        return submit(at_alpha_);
      case Event::submit_expedited:
        return submit(at_alpha_, true);
      case Event::peer_submits:
        return submit(at_bravo_);
      case Event::establish:
        return establish(at_alpha_);
      case Event::terminate:
        return terminate(at_alpha_);
      case Event::peer_establishes:
        return establish(at_bravo_);
      case Event::peer_terminates:
        return terminate(at_bravo_);
      case Event::broadcast_on:
        return manage(ManagementType::broadcast_session, "on=1");
      case Event::broadcast_off:
        return manage(ManagementType::broadcast_session, "on=0");
      case Event::emcon_on:
        return manage(ManagementType::emcon, "on=1");
      case Event::emcon_off:
        return manage(ManagementType::emcon, "on=0");
      case Event::shut_sap:
        return manage(ManagementType::shut_sap, "sap=3");
      case Event::open_sap:
        return manage(ManagementType::open_sap, "sap=3");
      case Event::hear_break:
        return hear_break();
      case Event::air_fails:
        medium_.silent = true;
        return;
      case Event::air_returns:
        medium_.silent = false;
        return;
      case Event::moment_passes:
        return medium_.run_for(milliseconds(1500));
      case Event::minutes_pass:
        return medium_.run_for(minutes(4));
      case Event::count:
        break;
    }
    S5066_ASSERT(false);
  }

  /// Makes the peer answer again and ends every restriction.
  void settle() {
    medium_.silent = false;
    for (const Event event : {Event::emcon_off, Event::broadcast_off, Event::open_sap}) {
      happen(event);
    }
    medium_.run_for(std::chrono::hours(1));
    for (const Event event : {Event::terminate, Event::peer_terminates}) happen(event);
    medium_.run_for(std::chrono::hours(1));
    for (Side* side : {&at_alpha_, &at_bravo_}) {
      take_news(*side);
      EXPECT_EQ(side->submitted, side->confirmed + side->rejected + side->unbound)
          << "U_PDUs without an end that was told";
    }
    EXPECT_EQ(alpha_.node.status().holdings, sap::Holdings{});
    EXPECT_EQ(bravo_.node.status().holdings, sap::Holdings{});

    const std::size_t confirmed = at_alpha_.confirmed;
    happen(Event::submit);
    medium_.run_for(minutes(20));
    take_news(at_alpha_);
    EXPECT_EQ(at_alpha_.confirmed, confirmed + 1) << "the link carries nothing any more";
  }

 private:
  static constexpr std::uint32_t kAlpha = 0x01020304;
  static constexpr std::uint32_t kBravo = 0x01020305;
  static constexpr std::uint8_t kSap = 3;

  /// Holds the client at one station and the results of its U_PDUs.
  struct Side {
    Medium::Station& station;
    ClientId client;
    const Address peer;
    bool bound = false;
    std::size_t submitted = 0;
    std::size_t confirmed = 0;
    std::size_t rejected = 0;
    std::size_t unbound = 0;  // S_UNBIND_INDICATION reports all that were pending
    std::size_t news_taken = 0;
  };

  static NodeConfig config(std::uint32_t address) {
    NodeConfig config = node_config(address);
    config.sap.bind.allow_rank_15 = true;
    return config;
  }
  void take_news(Side& side) {
    const ClientLog& log = side.station.clients[side.client];
    for (; side.news_taken < log.received.size(); ++side.news_taken) {
      const sis::Primitive& news = log.received[side.news_taken];
      if (std::holds_alternative<sis::BindAccepted>(news)) side.bound = true;
      if (std::holds_alternative<sis::UnidataRequestConfirm>(news)) ++side.confirmed;
      if (std::holds_alternative<sis::UnidataRequestRejected>(news)) ++side.rejected;
      if (std::holds_alternative<sis::ExpeditedUnidataRequestConfirm>(news)) ++side.confirmed;
      if (std::holds_alternative<sis::ExpeditedUnidataRequestRejected>(news)) ++side.rejected;
      if (!std::holds_alternative<sis::UnbindIndication>(news)) continue;
      side.bound = false;
      side.unbound = side.submitted - side.confirmed - side.rejected;
    }
    if (!log.closed) return;  // a client that stays unbound is disconnected
    EXPECT_FALSE(side.bound);
    side.client = medium_.connect(side.station);
    side.news_taken = 0;
  }

  /// Binds the client again if it is unbound. The node refuses that in a broadcast session.
  bool bind(Side& side) {
    take_news(side);
    if (side.bound) return true;
    medium_.send(side.station, side.client, bind_to(kSap, sis::Confirmation::node));
    take_news(side);
    return side.bound;
  }

  void submit(Side& side, bool expedited = false) {
    if (!bind(side)) return;
    ++side.submitted;
    Bytes updu(40, static_cast<std::uint8_t>(side.submitted));
    auto request = request_to(side.peer.value, kSap, std::move(updu));
    if (expedited) {
      sis::ExpeditedUnidataRequest urgent;
      urgent.destination = request.destination;
      urgent.destination_sap = request.destination_sap;
      urgent.updu = std::move(request.updu);
      return medium_.send(side.station, side.client, urgent);
    }
    medium_.send(side.station, side.client, request);
  }

  void establish(Side& side) {
    if (!bind(side)) return;
    medium_.send(
        side.station, side.client,
        sis::HardLinkEstablish{{sis::HardLinkType::link_reservation, 1, SapId{kSap}, side.peer}});
  }

  void terminate(Side& side) {
    const auto links = side.station.node.status().hard_links;
    const bool has_one = std::any_of(links.begin(), links.end(), [](const auto& link) {
      return link.client.has_value() && link.we_called;
    });
    if (has_one) medium_.send(side.station, side.client, sis::HardLinkTerminate{side.peer});
  }

  void manage(ManagementType type, std::string_view body) {
    medium_.send(
        alpha_, manager_,
        sis::ManagementRequest{static_cast<std::uint8_t>(type), Bytes(body.begin(), body.end())});
  }

  void hear_break() {
    Bytes cpdu = cas::encode(cas::PhysicalLinkBreak{cas::BreakReason::no_more_data});
    S5066_ASSERT(cpdu.size() == 1);
    pdu::Common common;
    common.destination = Address{kAlpha};
    common.source = Address{kBravo};
    medium_.put_on_air(1, bravo_.node.status().mode, link_control(common, cpdu[0], ++breaks_));
  }

  void check_agreement() {
    for (const Medium::Station* station : {&alpha_, &bravo_}) {
      EXPECT_TRUE(station->node.links_in_disagreement().empty())
          << (station == &alpha_ ? "here" : "at the peer");
    }
  }

  Medium medium_;
  Medium::Station& alpha_;
  Medium::Station& bravo_;
  const ClientId manager_;
  Side at_alpha_;
  Side at_bravo_;
  std::uint16_t breaks_ = 0;
};

/// Formats events for the message of a failure.
template <typename Events>
std::string to_string(const Events& events) {
  std::string text;
  for (const LinkModel::Event event : events) text += std::string(LinkModel::name(event)) + " ";
  return text;
}

}  // namespace s5066::test
