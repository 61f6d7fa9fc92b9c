// SPDX-License-Identifier: Apache-2.0
// A file or folder of the inbox as other stations may see it.
#pragma once

#include <cstdint>
#include <string>

namespace s5066::gateways {

struct InboxItem {
  std::string name;
  std::uint32_t size = 0;
  std::int64_t mtime = 0;  // UTC seconds
  bool folder = false;
  friend bool operator==(const InboxItem&, const InboxItem&) = default;
};

}  // namespace s5066::gateways
