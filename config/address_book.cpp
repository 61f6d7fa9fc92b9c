// SPDX-License-Identifier: Apache-2.0
#include "config/address_book.h"

#include <google/protobuf/descriptor.h>

#include <filesystem>
#include <map>
#include <system_error>
#include <utility>
#include <vector>

#include "config/contradictions.h"
#include "config/proto/address_book.pb.h"
#include "config/proto/rules.pb.h"
#include "config/translate.h"

namespace s5066::config {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

std::string in_lower_case(std::string text) {
  for (char& c : text) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return text;
}

/// The names and addresses given so far, with the words by which a message calls the entry.
struct Given {
  std::map<std::string, std::string> words;
  std::map<Address, std::string> addresses;
};

void check_word(const Section& row, const char* field, const std::string& word, Given& given,
                const AddressBook::Entry& entry) {
  const std::string owner = entry.name + " (" + to_string(entry.address) + ")";
  const auto [known, fresh] = given.words.emplace(in_lower_case(word), owner);
  if (!fresh && known->second != owner) {
    row.complain(field, word + " is given twice; it already stands for " + known->second);
  } else if (!fresh && std::string_view(field) == "name") {
    row.complain(field, word + " is given twice");
  }
}

void check_entry(const Section& row, Given& given, const AddressBook::Entry& entry) {
  if (row.has("name")) check_word(row, "name", entry.name, given, entry);
  if (!entry.call_sign.empty()) check_word(row, "call_sign", entry.call_sign, given, entry);
  if (!row.has("address")) return;
  const auto [known, fresh] = given.addresses.emplace(entry.address, entry.name);
  if (!fresh) {
    row.complain("address", to_string(entry.address) + " is given twice; it already has the name " +
                                known->second);
  }
}

bool holds_address(const FieldDescriptor& field) {
  const auto format = field.options().GetExtension(proto::rule).format();
  return field.cpp_type() == FieldDescriptor::CPPTYPE_STRING &&
         (format == proto::Rule::STATION_ADDRESS || format == proto::Rule::GROUP_ADDRESS);
}

std::string resolved(const std::string& text, const AddressBook& book) {
  const auto address = book.find(text);
  return address ? to_string(*address) : text;
}

}  // namespace

AddressBook translate(const proto::AddressBook& from) {
  std::vector<AddressBook::Entry> entries;
  const auto add = [&entries](const auto& one, const std::string& call_sign) {
    const auto address = parse_address(one.address());
    entries.push_back({one.name(), call_sign, address ? *address : Address{}});
  };
  for (const auto& station : from.station()) add(station, station.call_sign());
  for (const auto& group : from.group()) add(group, {});
  return AddressBook(std::move(entries));
}

void find_contradictions(const Section& book, const AddressBook& setup) {
  Given given;
  const auto& message = dynamic_cast<const proto::AddressBook&>(book.message());
  std::size_t at = 0;
  for (int i = 0; i < message.station_size(); ++i) {
    check_entry(book.nested("station", i), given, setup.entries()[at++]);
  }
  for (int i = 0; i < message.group_size(); ++i) {
    check_entry(book.nested("group", i), given, setup.entries()[at++]);
  }
}

Loaded<AddressBook> address_book_of(const std::string& configuration, const std::string& named) {
  if (!named.empty()) return load_address_book(named);
  const std::filesystem::path beside =
      std::filesystem::path(configuration).parent_path() / "stations";
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(beside, ignored)) return {AddressBook(), {}};
  return load_address_book(beside.string());
}

void resolve_names(Message& message, const AddressBook& book) {
  const auto& reflection = *message.GetReflection();
  std::vector<const FieldDescriptor*> present;
  reflection.ListFields(message, &present);
  for (const FieldDescriptor* field : present) {
    const int count = field->is_repeated() ? reflection.FieldSize(message, field) : 0;
    if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      if (!field->is_repeated()) resolve_names(*reflection.MutableMessage(&message, field), book);
      for (int i = 0; i < count; ++i) {
        resolve_names(*reflection.MutableRepeatedMessage(&message, field, i), book);
      }
    } else if (holds_address(*field)) {
      if (!field->is_repeated()) {
        reflection.SetString(&message, field, resolved(reflection.GetString(message, field), book));
      }
      for (int i = 0; i < count; ++i) {
        reflection.SetRepeatedString(
            &message, field, i, resolved(reflection.GetRepeatedString(message, field, i), book));
      }
    }
  }
}

}  // namespace s5066::config
