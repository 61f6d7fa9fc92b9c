// SPDX-License-Identifier: Apache-2.0
#include "config/validate.h"

#include <arpa/inet.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/text_format.h>
#include <sys/un.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <optional>
#include <string_view>
#include <vector>

#include "config/proto/rules.pb.h"
#include "modem/api/modes.h"
#include "s5066d/base/assert.h"
#include "s5066d/base/ids.h"
#include "s5066d/base/nearest.h"

namespace s5066::config {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::OneofDescriptor;
using google::protobuf::Reflection;
using google::protobuf::TextFormat;
using proto::Rule;

constexpr std::uint32_t kTextOctetsMax = 255;
constexpr std::uint32_t kPathOctetsMax = 4095;
/// A longer value is cut off in messages.
constexpr std::size_t kValueOctetsShown = 100;

std::string number_text(double value) {
  char text[40];
  std::snprintf(text, sizeof text, value == std::floor(value) ? "%.0f" : "%g", value);
  return text;
}

double number_of(const Message& message, const FieldDescriptor& field, int index) {
  const Reflection& r = *message.GetReflection();
  const bool many = field.is_repeated();
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
      return many ? r.GetRepeatedInt32(message, &field, index) : r.GetInt32(message, &field);
    case FieldDescriptor::CPPTYPE_UINT32:
      return many ? r.GetRepeatedUInt32(message, &field, index) : r.GetUInt32(message, &field);
    case FieldDescriptor::CPPTYPE_UINT64:
      return static_cast<double>(many ? r.GetRepeatedUInt64(message, &field, index)
                                      : r.GetUInt64(message, &field));
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return many ? r.GetRepeatedDouble(message, &field, index) : r.GetDouble(message, &field);
    default:
      S5066_ASSERT(false && "a rule with numbers on a field without");
  }
  return 0;
}

std::optional<std::string> number_problem(double value, const Rule& rule) {
  const auto beyond = [&](const char* side, double limit) {
    return number_text(value) + " is " + side + " its limit " + number_text(limit);
  };
  if (!std::isfinite(value)) return number_text(value) + " is not a finite number";
  if (rule.has_min() && value < rule.min()) return beyond("below", rule.min());
  if (rule.has_max() && value > rule.max()) return beyond("above", rule.max());
  return std::nullopt;
}

bool is_ip_address(const std::string& text) {
  in6_addr scratch;
  return inet_pton(AF_INET, text.c_str(), &scratch) == 1 ||
         inet_pton(AF_INET6, text.c_str(), &scratch) == 1;
}

/// The text must be an address or a network, in which all bits behind the prefix are 0.
std::optional<std::string> network_problem(const std::string& text) {
  const auto slash = text.find('/');
  const std::string address = text.substr(0, slash);
  if (!is_ip_address(address)) return "is not an IP address or network";
  if (slash == std::string::npos) return std::nullopt;
  const bool v6 = address.find(':') != std::string::npos;
  const unsigned bits_max = v6 ? 128 : 32;
  unsigned bits = 0;
  const char* end = text.data() + text.size();
  const auto [stop, failure] = std::from_chars(text.data() + slash + 1, end, bits);
  if (failure != std::errc{} || stop != end || bits > bits_max) {
    return "must have a prefix of 0 to " + std::to_string(bits_max) + " bits";
  }
  std::array<std::uint8_t, 16> octets{};
  inet_pton(v6 ? AF_INET6 : AF_INET, address.c_str(), octets.data());
  for (unsigned i = bits; i < bits_max; ++i) {
    if ((octets[i / 8] >> (7 - i % 8) & 1) != 0) {
      return "has bits set after its prefix of " + std::to_string(bits);
    }
  }
  return std::nullopt;
}

bool is_host_port(const std::string& text) {
  const auto colon = text.rfind(':');
  if (colon == std::string::npos) return false;
  std::string host = text.substr(0, colon);
  const bool bracketed = host.size() > 2 && host.front() == '[' && host.back() == ']';
  if (bracketed) host = host.substr(1, host.size() - 2);
  if (bracketed != (host.find(':') != std::string::npos)) return false;
  unsigned port = 0;
  const char* end = text.data() + text.size();
  const auto [stop, failure] = std::from_chars(text.data() + colon + 1, end, port);
  return failure == std::errc{} && stop == end && port >= 1 && port <= 65535 && is_ip_address(host);
}

bool is_time_of_day(const std::string& text) {
  const auto digit = [&](std::size_t at) { return text[at] >= '0' && text[at] <= '9'; };
  if (text.size() != 5 || text[2] != ':') return false;
  if (!digit(0) || !digit(1) || !digit(3) || !digit(4)) return false;
  return text.substr(0, 2) <= "23" && text[3] <= '5';
}

