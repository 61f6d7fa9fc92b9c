// SPDX-License-Identifier: Apache-2.0
// Input: a script for a ClientCore, an octet per step with its arguments behind it. Whatever the
// server and the clock do, the core has one connection and one write at a time, writes whole
// primitives, has no deadline in the past, ends every accepted request exactly once, and reports
// hard links only while they can exist.
#include <algorithm>
#include <initializer_list>
#include <map>
#include <utility>
#include <vector>

#include "s5066d/base/rng.h"
#include "sis/client_core.h"
#include "sis/codec.h"

using namespace s5066;

namespace {

class World {
 public:
  explicit World(ByteSpan script) : script_(script), core_(config(), rng_) {}

  void run() {
    while (!script_.empty()) {
      step(take());
      settle();
    }
    core_.stop(now_);
    settle();
    if (std::exchange(writing_, false)) core_.on_sent(now_);
    settle();
    if (const auto next = core_.next_deadline()) core_.on_deadline(now_ = *next);
    settle();
    S5066_ASSERT(core_.stopped() && !core_.next_deadline() && !connection_);
    for (const auto& [id, ends] : ends_) S5066_ASSERT(ends == 1);
    S5066_ASSERT(links_.empty());
  }

 private:
  static sis::ClientCore::Config config() {
    return {.sap = {6},
            .rank = 15,
            .queue_max = 4,
            .unconfirmed_max = 4,
            .write_octets_max = 64,
            .probe_after = std::chrono::seconds(120)};
  }

  std::uint8_t take() {
    if (script_.empty()) return 0;
    const std::uint8_t octet = script_.front();
    script_ = script_.subspan(1);
    return octet;
  }
  ByteSpan take_some(std::size_t count) {
    const ByteSpan some = script_.first(std::min(count, script_.size()));
    script_ = script_.subspan(some.size());
    return some;
  }

  void say(const sis::Primitive& primitive) {
    Bytes octets;
    sis::encode(primitive, octets);
    core_.on_bytes(now_, octets);
  }

  void step(std::uint8_t op) {
    switch (op % 27) {
      case 0:
        return core_.start(now_);
      case 1:
        return core_.stop(now_);
      case 2:
        if (connection_) core_.on_connected(now_);
        return;
      case 3:
        if (connection_) core_.on_disconnected(now_, Error{ErrorCode::io, "gone"});
        connection_ = writing_ = false;
        return;
      case 4:
        writing_ = false;
        return core_.on_sent(now_);
      case 5:
        now_ += std::chrono::seconds(take());
        return core_.on_deadline(now_);
      case 6:
        if (const auto next = core_.next_deadline()) now_ = std::max(now_, *next);
        return core_.on_deadline(now_);
      case 7:
        return core_.on_bytes(now_, take_some(take()));
      case 8:
        return say(sis::BindAccepted{.sap = {6}, .mtu = take()});
      case 9:
        return say(sis::BindRejected{static_cast<sis::BindRejectReason>(take())});
      case 10:
        return say(sis::UnbindIndication{static_cast<sis::UnbindReason>(take())});
      case 11:
        return take() % 2 ? say(sis::DataFlowOff{}) : say(sis::DataFlowOn{});
      case 12:
        return say(sis::KeepAlive{});
      case 13:
        return request(take());
      case 14:
        return say(sis::UnidataRequestConfirm{.updu_part = Bytes(take() % 4, 'x')});
      case 15:
        return say(sis::UnidataRequestRejected{.updu_part = Bytes(take() % 4, 'x')});
      case 16:
        return expedite(take());
      case 17:
        return accepted(core_.request_management(now_, {.body = Bytes(take() % 4, 'x')}));
      case 18:
        return say(sis::ExpeditedUnidataRequestConfirm{.updu_part = Bytes(take() % 4, 'x')});
      case 19:
        return say(sis::ExpeditedUnidataRequestRejected{.updu_part = Bytes(take() % 4, 'x')});
      default:
        return step_link(op % 27);
    }
  }

  void step_link(int op) {
    switch (op) {
      case 20:
        return request_link(link(take()));
      case 21:
        return end_links(link(take()).remote);
      case 22:
        return answer_link(link(take()), true);
      case 23:
        return answer_link(link(take()), false);
      case 24:
        return say(sis::HardLinkIndication{.link = link(take())});
      case 25:
        return say(sis::HardLinkTerminated{.link = link(take())});
      default:
        if (take() % 2) return say(sis::HardLinkEstablished{.link = link(take())});
        return say(sis::HardLinkRejected{.link = link(take())});
    }
  }

