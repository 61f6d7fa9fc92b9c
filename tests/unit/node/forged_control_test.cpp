// SPDX-License-Identifier: Apache-2.0
// A station forges control messages about links in the names of present peers and of unknown
// stations. Meanwhile a node has messages and hard links of its own and is silent now and then.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "s5066d/base/rng.h"
#include "tests/support/seeds.h"
#include "tests/unit/node/pair.h"

namespace s5066::test {
namespace {

constexpr std::uint32_t kAlpha = 0x01020304;
constexpr std::uint32_t kBravo = 0x01020305;
constexpr std::uint32_t kCharlie = 0x01020306;
constexpr std::uint32_t kForger = 0x01020377;
constexpr std::uint32_t kUnknownStations = 0x02000000;

class History {
 public:
  explicit History(std::uint64_t seed) : rng_(seed) {
    for (const ClientId client : {first_, second_}) {
      medium_.send(alpha_, client, bind_to(client == first_ ? 3 : 6, sis::Confirmation::node));
    }
    medium_.send(bravo_, at_bravo_, bind_to(3, sis::Confirmation::none));
    medium_.send(charlie_, at_charlie_, bind_to(3, sis::Confirmation::none));
    medium_.run_for(seconds(20));
    medium_.on_burst = [this](std::size_t from, Bytes&) {
      EXPECT_FALSE(from == 0 && silent_) << "a burst in radio silence";
    };
  }

  void run() {
    const Instant end = medium_.now() + minutes(5 + rng_.below(30));
    while (medium_.now() < end) {
      medium_.run_for(milliseconds(rng_.below(rng_.below(2) ? 15000 : 3000)));
      if (silent_ && rng_.below(4) == 0) set_silent(false);
      step(rng_.below(20));
      const auto links = alpha_.node.status().links;
      const auto exclusive = std::count_if(links.begin(), links.end(), [](const auto& link) {
        return link.type == cas::LinkType::exclusive;
      });
      EXPECT_LE(exclusive, 2);
    }
    set_silent(false);
  }

  /// Ends the hard links of all clients after the forger has gone, and checks that nothing is left.
  void come_to_rest() {
    for (int i = 0; i < 3; ++i) {
      end_hard_links(alpha_);
      end_hard_links(charlie_);
      medium_.run_for(minutes(15));
    }
    medium_.run_for(std::chrono::hours(1));
    for (const auto& link : alpha_.node.status().links) {
      EXPECT_EQ(link.state, cas::LinkState::idle) << to_string(link.peer);
    }
    EXPECT_TRUE(alpha_.node.status().hard_links.empty());
    for (const ClientId client : {first_, second_}) {
      const auto& log = alpha_.clients.at(client);
      EXPECT_EQ(
          log.all<sis::HardLinkEstablished>().size() + log.all<sis::HardLinkRejected>().size(),
          client == first_ ? asked_first_ : asked_second_);
    }
    const auto& log = alpha_.clients.at(first_);
    EXPECT_EQ(log.all<sis::UnidataRequestConfirm>().size() +
                  log.all<sis::UnidataRequestRejected>().size(),
              messages_);
  }

  void work_again() {
    const auto& log = alpha_.clients.at(first_);
    const auto& bravos = bravo_.clients.at(at_bravo_);
    const auto before = bravos.all<sis::UnidataIndication>().size();
    medium_.send(alpha_, first_, request_to(kBravo, 3, Bytes(100, 7)));
    medium_.run_for(minutes(12));
    EXPECT_EQ(bravos.all<sis::UnidataIndication>().size(), before + 1);
    const auto established = log.all<sis::HardLinkEstablished>().size();
    ask(alpha_, first_, sis::HardLinkType::link_reservation, 0, kBravo);
    medium_.run_for(minutes(2));
    EXPECT_EQ(log.all<sis::HardLinkEstablished>().size(), established + 1);
  }

