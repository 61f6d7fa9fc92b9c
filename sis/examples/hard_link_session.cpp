// SPDX-License-Identifier: Apache-2.0
// Reserves the whole link to one client of another node, sends lines of standard input over it, and
// ends it: `hard_link_session HOST PORT SAP DESTINATION DESTINATION_SAP`. The exit status is 0 if
// all lines were confirmed.
#include <boost/asio/io_context.hpp>
#include <cstdlib>
#include <iostream>
#include <optional>
#include <string>

#include "sis/client.h"
#include "sis/text.h"

using namespace s5066;

namespace {

class Session {
 public:
  Session(boost::asio::io_context& io, const sis::Client::Config& config, const sis::HardLink& link)
      : link_(link),
        client_(io, config, /*seed=*/1, [this](const sis::Event& event) { on_event(event); }) {
    client_.start();
  }
  bool failed() const { return failed_; }

 private:
  void on_event(const sis::Event& event) {
    std::cerr << sis::to_string(event) << '\n';
    if (std::holds_alternative<sis::event::Bound>(event)) {
      if (!client_.request_hard_link(link_)) leave(true);
    } else if (std::holds_alternative<sis::event::HardLinkEstablished>(event)) {
      send_next_line();
    } else if (std::holds_alternative<sis::event::HardLinkRejected>(event) ||
               std::holds_alternative<sis::event::HardLinkTerminated>(event) ||
               std::holds_alternative<sis::event::HardLinkLost>(event)) {
      leave(true);  // to get the link again, request it again after Bound
    }
  }

  // Sends one line at a time, to keep the example short; a client may hold many.
  void send_next_line() {
    std::string line;
    if (!std::getline(std::cin, line)) return leave(false);
    sis::UnidataRequest request{
        .destination_sap = link_.remote_sap,
        .destination = link_.remote,
        .delivery = {.mode = sis::TransmissionMode::arq, .confirmation = sis::Confirmation::client},
        .updu = Bytes(line.begin(), line.end())};
    client_.async_send(std::move(request), [this](const sis::SendOutcome& outcome) {
      std::cerr << to_string(outcome) << '\n';
      if (outcome.ok()) return send_next_line();
      leave(true);
    });
  }

  void leave(bool failed) {
    if (left_) return;
    left_ = true;
    failed_ = failed;
    (void)client_.request_hard_link_end(link_.remote);  // it may already have ended
    client_.stop();
  }

  const sis::HardLink link_;
  sis::Client client_;
  bool left_ = false;
  bool failed_ = false;
};

}  // namespace

int main(int argc, char** argv) {
  const auto remote = argc == 6 ? parse_address(argv[4]) : Error{ErrorCode::bad_field, "usage"};
  if (!remote) {
    std::cerr << "hard_link_session HOST PORT SAP DESTINATION DESTINATION_SAP\n";
    return 2;
  }
  sis::Client::Config config;
  config.host = argv[1];
  config.port = static_cast<std::uint16_t>(std::atoi(argv[2]));
  config.core.sap = {static_cast<std::uint8_t>(std::atoi(argv[3]) & SapId::kMax)};
  const sis::HardLink link{
      .type = sis::HardLinkType::full_bandwidth,
      .priority = 1,
      .remote_sap = {static_cast<std::uint8_t>(std::atoi(argv[5]) & SapId::kMax)},
      .remote = *remote};
  boost::asio::io_context io;
  Session session(io, config, link);
  io.run();
  return session.failed() ? 1 : 0;
}
