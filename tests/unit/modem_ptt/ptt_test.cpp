// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <array>
#include <filesystem>

#include "modem/ptt/cm108.h"
#include "modem/ptt/rigctld.h"
#include "modem/ptt/serial_line.h"
#include "tests/support/no_descriptors_left.h"
#include "tests/support/patience.h"
#include "tests/support/rigctld_stand_in.h"
#include "tests/unit/modem_ptt/fifo.h"

namespace s5066::modem {
namespace {

using test::eventually;
using test::kPatience;
using test::RigctldStandIn;

/// Time limit for answers that do not come. A test that expects an answer repeats its request.
constexpr Duration kQuick = std::chrono::milliseconds(50);

// --- rigctld ---

TEST(RigctldPtt, keys_and_unkeys_and_unkeys_when_it_goes) {
  const RigctldStandIn rig("RPRT 0\n");
  {
    RigctldPtt ptt({.port = rig.port(), .timeout = kPatience});
    EXPECT_TRUE(ptt.key(true).ok());
    EXPECT_TRUE(ptt.key(false).ok());
    EXPECT_TRUE(ptt.key(true).ok());
    EXPECT_EQ(rig.heard(), "T 0\nT 1\nT 0\nt\nT 1\n");
  }
  EXPECT_EQ(rig.heard(), "T 0\nT 1\nT 0\nt\nT 1\nT 0\nt\n");
}

TEST(RigctldPtt, a_refusal_and_an_endless_answer_are_errors) {
  const RigctldStandIn refusing("RPRT -9\n");
  RigctldPtt ptt({.port = refusing.port(), .timeout = kPatience});
  const auto refused = ptt.key(false);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::refused);
  const RigctldStandIn babbling(std::string(1000, 'x'));
  RigctldPtt other({.port = babbling.port(), .timeout = kPatience});
  EXPECT_EQ(other.key(false).error().code, ErrorCode::too_large);
}

TEST(RigctldPtt, nobody_there_and_no_answer_are_errors_in_bounded_time) {
  std::uint16_t port = 0;
  {
    const RigctldStandIn gone("");
    port = gone.port();
    RigctldPtt ptt({.port = port, .timeout = std::chrono::milliseconds(50)});
    EXPECT_EQ(ptt.key(false).error().code, ErrorCode::timed_out);
  }
  RigctldPtt ptt({.port = port, .timeout = kPatience});
  EXPECT_EQ(ptt.key(true).error().code, ErrorCode::io);
}

TEST(RigctldPtt, keys_with_the_data_input_where_that_is_asked_for) {
  const RigctldStandIn rig("RPRT 0\n");
  RigctldPtt ptt({.port = rig.port(), .timeout = kPatience, .data_input = true});
  EXPECT_TRUE(ptt.key(true).ok());
  EXPECT_EQ(rig.heard(), "T 0\nT 3\n");
}

TEST(RigctldPtt, a_connection_that_was_lost_is_made_again_and_unkeys_first) {
  RigctldStandIn rig("RPRT 0\n");
  RigctldPtt ptt({.port = rig.port(), .timeout = kPatience});
  ASSERT_TRUE(ptt.key(true).ok());
  rig.drop();
  EXPECT_FALSE(ptt.key(true).ok());
  EXPECT_EQ(rig.heard(), "T 0\nT 1\n");
  EXPECT_TRUE(ptt.key(true).ok());
  EXPECT_EQ(rig.heard(), "T 0\nT 1\nT 0\nT 1\n");
  EXPECT_EQ(rig.connected(), 2U);
}

TEST(RigctldPtt, releases_on_a_connection_of_its_own_when_the_first_one_hangs) {
  RigctldStandIn rig("RPRT 0\n");
  RigctldPtt ptt({.port = rig.port(), .timeout = kQuick});
  ASSERT_TRUE(eventually([&] { return ptt.key(true).ok(); }));
  const std::size_t connected = rig.connected();
  rig.hang();
  EXPECT_TRUE(eventually([&] { return ptt.release().ok(); }));
  EXPECT_GT(rig.connected(), connected);
  EXPECT_TRUE(rig.done().ends_with("T 1\nT 0\n"));
  rig.drop();
}

/// Sends a line that keys, to which rigctld gives no answer before the time limit.
void leave_keying_unanswered(RigctldStandIn& rig, RigctldPtt& ptt) {
  ASSERT_TRUE(eventually([&] { return ptt.key(false).ok(); }));
  rig.hang();
  EXPECT_EQ(ptt.key(true).error().code, ErrorCode::timed_out);
  ASSERT_TRUE(eventually([&] { return rig.heard().ends_with("T 1\n"); }));
}

TEST(RigctldPtt, is_not_unkeyed_before_rigctld_has_done_all_that_keyed) {
  RigctldStandIn rig("RPRT 0\n");
  RigctldPtt ptt({.port = rig.port(), .timeout = kQuick});
  leave_keying_unanswered(rig, ptt);
  for (int n = 0; n < 3; ++n) EXPECT_FALSE(ptt.key(false).ok());
  EXPECT_FALSE(ptt.key(true).ok());
  rig.resume();
  EXPECT_TRUE(eventually([&] { return ptt.key(false).ok(); }));
  EXPECT_TRUE(rig.done().ends_with("T 0\nt\n")) << rig.done();
  ASSERT_NE(rig.done().find("T 1"), std::string::npos);
  EXPECT_EQ(rig.done().find("T 1"), rig.done().rfind("T 1"));
}

TEST(RigctldPtt, is_not_released_before_rigctld_has_done_all_that_keyed) {
  RigctldStandIn rig("RPRT 0\n");
  RigctldPtt ptt({.port = rig.port(), .timeout = kQuick});
  leave_keying_unanswered(rig, ptt);
  EXPECT_FALSE(ptt.release().ok());
  EXPECT_TRUE(eventually([&] {  // release() still tries another connection
    return !ptt.release().ok() && rig.done().ends_with("T 0\nT 0\n");
  }));
  rig.resume();
  EXPECT_TRUE(eventually([&] { return ptt.release().ok(); }));
  EXPECT_NE(rig.done().find("T 1"), std::string::npos);
  EXPECT_TRUE(rig.done().ends_with("T 0\n")) << rig.done();
}

TEST(RigctldPtt, a_connection_that_rigctld_closes_keys_no_more) {
  RigctldStandIn rig("RPRT 0\n");
  RigctldPtt ptt({.port = rig.port(), .timeout = kQuick});
  leave_keying_unanswered(rig, ptt);
  rig.drop();
  EXPECT_TRUE(eventually([&] { return ptt.release().ok(); }));
  EXPECT_TRUE(eventually([&] { return ptt.key(false).ok(); }));
}

TEST(RigctldPtt, names_the_VFO_in_each_line_if_rigctld_wants_it) {
  RigctldStandIn rig("RPRT 0\n");
  rig.want_vfo();
  rig.tell_key();
  {
    RigctldPtt ptt({.port = rig.port(), .timeout = kPatience, .data_input = true});
    ASSERT_TRUE(ptt.key(true).ok());
    ASSERT_TRUE(ptt.key(false).ok());
    EXPECT_EQ(rig.done(), "T currVFO 0\nT currVFO 3\nT currVFO 0\nt currVFO\n");
  }
  RigctldPtt other({.port = rig.port(), .timeout = kPatience});
  EXPECT_EQ(*other.confirm_unkeyed(), Unkeyed::confirmed);
  ASSERT_TRUE(other.release().ok());
  EXPECT_TRUE(rig.done().ends_with("t currVFO\nT currVFO 0\n")) << rig.done();
}

TEST(RigctldPtt, unkeys_in_the_right_form_behind_a_question_that_has_no_answer) {
  RigctldStandIn rig("RPRT 0\n");
  rig.want_vfo();
  RigctldPtt ptt({.port = rig.port(), .timeout = kQuick});
  EXPECT_TRUE(eventually([&] { return ptt.key(true).ok(); }));
  rig.hang_all(true);
  EXPECT_FALSE(ptt.release().ok());
  EXPECT_TRUE(eventually([&] { return rig.heard().ends_with("T currVFO 0\n"); })) << rig.heard();
  rig.hang_all(false);
}

TEST(RigctldPtt, a_refusal_is_told_in_words) {
  RigctldStandIn rig("RPRT -1\n");
  RigctldPtt ptt({.port = rig.port(), .timeout = kPatience});
  EXPECT_NE(ptt.key(true).error().detail.find("started without a way to key"), std::string::npos);
  EXPECT_EQ(rigctld_words("RPRT -5"), "RPRT -5 (the radio did not answer in time)");
  EXPECT_EQ(rigctld_words("RPRT -20"), "RPRT -20 (the radio is switched off)");
  for (const char* unknown : {"RPRT -21", "RPRT 0", "RPRT", "RPRT x", "", "RPRT -99999999999"}) {
    EXPECT_EQ(rigctld_words(unknown), unknown);
  }
}

TEST(RigctldPtt, says_that_the_transmitter_is_keyed_where_the_radio_tells) {
  RigctldStandIn rig("RPRT 0\n");
  RigctldPtt ptt({.port = rig.port(), .timeout = kPatience});
  EXPECT_EQ(*ptt.confirm_unkeyed(), Unkeyed::unconfirmed);
  rig.tell_key();
  EXPECT_EQ(*ptt.confirm_unkeyed(), Unkeyed::confirmed);
  ASSERT_TRUE(ptt.key(true).ok());
  EXPECT_EQ(ptt.confirm_unkeyed().error().code, ErrorCode::refused);
  ASSERT_TRUE(ptt.key(false).ok());
  EXPECT_EQ(*ptt.confirm_unkeyed(), Unkeyed::confirmed);
}

TEST(RigctldPtt, is_not_unkeyed_before_the_radio_says_so_where_it_tells) {
  RigctldStandIn rig("RPRT 0\n");
  rig.tell_key();
  RigctldPtt ptt({.port = rig.port(), .timeout = kPatience, .settle = Duration::zero()});
  ASSERT_TRUE(ptt.key(true).ok());
  rig.ignore_unkeying(2);
  EXPECT_EQ(ptt.key(false).error().code, ErrorCode::refused);
  EXPECT_EQ(ptt.key(false).error().code, ErrorCode::refused);
  EXPECT_TRUE(ptt.key(false).ok());
  EXPECT_TRUE(rig.done().ends_with("T 0\nt\nT 0\nt\nT 0\nt\n")) << rig.done();
}

TEST(RigctldPtt, a_radio_may_take_a_while_to_unkey_but_once_only) {
  RigctldStandIn rig("RPRT 0\n");
  rig.tell_key();
  RigctldPtt ptt({.port = rig.port(), .timeout = kPatience, .settle = kPatience});
  ASSERT_TRUE(ptt.key(true).ok());
  rig.tell_late(2);
  EXPECT_TRUE(ptt.key(false).ok());
  EXPECT_TRUE(rig.done().ends_with("T 1\nT 0\nt\nt\nt\n")) << rig.done();
  RigctldPtt other({.port = rig.port(), .timeout = kPatience, .settle = 2 * kQuick});
  ASSERT_TRUE(other.key(true).ok());
  rig.tell_late(1'000'000);
  EXPECT_FALSE(other.key(false).ok());
  EXPECT_TRUE(rig.done().ends_with("t\nt\n")) << rig.done();
  EXPECT_FALSE(other.key(false).ok());
  EXPECT_TRUE(rig.done().ends_with("t\nT 0\nt\n")) << rig.done();
  rig.tell_late(0);
}

TEST(RigctldPtt, is_not_unkeyed_where_the_question_has_no_answer) {
  RigctldStandIn rig("RPRT 0\n");
  RigctldPtt ptt({.port = rig.port(), .timeout = kQuick});
  rig.tell_nothing(true);
  EXPECT_EQ(ptt.confirm_unkeyed().error().code, ErrorCode::timed_out);
  EXPECT_TRUE(eventually([&] {
    const auto unkeyed = ptt.key(false);
    return !unkeyed && rig.done().ends_with("T 0\nt\n");
  }));
  rig.tell_nothing(false);
  EXPECT_TRUE(eventually([&] { return ptt.key(false).ok(); }));
}

// --- Serial lines. A pseudo-terminal has no such lines. The tests therefore move the lines on a
// port
// of their own, and open and close a port on a pseudo-terminal. ---

struct FakePort final : SerialPort {
  Result<void> set(Lines wanted) override {
    if (fails) return Error{ErrorCode::io, "as told"};
    if (!stuck) lines = wanted;
    history.push_back(wanted);
    return {};
  }
  Result<Lines> get() override { return lines; }

