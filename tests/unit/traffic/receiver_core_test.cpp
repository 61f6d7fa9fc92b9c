// SPDX-License-Identifier: Apache-2.0
#include "gateways/traffic/receiver_core.h"

#include <gtest/gtest.h>

#include "gateways/traffic/traffic_report.h"
#include "s5066d/base/rng.h"

namespace s5066::traffic {
namespace {

using namespace std::chrono_literals;

constexpr std::int64_t kUtc = 1'800'000'000'000'000;  // when the receiver starts

std::int64_t us(Duration d) {
  return std::chrono::duration_cast<std::chrono::microseconds>(d).count();
}

Probe probe(std::uint32_t number, Duration sent, std::uint32_t planned = 0) {
  return {.octets = 100,
          .run = 7,
          .number = number,
          .planned = planned,
          .line_rate_bps = 1000,
          .sent_us = static_cast<std::uint64_t>(kUtc + us(sent))};
}

class ReceiverCoreTest : public testing::Test {
 protected:
  ReceiverCore::Time at(Duration time) const { return {Instant(time), kUtc + us(time)}; }
  void arrive(Duration time, const Probe& probe, const std::string& source = "10.0.0.1") {
    core.on_datagram(at(time), source, encode(probe), 128);
  }
  RunFigures figures() const { return core.reports().at(0).figures; }
  std::uint64_t count(TrafficCounter counter) const { return core.counters()[counter]; }

