// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/pdu/vectors.h"

#include <string_view>

#include "s5066d/base/assert.h"

namespace s5066::test {
namespace {

using namespace s5066::pdu;

constexpr Address kA{0x1020304};
constexpr Address kB{0x1020305};

Common a_to_b(std::uint8_t eot, Eow eow = {}) {
  return {.eow = eow, .eot_half_s = eot, .destination = kB, .source = kA};
}
Common b_to_a(std::uint8_t eot, Eow eow = {}) {
  return {.eow = eow, .eot_half_s = eot, .destination = kA, .source = kB};
}

Bytes text(std::string_view t) {
  return Bytes(t.begin(), t.end());
}
Bytes counting(std::uint8_t first, std::size_t size, int step = 1) {
  Bytes bytes(size);
  for (std::size_t i = 0; i < size; ++i) {
    bytes[i] = static_cast<std::uint8_t>(first + step * static_cast<int>(i));
  }
  return bytes;
}
Bytes hex(std::string_view t) {
  return from_hex(t).value();
}
Bytes join(std::initializer_list<Bytes> parts) {
  Bytes all;
  for (const Bytes& part : parts) append(all, part);
  return all;
}

Ack acks(std::uint8_t rx_lwe, std::uint8_t rx_uwe, std::initializer_list<int> received) {
  Ack ack = make_ack({rx_lwe}, {rx_uwe});
  for (const int n : received) set_acknowledged(ack, {static_cast<std::uint8_t>(n)});
  return ack;
}

Nonarq group_nonarq(std::uint8_t eot, std::uint16_t offset, std::uint16_t window, Bytes segment) {
  Nonarq n;
  n.common = {.eow = {}, .eot_half_s = eot, .destination = {0x10203C8, true}, .source = kB};
  n.cpdu_id = 0x0A5;
  n.cpdu_size = 20;
  n.offset = offset;
  n.window_half_s = window;
  n.segment = std::move(segment);
  return n;
}

Nonarq link_cpdu(Common common, std::uint8_t octet) {
  Nonarq n;
  n.common = common;
  n.expedited = true;
  n.cpdu_size = 1;
  n.window_half_s = 4;
  n.segment = {octet};
  return n;
}

Nonarq to_all_stations() {
  Nonarq n;
  n.common = {.eow = {}, .eot_half_s = 0, .destination = Address::all_stations(), .source = kB};
  n.expedited = true;
  n.cpdu_id = 0xFFF;
  n.in_order = true;
  n.cpdu_size = 12;
  n.window_half_s = 240;
  n.segment = text("ALL STATIONS");
  return n;
}

void add_data(std::vector<Vector>& all) {
  const DataFlags all_but_drop{
      .start = true, .end = true, .in_order = true, .uwe = true, .lwe = true};
  all.push_back({"X2",
                 hex("90 EB 00 00 06 E9 10 20 30 41 02 03 05 EC 08 00 73 A1 48 45 4C 4C 4F 20 48 "
                     "46 A5 93 A6 E2"),
                 Data{b_to_a(6), all_but_drop, {0}, text("HELLO HF")}});
  all.push_back(
      {"X3a",
       hex("90 EB 00 00 0A E9 10 20 30 41 02 03 05 A4 08 FE 90 FE 30 31 32 33 34 35 36 "
           "37 C6 B8 12 12"),
       Data{b_to_a(10), {.start = true, .in_order = true, .lwe = true}, {254}, counting(0x30, 8)}});
  all.push_back({"X3b",
                 hex("90 EB 00 00 0A E9 10 20 30 41 02 03 05 20 08 FF F6 35 38 39 3A 3B 3C 3D 3E "
                     "3F 90 0F 9F 31"),
                 Data{b_to_a(10), {.in_order = true}, {255}, counting(0x38, 8)}});
  all.push_back(
      {"X3c",
       hex("90 EB 00 00 09 E9 10 20 30 41 02 03 05 68 04 00 AB AD 40 41 42 43 DD AA D2 "
           "70"),
       Data{b_to_a(9), {.end = true, .in_order = true, .uwe = true}, {0}, counting(0x40, 4)}});
  all.push_back({"X4", hex("90 EB 00 00 04 E9 10 20 30 41 02 03 05 14 00 07 7B 2B 00 00 00 00"),
                 Data{b_to_a(4), {.drop = true, .lwe = true}, {7}, {}}});
  all.push_back({"X5", hex("90 EB 00 00 02 E9 10 20 30 41 02 03 05 CC 00 08 1A 40 00 00 00 00"),
                 Data{b_to_a(2), {.start = true, .end = true, .uwe = true, .lwe = true}, {8}, {}}});
  const DataFlags small{.start = true, .end = true, .uwe = true, .lwe = true};
  all.push_back({"X31", hex("90 EB 00 00 03 29 29 CC 02 C8 2D 55 48 69 BC 53 9F 19"),
                 Data{{.eow = {}, .eot_half_s = 3, .destination = {2}, .source = {9}},
                      small,
                      {200},
                      text("Hi")},
                 false});
  all.push_back({"X32", hex("90 EB 00 00 03 69 A0 74 D2 CC 02 C9 8D B9 48 69 BC 53 9F 19"),
                 Data{{.eow = {}, .eot_half_s = 3, .destination = {0xA07}, .source = {0x4D2}},
                      small,
                      {201},
                      text("Hi")},
                 false});
  all.push_back({"X33",
                 join({hex("90 EB 00 00 14 E9 10 20 30 41 02 03 05 23 FF 4D DB DF"),
                       counting(5, 1023, 31), hex("5A 48 EA 50")}),
                 Data{b_to_a(20), {.in_order = true}, {77}, counting(5, 1023, 31)}});
}

void add_acks(std::vector<Vector>& all) {
  all.push_back({"X6", hex("90 EB 10 00 01 E7 10 20 30 51 02 03 04 01 73 8C"),
                 AckOnly{a_to_b(1), acks(1, 0, {})}});
  all.push_back({"X7", hex("90 EB 10 00 02 E9 10 20 30 51 02 03 04 FE 0D 04 E7 26"),
                 AckOnly{a_to_b(2), acks(254, 9, {255, 1, 2, 9})}});
  Ack full = make_ack({0}, {127});
  for (int n = 1; n <= 127; ++n) set_acknowledged(full, {static_cast<std::uint8_t>(n)});
  all.push_back({"X8",
                 hex("90 EB 10 00 02 F7 10 20 30 51 02 03 04 00 FF FF FF FF FF FF FF FF FF FF FF "
                     "FF FF FF FF 7F 6F F1"),
                 AckOnly{a_to_b(2), full}});
  all.push_back({"X28", hex("90 EB 13 09 01 E7 10 20 30 51 02 03 04 09 73 FA"),
                 AckOnly{a_to_b(1, {.type = 3, .contents = 9}), acks(9, 8, {})}});
  all.push_back({"X9",
                 hex("90 EB 21 5A 14 EB 10 20 30 51 02 03 04 EC 08 03 11 06 AC 20 41 43 4B 2B 44 "
                     "41 54 41 F1 B8 94 07"),
                 DataAck{a_to_b(20, {.type = 1, .contents = 0x5A}),
                         {.start = true, .end = true, .in_order = true, .uwe = true, .lwe = true},
                         {3},
                         acks(17, 20, {19, 20}),
                         text("ACK+DATA")}});
  full.rx_lwe = {0};
  all.push_back({"X34",
                 join({hex("90 EB 20 00 1E FA 10 20 30 51 02 03 04 23 FF FA 00 FF FF FF FF FF FF "
                           "FF FF FF FF FF FF FF FF FF 7F 8C C2"),
                       Bytes(1023, 0xA5), hex("35 EE BB 16")}),
                 DataAck{a_to_b(30), {.in_order = true}, {250}, full, Bytes(1023, 0xA5)}});
}

void add_others(std::vector<Vector>& all) {
  all.push_back({"X24a",
                 hex("90 EB 70 00 0C EF 10 20 3C 81 02 03 05 04 0C A5 00 14 00 00 00 0C 02 51 00 "
                     "07 0E 15 1C 23 2A 31 38 3F 46 4D 3F 6F 10 C4"),
                 group_nonarq(12, 0, 12, counting(0, 12, 7))});
  all.push_back({"X24b",
                 hex("90 EB 70 00 0B EF 10 20 3C 81 02 03 05 04 08 A5 00 14 00 0C 00 0B 0E 60 54 "
                     "5B 62 69 70 77 7E 85 91 34 04 6B"),
                 group_nonarq(11, 12, 11, counting(0x54, 8, 7))});
  all.push_back({"X25",
                 hex("90 EB 80 00 00 EF FF FF FF F1 02 03 05 FC 0C FF 00 0C 00 00 00 F0 FA 69 41 "
                     "4C 4C 20 53 54 41 54 49 4F 4E 53 6E AF 12 67"),
                 to_all_stations()});
  all.push_back({"X26",
                 hex("90 EB 80 00 04 EF 10 20 30 41 02 03 05 00 01 00 00 01 00 00 00 04 6B 33 10 "
                     "AA 9C 74 1E"),
                 link_cpdu(b_to_a(4), 0x10)});
  all.push_back({"X27",
                 hex("90 EB 84 B0 04 EF 10 20 30 51 02 03 04 00 01 00 00 01 00 00 00 04 58 F9 20 "
                     "54 39 E9 3C"),
                 link_cpdu(a_to_b(4, {.type = 4, .contents = 0xB0}), 0x20)});
  all.push_back({"X1", hex("90 EB F0 00 00 47 05 64 02 5F 1E"),
                 Warning{{.eow = {}, .eot_half_s = 0, .destination = {5}, .source = {100}}, 0, 2},
                 false});
  all.push_back(
      {"X29", hex("90 EB F0 00 02 E7 10 20 30 41 02 03 05 01 9B 0C"), Warning{b_to_a(2), 0, 1}});
  all.push_back(
      {"X30", hex("90 EB F0 00 02 E7 10 20 30 41 02 03 05 90 F0 7D"), Warning{b_to_a(2), 9, 0}});
}

void add_resets_and_expedited(std::vector<Vector>& all) {
  all.push_back({"X10", hex("90 EB 30 00 02 E9 10 20 30 41 02 03 05 08 00 01 12 80"),
                 Reset{.common = b_to_a(2), .full_reset = true, .frame_id = 1}});
  all.push_back({"X11", hex("90 EB 30 00 02 E9 10 20 30 51 02 03 04 01 00 00 89 BA"),
                 Reset{.common = a_to_b(2), .ack = true}});
  all.push_back(
      {"X12", hex("90 EB 30 00 02 E9 10 20 30 41 02 03 05 02 2A 02 B4 A9"),
       Reset{.common = b_to_a(2), .rx_window_command = true, .new_rx_lwe = {42}, .frame_id = 2}});
  all.push_back({"X13", hex("90 EB 30 00 02 E9 10 20 30 51 02 03 04 04 00 03 B1 5F"),
                 Reset{.common = a_to_b(2), .tx_window_request = true, .frame_id = 3}});
  all.push_back({"X14",
                 hex("90 EB 40 00 03 E9 10 20 30 41 02 03 05 D4 06 00 0F 8F 55 52 47 45 4E 54 26 "
                     "C0 1A 48"),
                 ExpeditedData{b_to_a(3), true, true, 5, {0}, text("URGENT")}});
  all.push_back({"X15", hex("90 EB 50 00 01 E7 10 20 30 51 02 03 04 01 AD 8B"),
                 ExpeditedAck{a_to_b(1), acks(1, 0, {})}});
}

void add_management(std::vector<Vector>& all) {
  all.push_back({"X16", hex("90 EB 61 45 05 E8 10 20 30 41 02 03 05 02 00 FB CD"),
                 Management{b_to_a(5, {1, 0x45}), true, false, 0, {}}});
  all.push_back({"X17", hex("90 EB 62 00 05 E8 10 20 30 51 02 03 04 03 00 90 C3"),
                 Management{a_to_b(5, {2, 0}), true, true, 0, {}}});
  all.push_back({"X18", hex("90 EB 60 00 03 E8 10 20 30 41 02 03 05 01 01 28 19"),
                 Management{b_to_a(3), false, true, 1, {}}});
  all.push_back({"X19", hex("90 EB 62 60 05 E8 10 20 30 51 02 03 04 02 01 B5 70"),
                 Management{a_to_b(5, {2, 0x60}), true, false, 1, {}}});
  all.push_back({"X20", hex("90 EB 60 00 03 E8 10 20 30 41 02 03 05 01 02 5E 0A"),
                 Management{b_to_a(3), false, true, 2, {}}});
  all.push_back({"X21", hex("90 EB 62 25 05 E8 10 20 30 51 02 03 04 03 00 34 C9"),
                 Management{a_to_b(5, {2, 0x25}), true, true, 0, {}}});
  all.push_back({"X22", hex("90 EB 62 40 05 E8 10 20 30 41 02 03 05 03 01 A3 FA"),
                 Management{b_to_a(5, {2, 0x40}), true, true, 1, {}}});
  all.push_back({"X23", hex("90 EB 67 19 05 EE 10 20 30 41 02 03 05 06 03 00 00 25 80 01 B0 29 D2"),
                 Management{b_to_a(5, {7, 0x19}), true, false, 3, hex("00 00 25 80 01 B0")}});
}

}  // namespace

std::vector<Vector> vectors() {
  std::vector<Vector> all;
  add_data(all);
  add_acks(all);
  add_resets_and_expedited(all);
  add_management(all);
  add_others(all);
  return all;
}

Bytes vector_octets(const char* name) {
  for (const Vector& vector : vectors()) {
    if (std::string_view(vector.name) == name) return vector.octets;
  }
  assert_failed("no such vector", name, 0);
}

}  // namespace s5066::test
