// IP addresses as people read and write them.
#pragma once

#include <string>

#include "s5066d/base/result.h"

namespace s5066::posix {

/// bad_field for what is none of IPv4 or IPv6 in digits.
Result<void> check_ip_address(const std::string& text);
/// Of the other end of a TCP connection; "?" when it is gone already.
std::string peer_address(int socket);

}  // namespace s5066::posix
