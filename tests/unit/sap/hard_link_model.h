// SPDX-License-Identifier: Apache-2.0
// The model runs the hard links of a node with two clients, its peers and the clock. After each
// event it checks that nothing illegal happened (A.3.2.2). When the network falls silent it checks
// that nothing remains.
#pragma once

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "s5066d/sap/hard_links.h"

namespace s5066::sap::model {

/// `soft` means that a Nonexclusive link is made. It may still be there while an Exclusive link is
/// called for.
enum class Line : std::uint8_t { none, soft, calling, made, breaking };

/// Ranks of the two clients and of the peers' clients.
struct Ranks {
  std::array<std::uint8_t, 2> clients{5, 5};
  std::uint8_t remote = 5;
};

/// Only random histories use the third peer.
inline constexpr std::array<Address, 3> kPeers{Address{20}, Address{5}, Address{6}};

/// Records what a client has been told.
struct Told {
  unsigned owed = 0;                         // ESTABLISHes that were not answered yet
  std::multiset<std::string> asked;          // their arguments
  std::optional<sis::HardLink> established;  // and not ended
  std::optional<sis::HardLink> indicated;    // and neither answered nor ended
  std::vector<sis::HardLink> accepted;       // and not ended
  bool ended_it = false;                     // by its own S_HARD_LINK_TERMINATE
  bool believes() const { return established || indicated || !accepted.empty(); }
  bool concerned() const { return owed > 0 || believes(); }
};

inline std::string text(const sis::HardLink& link) {
  return std::to_string(static_cast<int>(link.type)) + "/" + std::to_string(link.priority) + "/" +
         std::to_string(link.remote.value);
}

class Model {
 public:
  Model(const Ranks& ranks, Outbox& outbox, Counters& counters, TraceSink& trace)
      : ranks_(ranks), core_(options_of(ranks), outbox, counters, trace), outbox_(outbox) {}

  enum Event : unsigned {
    establish_type_0,
    establish_type_2,
    establish_elsewhere,
    terminate,
    accept,
    reject,
    go,
    deadline,
    made,
    rejected,
    no_place,
    soft_made,
    soft_ended,
    unsent,
    broken,
    lost,
    called,
    hear_type_0,
    hear_type_2,
    hear_confirm,
    hear_refusal,
    hear_terminate,
    hear_terminate_confirm,
    kinds
  };
  static bool is_of_client(unsigned event) { return event < deadline; }

  /// Returns false and changes nothing if the event cannot happen now. If the last argument is
  /// false, the same holds for an answer that no S_PDU has asked for.
  bool happen(unsigned event, std::size_t who, bool unexpected) {
    const std::size_t trail_before = trail.size();
    trail += " " + std::to_string(event) + "abc"[who];
    const bool happened = is_of_client(event) ? who < 2 && by_client(event, who, unexpected)
                          : event == deadline ? who == 0 && by_clock()
                                              : by_peer(event, kPeers[who], unexpected);
    if (happened) {
      check();
    } else {
      trail.resize(trail_before);
    }
    return happened;
  }

  /// Makes the network stop answering, so that each S_PDU to a peer ends in a lost connection.
  /// Checks that nothing remains.
  void settle() {
    trail += " settle";
    for (int step = 0; step < 200; ++step) {
      bool moved = false;
      for (const Address peer : kPeers) {
        if (lines_[peer] == Line::calling) {
          lines_[peer] = Line::none;
          end_soft(peer);
          core_.on_link_rejected(now_, {peer, std::nullopt, cas::LinkType::exclusive});
          moved = true;
        } else if (lines_[peer] == Line::soft) {
          end_line(peer, cas::LinkEnd::connection_lost);
          moved = true;
        } else if (lines_[peer] == Line::breaking || unheard_.count(peer) > 0) {
          end_line(peer, cas::LinkEnd::connection_lost);
          moved = true;
        }
        drain();
      }
      if (moved) continue;
      if (!by_clock()) break;
    }
    check();
    EXPECT_TRUE(core_.links().empty()) << trail;
    EXPECT_FALSE(core_.hold_calls()) << trail;
    EXPECT_EQ(core_.next_deadline(), std::nullopt) << trail;
    for (const Address peer : kPeers) EXPECT_EQ(lines_[peer], Line::none) << trail;
    for (auto& [id, told] : told_) {
      EXPECT_EQ(told.owed, 0u) << "an ESTABLISH without answer:" << trail;
      EXPECT_FALSE(told.believes()) << "an end that was not told:" << trail;
    }
  }

  std::string trail;

