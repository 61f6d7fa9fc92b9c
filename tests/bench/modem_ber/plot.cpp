// SPDX-License-Identifier: Apache-2.0
#include "tests/bench/modem_ber/plot.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <sstream>
#include <vector>

namespace s5066::modem {
namespace {

constexpr double kWidth = 760;
constexpr double kHeight = 360;
constexpr double kLeft = 50;
constexpr double kTop = 30;
constexpr double kBottom = 320;
constexpr double kLabels = 600;  // right of the curves
constexpr double kDecades = 6;   // decades of the error rate, from 1 down
constexpr std::array kColours = {"#06c", "#c30", "#393", "#939", "#c90", "#099", "#555"};

struct Point {
  double snr_db;
  double bits;    // share of wrong bits
  double frames;  // share of wrong frames
};

std::vector<Point> measure(tools::BitErrorPlan plan, const PlotRange& range) {
  std::vector<Point> points;
  for (; plan.path.snr_db <= range.to_db + 1e-9; plan.path.snr_db += range.step_db) {
    plan.bits = plan.mode.rate_bps * range.seconds;
    const auto counts = tools::measure_bit_errors(plan);
    points.push_back({plan.path.snr_db, counts.rate(),
                      static_cast<double>(counts.frames_wrong) /
                          static_cast<double>(std::max<std::uint64_t>(counts.frames, 1))});
    std::fprintf(stderr, "%s\n", tools::to_text(plan, counts).c_str());
    if (counts.errors() == 0) break;
  }
  return points;
}

double y_of(double rate) {
  const double decades = std::clamp(-std::log10(std::max(rate, 1e-12)), 0.0, kDecades);
  return kTop + (kBottom - kTop) * decades / kDecades;
}

void curve(const std::vector<Point>& points, double Point::*rate, double from_db, double px_per_db,
           const char* style) {
  std::printf("<polyline fill=\"none\" %s points=\"", style);
  for (const Point& p : points) {
    std::printf("%.0f,%.0f ", kLeft + (p.snr_db - from_db) * px_per_db, y_of(p.*rate));
  }
  std::puts("\"/>");
}

}  // namespace

void draw(tools::BitErrorPlan plan, const std::string& modes, const PlotRange& range) {
  const double from_db = plan.path.snr_db;
  const double px_per_db = (kLabels - kLeft) / std::max(range.to_db - from_db, 1.0);
  std::printf(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%g\" height=\"%g\" "
      "font-family=\"sans-serif\" font-size=\"11\">\n",
      kWidth, kHeight);
  for (int decade = 0; decade <= kDecades; ++decade) {
    const double y = y_of(std::pow(10.0, -decade));
    std::printf("<path d=\"M%g %gH%g\" stroke=\"#ddd\"/><text x=\"5\" y=\"%g\">%s1e-%d</text>\n",
                kLeft, y, kLabels, y + 4, decade == kDecades ? "&lt;" : "", decade);
  }
  for (double db = std::ceil(from_db); db <= range.to_db; db += 2) {
    const double x = kLeft + (db - from_db) * px_per_db;
    std::printf("<path d=\"M%g %gV%g\" stroke=\"#eee\"/><text x=\"%g\" y=\"%g\">%g dB</text>\n", x,
                kTop, kBottom, x - 8, kBottom + 16, db);
  }
  std::istringstream names(modes);
  std::size_t index = 0;
  for (std::string name; std::getline(names, name, ','); ++index) {
    const auto mode = parse_mode(name);
    if (!mode) continue;
    plan.mode = *mode;
    const auto points = measure(plan, range);
    const std::string colour = std::string("stroke=\"") + kColours[index % kColours.size()] + '"';
    curve(points, &Point::bits, from_db, px_per_db, colour.c_str());
    curve(points, &Point::frames, from_db, px_per_db,
          (colour + " stroke-dasharray=\"4 3\"").c_str());
    std::printf("<text x=\"%g\" y=\"%g\" fill=\"%s\">%s</text>\n", kLabels + 10,
                kTop + 16 * static_cast<double>(index + 1), kColours[index % kColours.size()],
                name.c_str());
  }
  std::printf(
      "<text x=\"%g\" y=\"18\">%s: share of wrong bits, and of wrong frames (dashed), over SNR in "
      "3 kHz; %g s a point</text>\n</svg>\n",
      kLeft, plan.channel.c_str(), range.seconds);
}

}  // namespace s5066::modem
