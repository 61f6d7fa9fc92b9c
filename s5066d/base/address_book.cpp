// SPDX-License-Identifier: Apache-2.0
#include "s5066d/base/address_book.h"

#include <algorithm>

#include "s5066d/base/nearest.h"

namespace s5066 {
namespace {

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

bool is_same(std::string_view a, std::string_view b) {
  return a.size() == b.size() && edit_distance(a, b) == 0;
}

}  // namespace

const AddressBook::Entry* AddressBook::entry_of(Address address) const {
  const auto found = std::find_if(entries_.begin(), entries_.end(),
                                  [&](const Entry& one) { return one.address == address; });
  return found == entries_.end() ? nullptr : &*found;
}

std::string_view AddressBook::name_of(Address address) const {
  const Entry* const entry = entry_of(address);
  return entry == nullptr ? std::string_view() : std::string_view(entry->name);
}

Result<Address> AddressBook::find(std::string_view text) const {
  const auto address = parse_address(text);
  if (address) return *address;
  const bool may_be_name = std::any_of(text.begin(), text.end(), is_letter);
  if (!may_be_name || text.size() > kNearestOctetsMax) return address.error();
  std::vector<std::string> words;
  for (const Entry& entry : entries_) {
    if (is_same(entry.name, text) || is_same(entry.call_sign, text)) return entry.address;
    words.push_back(entry.name);
    if (!entry.call_sign.empty()) words.push_back(entry.call_sign);
  }
  const std::string typed = escaped(text);
  if (entries_.empty()) {
    return Error{ErrorCode::not_found, "there is no address book with the name " + typed +
                                           "; an address has four numbers, w.x.y.z"};
  }
  return Error{ErrorCode::not_found,
               "no station in the address book is called " + typed + did_you_mean(text, words)};
}

void put_station(LogLine& line, std::string_view key, Address station, const AddressBook& book) {
  line.kv(key, to_string(station));
  const std::string_view name = book.name_of(station);
  if (!name.empty()) line.kv(std::string(key) + "_name", name);
}

}  // namespace s5066