  Lines lines{.rts = true, .dtr = true};  // the state after opening
  std::vector<Lines> history;
  bool fails = false;
  bool stuck = false;
};

struct FakePorts {
  OpenSerialPort opener() {
    return [this](const std::string&) -> Result<std::shared_ptr<SerialPort>> {
      ++opened;
      return std::shared_ptr<SerialPort>(port);
    };
  }
  std::shared_ptr<FakePort> port = std::make_shared<FakePort>();
  int opened = 0;
};

using Lines = SerialPort::Lines;

TEST(SerialLinePtt, opens_with_both_lines_down_and_moves_only_the_one_that_keys) {
  for (const auto line : {SerialLinePtt::Line::rts, SerialLinePtt::Line::dtr}) {
    FakePorts ports;
    SerialLinePtt ptt({.path = "x", .line = line}, ports.opener());
    ASSERT_TRUE(ptt.key(true).ok());
    ASSERT_TRUE(ptt.key(false).ok());
    const bool rts = line == SerialLinePtt::Line::rts;
    EXPECT_EQ(ports.port->history, (std::vector<Lines>{{}, {.rts = rts, .dtr = !rts}, {}}));
  }
}

TEST(SerialLinePtt, the_other_line_feeds_the_interface_where_that_is_asked_for) {
  FakePorts ports;
  SerialLinePtt ptt({.path = "x", .other_line_up = true}, ports.opener());
  ASSERT_TRUE(ptt.key(false).ok());
  EXPECT_EQ(ports.port->lines, (Lines{.rts = false, .dtr = true}));
}

TEST(SerialLinePtt, a_line_that_stays_up_is_an_error_of_unkeying_and_closes_the_port) {
  FakePorts ports;
  SerialLinePtt ptt({.path = "x"}, ports.opener());
  ASSERT_TRUE(ptt.key(true).ok());
  ports.port->stuck = true;
  EXPECT_EQ(ptt.key(false).error().code, ErrorCode::io);
  EXPECT_EQ(ports.port.use_count(), 1);  // the port is closed, so the kernel drops the lines
  ports.port->stuck = false;
  EXPECT_TRUE(ptt.key(false).ok());
  EXPECT_EQ(ports.opened, 2);
}

TEST(SerialLinePtt, says_that_it_is_unkeyed_as_far_as_the_line_can_be_read) {
  FakePorts ports;
  SerialLinePtt ptt({.path = "x", .other_line_up = true}, ports.opener());
  EXPECT_EQ(*ptt.confirm_unkeyed(), Unkeyed::unconfirmed);
  ASSERT_TRUE(ptt.key(true).ok());
  EXPECT_EQ(ptt.confirm_unkeyed().error().code, ErrorCode::io);
  ASSERT_TRUE(ptt.key(false).ok());
  EXPECT_EQ(*ptt.confirm_unkeyed(), Unkeyed::confirmed);
}

TEST(SerialLinePtt, unkeys_when_it_goes_and_when_another_thread_says_so) {
  FakePorts ports;
  {
    SerialLinePtt ptt({.path = "x"}, ports.opener());
    EXPECT_TRUE(ptt.release().ok());
    EXPECT_EQ(ports.opened, 0);
    ASSERT_TRUE(ptt.key(true).ok());
    ASSERT_TRUE(ptt.release().ok());
    EXPECT_FALSE(ports.port->lines.rts);
    ASSERT_TRUE(ptt.key(true).ok());
  }
  EXPECT_FALSE(ports.port->lines.rts);
}

TEST(SerialLinePtt, a_port_that_is_missing_or_has_no_such_line_is_an_error) {
  SerialLinePtt missing({.path = "/dev/no-such-port"});
  EXPECT_EQ(missing.key(false).error().code, ErrorCode::io);
  SerialLinePtt lineless({.path = "/dev/null"});
  EXPECT_FALSE(lineless.key(true).ok());
}

posix::Fd pseudo_terminal() {
  posix::Fd master(::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC));
  EXPECT_TRUE(master);
  EXPECT_EQ(::grantpt(master.get()), 0);
  EXPECT_EQ(::unlockpt(master.get()), 0);
  return master;
}

