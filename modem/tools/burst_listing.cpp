// SPDX-License-Identifier: Apache-2.0
#include "modem/tools/burst_listing.h"

#include <algorithm>
#include <array>
#include <cstdarg>
#include <cstdio>
#include <utility>

#include "modem/api/airtime.h"
#include "s5066d/base/log.h"
#include "s5066d/posix/fd.h"

namespace s5066::modem::tools {
namespace {

constexpr std::size_t kHexRow = 16;

double seconds(std::uint64_t sample) {
  return static_cast<double>(sample) / kSampleRate;
}

std::string formatted(const char* format, ...) {
  std::array<char, 512> text{};
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text.data(), text.size(), format, arguments);
  va_end(arguments);
  return text.data();
}

/// Returns the time of the first symbol of the preamble; nothing if the preamble was missed.
std::optional<double> started_s(const ListedBurst& burst) {
  if (!burst.first_bit_sample || burst.record.acquired().late) return std::nullopt;
  const Mode& mode = burst.record.mode();
  const std::uint64_t preamble = preamble_symbols(mode) * (kSampleRate / symbol_rate(mode));
  return seconds(*burst.first_bit_sample - std::min(*burst.first_bit_sample, preamble));
}

/// A burst that was given up in the added silence may have gone on behind the input.
std::string how_it_ended(const ListedBurst& burst, std::optional<std::uint64_t> input_ended) {
  const auto& ended = burst.record.ended();
  if (!ended) return "input_ended";
  const bool added = input_ended && ended->at_sample > *input_ended;
  return added && ended->reason == CarrierDownReason::lost ? "input_ended"
                                                           : std::string(to_string(ended->reason));
}

/// Returns `escaped` as a JSON string, which has other escapes for octets.
std::string json_string(const std::string& text) {
  const std::string from = escaped(text);
  std::string to;
  for (std::size_t at = 0; at < from.size(); ++at) {
    if (from[at] != '\\') {
      to.push_back(from[at]);
    } else if (from[++at] == 'x') {
      to += "\\u00";
    } else {
      to.append({'\\', from[at]});
    }
  }
  return to;
}

/// Returns true if a terminal shows the whole line and interprets none of it.
bool is_text(const std::string& line) {
  const std::string text = escaped(line);
  for (std::size_t at = text.find('\\'); at != std::string::npos; at = text.find('\\', at + 2)) {
    if (text[at + 1] == 'x') return false;
  }
  return true;
}

std::string hex(ByteSpan octets) {
  std::string text;
  for (const std::uint8_t octet : octets) text += formatted("%02x", octet);
  return text;
}

}  // namespace

std::string shown(ByteSpan octets) {
  std::vector<std::string> lines(1);
  for (const std::uint8_t octet : octets) {
    if (octet == '\n') {
      lines.emplace_back();
    } else if (octet != '\r') {
      lines.back().push_back(static_cast<char>(octet == '\t' ? ' ' : octet));
    }
  }
  if (lines.back().empty()) lines.pop_back();
  std::string text;
  if (std::all_of(lines.begin(), lines.end(), is_text)) {
    for (const std::string& line : lines) text += "  " + line + '\n';
    return text;
  }
  for (std::size_t at = 0; at < octets.size(); at += kHexRow) {
    text += formatted("  %06zx", at);
    for (const std::uint8_t octet : octets.subspan(at, std::min(kHexRow, octets.size() - at))) {
      text += formatted(" %02x", octet);
    }
    text += '\n';
  }
  return text;
}

// --- BurstCollector ---

std::optional<ListedBurst> BurstCollector::take(const BurstEvent& event) {
  if (const auto* acquired = std::get_if<BurstAcquired>(&event)) {
    burst_.emplace(ListedBurst{.record = BurstRecord(*acquired)});
  } else if (const auto* received = std::get_if<BurstBytes>(&event); received && burst_) {
    burst_->record.take(*received);
    if (!burst_->first_bit_sample) burst_->first_bit_sample = received->first_bit_sample;
    const std::size_t room = ListedBurst::kKeptMax - burst_->octets.size();
    append(burst_->octets, received->bytes.first(std::min(room, received->bytes.size())));
  } else if (const auto* ended = std::get_if<BurstEnded>(&event); ended && burst_) {
    burst_->record.take(*ended);
    return close();
  }
  return std::nullopt;
}

std::optional<ListedBurst> BurstCollector::close() {
  return std::exchange(burst_, std::nullopt);
}

// --- BurstListing ---

Result<void> BurstListing::open() {
  if (file_ || config_.out.empty()) return {};
  auto made = OctetFile::create(config_.out);
  if (!made) return made.error();
  file_.emplace(std::move(made).value());
  return {};
}

