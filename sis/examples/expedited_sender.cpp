// SPDX-License-Identifier: Apache-2.0
// Sends each argument as one expedited U_PDU, all at once, and waits until the client at the other
// end has confirmed each: `expedited_sender HOST PORT SAP DESTINATION TEXT...`. The exit status is
// the number of U_PDUs that were not confirmed.
#include <boost/asio/io_context.hpp>
#include <cstdlib>
#include <iostream>
#include <optional>
#include <string>
#include <vector>

#include "sis/client.h"

using namespace s5066;

int main(int argc, char** argv) {
  const auto destination = argc > 5 ? parse_address(argv[4]) : Error{ErrorCode::bad_field, "usage"};
  if (!destination) {
    std::cerr << "expedited_sender HOST PORT SAP DESTINATION TEXT...\n";
    return 100;
  }
  sis::Client::Config config;
  config.host = argv[1];
  config.port = static_cast<std::uint16_t>(std::atoi(argv[2]));
  config.core.sap = {static_cast<std::uint8_t>(std::atoi(argv[3]) & SapId::kMax)};
  std::vector<std::string> texts(argv + 5, argv + argc);

  boost::asio::io_context io;
  std::optional<sis::Client> client;
  std::size_t open = texts.size();
  int not_confirmed = 0;
  bool started = false;

  client.emplace(io, config, /*seed=*/1, [&](const sis::Event& event) {
    std::cerr << sis::to_string(event) << '\n';
    // A binding may end and come again; U_PDUs that were sent are not sent twice.
    if (!std::holds_alternative<sis::event::Bound>(event) || started) return;
    started = true;
    for (const std::string& text : texts) {
      sis::ExpeditedUnidataRequest request{.destination_sap = config.core.sap,
                                           .destination = *destination,
                                           .delivery = {.mode = sis::TransmissionMode::arq,
                                                        .confirmation = sis::Confirmation::client},
                                           .time_to_live = 300 / 2,  // in units of 2 s
                                           .updu = Bytes(text.begin(), text.end())};
      client->async_send(std::move(request), [&, text](const sis::SendOutcome& outcome) {
        std::cout << text << ": " << to_string(outcome) << '\n';
        if (outcome.end != sis::SendOutcome::End::confirmed) ++not_confirmed;
        if (--open == 0) client->stop();
      });
    }
  });
  client->start();
  io.run();
  return not_confirmed;
}
