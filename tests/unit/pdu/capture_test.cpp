// SPDX-License-Identifier: Apache-2.0
// This test compares the octets of a pcap file with the format's layout. tests/interop has tshark
// read them.
#include "s5066d/pdu/capture.h"

#include <gtest/gtest.h>

namespace s5066::pdu {
namespace {

using namespace std::chrono_literals;

TEST(Capture, the_file_header_names_the_link_type) {
  Bytes out;
  append_capture_header(LinkType::dpdu, out);
  EXPECT_EQ(to_hex(out), "D4 C3 B2 A1 02 00 04 00 00 00 00 00 00 00 00 00 FF FF 00 00 ED 00 00 00");
}

TEST(Capture, a_record_has_seconds_microseconds_and_both_lengths) {
  Bytes out;
  append_capture_record(0x01020304s + 999'999us + 999ns, Bytes{0x90, 0xEB}, out);
  EXPECT_EQ(to_hex(out), "04 03 02 01 3F 42 0F 00 02 00 00 00 02 00 00 00 90 EB");
}

TEST(Capture, takes_the_longest_record_and_no_longer) {
  Bytes out;
  append_capture_record(0s, Bytes(kCaptureRecordOctetsMax), out);
  EXPECT_EQ(out.size(), 16 + kCaptureRecordOctetsMax);
  EXPECT_DEATH(append_capture_record(0s, Bytes(kCaptureRecordOctetsMax + 1), out), "frame.size");
  EXPECT_DEATH(append_capture_record(-1ns, {}, out), "since_epoch");
}

}  // namespace
}  // namespace s5066::pdu
