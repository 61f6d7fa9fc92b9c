// SPDX-License-Identifier: Apache-2.0
// Drives the three sublayers as s5066d/base/driven_core.h says, and as a careless driver would.
#include "s5066d/base/driven_core.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "s5066d/base/overloaded.h"
#include "s5066d/cas/channel_access.h"
#include "s5066d/dts/data_transfer.h"
#include "s5066d/sap/subnetwork_interface.h"
#include "sis/codec.h"

namespace s5066 {
namespace {

using namespace std::chrono_literals;

constexpr Address kOwn{0x01020304};
constexpr Address kPeer{0x01020305};
constexpr Address kOther{0x01020306};

using Inputs = std::vector<std::function<void(Instant)>>;

/// Two clients bind and send; the links that the core requests are never made.
struct Sap {
  static sap::Config config() {
    sap::Config config;
    config.address = kOwn;
    return config;
  }
  Inputs inputs() {
    const auto give = [this](std::uint32_t client, sis::Primitive primitive) {
      return [this, client, primitive](Instant now) {
        core.on_primitive(now, ClientId{client}, primitive);
      };
    };
    const auto bind = [](std::uint8_t sap) {
      sis::BindRequest request;
      request.sap = SapId{sap};
      request.service.mode = sis::TransmissionMode::arq;
      return request;
    };
    const auto data = [](Address to) {
      sis::UnidataRequest request;
      request.destination = to;
      request.destination_sap = SapId{4};
      request.time_to_live = 300;
      request.updu = {1, 2, 3};
      return request;
    };
    return {[this](Instant now) { core.on_client_connected(now, ClientId{1}); },
            give(1, bind(4)),
            [this](Instant now) { core.on_client_connected(now, ClientId{2}); },
            give(2, bind(5)),
            give(1, data(kPeer)),
            give(2, data(kOther)),
            [this](Instant now) {
              core.on_link_made(now, {kPeer, true});
            },
            [this](Instant now) { core.on_link_rejected(now, {.peer = kOther}); }};
  }
  static std::string text(const sap::Action& action) {
    return std::visit(
        Overloaded{[](const sap::SendPrimitive& send) {
                     Bytes octets;
                     sis::encode(send.primitive, octets);
                     return std::to_string(send.client.value) + ":" + to_hex(octets);
                   },
                   [](const cas::SpduRequest& spdu) {
                     return to_string(spdu.destination) + " " + to_hex(spdu.spdu);
                   },
                   [](const sap::RequestLink& link) { return "link " + to_string(link.peer); },
                   [](const auto&) { return std::string("other"); }},
        action);
  }

  /// A link that is made before the core could ask for it is not asked for.
  static bool is_outcome(const std::string& text) { return !text.starts_with("link"); }

  Counters counters;
  NullTrace trace;
  sap::SubnetworkInterface core{config(), counters, trace};
};

/// Calls out and in, data on a link, and answers that never come.
struct Cas {
  static cas::Config config() {
    cas::Config config;
    config.address = kOwn;
    return config;
  }
  Inputs inputs() {
    return {[this](Instant now) {
              EXPECT_TRUE(core.request_link(now, kPeer, cas::LinkType::nonexclusive).ok());
            },
            [this](Instant now) {
              core.on_cpdu(now, {.service = dts::Service::expedited_nonarq,
                                 .source = kOther,
                                 .destination = kOwn,
                                 .cpdu = {0x10}});
            },
            [this](Instant now) { core.on_cpdu_confirm(now, {CpduId{cas::kControlIds}}); },
            [this](Instant now) { core.on_cpdu_confirm(now, {CpduId{cas::kControlIds + 1}}); },
            [this](Instant now) {
              core.request_unidata(now, {.id = CpduId{1}, .destination = kOther, .spdu = {0, 0}});
            },
            [this](Instant now) { core.on_connection_heard(now, kOther); }};
  }
  static std::string text(const cas::Action& action) {
    const auto* cpdu = std::get_if<dts::CpduRequest>(&action);
    if (cpdu == nullptr) return "action " + std::to_string(action.index());
    return to_string(cpdu->destination) + " " + to_hex(cpdu->cpdu);
  }
  static bool is_outcome(const std::string&) { return true; }

