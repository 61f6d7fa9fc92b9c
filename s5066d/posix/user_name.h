// SPDX-License-Identifier: Apache-2.0
// Names of users, for messages.
#pragma once

#include <sys/types.h>

#include <string>

namespace s5066::posix {

/// Returns the name of a user, or the number of one without a name; chown takes both.
std::string user_name(uid_t user);

}  // namespace s5066::posix
