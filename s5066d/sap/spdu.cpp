// SPDX-License-Identifier: Apache-2.0
#include "s5066d/sap/spdu.h"

#include <chrono>

namespace s5066::sap {
namespace {

constexpr std::int64_t kSecondsPerDay = 86400;
constexpr std::uint16_t kHalfOfSecondMax = (kSecondsPerDay - 1) >> 1;
constexpr std::uint8_t kConfirmRequiredBit = 0x80;
constexpr std::uint8_t kValidTimeToDieBit = 0x40;
constexpr std::size_t kDataFixed = 3;  // DATA without TIME TO DIE
constexpr std::size_t kTimeToDieOctets = 2;
constexpr std::size_t kAnswerFixed = 2;
constexpr std::size_t kHardLinkRequestOctets = 2;

/// Days since 1970-01-01, rounded down.
std::int64_t day_number(UtcSeconds at) {
  std::int64_t day = at.value / kSecondsPerDay;
  if (at.value % kSecondsPerDay < 0) --day;
  return day;
}

std::uint8_t day_field(std::int64_t day) {
  const std::chrono::sys_days date{std::chrono::days(day)};
  const std::chrono::year_month_day calendar{date};
  const std::chrono::sys_days new_year{calendar.year() / 1 / 1};
  return static_cast<std::uint8_t>(((date - new_year).count() + 1) % 16);
}

std::uint8_t saps(SapId source, SapId destination) {
  S5066_ASSERT(source.value <= SapId::kMax);
  S5066_ASSERT(destination.value <= SapId::kMax);
  return static_cast<std::uint8_t>(source.value << 4 | destination.value);
}

std::uint8_t first_octet(unsigned type, std::uint8_t low_half) {
  S5066_ASSERT(low_half < 16);
  return static_cast<std::uint8_t>(type << 4 | low_half);
}

Bytes encode_data(const DataSpdu& data) {
  Bytes out;
  // Includes the octet that the sublayer below adds.
  out.reserve(1 + kSpciOctetsMax + data.updu.size());
  out.push_back(first_octet(0, data.priority));
  out.push_back(saps(data.source_sap, data.destination_sap));
  std::uint8_t flags = data.client_confirm_required ? kConfirmRequiredBit : 0;
  if (data.time_to_die) {
    S5066_ASSERT(data.time_to_die->day < 16);
    flags = static_cast<std::uint8_t>(flags | kValidTimeToDieBit | data.time_to_die->day);
  }
  out.push_back(flags);
  if (data.time_to_die) put_u16(out, data.time_to_die->half_of_second);
  append(out, data.updu);
  return out;
}

Bytes encode_answer(unsigned type, std::uint8_t low_half, SapId source, SapId destination,
                    ByteSpan part) {
  Bytes out;
  out.reserve(kAnswerFixed + part.size());
  out.push_back(first_octet(type, low_half));
  out.push_back(saps(source, destination));
  append(out, part);
  return out;
}

Bytes encode_hard_link(const HardLinkRequest& request) {
  S5066_ASSERT(request.link_type < 4);
  S5066_ASSERT(request.priority < 4);
  const auto low_half = static_cast<std::uint8_t>(request.link_type << 2 | request.priority);
  return {first_octet(3, low_half), saps(request.requesting_sap, request.remote_sap)};
}
Bytes encode_hard_link(const HardLinkConfirm&) {
  return {first_octet(4, 0)};
}
Bytes encode_hard_link(const HardLinkRefused& refused) {
  return {first_octet(5, static_cast<std::uint8_t>(refused.reason))};
}
Bytes encode_hard_link(const HardLinkTerminate& terminate) {
  return {first_octet(6, static_cast<std::uint8_t>(terminate.reason))};
}
Bytes encode_hard_link(const HardLinkTerminateConfirm&) {
  return {first_octet(7, 0)};
}

Bytes copy_from(ByteSpan octets, std::size_t at) {
  return {octets.begin() + static_cast<std::ptrdiff_t>(at), octets.end()};
}

Result<Spdu> decode_data(ByteSpan octets) {
  if (octets.size() < kDataFixed) return Error{ErrorCode::truncated, "DATA S_PDU"};
  DataSpdu data;
  data.priority = octets[0] & 0x0F;
  data.source_sap = SapId{static_cast<std::uint8_t>(octets[1] >> 4)};
  data.destination_sap = SapId{static_cast<std::uint8_t>(octets[1] & 0x0F)};
  data.client_confirm_required = (octets[2] & kConfirmRequiredBit) != 0;
  std::size_t updu_at = kDataFixed;
  if (octets[2] & kValidTimeToDieBit) {
    updu_at += kTimeToDieOctets;
    if (octets.size() < updu_at) return Error{ErrorCode::truncated, "TIME TO DIE"};
    data.time_to_die =
        TimeToDie{static_cast<std::uint8_t>(octets[2] & 0x0F), get_u16(octets, kDataFixed)};
  }
  data.updu = copy_from(octets, updu_at);
  return Spdu{std::move(data)};
}

Result<Spdu> decode_hard_link(ByteSpan octets) {
  const auto low_half = static_cast<std::uint8_t>(octets[0] & 0x0F);
  switch (octets[0] >> 4) {
    case 3:
      if (octets.size() < kHardLinkRequestOctets) {
        return Error{ErrorCode::truncated, "hard link request"};
      }
      return Spdu{HardLinkRequest{static_cast<std::uint8_t>(low_half >> 2),
                                  static_cast<std::uint8_t>(low_half & 3),
                                  SapId{static_cast<std::uint8_t>(octets[1] >> 4)},
                                  SapId{static_cast<std::uint8_t>(octets[1] & 0x0F)}}};
    case 4:
      return Spdu{HardLinkConfirm{}};
    case 5:
      return Spdu{HardLinkRefused{static_cast<HardLinkRefusal>(low_half)}};
    case 6:
      return Spdu{HardLinkTerminate{static_cast<HardLinkEnd>(low_half)}};
    case 7:
      return Spdu{HardLinkTerminateConfirm{}};
    default:
      return Error{ErrorCode::unsupported, "S_PDU type"};
  }
}

}  // namespace

std::optional<TimeToDie> encode_time_to_die(UtcSeconds now, UtcSeconds time_to_die) {
  const std::int64_t day = day_number(time_to_die);
  if (day - day_number(now) > kTimeToDieDaysMax) return std::nullopt;
  const std::int64_t second_of_day = time_to_die.value - day * kSecondsPerDay;
  return TimeToDie{day_field(day), static_cast<std::uint16_t>(second_of_day >> 1)};
}

std::optional<UtcSeconds> decode_time_to_die(UtcSeconds now, TimeToDie field) {
  if (field.half_of_second > kHalfOfSecondMax) return std::nullopt;
  const std::int64_t today = day_number(now);
  const auto at = [&](std::int64_t day) {
    return UtcSeconds{day * kSecondsPerDay + 2 * std::int64_t{field.half_of_second}};
  };
  for (int ahead = 0; ahead <= kTimeToDieDaysMax; ++ahead) {
    if (day_field(today + ahead) == field.day) return at(today + ahead);
  }
  if (day_field(today - 1) == field.day) return at(today - 1);
  return std::nullopt;
}

Bytes encode(const Spdu& spdu) {
  if (const auto* data = std::get_if<DataSpdu>(&spdu)) return encode_data(*data);
  if (const auto* confirm = std::get_if<DeliveryConfirm>(&spdu)) {
    return encode_answer(1, 0, confirm->source_sap, confirm->destination_sap, confirm->updu_part);
  }
  if (const auto* fail = std::get_if<DeliveryFail>(&spdu)) {
    return encode_answer(2, fail->reason, fail->source_sap, fail->destination_sap, fail->updu_part);
  }
  if (const auto* request = std::get_if<HardLinkRequest>(&spdu)) return encode_hard_link(*request);
  if (const auto* confirm = std::get_if<HardLinkConfirm>(&spdu)) return encode_hard_link(*confirm);
  if (const auto* refused = std::get_if<HardLinkRefused>(&spdu)) return encode_hard_link(*refused);
  if (const auto* end = std::get_if<HardLinkTerminate>(&spdu)) return encode_hard_link(*end);
  return encode_hard_link(std::get<HardLinkTerminateConfirm>(spdu));
}

Result<Spdu> decode(ByteSpan octets) {
  if (octets.empty()) return Error{ErrorCode::truncated, "empty S_PDU"};
  const unsigned type = octets[0] >> 4;
  if (type == 0) return decode_data(octets);
  if (type > 2) return decode_hard_link(octets);
  if (octets.size() < kAnswerFixed) return Error{ErrorCode::truncated, "delivery S_PDU"};
  const SapId source{static_cast<std::uint8_t>(octets[1] >> 4)};
  const SapId destination{static_cast<std::uint8_t>(octets[1] & 0x0F)};
  Bytes part = copy_from(octets, kAnswerFixed);
  if (type == 1) return Spdu{DeliveryConfirm{source, destination, std::move(part)}};
  const auto reason = static_cast<std::uint8_t>(octets[0] & 0x0F);
  return Spdu{DeliveryFail{reason, source, destination, std::move(part)}};
}

}  // namespace s5066::sap