 private:
  void step(std::uint64_t what) {
    if (what < 11) {
      medium_.put_on_air(3, mode_, forged());
    } else if (what < 13) {
      ++messages_;
      const std::uint32_t peer = either_peer();
      medium_.send(alpha_, first_, request_to(peer, 3, Bytes(100 + rng_.below(1500), 7)));
    } else if (what == 13) {
      medium_.send(bravo_, at_bravo_, request_to(kAlpha, 3, Bytes(100, 7)));
    } else if (what < 16) {
      const bool first = rng_.below(2) == 0;
      ++(first ? asked_first_ : asked_second_);
      const auto type = static_cast<sis::HardLinkType>(rng_.below(3));
      const auto priority = static_cast<std::uint8_t>(rng_.below(4));
      ask(alpha_, first ? first_ : second_, type, priority, either_peer());
    } else if (what == 16) {
      end_hard_links(alpha_);
    } else if (what == 17) {
      accept_what_is_indicated();
    } else if (what == 18 && rng_.below(4) == 0) {
      set_silent(!silent_);
    } else if (what == 19 && rng_.below(6) == 0) {
      const auto type = static_cast<sis::HardLinkType>(rng_.below(2));
      ask(charlie_, at_charlie_, type, 1, kAlpha);
    }
  }

  std::uint32_t either_peer() { return rng_.below(2) ? kBravo : kCharlie; }

  pdu::Common from_somebody() {
    const auto number = static_cast<std::uint32_t>(rng_.below(7));
    const std::uint32_t names[] = {kBravo, kCharlie};
    return {.eot_half_s = 1,
            .destination = Address{kAlpha},
            .source = Address{number < 2 ? names[number] : kUnknownStations + number}};
  }

  template <std::size_t kCount>
  std::uint8_t one_of(const std::array<std::uint8_t, kCount>& octets) {
    return octets[rng_.below(kCount)];
  }

  /// Makes up to four D_PDUs: C_PDUs of link control, S_PDUs of hard links, ARQ data, warnings.
  Bytes forged() {
    constexpr std::array<std::uint8_t, 6> kControl = {0x20, 0x30, 0x33, 0x41, 0x44, 0x50};
    constexpr std::array<std::uint8_t, 8> kHardLink = {0x30, 0x31, 0x38, 0x39,
                                                       0x40, 0x51, 0x61, 0x70};
    Bytes out;
    for (auto left = 1 + rng_.below(4); left > 0; --left) {
      const pdu::Common common = from_somebody();
      const auto kind = rng_.below(9);
      if (kind < 5) {
        const std::uint8_t octet = kind < 3 ? 0x11 : kind < 4 ? 0x10 : one_of(kControl);
        append(out, link_control(common, octet));
      } else if (kind < 7) {
        const std::uint8_t octet = one_of(kHardLink);
        Bytes segment{0, octet};
        if (octet >> 4 == 3) segment.push_back(octet & 8 ? 0x73 : 0x70);
        pdu::encode(pdu::ExpeditedData{.common = common,
                                       .start = true,
                                       .end = true,
                                       .cpdu_id = static_cast<std::uint8_t>(rng_.below(16)),
                                       .number = {0},
                                       .segment = segment},
                    out);
      } else if (kind == 7) {
        pdu::encode(pdu::Data{.common = common,
                              .flags = {.start = true, .end = true, .uwe = true, .lwe = true},
                              .number = {0},
                              .segment = {0, 5, 0x33, 0, 1}},
                    out);
      } else {
        pdu::encode(pdu::Warning{.common = common, .received_type = 0, .reason = 1}, out);
      }
    }
    return out;
  }

  void ask(Medium::Station& station, ClientId client, sis::HardLinkType type, std::uint8_t priority,
           std::uint32_t peer) {
    sis::HardLinkEstablish asked;
    asked.link = {type, priority, SapId{3}, Address{peer}};
    medium_.send(station, client, asked);
  }

  void end_hard_links(Medium::Station& station) {
    for (const auto& link : station.node.status().hard_links) {
      if (link.client) medium_.send(station, *link.client, sis::HardLinkTerminate{link.peer});
    }
  }