  ReceiverCore core{ReceiverCore::Config()};
};

TEST_F(ReceiverCoreTest, counts_what_is_lost_and_what_comes_twice_or_late) {
  for (const std::uint32_t number : {0u, 1u, 3u, 2u, 3u, 6u}) {
    arrive(number * 1s, probe(number, 0s, 10));
  }
  EXPECT_EQ(figures().planned, 10u);
  EXPECT_EQ(figures().received, 5u);
  EXPECT_EQ(figures().lost, 5u);
  EXPECT_EQ(figures().doubles, 1u);
  EXPECT_EQ(figures().reordered, 1u);
  EXPECT_EQ(figures().octets, 5u * 128);
  EXPECT_FALSE(core.is_over(Instant(10s)));
}

TEST_F(ReceiverCoreTest, takes_the_highest_number_for_the_end_of_a_run_of_unknown_length) {
  arrive(0s, probe(0, 0s));
  arrive(1s, probe(4, 0s));
  EXPECT_EQ(figures().lost, 3u);
  Probe last = probe(6, 0s);
  last.last = true;
  arrive(2s, last);
  EXPECT_EQ(figures().planned, 7u);
}

TEST_F(ReceiverCoreTest, gives_percentiles_of_the_delay_by_nearest_rank) {
  for (std::uint32_t n = 0; n < 100; ++n) {
    arrive(1000s + n * 1s, probe(n, 1000s - 1s));  // delays of 1 s to 100 s
  }
  const DelayFigures delay = figures().delay;
  EXPECT_EQ(delay.samples, 100u);
  EXPECT_DOUBLE_EQ(delay.min_s, 1);
  EXPECT_DOUBLE_EQ(delay.mean_s, 50.5);
  EXPECT_DOUBLE_EQ(delay.median_s, 50);
  EXPECT_DOUBLE_EQ(delay.p90_s, 90);
  EXPECT_DOUBLE_EQ(delay.p95_s, 95);
  EXPECT_DOUBLE_EQ(delay.p99_s, 99);
  EXPECT_DOUBLE_EQ(delay.max_s, 100);
}

TEST_F(ReceiverCoreTest, finds_plateau_and_the_times_to_shares_of_it) {
  // Intervals of 10 s from 0: none, 128, 256, then 512 octets each.
  std::uint32_t number = 0;
  const auto interval = [&](int index, int probes) {
    for (int i = 0; i < probes; ++i) {
      arrive(index * 10s + i * 1s + 5s, probe(number, 0s));
      ++number;
    }
  };
  arrive(5s, probe(number++, 0s));  // sent at 0 s, which is the start
  interval(1, 1);
  interval(2, 2);
  for (int index = 3; index < 12; ++index) interval(index, 4);
  interval(12, 1);  // not over
  const RunFigures f = figures();
  EXPECT_DOUBLE_EQ(f.plateau_bps, 8 * 512 / 10.0);
  // Probes in the intervals: 1 1 2 | 1 2 4 | 2 4 4 | 4 4 4; half of 12 is 6, four fifths are 9.6.
  EXPECT_EQ(f.to_half, 40s);
  EXPECT_EQ(f.to_four_fifths, 50s);
  EXPECT_EQ(f.length, 125s);
  EXPECT_DOUBLE_EQ(f.throughput_bps, 8 * 128 * 41.0 / 125);
  EXPECT_EQ(f.intervals.size(), 13u);
  EXPECT_EQ(f.intervals[2].octets, 256u);
}

TEST_F(ReceiverCoreTest, joins_intervals_so_that_they_stay_few) {
  core = ReceiverCore({.statistics = {.interval = 1s, .intervals_max = 4}});
  for (std::uint32_t n = 0; n < 4; ++n) arrive(n * 1s, probe(n, n * 1s));
  EXPECT_EQ(figures().intervals.size(), 4u);
  arrive(4s, probe(4, 4s));
  EXPECT_EQ(figures().interval, 2s);
  ASSERT_EQ(figures().intervals.size(), 3u);
  EXPECT_EQ(figures().intervals[0].octets, 256u);
  EXPECT_EQ(figures().intervals[2].octets, 128u);
  arrive(24h, probe(5, 24h));
  EXPECT_LE(figures().intervals.size(), 4u);
  EXPECT_EQ(figures().octets, 6u * 128);
}

TEST_F(ReceiverCoreTest, shows_delays_above_the_smallest_if_the_clocks_differ) {
  core = ReceiverCore({.statistics = {.relative_delay = true}});
  const Duration off = -1h;  // the sender's clock is ahead
  arrive(10s, probe(0, 0s - off));
  arrive(13s, probe(1, 1s - off));
  EXPECT_DOUBLE_EQ(figures().delay.min_s, 0);
  EXPECT_DOUBLE_EQ(figures().delay.max_s, 2);
  EXPECT_EQ(figures().length, 3s);
  EXPECT_DOUBLE_EQ(figures().intervals[0].delay_max_s, 2);
}

TEST_F(ReceiverCoreTest, leaves_out_delays_that_cannot_be_right) {
  Probe past = probe(0, 0s);
  past.sent_us = 0;
  arrive(1s, past);
  Probe future = probe(1, 0s);
  future.sent_us = ~std::uint64_t{0};
  arrive(2s, future);
  arrive(3s, probe(2, 3s + RunStatistics::kDelayMax));
  EXPECT_EQ(figures().delays_refused, 2u);
  EXPECT_EQ(figures().delay.samples, 1u);
  EXPECT_EQ(figures().received, 3u);
}

TEST_F(ReceiverCoreTest, counts_a_probe_with_altered_content_as_not_received) {
  Bytes altered = encode(probe(0, 0s, 1));
  altered.back() ^= 1;
  core.on_datagram(at(1s), "10.0.0.1", altered, 128);
  Bytes cut = encode(probe(0, 0s, 1));
  cut.pop_back();
  core.on_datagram(at(1s), "10.0.0.1", cut, 128);
  EXPECT_EQ(figures().altered, 2u);
  EXPECT_EQ(figures().received, 0u);
  EXPECT_FALSE(core.is_over(Instant(1s)));
  arrive(2s, probe(0, 0s, 1));
  EXPECT_TRUE(core.is_over(Instant(2s)));
}

TEST_F(ReceiverCoreTest, counts_hostile_datagrams_and_no_change_of_a_header_passes) {
  const Bytes good = encode(probe(3, 0s));
  for (std::size_t octets = 0; octets < kProbeHeader; ++octets) {
    core.on_datagram(at(1s), "10.0.0.1", ByteSpan(good).first(octets), 128);
  }
  for (std::size_t bit = 0; bit < 8 * kProbeHeader; ++bit) {
    Bytes bad = good;
    bad[bit / 8] ^= static_cast<std::uint8_t>(1 << bit % 8);
    core.on_datagram(at(1s), "10.0.0.1", bad, 128);
  }
  Rng rng(1);
  for (int i = 0; i < 1000; ++i) {
    Bytes noise(rng.below(200));
    for (auto& octet : noise) octet = static_cast<std::uint8_t>(rng.next());
    core.on_datagram(at(1s), "10.0.0.1", noise, 128);
  }
  EXPECT_EQ(count(TrafficCounter::datagrams_malformed), 9 * kProbeHeader + 1000);
  EXPECT_TRUE(core.reports().empty());
}

TEST_F(ReceiverCoreTest, refuses_numbers_beyond_its_limit) {
  arrive(1s, probe(kProbesMax, 0s));
  arrive(1s, probe(0, 0s, kProbesMax + 1));
  arrive(1s, probe(5, 0s, 5));
  EXPECT_EQ(count(TrafficCounter::datagrams_malformed), 3u);
  arrive(1s, probe(kProbesMax - 1, 0s, kProbesMax));
  EXPECT_EQ(figures().lost, kProbesMax - 1);
}

TEST_F(ReceiverCoreTest, keeps_a_bounded_number_of_runs) {
  for (std::uint32_t run = 0; run < ReceiverCore::kRunsMax + 3; ++run) {
    Probe of_run = probe(0, 0s);
    of_run.run = run;
    arrive(1s, of_run);
  }
  EXPECT_EQ(core.reports().size(), ReceiverCore::kRunsMax);
  EXPECT_EQ(count(TrafficCounter::runs_refused), 3u);
}

TEST_F(ReceiverCoreTest, is_over_when_nothing_has_come_for_the_quiet_time) {
  EXPECT_FALSE(core.next_deadline());
  arrive(10s, probe(0, 0s, 2));
  EXPECT_EQ(core.next_deadline(), Instant(10s + 5min));
  EXPECT_FALSE(core.is_over(Instant(10s + 5min - 1ns)));
  EXPECT_TRUE(core.is_over(Instant(10s + 5min)));
}

TEST_F(ReceiverCoreTest, finds_the_probes_of_a_stream_wherever_it_is_cut) {
  Bytes sent;
  for (std::uint32_t n = 0; n < 3; ++n) append(sent, encode(probe(n, 0s, 3)));
  for (const std::size_t piece : {1u, 7u, 100u, 300u}) {
    core = ReceiverCore({});
    ASSERT_TRUE(core.on_stream(1, "10.0.0.1"));
    for (std::size_t at_octet = 0; at_octet < sent.size(); at_octet += piece) {
      const auto rest = ByteSpan(sent).subspan(at_octet);
      ASSERT_TRUE(core.on_stream_octets(at(1s), 1, rest.first(std::min(piece, rest.size()))));
    }
    EXPECT_EQ(figures().received, 3u);
    EXPECT_EQ(figures().octets, 300u);
    EXPECT_TRUE(core.is_over(Instant(1s)));
  }
}

TEST_F(ReceiverCoreTest, is_over_when_the_stream_has_ended) {
  ASSERT_TRUE(core.on_stream(1, "10.0.0.1"));
  ASSERT_TRUE(core.on_stream_octets(at(1s), 1, encode(probe(0, 0s))));
  EXPECT_FALSE(core.is_over(Instant(1s)));
  core.on_stream_end(1);
  EXPECT_TRUE(core.is_over(Instant(1s)));
}

TEST_F(ReceiverCoreTest, closes_a_stream_that_speaks_nonsense_or_changes_its_run) {
  ASSERT_TRUE(core.on_stream(1, "10.0.0.1"));
  EXPECT_FALSE(core.on_stream_octets(at(1s), 1, Bytes(kProbeHeader, 'x')));
  EXPECT_FALSE(core.on_stream_octets(at(1s), 1, encode(probe(0, 0s))));  // it is gone
  ASSERT_TRUE(core.on_stream(2, "10.0.0.1"));
  ASSERT_TRUE(core.on_stream_octets(at(1s), 2, encode(probe(0, 0s))));
  Probe other = probe(1, 0s);
  other.run = 8;
  EXPECT_FALSE(core.on_stream_octets(at(1s), 2, encode(other)));
  EXPECT_EQ(count(TrafficCounter::streams_malformed), 2u);
}

TEST_F(ReceiverCoreTest, keeps_a_bounded_number_of_streams) {
  for (ReceiverCore::StreamId id = 1; id <= ReceiverCore::kStreamsMax; ++id) {
    EXPECT_TRUE(core.on_stream(id, "10.0.0.1"));
  }
  EXPECT_FALSE(core.on_stream(99, "10.0.0.1"));
  EXPECT_EQ(count(TrafficCounter::streams_refused), 1u);
  core.on_stream_end(1);
  EXPECT_TRUE(core.on_stream(99, "10.0.0.1"));
}

TEST_F(ReceiverCoreTest, is_reported_as_text_json_and_drawing) {
  for (std::uint32_t n = 0; n < 9; ++n) arrive(n * 10s + 2s, probe(n, n * 10s, 10));
  const auto reports = core.reports();
  const std::string text = to_text(reports, core.counters());
  EXPECT_EQ(text,
            "UDP run 00000007 from 10.0.0.1\n"
            "  probes      9 of 10, 10.0 % lost, 0 twice, 0 late in order, 0 altered\n"
            "  throughput  112 bit/s in 82.0 s, 11.2 % of the line\n"
            "  plateau     102 bit/s, 50 % of it after 30.0 s, 80 % after 30.0 s\n"
            "  delay       median 2.000 s, 90 % 2.000 s, 95 % 2.000 s, 99 % 2.000 s\n"
            "              mean 2.000 s, from 2.000 to 2.000 s\n");
  const std::string json = to_json(reports, core.counters());
  for (const char* part :
       {R"("received":9,"lost":1,"loss":0.100000)", R"("plateau_bps":102.400)",
        R"("time_to_80_s":30.000)", R"("median":2.000000)", R"("traffic_runs_refused":0)"}) {
    EXPECT_NE(json.find(part), std::string::npos) << part << " in " << json;
  }
  const std::string svg = to_svg(reports);
  EXPECT_TRUE(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"));
  EXPECT_NE(svg.find("UDP from 10.0.0.1: throughput"), std::string::npos);
  // 102.4 bit/s of 1000 bit/s in a panel from y 30 to 200.
  EXPECT_NE(svg.find("points=\"90.0,182.6 "), std::string::npos) << svg;
}

TEST_F(ReceiverCoreTest, reports_nothing_and_a_run_without_an_intact_probe) {
  EXPECT_EQ(to_text({}, core.counters()), "nothing has arrived\n");
  Bytes altered = encode(probe(0, 0s));
  altered.back() ^= 1;
  core.on_datagram(at(1s), "10.0.0.1", altered, 128);
  EXPECT_NE(to_text(core.reports(), core.counters()).find("1 altered"), std::string::npos);
  EXPECT_NE(to_json(core.reports(), core.counters()).find("\"intervals\":[]"), std::string::npos);
  EXPECT_TRUE(to_svg(core.reports()).ends_with("</svg>\n"));
}

TEST(Probe, comes_back_as_it_was) {
  Probe whole = probe(5, 3s, 9);
  whole.last = true;
  const Bytes octets = encode(whole);
  EXPECT_EQ(octets.size(), 100u);
  EXPECT_EQ(decode_header(octets).value(), whole);
  EXPECT_TRUE(is_intact(whole, octets));
  for (std::size_t at = kProbeHeader; at < octets.size(); ++at) {
    Bytes bad = octets;
    bad[at] ^= 0x10;
    EXPECT_FALSE(is_intact(whole, bad));
  }
}

}  // namespace
}  // namespace s5066::traffic