 private:
  static HardLinks::Options options_of(const Ranks& ranks) {
    HardLinks::Options options{.config = {}, .own = Address{10}};
    options.config.remote_rank = ranks.remote;
    return options;
  }
  HardLinks::Party party(std::size_t who) const {
    return {ClientId{who == 0 ? 1u : 2u}, SapId{static_cast<std::uint8_t>(who == 0 ? 3 : 6)},
            ranks_.clients[who]};
  }

  bool by_client(unsigned event, std::size_t who, bool third) {
    const HardLinks::Party client = party(who);
    Told& told = told_[client.client];
    const auto ask = [&](sis::HardLink link) {
      if (told.owed > 1) return false;
      ++told.owed;
      told.asked.insert(text(link));
      EXPECT_TRUE(core_.request_establish(now_, client, link)) << trail;
      return true;
    };
    // The requests of the second client have the higher priority.
    const auto priority = static_cast<std::uint8_t>(who);
    bool happened = true;
    switch (event) {
      case establish_type_0:
        happened = ask({sis::HardLinkType::link_reservation, priority, SapId{}, kPeers[0]});
        break;
      case establish_type_2:
        happened = ask({sis::HardLinkType::full_bandwidth, priority, SapId{7}, kPeers[0]});
        break;
      case establish_elsewhere:
        happened =
            ask({sis::HardLinkType::partial_bandwidth, 1, SapId{}, kPeers[third ? 1 + who : 1]});
        break;
      case terminate: {
        if (!told.concerned()) return false;
        Address remote = kPeers[0];
        if (!told.accepted.empty()) remote = told.accepted.front().remote;
        if (told.established) remote = told.established->remote;
        if (core_.request_terminate(now_, client.client, remote)) told.ended_it = true;
        break;
      }
      case accept:
        if (!told.indicated) return false;
        told.accepted.push_back(*std::exchange(told.indicated, std::nullopt));
        EXPECT_TRUE(core_.request_accept(now_, client.client, told.accepted.back())) << trail;
        break;
      case reject: {
        if (!told.indicated) return false;
        const sis::HardLink link = *std::exchange(told.indicated, std::nullopt);
        EXPECT_TRUE(core_.request_reject(now_, client.client, {0, link})) << trail;
        break;
      }
      case go:
        if (!told.concerned()) return false;
        told = {};
        core_.on_client_gone(now_, client.client);
        gone_ = client.client;
        break;
      default:
        return false;
    }
    drain();
    gone_.reset();
    if (happened && told.ended_it) forget_what_it_ended(client.client, told);
    return happened;
  }

  /// Forgets the links that the client has ended itself. It hears of their end only if the peer
  /// does not answer.
  void forget_what_it_ended(ClientId client, Told& told) {
    bool as_caller = false;
    std::size_t as_called = 0;
    for (const HardLinkInfo& link : core_.links()) {
      const bool begun = !link.we_called || link.state == HardLinkState::terminating ||
                         link.state == HardLinkState::active;
      if (link.client != client || !begun) continue;
      as_caller = as_caller || link.we_called;
      as_called += link.we_called ? 0 : 1;
    }
    if (!as_caller) told.established.reset();
    if (as_called < told.accepted.size()) told.accepted.resize(as_called);
    if (!as_caller && as_called == 0) told.ended_it = false;
  }

  bool by_clock() {
    const auto next = core_.next_deadline();
    if (!next) return false;
    now_ = std::max(now_, *next);
    core_.on_deadline(now_);
    drain();
    return true;
  }

  void end_line(Address peer, cas::LinkEnd how) {
    lines_[peer] = Line::none;
    kept_.erase(peer);
    unheard_.erase(peer);
    const auto type = soft_.erase(peer) ? cas::LinkType::nonexclusive : cas::LinkType::exclusive;
    core_.on_link_broken(now_, {peer, how, type});
    drain();
  }

  /// Ends the Nonexclusive link that makes way for the Exclusive link of a call.
  bool end_soft(Address peer) {
    if (soft_.erase(peer) == 0) return false;
    unheard_.erase(peer);
    core_.on_link_broken(now_, {peer, cas::LinkEnd::by_us, cas::LinkType::nonexclusive});
    drain();
    return true;
  }

