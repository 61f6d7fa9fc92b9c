// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/gateways/relay_world.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace s5066::test {

using file_relay::RelayCore;
using file_relay::RelayEvent;
using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

std::uint64_t block_octets_of(ByteSpan updu) {
  const auto pdu = gateways::decode_rcop(updu);
  if (!pdu || pdu->header.application_id != file_relay::kTransferApplication) return 0;
  const auto message = file_relay::decode_transfer_message(pdu->data);
  const auto* block = message ? std::get_if<file_relay::BlockMessage>(&*message) : nullptr;
  return block == nullptr ? 0 : block->octets.size();
}

}  // namespace

RelayWorld::RelayWorld(std::uint64_t seed, const SubnetOptions& options)
    : subnet(options), rng_(seed) {
  core_config.sender.spool_poll = seconds(30);
  for (const Side side : {kLeft, kRight}) {
    Station& s = station(side);
    const std::string name = side == kLeft ? "left" : "right";
    s.address = Address{0x01020300u + static_cast<std::uint32_t>(side)};
    s.store_config.path = (folder_.path() / (name + ".db")).string();
    s.store_config.inbox = folder_.make(name);
    s.store_config.first_updu_id = static_cast<std::uint8_t>(rng_.below(256));
    s.store_config.inbox_hook = [&s](gateways::Inbox::Step) { return s.inbox_errno; };
    start(side);
  }
}