TEST(SerialLinePtt, a_port_that_is_open_is_opened_by_nobody_else_but_root) {
  const posix::Fd master = pseudo_terminal();
  const std::string path = ::ptsname(master.get());
  const auto port = open_serial_port(path);
  ASSERT_TRUE(port.ok());
  const posix::Fd again(::open(path.c_str(), O_RDWR | O_NOCTTY | O_CLOEXEC));
  if (!again) {
    EXPECT_EQ(errno, EBUSY);
    return;
  }
  int exclusive = 0;
  ASSERT_EQ(::ioctl(again.get(), TIOCGEXCL, &exclusive), 0);
  EXPECT_EQ(exclusive, 1);
}

TEST(SerialLinePtt, a_port_of_the_kernel_drops_its_lines_when_it_is_closed) {
  const posix::Fd master = pseudo_terminal();
  termios settings{};
  ASSERT_EQ(::tcgetattr(master.get(), &settings), 0);
  settings.c_cflag &= ~static_cast<tcflag_t>(HUPCL);
  settings.c_cflag |= CRTSCTS;
  ASSERT_EQ(::tcsetattr(master.get(), TCSANOW, &settings), 0);
  const auto port = open_serial_port(::ptsname(master.get()));
  ASSERT_TRUE(port.ok());
  ASSERT_EQ(::tcgetattr(master.get(), &settings), 0);
  EXPECT_TRUE(settings.c_cflag & HUPCL);
  EXPECT_FALSE(settings.c_cflag & CRTSCTS);
  EXPECT_FALSE((*port)->set({.rts = true}).ok());  // a pseudo-terminal has no lines and says so
}

