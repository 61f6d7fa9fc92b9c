// SPDX-License-Identifier: Apache-2.0
// Loads and checks the address book, and puts addresses in place of the names in a configuration.
#pragma once

#include <google/protobuf/message.h>

#include <string>

#include "config/problem.h"
#include "s5066d/base/address_book.h"

namespace s5066::config {

/// The book of programs that read no configuration.
inline constexpr const char* kAddressBookPath = "/etc/s5066/stations";

Loaded<AddressBook> load_address_book(const std::string& path);
Loaded<AddressBook> parse_address_book(const std::string& file, const std::string& text);

/// Loads the book that a configuration names. If it names none, the book is the file `stations` in
/// the folder of the configuration, and empty if there is no such file.
Loaded<AddressBook> address_book_of(const std::string& configuration, const std::string& named);

/// Puts the address in place of each name and call sign in the fields for addresses. Names that the
/// book does not have stay as they are, so that the check of the field reports them.
void resolve_names(google::protobuf::Message& message, const AddressBook& book);

}  // namespace s5066::config
