#include "s5066d/posix/ip_text.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>

namespace s5066::posix {

Result<void> check_ip_address(const std::string& text) {
  in6_addr address{};
  if (::inet_pton(AF_INET, text.c_str(), &address) == 1) return {};
  if (::inet_pton(AF_INET6, text.c_str(), &address) == 1) return {};
  return Error{ErrorCode::bad_field, text + ": no IP address"};
}

std::string peer_address(int socket) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  if (::getpeername(socket, reinterpret_cast<sockaddr*>(&address), &size) != 0) return "?";
  const void* const digits =
      address.ss_family == AF_INET6
          ? static_cast<const void*>(&reinterpret_cast<const sockaddr_in6*>(&address)->sin6_addr)
          : &reinterpret_cast<const sockaddr_in*>(&address)->sin_addr;
  std::array<char, INET6_ADDRSTRLEN> text{};
  const char* const told = ::inet_ntop(address.ss_family, digits, text.data(), text.size());
  return told == nullptr ? "?" : told;
}

}  // namespace s5066::posix
