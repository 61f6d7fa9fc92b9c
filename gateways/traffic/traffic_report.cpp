// SPDX-License-Identifier: Apache-2.0
#include "gateways/traffic/traffic_report.h"

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <functional>

namespace s5066::traffic {
namespace {

/// Appends text in the way of printf; one piece is shorter than 512 octets.
[[gnu::format(printf, 2, 3)]] void put(std::string& out, const char* format, ...) {
  char piece[512];
  std::va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(piece, sizeof piece, format, arguments);
  va_end(arguments);
  out += piece;
}

double share_lost(const RunFigures& f) {
  const double all = static_cast<double>(f.received) + f.lost;
  return all > 0 ? f.lost / all : 0;
}

double mean_delay_s(const Interval& interval) {
  return interval.delays > 0 ? interval.delay_sum_s / interval.delays : 0;
}

void put_text(std::string& out, const RunReport& run) {
  const RunFigures& f = run.figures;
  put(out, "%s run %08x from %s\n", run.stream ? "TCP" : "UDP", run.run, run.source.c_str());
  put(out, "  probes      %u of %u, %.1f %% lost, %llu twice, %llu late in order, %llu altered\n",
      f.received, f.received + f.lost, 100 * share_lost(f),
      static_cast<unsigned long long>(f.doubles), static_cast<unsigned long long>(f.reordered),
      static_cast<unsigned long long>(f.altered));
  put(out, "  throughput  %.0f bit/s in %.1f s", f.throughput_bps, to_seconds(f.length));
  if (f.line_rate_bps > 0)
    put(out, ", %.1f %% of the line", 100 * f.throughput_bps / f.line_rate_bps);
  out += '\n';
  if (f.plateau_bps > 0) {
    put(out, "  plateau     %.0f bit/s", f.plateau_bps);
    if (f.to_half) put(out, ", 50 %% of it after %.1f s", to_seconds(*f.to_half));
    if (f.to_four_fifths) put(out, ", 80 %% after %.1f s", to_seconds(*f.to_four_fifths));
    out += '\n';
  }
  if (f.delay.samples > 0) {
    put(out, "  delay       median %.3f s, 90 %% %.3f s, 95 %% %.3f s, 99 %% %.3f s\n",
        f.delay.median_s, f.delay.p90_s, f.delay.p95_s, f.delay.p99_s);
    put(out, "              mean %.3f s, from %.3f to %.3f s\n", f.delay.mean_s, f.delay.min_s,
        f.delay.max_s);
  }
  if (f.delays_refused > 0) {
    put(out, "  delays that cannot be right: %llu; set the clocks, or use --relative-delay\n",
        static_cast<unsigned long long>(f.delays_refused));
  }
}

void put_json(std::string& out, const RunReport& run) {
  const RunFigures& f = run.figures;
  put(out, "{\"protocol\":\"%s\",\"run\":\"%08x\",\"source\":\"%s\"", run.stream ? "tcp" : "udp",
      run.run, run.source.c_str());
  if (f.planned > 0) put(out, ",\"planned\":%u", f.planned);
  if (f.line_rate_bps > 0) put(out, ",\"line_rate_bps\":%u", f.line_rate_bps);
  put(out, ",\"received\":%u,\"lost\":%u,\"loss\":%.6f", f.received, f.lost, share_lost(f));
  put(out, ",\"doubles\":%llu,\"reordered\":%llu,\"altered\":%llu,\"octets\":%llu",
      static_cast<unsigned long long>(f.doubles), static_cast<unsigned long long>(f.reordered),
      static_cast<unsigned long long>(f.altered), static_cast<unsigned long long>(f.octets));
  put(out, ",\"length_s\":%.6f,\"throughput_bps\":%.3f", to_seconds(f.length), f.throughput_bps);
  if (f.plateau_bps > 0) put(out, ",\"plateau_bps\":%.3f", f.plateau_bps);
  if (f.to_half) put(out, ",\"time_to_50_s\":%.3f", to_seconds(*f.to_half));
  if (f.to_four_fifths) put(out, ",\"time_to_80_s\":%.3f", to_seconds(*f.to_four_fifths));
  if (f.delay.samples > 0) {
    put(out, ",\"delay_s\":{\"samples\":%zu,\"min\":%.6f,\"mean\":%.6f,\"median\":%.6f",
        f.delay.samples, f.delay.min_s, f.delay.mean_s, f.delay.median_s);
    put(out, ",\"p90\":%.6f,\"p95\":%.6f,\"p99\":%.6f,\"max\":%.6f}", f.delay.p90_s, f.delay.p95_s,
        f.delay.p99_s, f.delay.max_s);
  }
  put(out, ",\"delays_refused\":%llu,\"interval_s\":%.3f,\"intervals\":[",
      static_cast<unsigned long long>(f.delays_refused), to_seconds(f.interval));
  const char* comma = "";
  for (const Interval& interval : f.intervals) {
    put(out, "%s{\"octets\":%llu,\"probes\":%u,\"delay_mean_s\":%.6f,\"delay_max_s\":%.6f}", comma,
        static_cast<unsigned long long>(interval.octets), interval.probes, mean_delay_s(interval),
        interval.delay_max_s);
    comma = ",";
  }
  out += "]}";
}

// --- The drawing ---------------------------------------------------------------------------------

constexpr double kWidth = 760;
constexpr double kLeft = 90;
constexpr double kRight = 740;
constexpr double kPanel = 170;    // height of the drawing in a panel
constexpr double kPanelGap = 50;  // between panels, for titles and times
constexpr double kRunHeight = 2 * (kPanel + kPanelGap);

/// One panel: values over the time of the run.
struct Panel {
  double top = 0;
  double length_s = 1;
  double value_max = 1;