Result<void> BurstListing::write(ByteSpan octets) {
  if (auto opened = open(); !opened || !file_) return opened;
  return file_->write(octets);
}

Result<void> BurstListing::print(const ListedBurst& burst,
                                 std::optional<std::uint64_t> input_ended) {
  if (burst.record.is_next()) return {};
  ++bursts_;
  if (!burst.record.whole()) ++cut_off_;
  if (auto opened = open(); !opened) return opened;
  const std::string how = how_it_ended(burst, input_ended);
  const auto& ended = burst.record.ended();
  const double end = seconds(ended ? ended->ended_sample : input_ended.value_or(0));
  std::string line = config_.json ? json_line(burst, how, end) : text_line(burst, how, end);
  if (!config_.json && config_.out.empty()) {
    line += shown(burst.octets);
    if (const std::size_t more = burst.record.octets() - burst.octets.size(); more > 0) {
      line += formatted("  %zu octets more are not shown; --out writes them all\n", more);
    }
  }
  std::FILE* const to = config_.out == "-" ? stderr : stdout;
  const bool written = std::fwrite(line.data(), 1, line.size(), to) == line.size();
  if (!written || std::fflush(to) != 0) return posix::errno_error("standard output");
  return {};
}

std::string BurstListing::text_line(const ListedBurst& burst, const std::string& how,
                                    double end) const {
  const BurstRecord& record = burst.record;
  const std::string source = config_.source.empty() ? "" : config_.source + "  ";
  if (record.acquired().joined) {  // the receiver knows only that a burst is there
    return source + formatted("%s of an unknown mode  noticed %.3f s  ended %.3f s  0 octets  %s\n",
                              waveform_name(record.mode()).c_str(),
                              seconds(record.acquired().at_sample), end, how.c_str());
  }
  const auto started = started_s(burst);
  const ChannelEstimate& channel = record.channel();
  return source + modem::to_string(record.mode()) +
         (started ? formatted("  started %.3f s", *started) : "") +
         formatted(
             "  acquired %.3f s  ended %.3f s  SNR %.1f dB  offset %.2f Hz  multipath %.1f ms  "
             "Doppler %.1f Hz  %zu octets  quality %.3f, at least %.3f  %s\n",
             seconds(record.acquired().at_sample), end, static_cast<double>(record.snr_db()),
             static_cast<double>(channel.offset_hz), static_cast<double>(channel.multipath_ms),
             static_cast<double>(channel.doppler_hz), record.octets(),
             static_cast<double>(record.quality()), static_cast<double>(record.worst_quality()),
             how.c_str());
}

std::string BurstListing::json_line(const ListedBurst& burst, const std::string& how,
                                    double end) const {
  const BurstRecord& record = burst.record;
  const std::string source =
      config_.source.empty() ? "" : "\"file\":\"" + json_string(config_.source) + "\",";
  if (record.acquired().joined) {
    return "{" + source +
           formatted(
               "\"mode\":\"%s\",\"mode_known\":false,\"started_s\":null,\"acquired_s\":%.3f,"
               "\"ended_s\":%.3f,\"snr_db\":null,\"offset_hz\":null,\"multipath_ms\":null,"
               "\"doppler_hz\":null,\"octets\":0,\"soft_quality\":null,"
               "\"soft_quality_min\":null,\"hex\":\"\",\"reason\":\"%s\"}\n",
               waveform_name(record.mode()).c_str(), seconds(record.acquired().at_sample), end,
               how.c_str());
  }
  const auto started = started_s(burst);
  const ChannelEstimate& channel = record.channel();
  return "{" + source +
         formatted("\"mode\":\"%s\",\"mode_known\":true,\"started_s\":%s,",
                   modem::to_string(record.mode()).c_str(),
                   started ? formatted("%.3f", *started).c_str() : "null") +
         formatted(
             "\"acquired_s\":%.3f,\"ended_s\":%.3f,\"snr_db\":%.1f,\"offset_hz\":%.2f,"
             "\"multipath_ms\":%.1f,\"doppler_hz\":%.1f,\"octets\":%zu,\"soft_quality\":%.3f,"
             "\"soft_quality_min\":%.3f,",
             seconds(record.acquired().at_sample), end, static_cast<double>(record.snr_db()),
             static_cast<double>(channel.offset_hz), static_cast<double>(channel.multipath_ms),
             static_cast<double>(channel.doppler_hz), record.octets(),
             static_cast<double>(record.quality()), static_cast<double>(record.worst_quality())) +
         (record.octets() > burst.octets.size() ? "\"hex_is_cut_off\":true," : "") + "\"hex\":\"" +
         hex(burst.octets) + "\",\"reason\":\"" + how + "\"}\n";
}

Result<void> BurstListing::close() {
  return file_ ? file_->close() : Result<void>{};
}

}  // namespace s5066::modem::tools
