// SPDX-License-Identifier: Apache-2.0
// The list of bursts that `hfmodem demod` prints, and the output of their octets: to a file, to
// standard output, or to the terminal as text or hex.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "modem/tools/burst_record.h"
#include "modem/tools/files.h"
#include "modem/waveforms/burst_events.h"
#include "s5066d/base/bytes.h"
#include "s5066d/base/result.h"

namespace s5066::modem::tools {

/// A burst that has ended, or that goes on at the end of the input.
struct ListedBurst {
  BurstRecord record;
  std::optional<std::uint64_t> first_bit_sample;  // empty when no octets came
  Bytes octets;                                   // the first kKeptMax octets

  static constexpr std::size_t kKeptMax = 1U << 20;
};

/// This class collects the bursts of one receiver.
class BurstCollector {
 public:
  /// Returns a burst when it is over.
  std::optional<ListedBurst> take(const BurstEvent& event);
  /// Returns the burst that is going on, or nullptr.
  const ListedBurst* open() const { return burst_ ? &*burst_ : nullptr; }
  /// Returns the burst that is still going on, if any, and forgets it.
  std::optional<ListedBurst> close();

 private:
  std::optional<ListedBurst> burst_;
};

class BurstListing {
 public:
  struct Config {
    // The file for the octets; "-" is standard output. When empty, the octets are shown with the
    // lines.
    std::string out;
    std::string source;  // name in each line; empty means none
    bool json = false;
  };
  explicit BurstListing(Config config) : config_(std::move(config)) {}

  /// Octets go to the file as they come, if there is one. The file is created when the first burst
  /// ends or has octets, so that an input without bursts overwrites nothing.
  Result<void> write(ByteSpan octets);
  /// `input_ended` is the number of samples up to the end of the input, if it has ended.
  Result<void> print(const ListedBurst& burst, std::optional<std::uint64_t> input_ended);
  Result<void> close();
  /// The next lines name this source.
  void set_source(std::string source) { config_.source = std::move(source); }

  /// Returns the number of printed bursts, and of those whose beginning or end was not received.
  unsigned bursts() const { return bursts_; }
  unsigned cut_off() const { return cut_off_; }

 private:
  Result<void> open();
  std::string text_line(const ListedBurst& burst, const std::string& how, double end) const;
  std::string json_line(const ListedBurst& burst, const std::string& how, double end) const;

  Config config_;
  std::optional<OctetFile> file_;
  unsigned bursts_ = 0;
  unsigned cut_off_ = 0;
};

/// Returns octets as readable text: as they are if they are text, otherwise as rows of hex. Each
/// line begins with two spaces.
std::string shown(ByteSpan octets);

}  // namespace s5066::modem::tools
