// SPDX-License-Identifier: Apache-2.0
// The schema of the spool as numbered steps, embedded from migrations/*.sql when building.
#pragma once

#include <span>
#include <string_view>

namespace s5066::gateways {

struct Migration {
  int number;  // 1, 2, 3 … without gaps; kept in the database as user_version
  std::string_view name;
  const char* sql;
};

std::span<const Migration> migrations();

}  // namespace s5066::gateways
