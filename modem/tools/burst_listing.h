// The list of bursts that `hfmodem demod` prints, and what becomes of their octets: a file,
// standard output, or the terminal as text or hex.
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

/// A burst that is over, or that goes on where the input ends.
struct ListedBurst {
  BurstRecord record;
  std::optional<std::uint64_t> first_bit_sample;  // none: no octets came
  Bytes octets;                                   // the first kKeptMax of them

  static constexpr std::size_t kKeptMax = 1U << 20;
};

/// Collects the bursts of one receiver.
class BurstCollector {
 public:
  /// Returns a burst when it is over.
  std::optional<ListedBurst> take(const BurstEvent& event);
  /// Returns the burst that is still going on, if any.
  std::optional<ListedBurst> close();

 private:
  std::optional<ListedBurst> burst_;
};

class BurstListing {
 public:
  struct Config {
    std::string out;     // file for the octets; "-": standard output; empty: shown with the lines
    std::string source;  // named in each line; empty: not named
    bool json = false;
  };
  explicit BurstListing(Config config) : config_(std::move(config)) {}

  /// Octets go to the file as they come, if there is one. The file is made when the first burst
  /// ends or has octets, so that nothing is overwritten for none.
  Result<void> write(ByteSpan octets);
  /// `input_ended`: samples up to the end of the input, if it has ended.
  Result<void> print(const ListedBurst& burst, std::optional<std::uint64_t> input_ended);
  Result<void> close();
  /// Further lines are of that source.
  void set_source(std::string source) { config_.source = std::move(source); }

  /// Number of bursts that were printed, and of those whose beginning or end was not heard.
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

/// Returns octets as people read them: text if they are text, else rows of hex, each line behind
/// two blanks.
std::string shown(ByteSpan octets);

}  // namespace s5066::modem::tools
