// SPDX-License-Identifier: Apache-2.0
#include "s5066d/posix/passed_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <array>
#include <fstream>
#include <string>
#include <utility>

#include "tests/support/temporary_folder.h"

namespace s5066::posix {
namespace {

const Bytes kContent = {1, 2, 3, 4, 5};

class PassedFileTest : public testing::Test {
 protected:
  PassedFileTest() {
    int ends[2];
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    here.reset(ends[0]);
    there.reset(ends[1]);
  }
  /// Receives octets until there are none.
  std::string received(PassedFile& file) {
    std::string text;
    std::array<std::uint8_t, 64> part{};
    for (;;) {
      const auto octets = receive_with_file(there.get(), part, file);
      if (!octets || *octets == 0) return text;
      text.append(part.begin(), part.begin() + static_cast<std::ptrdiff_t>(*octets));
    }
  }
  std::string refusal(int file) {
    const auto read = read_sealed_file(file, 100);
    EXPECT_FALSE(read);
    if (read) return "";
    EXPECT_EQ(read.error().code, ErrorCode::refused);
    return read.error().detail;
  }

  Fd here;
  Fd there;
};

TEST_F(PassedFileTest, the_content_arrives_with_the_octets) {
  const auto sealed = make_sealed_file(kContent);
  ASSERT_TRUE(sealed);
  const Bytes line = {'p', 'u', 't', '\n'};
  const auto sent = send_with_file(here.get(), line, sealed->get());
  ASSERT_TRUE(sent && *sent == line.size());
  PassedFile file;
  EXPECT_EQ(received(file), "put\n");
  EXPECT_FALSE(file.more);
  EXPECT_NE(::fcntl(file.file.get(), F_GETFD) & FD_CLOEXEC, 0);
  // The sender cannot move the place from which the receiver reads.
  EXPECT_EQ(::lseek(sealed->get(), 3, SEEK_SET), 3);
  for (int i = 0; i < 2; ++i) EXPECT_EQ(*read_sealed_file(file.file.get(), 5), kContent);
  EXPECT_EQ(read_sealed_file(file.file.get(), 4).error().code, ErrorCode::too_large);
}

TEST_F(PassedFileTest, nobody_changes_a_sealed_file) {
  const auto sealed = make_sealed_file(kContent);
  ASSERT_TRUE(sealed);
  EXPECT_EQ(::write(sealed->get(), "x", 1), -1);
  EXPECT_EQ(::ftruncate(sealed->get(), 0), -1);
  EXPECT_EQ(::ftruncate(sealed->get(), 9), -1);
  EXPECT_EQ(*read_sealed_file(make_sealed_file({})->get(), 0), Bytes());
}

TEST_F(PassedFileTest, a_second_descriptor_is_noticed_and_closed) {
  const auto sealed = make_sealed_file(kContent);
  const Bytes octet = {'x'};
  ASSERT_TRUE(send_with_file(here.get(), octet, sealed->get()));
  ASSERT_TRUE(send_with_file(here.get(), octet, sealed->get()));
  PassedFile file;
  EXPECT_EQ(received(file), "xx");
  EXPECT_TRUE(file.more);
  EXPECT_TRUE(file.file);
}

TEST_F(PassedFileTest, every_other_descriptor_is_refused_at_once) {
  test::TemporaryFolder folder;
  const std::string path = (folder.path() / "f").string();
  const std::string fifo = (folder.path() / "fifo").string();
  std::ofstream(path) << "text";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  const std::string none = "no descriptor of a sealed memory file came with it";
  EXPECT_EQ(refusal(-1), none);
  for (const auto& [name, flags] : {std::pair{path, O_RDONLY},
                                    {path, O_PATH},
                                    {folder.path().string(), O_RDONLY},
                                    {fifo, O_RDONLY | O_NONBLOCK},
                                    {std::string("/dev/zero"), O_RDONLY}}) {
    const Fd file(::open(name.c_str(), flags | O_CLOEXEC));
    ASSERT_TRUE(file) << name;
    EXPECT_EQ(refusal(file.get()), none) << name;
  }
  EXPECT_EQ(refusal(here.get()), none);
  // A memory file that the sender can still change.
  const Fd open(::memfd_create("open", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  ASSERT_EQ(::write(open.get(), "text", 4), 4);
  EXPECT_EQ(refusal(open.get()), none);
  const Fd write_only(
      ::open(("/proc/self/fd/" + std::to_string(open.get())).c_str(), O_WRONLY | O_CLOEXEC));
  ASSERT_TRUE(write_only);
  ASSERT_EQ(::fcntl(open.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE), 0);
  EXPECT_EQ(refusal(write_only.get()), "the descriptor is not open for reading");
  EXPECT_TRUE(read_sealed_file(open.get(), 4));
}

TEST_F(PassedFileTest, a_memory_file_that_claims_to_be_huge_costs_no_memory) {
  const Fd huge(::memfd_create("huge", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  ASSERT_EQ(::ftruncate(huge.get(), off_t{1} << 40), 0);
  ASSERT_EQ(::fcntl(huge.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE), 0);
  EXPECT_EQ(read_sealed_file(huge.get(), 100).error().code, ErrorCode::too_large);
}

TEST_F(PassedFileTest, a_peer_that_has_gone_is_an_error_and_an_empty_socket_is_not) {
  PassedFile file;
  std::array<std::uint8_t, 4> part{};
  EXPECT_EQ(*receive_with_file(there.get(), part, file), 0u);
  here.reset();
  EXPECT_EQ(receive_with_file(there.get(), part, file).error().code, ErrorCode::link_down);
}

}  // namespace
}  // namespace s5066::posix