  void accept_what_is_indicated() {
    for (const auto& link : alpha_.node.status().hard_links) {
      if (link.state != sap::HardLinkState::indicated || !link.client) continue;
      const auto indications = alpha_.clients.at(*link.client).all<sis::HardLinkIndication>();
      sis::HardLinkAccept accepted;
      accepted.link = indications.back().link;
      medium_.send(alpha_, *link.client, accepted);
      return;
    }
  }

  void set_silent(bool on) {
    silent_ = on;
    medium_.with([&](Instant now) { alpha_.node.request_silence(now, on); });
  }

  Rng rng_;
  Medium medium_;
  Medium::Station& alpha_ = medium_.add(node_config(kAlpha));
  Medium::Station& bravo_ = medium_.add(node_config(kBravo));
  Medium::Station& charlie_ = medium_.add(node_config(kCharlie));
  Medium::Station& forger_ = medium_.add(node_config(kForger));
  const modem::Mode mode_ = node_config(kAlpha).dts.mode;
  ClientId first_ = medium_.connect(alpha_);
  ClientId second_ = medium_.connect(alpha_);
  ClientId at_bravo_ = medium_.connect(bravo_);
  ClientId at_charlie_ = medium_.connect(charlie_);
  bool silent_ = false;
  std::size_t messages_ = 0;
  std::size_t asked_first_ = 0;
  std::size_t asked_second_ = 0;
};

// Goal:   whatever is forged about links, every message and every request for a hard link gets one
//         answer, nothing is sent in radio silence, and no link is left at the end.
TEST(ForgedControl, leaves_every_request_answered_and_no_link_behind) {
  for (const sim::Seed seed : sim::thinned_seeds(300)) {
    if (::testing::Test::HasFailure()) return;
    SCOPED_TRACE(seed);
    History history(seed);
    history.run();
    history.come_to_rest();
    history.work_again();
  }
}

// Goal:   a physical link that ends at the moment in which a hard link's request makes it does not
//         keep a node busy for ever with data for another peer, whose link it has ended
//         (B.3.2.1(19)).
// Method: ACCEPTED and BREAK come in the peer's name in one burst, at many times after the call.
TEST(ForgedControl, an_accepted_and_a_break_in_one_burst_leave_a_node_working) {
  for (int offset_ms = 0; offset_ms <= 9000; offset_ms += 300) {
    SCOPED_TRACE(offset_ms);
    Medium medium;
    auto& alpha = medium.add(node_config(kAlpha));
    auto& charlie = medium.add(node_config(kCharlie));
    medium.add(node_config(kForger));
    const ClientId a = medium.connect(alpha);
    medium.send(alpha, a, bind_to(3, sis::Confirmation::node));
    const ClientId c = medium.connect(charlie);
    medium.send(charlie, c, bind_to(3, sis::Confirmation::none));
    medium.run_for(seconds(20));
    medium.send(alpha, a, request_to(kCharlie, 3, Bytes(500, 7)));
    medium.run_for(seconds(30));
    sis::HardLinkEstablish ask;
    ask.link = {sis::HardLinkType::link_reservation, 1, SapId{3}, Address{kBravo}};
    medium.send(alpha, a, ask);
    medium.run_for(milliseconds(offset_ms));
    Bytes forged;
    for (const std::uint8_t octet : Bytes{0x20, 0x41}) {
      append(
          forged,
          link_control({.eot_half_s = 1, .destination = Address{kAlpha}, .source = Address{kBravo}},
                       octet, octet));
    }
    medium.put_on_air(2, node_config(kAlpha).dts.mode, forged);
    medium.run_for(milliseconds(1200));
    for (int i = 0; i < 5; ++i) {
      medium.send(alpha, a, request_to(kCharlie, 3, Bytes(1500, 7)));
    }
    medium.run_for(minutes(30));
    EXPECT_EQ(charlie.clients.at(c).all<sis::UnidataIndication>().size(), 6U);
  }
}

}  // namespace
}  // namespace s5066::test