// --- CM108: report octets as in C-Media's data sheet ---

using Report = std::array<std::uint8_t, 5>;

TEST(Cm108Ptt, writes_levels_and_directions_of_one_pin_behind_the_report_number) {
  EXPECT_EQ(cm108_report(3, true), (Report{0, 0, 0x04, 0x04, 0}));
  EXPECT_EQ(cm108_report(3, false), (Report{0, 0, 0x00, 0x04, 0}));
  EXPECT_EQ(cm108_report(1, true), (Report{0, 0, 0x01, 0x01, 0}));
  EXPECT_EQ(cm108_report(8, true), (Report{0, 0, 0x80, 0x80, 0}));
}

TEST(Cm108Ptt, keys_unkeys_releases_and_unkeys_when_it_goes) {
  const Fifo chip;
  const auto on = cm108_report(3, true);
  const auto off = cm108_report(3, false);
  {
    Cm108Ptt ptt({.path = chip.path()});
    EXPECT_TRUE(ptt.key(true).ok());
    EXPECT_EQ(chip.read(), on);
    EXPECT_TRUE(ptt.key(false).ok());
    EXPECT_EQ(chip.read(), off);
    EXPECT_EQ(*ptt.confirm_unkeyed(), Unkeyed::unconfirmed);
    EXPECT_TRUE(ptt.release().ok());
    EXPECT_EQ(chip.read(), off);
    EXPECT_TRUE(ptt.key(true).ok());
    EXPECT_EQ(chip.read(), on);
  }
  EXPECT_EQ(chip.read(), off);
}

