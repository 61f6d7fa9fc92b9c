// SPDX-License-Identifier: Apache-2.0
// The smallest useful SIS client: binds to SAP 15 of the node on this machine and sends every U_PDU
// back to its source. `echo_client [HOST [PORT [--once]]]`; with --once it ends with the binding.
#include <boost/asio/io_context.hpp>
#include <cstdlib>
#include <iostream>
#include <optional>
#include <string>

#include "sis/client.h"

using namespace s5066;

int main(int argc, char** argv) {
  sis::Client::Config config;
  if (argc > 1) config.host = argv[1];
  if (argc > 2) config.port = static_cast<std::uint16_t>(std::atoi(argv[2]));
  const bool once = argc > 3 && std::string(argv[3]) == "--once";
  config.core.sap = {15};

  boost::asio::io_context io;
  std::optional<sis::Client> client;
  client.emplace(io, config, /*seed=*/1, [&client, once](const sis::Event& event) {
    std::cout << sis::to_string(event) << std::endl;
    if (once && std::holds_alternative<sis::event::Unbound>(event)) return client->stop();
    const auto* arrived = std::get_if<sis::event::Indication>(&event);
    if (arrived == nullptr) return;
    const auto accepted = client->request_unidata({
        .priority = arrived->unidata.priority,
        .destination_sap = arrived->unidata.source_sap,
        .destination = arrived->unidata.source,
        .delivery = {.mode = sis::TransmissionMode::arq, .confirmation = sis::Confirmation::node},
        .updu = arrived->unidata.updu,
    });
    if (!accepted) std::cout << "not echoed: " << to_string(accepted.error()) << std::endl;
  });
  client->start();  // from here on it connects and binds again by itself
  io.run();
}