  Rng rng{7};
  Counters counters;
  NullTrace trace;
  cas::ChannelAccess core{config(), rng, counters, trace};
};

/// Data with and without ARQ, through a modem that never reports anything.
struct Dts {
  static dts::Config config() {
    dts::Config config;
    config.address = kOwn;
    return config;
  }
  Inputs inputs() {
    const auto send = [this](std::uint64_t id, dts::Service service, Address to) {
      return [this, id, service, to](Instant now) {
        core.request_cpdu(now, {.id = CpduId{id},
                                .service = service,
                                .destination = to,
                                .cpdu = {1, 2, static_cast<std::uint8_t>(id)},
                                .time_to_die = now + 5min});
      };
    };
    return {[this](Instant now) { core.on_connection_made(now, kPeer); },
            send(1, dts::Service::arq, kPeer),
            send(2, dts::Service::nonarq, kOther),
            send(3, dts::Service::arq, kOther),  // no connection
            send(4, dts::Service::arq, kPeer),
            [this](Instant now) { core.on_connection_terminated(now, kOther); }};
  }
  static std::string text(const dts::Action& action) {
    return std::visit(Overloaded{[](const modem::Command& command) {
                                   const auto* burst = std::get_if<modem::TransmitBurst>(&command);
                                   return burst == nullptr ? "command" : to_hex(burst->bytes);
                                 },
                                 [](const dts::CpduRejected& rejected) {
                                   return "rejected " + std::to_string(rejected.id.value);
                                 },
                                 [](const dts::CpduConfirm& confirm) {
                                   return "confirmed " + std::to_string(confirm.id.value);
                                 },
                                 [](const auto&) { return std::string("other"); }},
                      action);
  }
  /// C_PDUs that come in one event share their transmissions.
  static bool is_outcome(const std::string& text) {
    return text.starts_with("rejected") || text.starts_with("confirmed");
  }

  Rng rng{7};
  Counters counters;
  NullTrace trace;
  dts::DataTransfer core{config(), rng, counters, trace};
};

/// The actions of a core, each with its time in nanoseconds.
using Log = std::vector<std::string>;

struct Driver {
  bool polls_between = true;  // after each of the inputs
  unsigned early = 0;         // calls of on_deadline() before each deadline
  unsigned repeated = 0;      // … and again at it
};

template <typename Rig>
Log drive(const Driver& driver) {
  static_assert(DrivenCore<decltype(Rig::core)>);
  Rig rig;
  Log log;
  Instant now{10s};
  const auto drain = [&] {
    while (const auto action = rig.core.poll_action()) {
      log.push_back(std::to_string(now.time_since_epoch().count()) + " " + Rig::text(*action));
    }
    EXPECT_FALSE(rig.core.poll_action().has_value());
  };
  for (const auto& input : rig.inputs()) {
    input(now);
    if (driver.polls_between) drain();
  }
  drain();
  const Instant end = now + 30min;
  for (auto next = rig.core.next_deadline(); next && *next <= end;
       next = rig.core.next_deadline()) {
    if (log.size() > 10'000) {
      ADD_FAILURE() << "the core has no rest";
      break;
    }
    const Instant before = now;
    for (unsigned i = 1; i <= driver.early && *next > before; ++i) {
      now = before + (*next - before) * i / (driver.early + 1);
      rig.core.on_deadline(now);
      drain();
      EXPECT_EQ(rig.core.next_deadline(), next);
    }
    now = std::max(*next, before);
    for (unsigned i = 0; i <= driver.repeated; ++i) {
      rig.core.on_deadline(now);
      drain();
    }
  }
  return log;
}

template <typename Rig>
class Drive : public ::testing::Test {};
using Rigs = ::testing::Types<Sap, Cas, Dts>;
TYPED_TEST_SUITE(Drive, Rigs);

TYPED_TEST(Drive, a_core_that_is_drained_asks_for_nothing_until_there_is_an_input) {
  TypeParam rig;
  const Instant now{10s};
  for (const auto& input : rig.inputs()) {
    input(now);
    while (rig.core.poll_action()) {
    }
    const auto next = rig.core.next_deadline();
    for (int i = 0; i < 3; ++i) EXPECT_FALSE(rig.core.poll_action().has_value());
    EXPECT_EQ(rig.core.next_deadline(), next);
  }
}

TYPED_TEST(Drive, early_and_repeated_deadlines_change_nothing) {
  const Log log = drive<TypeParam>({});
  EXPECT_GE(log.size(), 4u);
  EXPECT_EQ(drive<TypeParam>({.early = 3}), log);
  EXPECT_EQ(drive<TypeParam>({.repeated = 2}), log);
  EXPECT_EQ(drive<TypeParam>({.early = 1, .repeated = 1}), log);
}

/// Returns the outcomes in the log without their times, sorted.
template <typename Rig>
Log outcomes(const Log& log) {
  Log texts;
  for (const std::string& line : log) {
    std::string text = line.substr(line.find(' ') + 1);
    if (Rig::is_outcome(text)) texts.push_back(std::move(text));
  }
  std::sort(texts.begin(), texts.end());
  return texts;
}

// The core decides on inputs in a row together, so the ways to the outcomes may differ.
TYPED_TEST(Drive, inputs_in_a_row_are_one_event_and_lose_no_outcome) {
  const Log polled = outcomes<TypeParam>(drive<TypeParam>({}));
  EXPECT_GE(polled.size(), 2u);
  EXPECT_EQ(outcomes<TypeParam>(drive<TypeParam>({.polls_between = false})), polled);
}

TYPED_TEST(Drive, a_core_that_is_not_drained_is_to_be_called_back_at_once) {
  TypeParam rig;
  const Instant now{10s};
  for (const auto& input : rig.inputs()) {
    input(now);
    EXPECT_EQ(rig.core.next_deadline(), now);
  }
  while (rig.core.poll_action()) {
  }
  const auto next = rig.core.next_deadline();
  EXPECT_TRUE(!next || *next > now);
}

}  // namespace
}  // namespace s5066