TEST(Cm108Ptt, unkeys_without_descriptors) {
  const Fifo chip;
  Cm108Ptt ptt({.path = chip.path()});
  ASSERT_TRUE(ptt.key(true).ok());
  EXPECT_EQ(chip.read(), cm108_report(3, true));
  {
    const test::NoDescriptorsLeft none;
    EXPECT_TRUE(ptt.key(false).ok());
  }
  EXPECT_EQ(chip.read(), cm108_report(3, false));
}

TEST(Cm108Ptt, a_chip_that_was_pulled_out_and_put_back_is_found_again) {
  Fifo chip;
  Cm108Ptt ptt({.path = chip.path()});
  ASSERT_TRUE(ptt.key(true).ok());
  ASSERT_EQ(chip.read(), cm108_report(3, true));
  const Fifo other;
  std::filesystem::rename(other.path(), chip.path());
  chip.pull_out();
  EXPECT_TRUE(ptt.key(false).ok());
  EXPECT_EQ(other.read(), cm108_report(3, false));
}

// A hidraw device that is pulled out keeps its number as long as a process has it open. A chip that
// is plugged in meanwhile gets another number.
TEST(Cm108Ptt, holds_the_chip_only_while_keyed) {
  const Fifo chip;
  const auto descriptors = [&] {
    long count = 0;
    for (const auto& one : std::filesystem::directory_iterator("/proc/self/fd")) {
      std::error_code gone;
      count += std::filesystem::read_symlink(one.path(), gone) == chip.path() ? 1 : 0;
    }
    return count;
  };
  const long before = descriptors();
  Cm108Ptt ptt({.path = chip.path()});
  ASSERT_TRUE(ptt.key(true).ok());
  EXPECT_EQ(descriptors(), before + 1);
  ASSERT_TRUE(ptt.key(false).ok());
  EXPECT_EQ(descriptors(), before);
  ASSERT_TRUE(ptt.release().ok());
  EXPECT_EQ(descriptors(), before);
}

TEST(Cm108Ptt, a_copy_of_the_process_with_other_files_opens_it_anew) {
  const Fifo chip;
  const pid_t child = ::fork();
  if (child == 0) {
    for (int standard = 0; standard < 3; ++standard) ::close(standard);
    Cm108Ptt ptt({.path = chip.path()});
    if (!ptt.key(true)) ::_exit(1);
    const int null = ::open("/dev/null", O_RDWR);
    for (int standard = 0; standard < 3; ++standard) ::dup2(null, standard);
    ::close_range(3, ~0U, 0);
    ::_exit(ptt.release() ? 0 : 1);
  }
  ASSERT_GT(child, 0);
  EXPECT_EQ(chip.read(), cm108_report(3, true));
  EXPECT_EQ(chip.read(), cm108_report(3, false));
  int status = -1;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(Cm108Ptt, a_chip_that_is_missing_or_takes_nothing_is_an_error) {
  Cm108Ptt missing({.path = "/dev/no-such-hidraw"});
  EXPECT_EQ(missing.key(true).error().code, ErrorCode::io);
  Cm108Ptt full({.path = "/dev/full"});
  EXPECT_EQ(full.key(true).error().code, ErrorCode::io);
}

}  // namespace
}  // namespace s5066::modem