  bool by_peer(unsigned event, Address peer, bool unexpected) {
    Line& line = lines_[peer];
    switch (event) {
      case soft_made:
        if (line != Line::none) return false;
        line = Line::soft;
        soft_.insert(peer);
        return true;
      case soft_ended:
        return line == Line::calling && end_soft(peer);
      case unsent: {
        const auto last = sent_.find(peer);
        if (last == sent_.end()) return false;
        core_.on_spdu_rejected({last->second, cas::CpduFailure::queue_full});
        sent_.erase(last);
        core_.on_deadline(now_);
        drain();
        return true;
      }
      case made:
      case rejected:
      case no_place:
        if (line != Line::calling || soft_.count(peer) > 0) return false;
        line = event == made ? Line::made : Line::none;
        if (event == no_place) core_.on_link_refused(now_, peer);
        if (event == made) core_.on_link_made(now_, {peer, true, cas::LinkType::exclusive});
        if (event == rejected)
          core_.on_link_rejected(now_, {peer, std::nullopt, cas::LinkType::exclusive});
        drain();
        return true;
      case broken:
      case lost:
        if (line == Line::none || line == Line::calling) return false;
        end_line(peer, event == broken ? cas::LinkEnd::by_peer : cas::LinkEnd::connection_lost);
        return true;
      case called: {
        if (line != Line::none || exclusive_lines() >= cas::kExclusiveLinksMax) return false;
        line = Line::made;
        core_.on_link_made(now_, {peer, false, cas::LinkType::exclusive});
        drain();
        return true;
      }
      default:
        return hear(event, peer, unexpected);
    }
  }

  bool hear(unsigned event, Address peer, bool unexpected) {
    const auto waits_in = [&](HardLinkState state) {
      for (const HardLinkInfo& link : core_.links()) {
        if (link.peer == peer && link.state == state) return true;
      }
      return false;
    };
    const auto hears_nothing_it_waits_for = [&] {
      switch (event) {
        case hear_confirm:
        case hear_refusal:
          return !waits_in(HardLinkState::requesting);
        case hear_terminate_confirm:
          return !waits_in(HardLinkState::terminating);
        default:
          return false;
      }
    };
    if (!unexpected && hears_nothing_it_waits_for()) return false;
    unheard_.erase(peer);
    switch (event) {
      case hear_type_0:
        core_.on_spdu(now_, peer, HardLinkRequest{0, 1, SapId{7}, SapId{}}, std::nullopt,
                      in_session(peer));
        break;
      case hear_type_2:
        core_.on_spdu(now_, peer, HardLinkRequest{2, 0, SapId{7}, SapId{3}}, party(0),
                      in_session(peer));
        break;
      case hear_confirm:
        core_.on_spdu(now_, peer, HardLinkConfirm{});
        break;
      case hear_refusal:
        core_.on_spdu(now_, peer, HardLinkRefused{HardLinkRefusal::higher_priority_existing});
        break;
      case hear_terminate:
        core_.on_spdu(now_, peer, HardLinkTerminate{HardLinkEnd::client_request});
        break;
      default:
        core_.on_spdu(now_, peer, HardLinkTerminateConfirm{});
        break;
    }
    drain();
    return true;
  }

  void drain() {
    while (auto action = outbox_.poll()) {
      if (const auto* send = std::get_if<SendPrimitive>(&*action)) {
        EXPECT_NE(send->client, gone_.value_or(ClientId{0})) << "told after it went:" << trail;
        tell(told_[send->client], send->primitive);
      } else if (const auto* call = std::get_if<RequestLink>(&*action)) {
        begin_call(call->peer);
      } else if (const auto* end = std::get_if<RequestBreak>(&*action)) {
        Line& line = lines_[end->peer];
        EXPECT_NE(line, Line::none) << trail;
        // A call has not begun while a Nonexclusive link is still making way for it.
        const bool never_began = line == Line::calling && soft_.count(end->peer) > 0;
        line = never_began ? Line::soft : Line::breaking;
        if (!never_began) continue;
        core_.on_link_rejected(now_, {end->peer, std::nullopt, cas::LinkType::exclusive});
      } else if (const auto* keep = std::get_if<KeepLink>(&*action)) {
        EXPECT_EQ(lines_[keep->peer], Line::made) << trail;
        kept_.insert(keep->peer);
      } else {
        const auto& spdu = std::get<cas::SpduRequest>(*action);
        const Line line = lines_[spdu.destination];
        if (line == Line::made || line == Line::soft) {
          unheard_.insert(spdu.destination);
          sent_[spdu.destination] = spdu.id;
        } else {
          core_.on_spdu_rejected({spdu.id, cas::CpduFailure::not_connected});
          core_.on_deadline(now_);
        }
      }
    }
    for (auto& [id, told] : told_) {
      if (told.ended_it) forget_what_it_ended(id, told);
    }
  }