std::vector<std::string> mode_list() {
  std::vector<std::string> names;
  for (const modem::Mode& mode : modem::all_modes()) names.push_back(to_string(mode));
  return names;
}

/// A name in the address book, or a call sign.
std::optional<std::string> name_problem(const std::string& text, Rule::Format format) {
  const bool call_sign = format == Rule::CALL_SIGN;
  const std::string_view others = call_sign ? "/" : "-_";
  const auto is_letter = [](unsigned char c) { return std::isalpha(c) != 0 && c < 128; };
  const auto fits = [&](char c) {
    return is_letter(c) || (c >= '0' && c <= '9') || others.find(c) != std::string_view::npos;
  };
  const std::size_t length_max = call_sign ? 16 : 32;
  const bool good = text.size() >= (call_sign ? 3u : 1u) && text.size() <= length_max &&
                    std::all_of(text.begin(), text.end(), fits) &&
                    std::any_of(text.begin(), text.end(), is_letter) && text.front() != '-';
  if (good) return std::nullopt;
  return call_sign
             ? "is no call sign: it has 3 to 16 letters, digits and '/', and at least one letter"
             : "is no name: it has up to 32 letters, digits, '-' and '_', and at least one letter";
}

std::optional<std::string> format_problem(const std::string& text, Rule::Format format,
                                          const AddressBook& book) {
  switch (format) {
    case Rule::TEXT:
    case Rule::PATH:
      return std::nullopt;
    case Rule::STATION_ADDRESS:
    case Rule::GROUP_ADDRESS: {
      const auto address = book.find(text);
      if (!address) return "is no address: " + address.error().detail;
      if (format == Rule::STATION_ADDRESS && address->group) {
        return "is a group; the address of a station goes up to 15.255.255.255";
      }
      if (format == Rule::GROUP_ADDRESS && !address->group) {
        return "is a station; the address of a group starts at 16.0.0.0";
      }
      return std::nullopt;
    }
    case Rule::MODE: {
      const auto mode = modem::parse_mode(text);
      if (mode) return std::nullopt;
      return "is no mode; `hfmodem modes` lists them" + did_you_mean(text, mode_list());
    }
    case Rule::IP_NETWORK:
      return network_problem(text);
    case Rule::IP_ADDRESS:
      if (is_ip_address(text)) return std::nullopt;
      return "is not an IP address";
    case Rule::UNIX_SOCKET:
      if (text.size() < sizeof(sockaddr_un::sun_path)) return std::nullopt;
      return "is too long: the path of a Unix socket has at most " +
             std::to_string(sizeof(sockaddr_un::sun_path) - 1) + " octets";
    case Rule::HOST_PORT:
      if (is_host_port(text)) return std::nullopt;
      return "is not an IP address and port like 127.0.0.1:5066";
    case Rule::TIME_OF_DAY:
      if (is_time_of_day(text)) return std::nullopt;
      return "is no time of the day like 06:30, from 00:00 to 23:59";
    case Rule::STATION_NAME:
    case Rule::CALL_SIGN:
      return name_problem(text, format);
  }
  return std::nullopt;
}

std::optional<std::string> text_problem(const std::string& text, const Rule& rule,
                                        const AddressBook& book) {
  const std::uint32_t length_unless_stated =
      rule.format() == Rule::PATH ? kPathOctetsMax : kTextOctetsMax;
  const std::uint32_t length_max = rule.has_length_max() ? rule.length_max() : length_unless_stated;
  if (text.empty()) return "must not be empty";
  if (text.find('\0') != std::string::npos) return "must not hold a zero octet";
  if (text.size() > length_max) {
    return "has " + std::to_string(text.size()) + " octets, above the limit " +
           std::to_string(length_max);
  }
  return format_problem(text, rule.format(), book);
}

std::optional<std::string> value_problem(const Message& message, const FieldDescriptor& field,
                                         const Rule& rule, int index, const AddressBook& book) {
  const Reflection& r = *message.GetReflection();
  if (field.cpp_type() == FieldDescriptor::CPPTYPE_STRING) {
    return text_problem(field.is_repeated() ? r.GetRepeatedString(message, &field, index)
                                            : r.GetString(message, &field),
                        rule, book);
  }
  if (rule.has_min() || rule.has_max() || field.cpp_type() == FieldDescriptor::CPPTYPE_DOUBLE) {
    return number_problem(number_of(message, field, index), rule);
  }
  return std::nullopt;
}

void check_missing(const Section& section, const FieldDescriptor& field, const ParsedText& parsed) {
  const bool was_there = !parsed.reached_end || parsed.left_out.count(field.name()) > 0;
  if (field.options().GetExtension(proto::rule).required() && !was_there) {
    section.complain(field.name(), "missing");
  }
}