  static sis::HardLink link(std::uint8_t kind) {
    return {.type = static_cast<sis::HardLinkType>(kind % 3),
            .remote = {static_cast<std::uint32_t>(kind / 3 % 3)}};
  }
  enum class LinkState : std::uint8_t { requested, offered, up };
  struct Link {
    sis::HardLink link;
    LinkState state;
  };
  void request_link(const sis::HardLink& link) {
    if (core_.request_hard_link(now_, link)) links_.push_back({link, LinkState::requested});
  }
  void end_links(Address remote) {
    if (!core_.request_hard_link_end(now_, remote)) return;
    const auto ended = std::erase_if(links_, [remote](const Link& l) {
      return l.link.remote == remote && l.state != LinkState::offered;
    });
    S5066_ASSERT(ended > 0);
  }
  void answer_link(const sis::HardLink& link, bool accept) {
    const auto result = accept ? core_.request_hard_link_accept(now_, link)
                               : core_.request_hard_link_reject(now_, link, 1);
    if (!result) return;
    forget_link(link, {LinkState::offered});
    if (accept) links_.push_back({link, LinkState::up});
  }
  /// Removes the link if it is in one of these states; the first of them that fits is used.
  void forget_link(const sis::HardLink& link, std::initializer_list<LinkState> states) {
    for (const LinkState state : states) {
      const auto it = std::find_if(links_.begin(), links_.end(), [&](const Link& l) {
        return l.link == link && l.state == state;
      });
      if (it == links_.end()) continue;
      links_.erase(it);
      return;
    }
    S5066_ASSERT(false);  // a hard link that was never reported
  }

  void request(std::uint8_t kind) {
    sis::UnidataRequest request{.delivery = {.mode = sis::TransmissionMode::arq},
                                .updu = Bytes(kind % 4, 'x')};
    if (kind & 0x80) request.delivery.confirmation = sis::Confirmation::node;
    accepted(core_.request_unidata(now_, std::move(request)));
  }
  void expedite(std::uint8_t kind) {
    sis::ExpeditedUnidataRequest request{.delivery = {.mode = sis::TransmissionMode::arq},
                                         .updu = Bytes(kind % 4, 'x')};
    if (kind & 0x80) request.delivery.confirmation = sis::Confirmation::client;
    accepted(core_.request_expedited(now_, std::move(request)));
  }
  void accepted(const Result<sis::RequestId>& result) {
    if (result) S5066_ASSERT(ends_.emplace(*result, 0).second);
  }

  void settle() {
    while (const auto action = core_.poll_action()) perform(*action);
    while (const auto event = core_.poll_event()) observe(*event);
    // If the last on_deadline() left a deadline that is due, a driver would loop for ever.
    core_.on_deadline(now_);
    while (const auto action = core_.poll_action()) perform(*action);
    while (const auto event = core_.poll_event()) observe(*event);
    S5066_ASSERT(!core_.next_deadline() || *core_.next_deadline() > now_);
  }

  void perform(const sis::ClientCore::Action& action) {
    if (std::holds_alternative<sis::ClientCore::Connect>(action)) {
      S5066_ASSERT(!connection_);
      connection_ = true;
    } else if (std::holds_alternative<sis::ClientCore::Disconnect>(action)) {
      S5066_ASSERT(connection_);
      connection_ = writing_ = false;
    } else {
      S5066_ASSERT(connection_ && !writing_);
      writing_ = true;
      const Bytes& octets = std::get<sis::ClientCore::SendBytes>(action).octets;
      sis::Framer framer;
      framer.push(octets);
      while (const auto item = framer.poll()) {
        const auto* frame = std::get_if<sis::Framer::Frame>(&*item);
        S5066_ASSERT(frame != nullptr && sis::decode(frame->body).ok());
      }
      S5066_ASSERT(!framer.partial());
    }
  }

  void observe(const sis::Event& event) {
    if (const auto* e = std::get_if<sis::event::Confirmed>(&event)) end(e->id);
    if (const auto* e = std::get_if<sis::event::Rejected>(&event)) end(e->id);
    if (const auto* e = std::get_if<sis::event::Sent>(&event)) end(e->id);
    if (const auto* e = std::get_if<sis::event::Unresolved>(&event)) end(e->id);
    observe_links(event);
  }
  void observe_links(const sis::Event& event) {
    using enum LinkState;
    if (const auto* e = std::get_if<sis::event::HardLinkEstablished>(&event)) {
      forget_link(e->link, {requested});
      links_.push_back({e->link, up});
    }
    if (const auto* e = std::get_if<sis::event::HardLinkRejected>(&event)) {
      forget_link(e->link, {requested});
    }
    if (const auto* e = std::get_if<sis::event::HardLinkTerminated>(&event)) {
      forget_link(e->link, {up, offered});
    }
    if (const auto* e = std::get_if<sis::event::HardLinkLost>(&event)) {
      forget_link(e->link, {requested, up, offered});
    }
    if (const auto* e = std::get_if<sis::event::HardLinkOffered>(&event)) {
      // A new offer of a link that was up means that its caller has given up the old one.
      std::erase_if(links_, [e](const Link& l) { return l.link == e->link && l.state == up; });
      links_.push_back({e->link, offered});
    }
  }
  void end(sis::RequestId id) {
    const auto it = ends_.find(id);
    S5066_ASSERT(it != ends_.end() && it->second == 0);
    it->second = 1;
  }

  ByteSpan script_;
  Rng rng_{1};
  Instant now_{};
  sis::ClientCore core_;
  bool connection_ = false;
  bool writing_ = false;
  std::map<sis::RequestId, int> ends_;
  std::vector<Link> links_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  World(ByteSpan(data, size)).run();
  return 0;
}
