// SPDX-License-Identifier: Apache-2.0
// The commands of an operator: hand a file over, wait for it, look at the spool, change a file in
// it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "gateways/common/sqlite_store.h"
#include "gateways/file_relay/relay_config.h"
#include "gateways/file_relay/relay_types.h"
#include "s5066d/base/ids.h"
#include "s5066d/base/log.h"
#include "s5066d/control/ask.h"

namespace s5066::file_relay {

struct SendOptions {
  Address destination;
  std::string file;
  std::optional<std::uint8_t> priority = std::nullopt;  // 0..15; none: as configured
  bool wait = false;                                    // until delivered, or given up
  bool progress = false;                                // a line about how far it is
  control::Form form = control::Form::text;
};

/// All return the exit status: 0 done, 1 not. Problems go to standard error, those of send_file()
/// to the log, too. Run by root, all go on as the owner of the spool folder once the file has been
/// read, so that everything that they leave in the spool is the service's own.
int send_file(const RelayConfig& config, const SendOptions& options, LogSink& log);
/// Waits until a file is delivered or given up.
int wait_for_file(const RelayConfig& config, SpoolId id, Address to, bool progress,
                  control::Form form);
/// Shows at most kRowsListed rows, the youngest first.
int show_queue(const RelayConfig& config, const gateways::ListFilter& filter,
               control::Form form = control::Form::text);
int show_file(const RelayConfig& config, SpoolId id, control::Form form = control::Form::text);
/// Asks the relay if it runs; otherwise the spool is changed here.
int change_file(const RelayConfig& config, gateways::SpoolChange change, SpoolId id,
                control::Form form = control::Form::text);
inline constexpr std::uint32_t kRowsListed = 1000;

/// "made_wait 8,192 of 20,493 octets (40 %) 1850 bit/s 53 s left"; rates need two samples.
struct ProgressSample {
  double at_s = 0;
  std::uint64_t octets_confirmed = 0;
};
std::string progress_text(const std::string& link, std::uint64_t octets, ProgressSample first,
                          ProgressSample last);

}  // namespace s5066::file_relay
