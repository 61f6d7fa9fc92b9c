// SPDX-License-Identifier: Apache-2.0
// Makes the configurations of a station from the operator's answers: those of s5066d and of the
// file relay, and the address book.
#pragma once

#include <string>
#include <vector>

#include "config/proto/setup.pb.h"
#include "s5066d/base/address_book.h"
#include "s5066d/base/result.h"

namespace s5066::config {

inline constexpr const char* kConfigurationFolder = "/etc/s5066";

struct PlannedFile {
  std::string path;
  std::string text;
};

/// `known` is the address book in use, whose other stations stay. Every file passes the checks of
/// its program; the error lists what they found.
Result<std::vector<PlannedFile>> plan_station(const proto::SetupAnswers& answers,
                                              const AddressBook& known);

/// Returns the folder of the configurations.
std::string folder_of(const proto::SetupAnswers& answers);

}  // namespace s5066::config