void check_missing(const Section& section, const OneofDescriptor& choice,
                   const ParsedText& parsed) {
  bool was_there = !parsed.reached_end;
  std::string names;
  for (int i = 0; i < choice.field_count(); ++i) {
    const std::string& name = choice.field(i)->name();
    was_there = was_there || section.has(name) || parsed.left_out.count(name) > 0;
    names.append(i > 0 ? " or " : "").append(name);
  }
  if (choice.options().GetExtension(proto::needed) && !was_there) {
    section.complain_of_section(names + ": missing");
  }
}

}  // namespace

const FieldDescriptor* Section::field(const std::string& name) const {
  const FieldDescriptor* found = message_->GetDescriptor()->FindFieldByName(name);
  S5066_ASSERT(found != nullptr);
  return found;
}

bool Section::has(const std::string& name) const {
  const FieldDescriptor* f = field(name);
  const Reflection& r = *message_->GetReflection();
  return f->is_repeated() ? r.FieldSize(*message_, f) > 0 : r.HasField(*message_, f);
}

Section Section::nested(const std::string& name, int index) const {
  const FieldDescriptor* f = field(name);
  const Reflection& r = *message_->GetReflection();
  const Message& inner =
      f->is_repeated() ? r.GetRepeatedMessage(*message_, f, index) : r.GetMessage(*message_, f);
  if (!has(name) || !places_) return Section{inner, nullptr, *problems_};
  Section section{inner, places_->GetTreeForNested(f, index), *problems_};
  const auto place = places_->GetLocation(f, index);
  section.line_ = place.line + 1;
  section.column_ = place.column + 1;
  return section;
}

void Section::complain(const std::string& name, const std::string& text, int index) const {
  note(name, text, index, false);
}

void Section::warn(const std::string& name, const std::string& text, int index) const {
  note(name, text, index, true);
}

std::string Section::value_text(const std::string& name, int index) const {
  const FieldDescriptor* f = field(name);
  if (!has(name) || f->message_type() != nullptr || (f->is_repeated() && index < 0)) return {};
  std::string value;
  TextFormat::PrintFieldValueToString(*message_, f, f->is_repeated() ? index : -1, &value);
  if (value.size() > kValueOctetsShown) value = value.substr(0, kValueOctetsShown) + "...";
  return value;
}

void Section::note(const std::string& name, const std::string& text, int index,
                   bool warning) const {
  const FieldDescriptor* f = field(name);
  const std::string value = value_text(name, index);
  const std::string_view bare = value.starts_with('"')
                                    ? std::string_view(value).substr(1, value.size() - 2)
                                    : std::string_view(value);
  // A text that begins with a number or in quotes has the value already.
  const bool with_value =
      text.starts_with('"') || (!text.empty() && text[0] >= '0' && text[0] <= '9');
  const bool said = value.empty() || with_value || (!bare.empty() && text.starts_with(bare));
  const auto place = has(name) && places_ ? places_->GetLocation(f, index)
                                          : google::protobuf::TextFormat::ParseLocation{};
  const bool placed = place.line >= 0;
  problems_->add(placed ? place.line + 1 : line_, placed ? place.column + 1 : column_,
                 name + ": " + (said ? "" : value + " ") + text, warning);
}

void Section::complain_of_section(const std::string& text) const {
  problems_->add(line_, column_, text);
}

void validate(const Section& section, const ParsedText& parsed, const AddressBook& book) {
  const auto& descriptor = *section.message().GetDescriptor();
  const Reflection& reflection = *section.message().GetReflection();
  for (int i = 0; i < descriptor.real_oneof_decl_count(); ++i) {
    check_missing(section, *descriptor.oneof_decl(i), parsed);
  }
  for (int i = 0; i < descriptor.field_count(); ++i) {
    const FieldDescriptor& field = *descriptor.field(i);
    const Rule& rule = field.options().GetExtension(proto::rule);
    const std::string& name = field.name();
    if (!section.has(name)) {
      check_missing(section, field, parsed);
      continue;
    }
    const int count = field.is_repeated() ? reflection.FieldSize(section.message(), &field) : 1;
    if (rule.has_count_max() && count > static_cast<int>(rule.count_max())) {
      section.complain(name,
                       "is one of " + std::to_string(count) + " entries, above the limit " +
                           std::to_string(rule.count_max()),
                       static_cast<int>(rule.count_max()));
      continue;
    }
    for (int n = 0; n < count; ++n) {
      const int index = field.is_repeated() ? n : -1;
      if (field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
        validate(section.nested(name, index), parsed, book);
      } else if (const auto problem = value_problem(section.message(), field, rule, index, book)) {
        section.complain(name, *problem, index);
      }
    }
  }
}

}  // namespace s5066::config
