// SPDX-License-Identifier: Apache-2.0
#include "modem/tools/scope_view.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <variant>

namespace s5066::modem::tools {
namespace {

constexpr double kBarBottomDb = -60;
constexpr std::size_t kBarLength = 20;

std::string bar(double db) {
  const double share = std::clamp((db - kBarBottomDb) / -kBarBottomDb, 0.0, 1.0);
  const auto filled = static_cast<std::size_t>(share * kBarLength + 0.5);
  return std::string(filled, '#') + std::string(kBarLength - filled, '.');
}

std::string text_of(const BurstRecord& burst) {
  const auto& ended = burst.ended();
  const std::string how = ended ? "  ended: " + std::string(to_string(ended->reason)) : "";
  if (burst.acquired().joined) {
    return "  " + waveform_name(burst.mode()) + " of an unknown mode" + how;
  }
  const ChannelEstimate& channel = burst.channel();
  std::array<char, 256> text{};
  std::snprintf(text.data(), text.size(),
                "  %s  SNR %.1f dB  offset %.1f Hz  multipath %.1f ms  Doppler %.1f Hz  quality "
                "%.2f  %zu octets",
                modem::to_string(burst.mode()).c_str(), static_cast<double>(channel.snr_db),
                static_cast<double>(channel.offset_hz), static_cast<double>(channel.multipath_ms),
                static_cast<double>(channel.doppler_hz),
                static_cast<double>(ended ? burst.quality() : burst.newest_quality()),
                burst.octets());
  return text.data() + how;
}

}  // namespace

void ScopeView::take(const BurstEvent& event, const LevelMeter::Reading& level) {
  if (const auto* acquired = std::get_if<BurstAcquired>(&event)) burst_.emplace(*acquired);
  if (!burst_) return;
  if (const auto* bytes = std::get_if<BurstBytes>(&event)) burst_->take(*bytes);
  if (const auto* ended = std::get_if<BurstEnded>(&event)) {
    burst_->take(*ended);
    if (!burst_->is_next()) print(level);
    burst_.reset();
  }
}

void ScopeView::print(const LevelMeter::Reading& level) const {
  const double db = power_db(level.power);
  // The last line of a burst stays. Without a terminal every line stays.
  const bool stays = !one_line_ || (burst_ && burst_->ended());
  std::fprintf(to_, "%s%6.1f dB [%s] %-8s%s%s", one_line_ ? "\r\x1b[K" : "", db, bar(db).c_str(),
               std::string(to_string(level.verdict())).c_str(),
               burst_ ? text_of(*burst_).c_str() : "", stays ? "\n" : "");
  std::fflush(to_);
}

void ScopeView::end(const LevelMeter::Reading& level) {
  if (burst_) print(level);
  if (one_line_) std::fputc('\n', to_);
}

}  // namespace s5066::modem::tools
