// SPDX-License-Identifier: Apache-2.0
// The names of stations and groups. The operator keeps them in one file (config/address_book.h);
// all programs accept a name in place of an address and show the name beside the address.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "s5066d/base/ids.h"
#include "s5066d/base/log.h"
#include "s5066d/base/result.h"

namespace s5066 {

class AddressBook {
 public:
  struct Entry {
    std::string name;
    std::string call_sign;  // may be empty; a group has none
    Address address;

    friend bool operator==(const Entry&, const Entry&) = default;
  };

  AddressBook() = default;
  /// No name, call sign or address may be in two entries.
  explicit AddressBook(std::vector<Entry> entries) : entries_(std::move(entries)) {}

  const std::vector<Entry>& entries() const { return entries_; }
  bool empty() const { return entries_.empty(); }
  /// Returns the entry of an address, or null.
  const Entry* entry_of(Address address) const;
  /// Returns the name of an address; empty for an unknown one.
  std::string_view name_of(Address address) const;
  /// Reads an address, a name or a call sign. Names and call signs are found in upper and lower
  /// case. The error names the station that was probably meant.
  Result<Address> find(std::string_view text) const;

  friend bool operator==(const AddressBook&, const AddressBook&) = default;

 private:
  std::vector<Entry> entries_;
};

/// Adds `key` with the address of a station to a line, and `key`_name if the book has a name.
void put_station(LogLine& line, std::string_view key, Address station, const AddressBook& book);

}  // namespace s5066
