// SPDX-License-Identifier: Apache-2.0
#include "gateways/acp142/peers/cftp_pdu.h"

#include <gtest/gtest.h>

#include "gateways/acp142/mail/compression.h"
#include "gateways/acp142/peers/cftp_record.h"

namespace s5066::acp142 {
namespace {

const char* const kRecord =
    "42 30 30 30 30 30 30 30 31 33 33 0A"
    "61 40 78 2E 74 77 6F 2C 72 6F 6F 74 40 65 73 73 65 78 2E 70 64 77 0A"
    "32 31 0A"
    "53 75 62 6A 65 63 74 3A 20 54 0D 0A 0D 0A 68 69 0D 0A 2E 0D 0A";
const char* const kGzip =
    "1F 8B 08 00 00 00 00 00 02 FF 73 32 80 00 43 63 63 AE 44 87 0A BD 92 F2 7C 9D A2 FC FC 12 87 "
    "D4 E2 E2 D4 0A BD 82 94 72 2E 23 43 AE E0 D2 A4 AC D4 E4 12 2B 85 10 5E 2E 5E AE 8C 4C 5E 2E "
    "3D 5E 2E 00 5D 9B C4 3F 3B 00 00 00";

Bytes octets(std::string_view text) {
  return {text.begin(), text.end()};
}

std::string text(const Bytes& content) {
  return {content.begin(), content.end()};
}

CftpRecord decoded(const std::string& record) {
  auto read = decode_cftp_record(octets(record), 10);
  EXPECT_TRUE(read) << to_string(read.error());
  return read ? *read : CftpRecord{};
}

ErrorCode refused(const std::string& record, std::size_t recipients_max = 10) {
  const auto read = decode_cftp_record(octets(record), recipients_max);
  EXPECT_FALSE(read.ok());
  return read ? ErrorCode{} : read.error().code;
}

// F.14.6(1), F.14.6(4): the octets of the record are the example of the reference.
TEST(CftpRecordTest, the_worked_example_is_written_and_read) {
  Mail mail;
  mail.envelope.from.address = "a@x.two";
  mail.envelope.recipients.push_back({"root@essex.pdw", {}});
  mail.content = octets("Subject: T\r\n\r\nhi\r\n");
  const Bytes record = *from_hex(kRecord);
  EXPECT_EQ(to_hex(encode_cftp_record("B0000000133", mail)), to_hex(record));
  const auto read = decode_cftp_record(record, 1);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->id, "B0000000133");
  EXPECT_EQ(read->mail.envelope, mail.envelope);
  EXPECT_EQ(text(read->mail.content), text(mail.content));
}

// F.14.4(3): compressed octets depend on the compressor, so the content is compared.
TEST(CftpRecordTest, gzip_of_the_worked_example_is_read_and_ours_has_the_same_header) {
  const Bytes record = *from_hex(kRecord);
  EXPECT_EQ(*inflated(*from_hex(kGzip), {}, Container::gzip), record);
  const Bytes ours = deflated(record, Container::gzip);
  EXPECT_EQ(to_hex(ByteSpan(ours).first(10)), "1F 8B 08 00 00 00 00 00 02 FF");
  EXPECT_EQ(*inflated(ours, {}, Container::gzip), record);
}

// F.14.4(3)
TEST(CftpRecordTest, every_legal_form_of_gzip_is_read_and_zlib_too) {
  const Bytes part = deflated(octets("one "), Container::gzip);
  Bytes two = part;
  append(two, deflated(octets("two"), Container::gzip));
  EXPECT_EQ(text(*inflated(two, {}, Container::gzip)), "one two");
  Bytes named(part.begin(), part.begin() + 10);
  named[3] = 0x08;  // FNAME
  for (const char c : std::string_view("mail")) named.push_back(static_cast<std::uint8_t>(c));
  named.push_back(0);
  named.insert(named.end(), part.begin() + 10, part.end());
  EXPECT_EQ(text(*inflated(named, {}, Container::gzip)), "one ");
  EXPECT_EQ(text(*inflated(deflated(octets("z"), Container::zlib), {}, Container::gzip)), "z");
}

TEST(CftpRecordTest, a_damaged_or_cut_or_swelling_stream_is_refused) {
  const Bytes whole = deflated(octets(std::string(1000, 'x')), Container::gzip);
  for (std::size_t i = 0; i < whole.size(); ++i) {
    EXPECT_FALSE(inflated(ByteSpan(whole).first(i), {}, Container::gzip)) << i;
  }
  Bytes bad = whole;
  bad[bad.size() - 5] ^= 1;  // CRC32
  EXPECT_EQ(inflated(bad, {}, Container::gzip).error().code, ErrorCode::bad_checksum);
  EXPECT_TRUE(inflated(whole, {.octets_max = 1000}, Container::gzip));
  EXPECT_EQ(inflated(whole, {.octets_max = 999}, Container::gzip).error().code,
            ErrorCode::too_large);
  const InflateLimits by_ratio{.ratio_max = 1, .octets_always_allowed = 999};
  EXPECT_EQ(inflated(whole, by_ratio, Container::gzip).error().code, ErrorCode::too_large);
}

// F.14.6(3)
TEST(CftpRecordTest, a_missing_return_path_is_empty_or_a_blank) {
  for (const std::string form : {"", " ", "<>", " <> "}) {
    const auto read = decoded("A1\n" + form + ",b@y\n2\nhi");
    EXPECT_EQ(read.mail.envelope.from.address, "") << form;
    ASSERT_EQ(read.mail.envelope.recipients.size(), 1u);
    EXPECT_EQ(read.mail.envelope.recipients[0].address, "b@y");
  }
}

// F.14.6(3): the clause does not say how an address is written.
TEST(CftpRecordTest, addresses_may_have_brackets_and_blanks) {
  const auto read = decoded("A1\n<a@x>, <b@y> ,c@z,\n2\nhi");
  EXPECT_EQ(read.mail.envelope.from.address, "a@x");
  ASSERT_EQ(read.mail.envelope.recipients.size(), 2u);
  EXPECT_EQ(read.mail.envelope.recipients[0].address, "b@y");
}

// F.14.6(4)
TEST(CftpRecordTest, dots_are_stuffed_and_a_message_without_its_end_is_taken_as_it_is) {
  Mail mail;
  mail.envelope.recipients.push_back({"b@y", {}});
  for (const std::string content :
       {"a\r\n.\r\n..b\r\n", ".x\r\n", "no end", "\r\n", "a\r\n\r\n.\r\n.\r\n"}) {
    mail.content = octets(content);
    const auto read = decode_cftp_record(encode_cftp_record("A", mail), 1);
    ASSERT_TRUE(read);
    EXPECT_EQ(text(read->mail.content), content == "no end" ? "no end\r\n" : content);
  }
  EXPECT_EQ(text(decoded("A\n,b@y\n8\na\r\n..b\r\n").mail.content), "a\r\n..b\r\n");
}

TEST(CftpRecordTest, octets_behind_the_message_are_counted_and_ignored) {
  const auto read = decoded("A\n,b@y\n2\nhi and more");
  EXPECT_EQ(text(read.mail.content), "hi");
  EXPECT_EQ(read.octets_ignored, 9u);
}

// F.14.6(2): at each limit the last value that works and the first that must not
TEST(CftpRecordTest, what_breaks_a_rule_of_the_table_is_refused) {
  EXPECT_EQ(decoded(std::string(255, 'A') + "\n,b@y\n0\n").id.size(), 255u);
  EXPECT_EQ(refused(std::string(256, 'A') + "\n,b@y\n0\n"), ErrorCode::bad_field);
  EXPECT_EQ(refused("\n,b@y\n0\n"), ErrorCode::bad_field);
  EXPECT_EQ(refused("A B\n,b@y\n0\n"), ErrorCode::bad_field);
  EXPECT_EQ(refused("A\n,b@y\n3\nhi"), ErrorCode::truncated);
  EXPECT_EQ(refused("A\n,b@y\n-1\nhi"), ErrorCode::bad_field);
  EXPECT_EQ(refused("A\n,b@y\n99999999999\nhi"), ErrorCode::bad_field);
  EXPECT_EQ(refused("A\na@x\n2\nhi"), ErrorCode::bad_field);  // no recipient
  EXPECT_EQ(refused("A\n,b@y,c@z\n2\nhi", 1), ErrorCode::too_large);
  EXPECT_FALSE(decode_cftp_record(octets("A\n,b\x80@y\n2\nhi"), 10));
  std::string list;  // empty entries mean nothing
  list.assign(kCftpRecipientsOctetsMax - 3, ',');
  EXPECT_EQ(decoded("A\n" + list + "b@y\n2\nhi").mail.envelope.recipients.size(), 1u);
  EXPECT_EQ(refused("A\n," + list + "b@y\n2\nhi"), ErrorCode::bad_field);
  const std::string whole = "A\na@x,b@y\n2\nhi";
  for (std::size_t i = 0; i < whole.size(); ++i) static_cast<void>(refused(whole.substr(0, i)));
}

// F.14.6(2)
TEST(CftpRecordTest, as_many_recipients_go_into_one_record_as_its_list_has_room_for) {
  Mail mail;
  mail.envelope.from.address = std::string(99, 'a');
  for (int i = 0; i < 200; ++i) mail.envelope.recipients.push_back({std::string(99, 'b'), {}});
  EXPECT_EQ(cftp_recipients_that_fit(mail.envelope), 101u);  // 99 + 101 * 100 = 10199
  mail.envelope.from.address = std::string(140, 'a');
  EXPECT_EQ(cftp_recipients_that_fit(mail.envelope), 100u);
}

// F.14.3(1), F.14.4(1), F.14.4(2): the octets of the headers are the example of the reference.
TEST(CftpPduTest, the_worked_example_is_one_segment) {
  const Bytes gzip = *from_hex(kGzip);
  const Bytes file = bftp_v1_file("B0000000133", gzip);
  const Bytes updu = cftp_segment({.updu_id = 1}, file, 2048);
  EXPECT_EQ(updu.size(), 96u);
  EXPECT_EQ(to_hex(ByteSpan(updu).first(22)),
            "00 01 00 00 10 02 0B 42 30 30 30 30 30 30 30 31 33 33 00 00 00 4A");
  EXPECT_EQ(*decode_rcop_v1(updu), (RcopV1Header{.updu_id = 1}));
  const auto header = decode_bftp_v1_header(ByteSpan(updu).subspan(4));
  ASSERT_TRUE(header && *header);
  EXPECT_EQ((*header)->name, "B0000000133");
  EXPECT_EQ((*header)->size, gzip.size());
  for (std::size_t i = 0; i < 18; ++i) {
    const auto part = decode_bftp_v1_header(ByteSpan(file).first(i));
    ASSERT_TRUE(part);
    EXPECT_FALSE(*part) << i;
  }
}

// F.14.5(1)
TEST(CftpPduTest, the_acknowledgement_has_the_numbers_of_the_file) {
  EXPECT_EQ(to_hex(cftp_acknowledgement(0, 1)), "00 01 00 00 10 0B");
  EXPECT_EQ(to_hex(cftp_acknowledgement(3, 0x2A)), "30 2A 00 00 10 0B");
  EXPECT_TRUE(is_cftp_acknowledgement(*from_hex("30 2A 00 00 10 0B")));
  EXPECT_FALSE(is_cftp_acknowledgement(*from_hex("30 2A 00 01 10 0B")));
  EXPECT_FALSE(is_cftp_acknowledgement(*from_hex("30 2A 00 00 10 0B 00")));
  EXPECT_FALSE(is_cftp_acknowledgement(*from_hex("30 2A 00 00 10 02")));
}

// F.14.3(2)
TEST(CftpPduTest, segments_fill_the_mtu_and_only_the_first_has_the_mark_of_a_file) {
  const Bytes file = bftp_v1_file("A", Bytes(2 * 2044 - 8, 'x'));
  EXPECT_EQ(file.size(), 2u * 2044);
  EXPECT_EQ(cftp_segment_count(file.size(), 2048), 2u);  // no short one at the end
  EXPECT_EQ(cftp_segment_count(file.size() + 1, 2048), 3u);
  const Bytes second = cftp_segment({.updu_id = 7, .segment = 1}, file, 2048);
  EXPECT_EQ(second.size(), 2048u);
  EXPECT_EQ(to_hex(ByteSpan(second).first(6)), "00 07 00 01 78 78");
}

TEST(CftpPduTest, what_is_no_file_is_refused_at_its_first_octet_that_shows_it) {
  EXPECT_FALSE(decode_bftp_v1_header(octets("x")));
  EXPECT_FALSE(decode_bftp_v1_header(*from_hex("10 0B")));
  EXPECT_FALSE(decode_rcop_v1(*from_hex("00 01 00")));
}

}  // namespace
}  // namespace s5066::acp142
