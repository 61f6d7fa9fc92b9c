// SPDX-License-Identifier: Apache-2.0
#include "s5066d/posix/user_name.h"

#include <pwd.h>

namespace s5066::posix {

std::string user_name(uid_t user) {
  const passwd* const entry = ::getpwuid(user);
  return entry != nullptr ? entry->pw_name : std::to_string(user);
}

}  // namespace s5066::posix
