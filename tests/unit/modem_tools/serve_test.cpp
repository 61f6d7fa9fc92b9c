// SPDX-License-Identifier: Apache-2.0
// These tests run `hfmodem serve` in one process. tests/live runs it with a node and a cable.
#include "tests/unit/modem_tools/hfmodem_fixture.h"

namespace s5066::modem {
namespace {

class Serve : public test::Hfmodem {};

TEST_F(Serve, refuses_figures_that_are_out_of_range) {
  for (const char* arguments : {"--control-port 65536", "--data-port -1", "--station 16",
                                "--rate 7999", "--ptt-lead-ms 2001", "--ptt-tail-ms nan",
                                "--mode 110a-2400-medium", "--rigctld-port 4532 --cm108 /dev/null",
                                "--cm108 /dev/null --pin 9", "--vox --cm108 /dev/null", "extra"}) {
    EXPECT_EQ(run(std::string("serve --cable ") + path("none") + " " + arguments), 2) << arguments;
  }
}

TEST_F(Serve, refuses_an_address_that_is_none) {
  for (const char* address : {"radio.example", "256.0.0.1", "::1::"}) {
    EXPECT_EQ(run("serve --cable " + path("none") + " --listen " + address), 2);
    EXPECT_NE(read("stderr").find(address), std::string::npos) << read("stderr");
  }
}

TEST_F(Serve, says_what_is_not_there) {
  const std::string cable = "serve --control-port 0 --data-port 0 --cable " + path("none");
  EXPECT_EQ(run(cable), 1);
  EXPECT_NE(read("stderr").find(path("none")), std::string::npos) << read("stderr");
  EXPECT_EQ(run(cable + " --listen 192.0.2.1"), 1);  // address of another machine
  EXPECT_NE(read("stderr").find("192.0.2.1"), std::string::npos) << read("stderr");
}

TEST_F(Serve, a_request_needs_a_socket_at_which_a_modem_answers) {
  EXPECT_EQ(run("serve status"), 2);
  EXPECT_NE(read("stderr").find("the request status needs --control"), std::string::npos);
  EXPECT_EQ(run("serve --control " + path("socket") + " dance"), 2);
  EXPECT_EQ(read("stderr").find("no program answers"), std::string::npos) << read("stderr");
  EXPECT_EQ(run("serve --control " + path("socket") + " status"), 1);
  EXPECT_NE(read("stderr").find("no program answers there"), std::string::npos) << read("stderr");
}

}  // namespace
}  // namespace s5066::modem
