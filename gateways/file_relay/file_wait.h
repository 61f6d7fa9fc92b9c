// SPDX-License-Identifier: Apache-2.0
// Waits until a file is delivered or given up, and shows how far it is meanwhile.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "gateways/common/service_client.h"
#include "gateways/file_relay/relay_types.h"
#include "s5066d/base/ids.h"
#include "s5066d/base/result.h"

namespace s5066::proto {
class Transfer;
}

namespace s5066::file_relay {

struct AwaitedFile {
  SpoolId id;
  Address to;
  bool progress = false;            // prints a line about the progress of the file
  std::string node_control_socket;  // tells the state of the link; empty: no node is asked
};

/// True for the errors of a relay that is stopped, just ends, or is too busy to answer.
bool gives_no_answer(const Error& error);

/// Says what became of the file. Returns the exit status: 0 if it was delivered or sent. Goes on
/// waiting while the relay does not run, because the file stays in the spool.
int wait_for_file(const gateways::ServiceClient& relay, const AwaitedFile& file);

struct ProgressSample {
  double at_s = 0;
  std::uint64_t octets_confirmed = 0;
  std::optional<double> frames_resent{};  // count of the node since its start, for all clients
};
/// Takes a sample of a transfer. The node at `node_control_socket` tells its frames, if it can.
ProgressSample sample_of(const proto::Transfer& transfer, const std::string& node_control_socket);
/// Adds the rate, the time left and the frames resent between two samples, as far as they tell.
void add_progress(proto::Transfer& transfer, const ProgressSample& first,
                  const ProgressSample& last);
/// Returns "link made, 8192 of 20493 octets acknowledged (39 %), 1850 bit/s, 53 s left, 2 frames
/// resent". The rate and the time left need two samples.
std::string progress_text(const std::string& link, std::uint64_t octets,
                          const ProgressSample& first, const ProgressSample& last);

/// Returns a count of octets, which a relay cannot have sent as less than 0.
std::uint64_t octets_of(double value);

}  // namespace s5066::file_relay
