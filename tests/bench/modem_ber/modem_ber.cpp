// SPDX-License-Identifier: Apache-2.0
// Measures the bit error rate of the modem over a simulated channel, as `hfmodem ber` does
// (modem/tools/bit_errors.h), beside the requirements of the standards.
//
// The channel is a name, or --delay-ms and --doppler-hz: two paths of equal mean power, or one.
//
// --rows runs the rows of the standards' minimum performance, at their ratio and at our own goal,
// with --seeds seeds (3) put together. All seeds of a row together are 3000 s over the Doppler
// spread, 1800 s at least and 3000 s on a channel without fading, unless --seconds gives the length
// of each; --only keeps the rows whose mode begins with this text. Each row has the bounds of the
// 95 % confidence interval of its rate, which is wide after a short run, and the margin to the
// standard's ratio if the rate was met.
//
// The bursts of 110D have --super-frames super-frames of preamble, by default as many as ours on
// the air (3), and with --rows the 20 that its table of minimum performance is defined for.
// --constraint sets the constraint length of their code, 7 or 9 (ours).
//
// --svg runs --modes, separated by commas, from --snr-db up to --to-db in steps of --step-db until
// there is no error, and draws the rates of wrong bits and of wrong frames.
#include <algorithm>
#include <cstdio>
#include <optional>
#include <string>
#include <utility>

#include "modem/api/airtime.h"
#include "modem/tools/bit_errors.h"
#include "modem/tools/channel_options.h"
#include "modem/waveforms/ms110d/parameters.h"
#include "tests/bench/common/arguments.h"
#include "tests/bench/modem_ber/plot.h"
#include "tests/bench/modem_ber/standard.h"

namespace s5066::modem {
namespace {

using tools::BitErrorCounts;
using tools::BitErrorPlan;

const StandardRow* standard_of(const BitErrorPlan& plan) {
  for (const StandardRow& row : kStandardRows) {
    if (row.mode == to_string(plan.mode) && row.delay_ms == delay_ms(plan) &&
        row.doppler_hz == doppler_hz(plan)) {
      return &row;
    }
  }
  return nullptr;
}

/// Prints one result. The margin is the distance to the standard's ratio, if the standard's rate
/// was met.
void print(const BitErrorPlan& plan, const BitErrorCounts& t, bool json) {
  if (!json) {
    std::puts(tools::to_text(plan, t).c_str());
  } else {
    std::fputs("{\"bench\":\"modem_ber\",", stdout);
    if (plan.mode.waveform == Waveform::ms110d) {
      std::printf("\"constraint\":%u,\"super_frames\":%u,", plan.ms110d.constraint,
                  plan.ms110d.super_frames);
    }
    if (const StandardRow* const row = standard_of(plan)) {
      std::printf("\"standard_snr_db\":%g,", row->snr_db);
      if (t.rate() <= row->ber) std::printf("\"margin_db\":%g,", row->snr_db - plan.path.snr_db);
    }
    std::printf("%s}\n", tools::to_json(plan, t).c_str());
  }
  std::fflush(stdout);
}

struct Rows {
  std::optional<double> seconds;  // length of every row; if empty, the full exposure
  std::uint64_t first_seed = 1;
  unsigned seeds = 3;
  unsigned constraint = ms110d::kConstraint;
  std::string only;
  bool json = false;
};

double full_exposure_s(const StandardRow& row) {
  return row.doppler_hz > 0 ? std::max(3000 / row.doppler_hz, 600.0) : 1000;
}

void run_rows(const Rows& rows) {
  for (const StandardRow& row : kStandardRows) {
    if (!row.mode.starts_with(rows.only)) continue;
    BitErrorPlan plan{.mode = *parse_mode(row.mode),
                      .channel = tools::name_of(row.delay_ms, row.doppler_hz)};
    plan.path.paths = tools::two_paths(row.delay_ms, row.doppler_hz);
    plan.ms110d = {.constraint = rows.constraint, .super_frames = kStandardSuperFrames};
    if (row.middle_ms > 0) {
      plan.path.paths.push_back({.delay_ms = row.middle_ms, .spread_hz = row.doppler_hz});
      plan.channel = "three-path";
    }
    const double seconds = rows.seconds.value_or(full_exposure_s(row));
    plan.bits = plan.mode.rate_bps * seconds;
    // The bursts are short enough for several fades and preambles even in a short exposure.
    plan.burst_seconds = std::clamp(seconds / 2, 20.0, 60.0);
    for (const double snr_db : {row.snr_db, row.sought_db}) {
      plan.path.snr_db = snr_db;
      BitErrorCounts all;
      for (unsigned i = 0; i < rows.seeds; ++i) {
        plan.seed = rows.first_seed + i;
        all.add(measure_bit_errors(plan));
      }
      plan.seed = rows.first_seed;
      print(plan, all, rows.json);
      if (row.sought_db == row.snr_db) break;
    }
  }
}

}  // namespace
}  // namespace s5066::modem