UtcSeconds RelayWorld::utc() const {
  const Duration since = now().time_since_epoch() + clock_ahead;
  return {1'700'000'000 + std::chrono::duration_cast<seconds>(since).count()};
}

void RelayWorld::after(Duration wait, sim::EventHeap::Callback run) {
  heap_.schedule(now() + wait, std::move(run));
}

void RelayWorld::start(Side side) {
  Station& s = station(side);
  auto opened = gateways::SqliteStore::open(s.store_config);
  ASSERT_TRUE(opened) << to_string(opened.error());
  s.store.emplace(std::move(opened).value());
  static_cast<void>(s.store->recover());  // the relay also starts without its inbox
  RelayCore::Config config = core_config;
  config.sender.transfer_service = subnet.transfers[side];
  s.core = std::make_unique<RelayCore>(config);
  s.core->on_clock(now(), utc(), now().time_since_epoch());
  s.core->on_start(now());
  pump(side);
  after(seconds(1), [this, side, incarnation = s.incarnation] {
    if (station(side).incarnation == incarnation) bind(side);
  });
}

void RelayWorld::set_clock(Side side, Duration step) {
  clock_ahead += step;
  station(side).core->on_clock(now(), utc(), now().time_since_epoch());
  pump(side);
}

void RelayWorld::kill(Side side) {
  Station& s = station(side);
  ++s.incarnation;
  ++s.binding;
  ++s.kills;
  s.timer.disarm();
  s.core.reset();
  s.store.reset();
  s.bound = false;
  s.queued = 0;
  s.flow_off = false;
}

void RelayWorld::bind(Side side) {
  Station& s = station(side);
  if (s.core == nullptr || s.bound) return;
  s.bound = true;
  tell(side, gateways::SisBound{static_cast<std::uint16_t>(subnet.mtu)});
  if (subnet.udop_mtu > 0) set_udop(side, true);
}

void RelayWorld::set_udop(Side side, bool bound) {
  Station& s = station(side);
  if (s.core == nullptr) return;
  ++s.udop_binding;
  if (bound) {
    s.core->on_udop(now(), gateways::SisBound{static_cast<std::uint16_t>(subnet.udop_mtu)});
  } else {
    s.core->on_udop(now(), gateways::SisLost{});
  }
  pump(side);
}

// The node tells nothing of a U_PDU without ARQ, and loses those that wait if the binding ends.
void RelayWorld::submit_udop(Side side, const gateways::SisUnidata& updu) {
  Station& s = station(side);
  ++s.udop_sent;
  s.last_unidata = updu;
  s.line_free = std::max(s.line_free, now()) + subnet.per_updu;
  const bool lost = rng_.chance(subnet.udop_lost) || s.muted;
  after(s.line_free - now(), [this, side, updu, lost, binding = s.udop_binding] {
    Station& to = station(side == kLeft ? kRight : kLeft);
    if (lost || station(side).udop_binding != binding || to.core == nullptr) return;
    to.core->on_udop(now(), gateways::SisIndication{station(side).address, SapId{7}, updu.updu});
    pump(side == kLeft ? kRight : kLeft);
  });
}

void RelayWorld::lose_connection(Side side, Duration outage) {
  Station& s = station(side);
  if (!s.bound) return;
  s.bound = false;
  ++s.binding;
  s.queued = 0;
  s.flow_off = false;
  tell(side, gateways::SisLost{});
  after(outage, [this, side, incarnation = s.incarnation] {
    if (station(side).incarnation == incarnation) bind(side);
  });
}

bool RelayWorld::step(Side side) {
  Station& s = station(side);
  if (!s.steps_left || --*s.steps_left > 0) return true;
  s.steps_left.reset();
  kill(side);
  after(seconds(45), [this, side] { start(side); });
  return false;
}

void RelayWorld::tell(Side side, const gateways::SisEvent& event) {
  if (station(side).core == nullptr || !step(side)) return;
  station(side).core->on_sis(now(), event);
  pump(side);
}

void RelayWorld::inject(Side to, const Bytes& updu) {
  const Side from = to == kLeft ? kRight : kLeft;
  tell(to, gateways::SisIndication{station(from).address, gateways::kRcopSap, updu});
}

void RelayWorld::pump(Side side) {
  Station& s = station(side);
  while (auto action = s.core->poll_action()) {
    if (auto* event = std::get_if<RelayEvent>(&*action)) {
      ++s.events[event->kind];
      s.log.push_back(std::move(*event));
      continue;
    }
    if (!step(side)) return;
    if (auto* request = std::get_if<gateways::StoreRequest>(&*action)) {
      serve(side, std::move(*request));
    } else if (const auto* udop = std::get_if<RelayCore::UdopUnidata>(&*action)) {
      submit_udop(side, udop->unidata);
    } else {
      submit(side, std::move(std::get<gateways::SisUnidata>(*action)));
    }
  }
  const std::size_t outstanding = s.core->sender().outstanding() +
                                  s.core->receiver().outstanding() + s.core->outbox().outstanding();
  s.outstanding_peak = std::max(s.outstanding_peak, outstanding);
  s.timer.arm(
      s.core->next_deadline(),
      [this, side] {
        if (!step(side)) return;
        station(side).core->on_deadline(now());
        pump(side);
      },
      milliseconds(1));
}

// The work and its result are two steps, because a relay may die between them.
void RelayWorld::serve(Side side, gateways::StoreRequest request) {
  const std::uint64_t incarnation = station(side).incarnation;
  after(milliseconds(2), [this, side, incarnation, request = std::move(request)] {
    Station& s = station(side);
    if (s.incarnation != incarnation) return;
    auto result = s.store->execute(request);
    if (!step(side)) return;
    s.core->on_store_result(now(), result);
    pump(side);
  });
}

void RelayWorld::submit(Side side, gateways::SisUnidata updu) {
  Station& s = station(side);
  ++s.updus_sent;
  s.last_updu = updu.updu;
  s.last_unidata = updu;
  s.block_octets += block_octets_of(updu.updu);
  if (s.flow_off) ++s.sent_while_off;
  if (++s.queued > subnet.queue_max && !s.flow_off) {
    s.flow_off = true;
    after({}, [this, side, binding = s.binding] {
      if (station(side).binding == binding) tell(side, gateways::SisFlow{false});
    });
  }
  s.line_free = std::max(s.line_free, now()) + subnet.per_updu;
  const Duration late = subnet.reordered ? seconds(rng_.below(20)) : seconds(0);
  const bool reject = rng_.chance(subnet.rejected);
  after(s.line_free + late - now(), [this, side, updu = std::move(updu), binding = s.binding,
                                     reject] { arrive(side, updu, binding, reject); });
}

void RelayWorld::arrive(Side from, const gateways::SisUnidata& updu, std::uint64_t binding,
                        bool reject) {
  const Side to = from == kLeft ? kRight : kLeft;
  if (station(from).binding != binding) return;  // the node has dropped it
  const bool there = station(to).bound && station(to).core != nullptr;
  const bool arrives = there && !station(from).muted && (!reject || rng_.chance(0.5));
  for (int copies = arrives ? 1 + rng_.chance(subnet.repeated) : 0; copies > 0; --copies) {
    tell(to, gateways::SisIndication{station(from).address, gateways::kRcopSap, updu.updu});
  }
  Station& s = station(from);
  if (s.binding != binding) return;
  --s.queued;
  if (s.flow_off && s.queued <= subnet.queue_max / 2) {
    s.flow_off = false;
    tell(from, gateways::SisFlow{true});
    if (s.binding != binding) return;
  }
  if (reject || !there) {
    const auto reason = there ? sis::RejectReason::destination_not_responding
                              : sis::RejectReason::destination_sap_not_bound;
    tell(from, gateways::SisRejected{updu.id, reason});
  } else {
    tell(from, gateways::SisConfirmed{updu.id});
  }
}

// Hands the file over as another program would: through the spool file, not through the relay.
gateways::SpoolId RelayWorld::send(Side from, const std::string& name, const Bytes& content,
                                   std::optional<std::uint8_t> priority) {
  const Side to = from == kLeft ? kRight : kLeft;
  auto hand_over = gateways::SqliteStore::open(station(from).store_config);
  EXPECT_TRUE(hand_over);
  const auto id = hand_over->enqueue({station(to).address, name, content, utc(), priority});
  EXPECT_TRUE(id) << to_string(id.error());
  station(from).sent.push_back(*id);
  if (station(from).core != nullptr) {
    station(from).core->on_spool_changed(now());
    pump(from);
  }
  return *id;
}

bool RelayWorld::change(Side side, gateways::SpoolChange change, gateways::SpoolId id) {
  Station& s = station(side);
  auto operators = gateways::SqliteStore::open(s.store_config);
  EXPECT_TRUE(operators);
  const bool runs = s.core != nullptr;
  if (runs && s.core->sender().in_hand(id) == file_relay::SenderCore::InHand::busy) return false;
  const auto row = operators->change(change, id, utc());
  if (!row || !runs) return row.ok();
  s.core->on_changed(now(), *row, change == gateways::SpoolChange::retry);
  pump(side);
  return true;
}

gateways::SpoolItem RelayWorld::item(Side side, gateways::SpoolId id) {
  auto look = gateways::SqliteStore::open(station(side).store_config);
  EXPECT_TRUE(look);
  return **look->find(id);
}

bool RelayWorld::all_delivered() {
  for (const Side side : {kLeft, kRight}) {
    for (const auto id : station(side).sent) {
      if (item(side, id).state != gateways::SpoolState::delivered) return false;
    }
  }
  return true;
}

bool RelayWorld::run_until_delivered(Duration time_max) {
  const Instant end = now() + time_max;
  while (now() < end) {
    if (all_delivered()) return true;
    run_for(std::chrono::minutes(5));
  }
  return all_delivered();
}

std::map<std::string, Bytes> RelayWorld::inbox(Side side) {
  return visible_files(station(side).store_config.inbox);
}

}  // namespace s5066::test
