// SPDX-License-Identifier: Apache-2.0
// Runs the client core without its socket through a bind.
#include <sis/client_core.h>
#include <sis/codec.h>

using namespace s5066;

int main() {
  Rng rng(1);
  sis::ClientCore core({.sap = {6}}, rng);
  const Instant now{};
  core.start(now);
  if (!std::holds_alternative<sis::ClientCore::Connect>(*core.poll_action())) return 1;
  core.on_connected(now);
  const auto bind = core.poll_action();
  if (!bind || !std::holds_alternative<sis::ClientCore::SendBytes>(*bind)) return 2;
  Bytes answer;
  sis::encode(sis::BindAccepted{.sap = {6}}, answer);
  core.on_bytes(now, answer);
  return core.bound() ? 0 : 3;
}