int main(int argc, char** argv) {
  using namespace s5066::modem;
  const s5066::bench::Arguments arguments(
      argc, argv,
      {"mode", "snr-db", "bits", "channel", "delay-ms", "doppler-hz", "seed", "seeds", "offset-hz",
       "burst-s", "seconds", "only", "super-frames", "constraint", "modes", "to-db", "step-db"},
      {"json", "quick", "rows", "svg"});
  const auto constraint =
      static_cast<unsigned>(arguments.number("constraint", ms110d::kConstraint));
  if (constraint != 7 && constraint != 9) {
    std::fprintf(stderr, "--constraint is 7 or 9\n");
    return 2;
  }
  if (arguments.has("rows")) {
    const bool quick = arguments.has("quick");
    std::optional<double> seconds;
    if (quick || arguments.has("seconds")) seconds = arguments.number("seconds", 30);
    run_rows({.seconds = seconds,
              .first_seed = static_cast<std::uint64_t>(arguments.number("seed", 1)),
              .seeds = static_cast<unsigned>(arguments.number("seeds", quick ? 1 : 3)),
              .constraint = constraint,
              .only = arguments.text("only", ""),
              .json = arguments.has("json")});
    return 0;
  }
  BitErrorPlan plan;
  const auto mode = parse_mode(arguments.text("mode", "110a-2400-long"));
  if (!mode) {
    std::fprintf(stderr, "%s\n", mode.error().detail.c_str());
    return 2;
  }
  plan.mode = *mode;
  plan.channel = arguments.text("channel", "awgn");
  if (arguments.has("delay-ms") || arguments.has("doppler-hz")) {
    const double delay = arguments.number("delay-ms", 0);
    const double doppler = arguments.number("doppler-hz", 0);
    plan.path.paths = tools::two_paths(delay, doppler);
    plan.channel = tools::name_of(delay, doppler);
  } else if (auto paths = tools::paths_of(plan.channel); paths) {
    plan.path.paths = std::move(*paths);
  } else {
    std::fprintf(stderr, "%s\n", paths.error().detail.c_str());
    return 2;
  }
  plan.path.snr_db = arguments.number("snr-db", 10);
  plan.path.offset_hz = arguments.number("offset-hz", 0);
  plan.burst_seconds = arguments.number("burst-s", 60);
  plan.bits = arguments.number("bits", arguments.has("quick") ? 1e5 : 1e6);
  plan.seed = static_cast<std::uint64_t>(arguments.number("seed", 1));
  plan.ms110d.constraint = constraint;
  plan.ms110d.super_frames =
      static_cast<unsigned>(arguments.number("super-frames", ms110d::kSuperFrames));
  if (plan.ms110d.super_frames < 1 || plan.ms110d.super_frames > ms110d::kSuperFramesMax) {
    std::fprintf(stderr, "--super-frames is 1 to 32\n");
    return 2;
  }
  if (capacity(plan.mode, s5066::from_seconds(plan.burst_seconds)) == 0) {
    std::fprintf(stderr, "--burst-s is too short for this mode\n");
    return 2;
  }
  if (arguments.has("svg")) {
    draw(plan, arguments.text("modes", to_string(plan.mode)),
         {.to_db = arguments.number("to-db", plan.path.snr_db + 5),
          .step_db = arguments.number("step-db", 1),
          .seconds = arguments.number("seconds", 300)});
    return 0;
  }
  print(plan, measure_bit_errors(plan), arguments.has("json"));
  return 0;
}