  void tell(Told& told, const sis::Primitive& primitive) {
    if (const auto* established = std::get_if<sis::HardLinkEstablished>(&primitive)) {
      answer(told, established->link);
      EXPECT_FALSE(told.established) << trail;
      told.established = established->link;
    } else if (const auto* refused = std::get_if<sis::HardLinkRejected>(&primitive)) {
      answer(told, refused->link);
    } else if (const auto* asked = std::get_if<sis::HardLinkIndication>(&primitive)) {
      EXPECT_FALSE(told.indicated) << trail;
      told.indicated = asked->link;
    } else {
      const auto& link = std::get<sis::HardLinkTerminated>(primitive).link;
      unsigned ended = 0;
      for (auto* known : {&told.established, &told.indicated}) {
        if (*known != link || ended > 0) continue;
        known->reset();
        ++ended;
      }
      const auto accepted = std::find(told.accepted.begin(), told.accepted.end(), link);
      if (ended == 0 && accepted != told.accepted.end()) {
        told.accepted.erase(accepted);
        ++ended;
      }
      EXPECT_EQ(ended, 1u) << "told the end of what had no beginning:" << trail;
    }
  }

  void answer(Told& told, const sis::HardLink& link) {
    const auto asked = told.asked.find(text(link));
    EXPECT_NE(asked, told.asked.end()) << "an answer to nothing:" << trail;
    if (asked == told.asked.end()) return;
    told.asked.erase(asked);
    --told.owed;
  }

  void check() {
    std::size_t active = 0;
    std::set<Address> known;
    for (const HardLinkInfo& link : core_.links()) {
      active += link.state == HardLinkState::active;
      known.insert(link.peer);
      const Line line = lines_[link.peer];
      const bool needs_line = link.state == HardLinkState::active ||
                              link.state == HardLinkState::requesting ||
                              link.state == HardLinkState::terminating;
      // The peer may have asked over a Nonexclusive link. Our own requests need an Exclusive one.
      EXPECT_TRUE(!needs_line || line == Line::made || (line == Line::soft && !link.we_called))
          << "a hard link on the wrong line:" << trail;
      EXPECT_TRUE(link.state != HardLinkState::linking || line == Line::calling) << trail;
    }
    EXPECT_LE(active, 1u) << trail;
    const std::size_t lines = exclusive_lines();
    for (const auto& [peer, line] : lines_) {
      const bool orphan = line == Line::made && known.count(peer) == 0;
      EXPECT_TRUE(!orphan || core_.next_deadline().has_value()) << "an orphan link:" << trail;
      EXPECT_TRUE(line != Line::calling || known.count(peer) > 0) << "an orphan call:" << trail;
    }
    EXPECT_LE(lines, cas::kExclusiveLinksMax) << trail;
    EXPECT_TRUE(lines > 0 || !soft_.empty() || !known.empty() || !core_.next_deadline())
        << "an idle timer:" << trail;
    for (const auto& [id, told] : told_) {
      std::size_t owned = 0;
      for (const HardLinkInfo& link : core_.links()) owned += link.client == id;
      const bool believes = told.believes();
      EXPECT_TRUE(!believes || owned > 0) << "a client believes in what is not:" << trail;
    }
  }

  /// If all Exclusive links are in use, one without a hard link makes way, or the call is refused
  /// for now.
  void begin_call(Address peer) {
    const Line before = lines_[peer];
    EXPECT_TRUE(before == Line::none || before == Line::soft) << trail;
    lines_[peer] = Line::calling;
    if (exclusive_lines() <= cas::kExclusiveLinksMax) return;
    const auto is_free = [this](Address other) {
      return is_exclusive(other) && lines_[other] != Line::calling && kept_.count(other) == 0;
    };
    const auto free = std::find_if(kPeers.begin(), kPeers.end(), is_free);
    ASSERT_NE(free, kPeers.end()) << "a call that cannot succeed:" << trail;
    if (trail.size() % 2 == 0) return end_line(*free, cas::LinkEnd::displaced);
    lines_[peer] = before;
    core_.on_link_refused(now_, peer);
  }

  std::size_t exclusive_lines() const {
    std::size_t lines = 0;
    for (const auto& [peer, line] : lines_) lines += is_exclusive(peer);
    return lines;
  }
  bool is_exclusive(Address peer) const {
    const auto line = lines_.find(peer);
    if (line == lines_.end() || line->second == Line::none) return false;
    return line->second == Line::calling || soft_.count(peer) == 0;
  }
  /// True while the layer that keeps soft links has one. A link that makes way for a call is still
  /// there.
  bool in_session(Address peer) const {
    return soft_.count(peer) > 0 && lines_.at(peer) != Line::breaking;
  }

  const Ranks ranks_;
  HardLinks core_;
  Outbox& outbox_;
  Instant now_{};
  std::map<Address, Line> lines_;
  std::set<Address> kept_;          // peers whose link a hard link needs
  std::set<Address> soft_;          // peers with a Nonexclusive link
  std::map<Address, CpduId> sent_;  // the last S_PDU to each peer
  std::set<Address> unheard_;       // peers that have not been heard since the last S_PDU to them
  std::map<ClientId, Told> told_;
  std::optional<ClientId> gone_;
};

}  // namespace s5066::sap::model
