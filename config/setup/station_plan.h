// SPDX-License-Identifier: Apache-2.0
// Makes the configurations of a station from the operator's answers: those of s5066d and of the
// file relay, and the address book.
#pragma once

#include <cstdint>
#include <set>
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

/// The places of other stations on this machine.
struct UsedPlaces {
  std::set<std::string> sockets{};
  std::set<std::uint32_t> ports{};
};
/// Reads the other configurations in the folder.
UsedPlaces places_of_others(const proto::SetupAnswers& answers);

/// `known` is the address book in use. Its stations stay, but for those whose name or address is
/// given anew. Every file passes the checks of its program; the error lists what they found.
Result<std::vector<PlannedFile>> plan_station(const proto::SetupAnswers& answers,
                                              const AddressBook& known,
                                              const UsedPlaces& used = {});

/// Returns the folder of the configurations.
std::string folder_of(const proto::SetupAnswers& answers);

}  // namespace s5066::config