  double x(double s) const { return kLeft + (kRight - kLeft) * s / length_s; }
  double y(double value) const { return top + kPanel * (1 - std::min(1.0, value / value_max)); }
};

/// Returns the smallest of 1, 2 and 5 times a power of ten that is not below a value.
double round_up(double value) {
  double step = 1e-3;
  while (step * 10 < value) step *= 10;
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (step * factor >= value) return step * factor;
  }
  return step * 10;
}

void put_frame(std::string& out, const Panel& panel, const std::string& title, const char* unit) {
  put(out, "<text x=\"%g\" y=\"%g\">%s</text>\n", kLeft, panel.top - 8, title.c_str());
  for (int i = 0; i <= 4; ++i) {
    const double value = panel.value_max * i / 4;
    put(out, "<path d=\"M%g %.1fH%g\" stroke=\"#ddd\"/>", kLeft, panel.y(value), kRight);
    put(out, "<text x=\"%g\" y=\"%.1f\" text-anchor=\"end\">%g %s</text>\n", kLeft - 4,
        panel.y(value) + 4, value, unit);
    const double s = panel.length_s * i / 4;
    put(out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">%.4g s</text>\n", panel.x(s),
        panel.top + kPanel + 14, s);
  }
}

void put_level(std::string& out, const Panel& panel, double value, const char* colour,
               const char* name) {
  put(out, "<path d=\"M%g %.1fH%g\" stroke=\"%s\" stroke-dasharray=\"5 3\"/>", kLeft,
      panel.y(value), kRight, colour);
  put(out, "<text x=\"%g\" y=\"%.1f\" text-anchor=\"end\" fill=\"%s\">%s</text>\n", kRight,
      panel.y(value) - 3, colour, name);
}

/// Draws a value of each interval as a level over the interval.
void put_steps(std::string& out, const Panel& panel, const RunFigures& figures, const char* colour,
               const std::function<double(const Interval&)>& value_of) {
  put(out, "<polyline fill=\"none\" stroke=\"%s\" points=\"", colour);
  double s = 0;
  for (const Interval& interval : figures.intervals) {
    const double y = panel.y(value_of(interval));
    put(out, "%.1f,%.1f ", panel.x(s), y);
    s += to_seconds(figures.interval);
    put(out, "%.1f,%.1f ", panel.x(s), y);
  }
  out += "\"/>\n";
}

void put_run(std::string& out, const RunReport& run, double top) {
  const RunFigures& f = run.figures;
  const double interval_s = to_seconds(f.interval);
  const auto rate = [interval_s](const Interval& i) {
    return 8 * static_cast<double>(i.octets) / interval_s;
  };
  double rate_max = std::max<double>(f.line_rate_bps, 1);
  double delay_max = 1e-3;
  for (const Interval& interval : f.intervals) {
    rate_max = std::max(rate_max, rate(interval));
    delay_max = std::max(delay_max, interval.delay_max_s);
  }
  const double length_s =
      std::max(interval_s * static_cast<double>(f.intervals.size()), interval_s);
  const Panel rates{top, length_s, round_up(rate_max)};
  put_frame(out, rates,
            std::string(run.stream ? "TCP" : "UDP") + " from " + run.source + ": throughput",
            "bit/s");
  put_steps(out, rates, f, "#06c", rate);
  if (f.line_rate_bps > 0) put_level(out, rates, f.line_rate_bps, "#555", "line");
  if (f.plateau_bps > 0) put_level(out, rates, f.plateau_bps, "#393", "plateau");
  const Panel delays{top + kPanel + kPanelGap, length_s, round_up(delay_max)};
  put_frame(out, delays, "delay: mean, and largest (red)", "s");
  put_steps(out, delays, f, "#c30", [](const Interval& i) { return i.delay_max_s; });
  put_steps(out, delays, f, "#06c", mean_delay_s);
}

}  // namespace

std::string to_text(const std::vector<RunReport>& runs,
                    const CounterSet<TrafficCounter>& counters) {
  std::string out;
  for (const RunReport& run : runs) put_text(out, run);
  if (runs.empty()) out += "nothing has arrived\n";
  CounterRows rows;
  counters.list(rows);
  for (const CounterRow& row : rows) {
    if (row.value == 0) continue;
    put(out, "%llu %s: %s\n", static_cast<unsigned long long>(row.value),
        std::string(row.unit).c_str(), std::string(row.help).c_str());
  }
  return out;
}

std::string to_json(const std::vector<RunReport>& runs,
                    const CounterSet<TrafficCounter>& counters) {
  std::string out = "{\"runs\":[";
  const char* comma = "";
  for (const RunReport& run : runs) {
    out += comma;
    put_json(out, run);
    comma = ",";
  }
  out += "],\"counters\":{";
  CounterRows rows;
  counters.list(rows);
  comma = "";
  for (const CounterRow& row : rows) {
    put(out, "%s\"%s\":%llu", comma, std::string(row.name).c_str(),
        static_cast<unsigned long long>(row.value));
    comma = ",";
  }
  return out + "}}\n";
}

std::string to_svg(const std::vector<RunReport>& runs) {
  std::string out;
  put(out,
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%g\" height=\"%g\" "
      "font-family=\"sans-serif\" font-size=\"11\">\n",
      kWidth, 30 + kRunHeight * static_cast<double>(runs.size()));
  double top = 30;
  for (const RunReport& run : runs) {
    put_run(out, run, top);
    top += kRunHeight;
  }
  return out + "</svg>\n";
}

}  // namespace s5066::traffic
