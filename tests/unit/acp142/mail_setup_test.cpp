// SPDX-License-Identifier: Apache-2.0
// The settings reach the machines.
#include "gateways/acp142/mail/mail_setup.h"

#include <gtest/gtest.h>

namespace s5066::acp142 {
namespace {

using namespace std::chrono_literals;

MailConfig config_of() {
  MailConfig config;
  config.node = {0x0A010101};
  config.stations = {{.name = "a", .node = {2}, .address = {}},
                     {.name = "b", .node = {3}, .address = {}}};
  config.groups = {{.name = "g", .address = {}, .stations = {"a", "b"}, .udp_address = 7}};
  return config;
}

// The blocks are the smallest that can be configured, and the parity is too little to help yet.
TEST(MailSetup, what_smtp_may_hand_over_every_station_takes_from_the_air) {
  constexpr std::size_t kBlockOctets = 512 - p_mul::kParityHeaderOctets;
  const std::size_t most = kMessageOctetsMax + kEnvelopeOctetsMax;
  const auto total = static_cast<std::uint16_t>((most + kBlockOctets - 1) / kBlockOctets);
  MailConfig config = config_of();
  config.rounds.pdu_octets_max = 512;
  Rng rng(1);
  UtcClock utc;
  utc.set({}, {1'700'000'000});
  p_mul::PMulReceiver receiver(p_mul_config(config).receiver, rng, utc);
  const MessageName name{{2}, 7};
  receiver.on_address({}, {.name = name,
                           .total = total,
                           .expiry = {1'700'003'600},
                           .destinations = {{config.node, 1}}});
  for (std::uint16_t number = 1; number <= total; ++number) {
    receiver.on_data({}, {.name = name, .number = number, .fragment = Bytes(kBlockOctets)});
  }
  EXPECT_EQ(receiver.counters()[p_mul::PMulReceiverCounter::too_large], 0u);
  EXPECT_EQ(receiver.counters()[p_mul::PMulReceiverCounter::received], 1u);
}

// PM-133: no setting has its default value.
TEST(MailSetup, what_is_configured_of_p_mul_is_what_it_does) {
  MailConfig config = config_of();
  config.rounds = {.ack_wait_s = 41,
                   .back_off_percent = 250,
                   .emcon_interval_s = 901,
                   .emcon_repeats_max = 7,
                   .pdu_octets_max = 1022,
                   .internet_checksum = true,
                   .extra_address = false,
                   .coded = true,
                   .parity_ahead_percent = 30,
                   .resend_all = true};
  config.receiving = {.ack_slot_ms = 3100,
                      .ack_again_s = 71,
                      .missing_list_max = 21,
                      .ack_when_missing = 31,
                      .orphan_s = 61,
                      .clock_tolerance_s = 6};
  config.groups[0].rounds = config.rounds;
  config.groups[0].rounds.emcon_repeats_max = 8;
  const p_mul::PMulCore::Config p_mul = p_mul_config(config);
  ASSERT_TRUE(p_mul.sender.groups.at(0).rules);
  const p_mul::RoundRules& group = *p_mul.sender.groups[0].rules;
  const p_mul::RoundRules& rest = p_mul.sender;
  EXPECT_EQ(group.emcon_repeats_max, 8u);
  EXPECT_EQ(rest.emcon_repeats_max, 7u);
  for (const p_mul::RoundRules* rules : {&group, &rest}) {
    EXPECT_EQ(rules->ack_wait, 41s);
    EXPECT_EQ(rules->back_off, 2.5);
    EXPECT_EQ(rules->emcon_interval, 901s);
    EXPECT_EQ(rules->pdu_octets_max, 1022u);
    EXPECT_EQ(rules->block_octets, 1000u);
    EXPECT_EQ(rules->checksum, p_mul::Checksum::internet);
    EXPECT_FALSE(rules->extra_address);
    EXPECT_TRUE(rules->coded);
    EXPECT_EQ(rules->parity_ahead, 0.3);
    EXPECT_TRUE(rules->resend_all);
  }
  EXPECT_EQ(p_mul.sender.ack_slot, 3100ms);
  EXPECT_EQ(p_mul.sender.missing_list_max, 21u);
  EXPECT_EQ(p_mul.receiver.ack_slot, 3100ms);
  EXPECT_EQ(p_mul.receiver.missing_list_max, 21u);
  EXPECT_EQ(p_mul.receiver.ack_again, 71s);
  EXPECT_EQ(p_mul.receiver.back_off, 2.5);
  EXPECT_EQ(p_mul.receiver.ack_when_missing, 31u);
  EXPECT_EQ(p_mul.receiver.orphan_max, 61s);
  EXPECT_EQ(p_mul.receiver.expiry_margin, 6s);
  EXPECT_EQ(p_mul.receiver.checksum, p_mul::Checksum::internet);
  EXPECT_EQ(p_mul.receiver.pdu_octets_max, 1022u);
}

// PM-022, PM-133
TEST(MailSetup, over_hf_the_node_repeats_as_often_as_configured) {
  MailConfig config = config_of();
  EXPECT_EQ(carrier_config(config).repeats, 0);
  config.nonarq_repeats = 15;
  EXPECT_EQ(carrier_config(config).repeats, 15);
  EXPECT_EQ(carrier_config(config).nodes.size(), 2u);
}

// PM-080, PM-022, PM-133
TEST(MailSetup, by_udp_ports_group_rates_and_addresses_are_as_configured) {
  MailConfig config = config_of();
  use_udp(config);
  p_mul::CarrierUdp::Config udp = udp_config(config);
  EXPECT_EQ(udp.core.ports.group_control, 2751);
  EXPECT_EQ(udp.core.ports.announce, 2752);
  EXPECT_EQ(udp.core.ports.data, 2753);
  EXPECT_EQ(udp.core.ports.ack, 2754);
  EXPECT_EQ(udp.core.global_group, 0xEF010101u);
  EXPECT_TRUE(udp.core.group_rates_bps.empty());
  config.udp->group_control_port = 1;
  config.udp->announce_port = 2;
  config.udp->data_port = 3;
  config.udp->ack_port = 4;
  config.udp->general_group = 5;
  config.groups[0].udp_rate_bps = 6000;
  config.stations[0].udp_address = 99;
  config.udp->pool = {8};
  config.udp->wait_for_reject_ms = 9;
  config.udp->announce_delay_ms = 10;
  config.udp->announce_count = 11;
  udp = udp_config(config);
  EXPECT_EQ(udp.core.ports.group_control, 1);
  EXPECT_EQ(udp.core.ports.announce, 2);
  EXPECT_EQ(udp.core.ports.data, 3);
  EXPECT_EQ(udp.core.ports.ack, 4);
  EXPECT_EQ(udp.core.global_group, 5u);
  EXPECT_EQ(udp.core.group_rates_bps.at({1}), 6000);
  EXPECT_EQ(udp.core.groups.at({1}), 7u);
  EXPECT_EQ(udp.core.nodes.at({2}), 99u);
  EXPECT_EQ(udp.core.nodes.at({3}), 3u);
  const p_mul::PMulGroups::Config groups = p_mul_config(config).groups;
  EXPECT_EQ(groups.pool, std::vector<std::uint32_t>{8});
  EXPECT_EQ(groups.wait_for_reject, 9ms);
  EXPECT_EQ(groups.announce_delay, 10ms);
  EXPECT_EQ(groups.announce_count, 11u);
}

// PM-133: a gateway with smaller PDUs than before does not lose messages that were already cut.
TEST(MailSetup, blocks_of_an_earlier_configuration_still_go) {
  for (const bool udp : {false, true}) {
    MailConfig config = config_of();
    if (udp) use_udp(config);
    config.rounds.pdu_octets_max = 512;
    const p_mul::PMulCore::Config p_mul = p_mul_config(config);
    EXPECT_EQ(p_mul.sender.bearer_octets_max, udp ? 8972u : 2042u);
    if (udp) {
      EXPECT_EQ(udp_config(config).core.pdu_octets_max, 8972u);
    }
    Rng rng(1);
    p_mul::PMulCore core(p_mul, rng);
    core.on_clock({}, {1000});
    Submission resumed{.key = {1},
                       .message_id = 1,
                       .expiry = {2000},
                       .destinations = {{{2}, 1}},
                       .block_octets = 2012,
                       .content = Bytes(2 * 2012, 1)};
    EXPECT_EQ(core.request_submit({}, resumed)->block_octets, 2012);
    resumed.key = {2};
    resumed.message_id = 2;
    resumed.block_octets = 0;
    EXPECT_EQ(core.request_submit({}, resumed)->block_octets, 490);
    std::size_t largest = 0;
    while (const auto pdu = core.poll_pdu({})) largest = std::max(largest, pdu->octets.size());
    EXPECT_EQ(largest, 2012u + p_mul::kDataHeaderOctets);
  }
}

}  // namespace
}  // namespace s5066::acp142
