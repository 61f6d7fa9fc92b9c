// SPDX-License-Identifier: Apache-2.0
// Rude is a user of a lent modem, and the test writes each of its lines.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>

#include "modem/remote/messages.h"
#include "s5066d/posix/socket.h"
#include "tests/support/patience.h"

namespace s5066::modem {

/// Sends and reads the protocol by hand.
struct Rude {
  Rude(std::uint16_t control_port, std::uint16_t data_port_told) : data_port(data_port_told) {
    auto made = posix::connect_tcp("127.0.0.1", control_port, test::kPatience);
    control = std::move(*made);
  }
  void say(const std::string& text) const { write(control, text); }
  static void write(const posix::Fd& socket, const std::string& text) {
    static_cast<void>(
        posix::send_all(socket.get(), Bytes(text.begin(), text.end()), test::kPatience));
  }
  /// Reads until a line holds `text` (true) or the connection ends (false).
  bool hears(const std::string& text) {
    while (heard.find(text) == std::string::npos) {
      if (!hears_more()) return false;
    }
    return true;
  }
  bool hears_more() {
    Bytes part(4096);
    const auto got = posix::receive_some(control.get(), part, test::kPatience);
    if (!got) {
      ended = got.error().code == ErrorCode::link_down;
      return false;
    }
    heard.append(part.begin(), part.begin() + static_cast<std::ptrdiff_t>(*got));
    return true;
  }
  /// Returns the host's clock, as the host tells it next.
  Instant next_clock() {
    const std::string verb = "CLOCK ";
    heard.clear();
    say("PING\n");
    EXPECT_TRUE(hears(verb));
    const auto at = heard.find(verb) + verb.size();
    while (heard.find('\n', at) == std::string::npos && hears_more()) {
    }
    return Instant{Duration{std::stoll(heard.substr(at))}};
  }
  /// True if the host closes the connection. False if nothing comes for a long time.
  bool is_thrown_out() {
    while (hears_more()) {
    }
    return ended;
  }
  void become_ready() {
    say("HELLO 1\n");
    open_data();
  }
  void open_data() {
    ASSERT_TRUE(hears("WELCOME 1 "));
    while (heard.find('\n') == std::string::npos) ASSERT_TRUE(hears("\n"));
    auto made = posix::connect_tcp("127.0.0.1", data_port, test::kPatience);
    ASSERT_TRUE(made.ok());
    data = std::move(*made);
    write(data, "DATA " + heard.substr(10, remote::kTokenLength) + "\n");
    ASSERT_TRUE(hears("READY"));
  }

  std::uint16_t data_port;
  posix::Fd control;
  posix::Fd data;
  std::string heard;
  bool ended = false;
};

}  // namespace s5066::modem
