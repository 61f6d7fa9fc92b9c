// SPDX-License-Identifier: Apache-2.0
// The options of a command line for keying a transmitter.
#pragma once

#include <boost/program_options.hpp>
#include <memory>
#include <optional>
#include <string>

#include "modem/ptt/ptt.h"
#include "s5066d/base/result.h"
#include "s5066d/base/time.h"

namespace s5066::modem::tools {

struct KeyOptions {
  unsigned rigctld_port = 0;
  bool data_input = false;
  std::string serial_rts;
  std::string serial_dtr;
  bool other_line_up = false;
  std::string cm108;
  unsigned pin = 3;
};

inline constexpr const char* kOneWay =
    "name one of --rigctld-port, --serial-rts, --serial-dtr and --cm108";

/// A subcommand that sends bursts needs these options as well.
struct LeadOptions {
  bool vox = false;               // the radio keys on sound
  std::optional<double> lead_ms;  // set if stated
  double tail_ms = 0;

  Duration lead() const;
  Duration tail() const { return from_seconds(tail_ms / 1000); }
};

struct KeyWay {
  std::unique_ptr<Ptt> ptt;  // empty when no way was named
  std::string setting;       // setting of a configuration
  std::string confirmed;     // the evidence that the transmitter is unkeyed …
  std::string unconfirmed;   // … or the reason why there is none
};

/// Returns the text for the operator.
std::string text_of(Unkeyed unkeyed, const KeyWay& way);

/// Adds these options to those of a subcommand.
void describe(KeyOptions& options, boost::program_options::options_description& description);
Result<KeyWay> key_way_of(const KeyOptions& options);
void describe(LeadOptions& options, boost::program_options::options_description& description);
/// `way` is the key that the other options name.
Result<void> check(const LeadOptions& options, const KeyWay& way);
/// Returns the setting for a configuration; empty when the defaults apply.
std::string setting_of(const LeadOptions& options);

}  // namespace s5066::modem::tools
