// SPDX-License-Identifier: Apache-2.0
// Adds the names of the address book to the answers of the control interface.
#pragma once

#include <google/protobuf/message.h>

#include <string>

#include "s5066d/base/address_book.h"
#include "s5066d/control/verbs.h"

namespace s5066::control {

/// Fills each field `NAME_name` whose neighbour `NAME` has the address of a station in the book;
/// nested messages, too.
void add_names(google::protobuf::Message& answer, const AddressBook& book);

/// Does the same with the JSON of the answer to a request.
std::string with_names(const VerbInfo& verb, std::string json, const AddressBook& book);

}  // namespace s5066::control
