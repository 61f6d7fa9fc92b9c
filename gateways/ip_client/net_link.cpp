// SPDX-License-Identifier: Apache-2.0
#include "gateways/ip_client/net_link.h"

#include <ifaddrs.h>
#include <linux/fib_rules.h>
#include <linux/if_link.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

namespace s5066::ip_client {
namespace {

/// The kernel's queue stays short, because datagrams wait in our own queue, which knows their age.
constexpr std::uint32_t kQueueLength = 4;

template <typename T>
void put(Bytes& out, const T& value) {
  const auto* octets = reinterpret_cast<const std::uint8_t*>(&value);
  out.insert(out.end(), octets, octets + sizeof value);
}

template <typename Body>
Bytes message_of(int type, int flags, const Body& body) {
  nlmsghdr head{};
  head.nlmsg_type = static_cast<std::uint16_t>(type);
  head.nlmsg_flags = static_cast<std::uint16_t>(NLM_F_REQUEST | NLM_F_ACK | flags);
  Bytes message;
  put(message, head);
  put(message, body);
  message.resize(NLMSG_ALIGN(message.size()));
  return message;
}

void add_attribute(Bytes& message, int type, ByteSpan value) {
  rtattr head{};
  head.rta_type = static_cast<std::uint16_t>(type);
  head.rta_len = static_cast<std::uint16_t>(RTA_LENGTH(value.size()));
  put(message, head);
  append(message, value);
  message.resize(NLMSG_ALIGN(message.size()));
}

void add_attribute(Bytes& message, int type, std::uint32_t value) {
  Bytes octets;
  put(octets, value);
  add_attribute(message, type, octets);
}

Result<unsigned> index_of(const std::string& interface) {
  const unsigned index = ::if_nametoindex(interface.c_str());
  if (index == 0) return posix::errno_error("interface " + interface);
  return index;
}

std::uint8_t family_of(const IpAddress& address) {
  return address.v6 ? AF_INET6 : AF_INET;
}

struct InterfaceState {
  int mtu = 0;
  bool up = false;
};
InterfaceState state_of(int socket, const std::string& interface) {
  ifreq request{};
  interface.copy(request.ifr_name, IFNAMSIZ - 1);
  InterfaceState state;
  if (::ioctl(socket, SIOCGIFMTU, &request) == 0) state.mtu = request.ifr_mtu;
  if (::ioctl(socket, SIOCGIFFLAGS, &request) == 0) state.up = (request.ifr_flags & IFF_UP) != 0;
  return state;
}

/// Returns the addresses of one interface, or of all interfaces if none is given.
std::vector<IpAddress> find_addresses(const std::optional<std::string>& interface) {
  std::vector<IpAddress> found;
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) return found;
  for (const ifaddrs* at = list; at != nullptr; at = at->ifa_next) {
    if (at->ifa_addr == nullptr || (interface && *interface != at->ifa_name)) continue;
    const auto* octets = reinterpret_cast<const std::uint8_t*>(at->ifa_addr);
    if (at->ifa_addr->sa_family == AF_INET) {
      found.push_back(
          IpAddress::read(false, ByteSpan(octets + offsetof(sockaddr_in, sin_addr), 4)));
    } else if (at->ifa_addr->sa_family == AF_INET6) {
      found.push_back(
          IpAddress::read(true, ByteSpan(octets + offsetof(sockaddr_in6, sin6_addr), 16)));
    }
  }
  ::freeifaddrs(list);
  return found;
}

}  // namespace

Result<NetLink> NetLink::open() {
  posix::Fd socket(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE));
  if (!socket) return posix::errno_error("netlink socket");
  return NetLink(std::move(socket));
}

Result<void> NetLink::request(Bytes message, const std::string& what) {
  const auto size = static_cast<std::uint32_t>(message.size());
  std::memcpy(message.data(), &size, sizeof size);  // nlmsg_len is the first field
  if (::send(socket_.get(), message.data(), message.size(), 0) < 0) {
    return posix::errno_error(what);
  }
  alignas(nlmsghdr) std::array<char, 4096> answer{};
  const auto got = ::recv(socket_.get(), answer.data(), answer.size(), 0);
  if (got < static_cast<ssize_t>(NLMSG_LENGTH(sizeof(nlmsgerr)))) return posix::errno_error(what);
  const auto* head = reinterpret_cast<const nlmsghdr*>(answer.data());
  const auto* result = static_cast<const nlmsgerr*>(NLMSG_DATA(head));
  if (head->nlmsg_type != NLMSG_ERROR || result->error == 0) return {};
  errno = -result->error;
  if (errno == EPERM) {
    return Error{ErrorCode::refused, what +
                                         ": needs CAP_NET_ADMIN, or an interface that an "
                                         "administrator has configured"};
  }
  return posix::errno_error(what);
}

Result<void> NetLink::add_address(const std::string& interface, const IpPrefix& address) {
  const auto present = addresses_of(interface);
  if (std::find(present.begin(), present.end(), address.address) != present.end()) return {};
  const auto index = index_of(interface);
  if (!index) return index.error();
  ifaddrmsg body{};
  body.ifa_family = family_of(address.address);
  body.ifa_prefixlen = address.bits;
  body.ifa_index = *index;
  Bytes message = message_of(RTM_NEWADDR, NLM_F_CREATE | NLM_F_REPLACE, body);
  add_attribute(message, IFA_LOCAL, address.address.bytes());
  add_attribute(message, IFA_ADDRESS, address.address.bytes());
  return request(std::move(message), "address " + to_string(address) + " of " + interface);
}

Result<void> NetLink::bring_up(const std::string& interface, std::size_t mtu) {
  const auto index = index_of(interface);
  if (!index) return index.error();
  posix::Fd any(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  const InterfaceState state = state_of(any.get(), interface);
  if (state.up && state.mtu == static_cast<int>(mtu)) return {};
  ifinfomsg body{};
  body.ifi_index = static_cast<int>(*index);
  body.ifi_flags = body.ifi_change = IFF_UP;
  Bytes message = message_of(RTM_NEWLINK, 0, body);
  add_attribute(message, IFLA_MTU, static_cast<std::uint32_t>(mtu));
  add_attribute(message, IFLA_TXQLEN, kQueueLength);
  return request(std::move(message), "MTU and state of " + interface);
}

Result<void> NetLink::change_route(int type, int flags, const std::string& interface,
                                   const IpPrefix& prefix) {
  const auto index = index_of(interface);
  if (!index) return index.error();
  rtmsg body{};
  body.rtm_family = family_of(prefix.address);
  body.rtm_dst_len = prefix.bits;
  body.rtm_table = RT_TABLE_MAIN;
  body.rtm_protocol = RTPROT_STATIC;
  body.rtm_scope = RT_SCOPE_LINK;
  body.rtm_type = RTN_UNICAST;
  Bytes message = message_of(type, flags, body);
  if (prefix.bits > 0) add_attribute(message, RTA_DST, prefix.address.bytes());
  add_attribute(message, RTA_OIF, *index);
  return request(std::move(message), "route " + to_string(prefix) + " through " + interface);
}

Result<void> NetLink::add_route(const std::string& interface, const IpPrefix& prefix) {
  return change_route(RTM_NEWROUTE, NLM_F_CREATE | NLM_F_REPLACE, interface, prefix);
}

Result<void> NetLink::remove_route(const std::string& interface, const IpPrefix& prefix) {
  return change_route(RTM_DELROUTE, 0, interface, prefix);
}

Result<void> NetLink::change_marked(bool add, std::uint32_t mark, std::uint8_t family) {
  const int flags = add ? NLM_F_CREATE | NLM_F_EXCL : 0;
  fib_rule_hdr rule{};
  rule.family = family;
  rule.action = FR_ACT_TO_TBL;
  Bytes message = message_of(add ? RTM_NEWRULE : RTM_DELRULE, flags, rule);
  add_attribute(message, FRA_FWMARK, mark);
  add_attribute(message, FRA_TABLE, mark);
  const std::string what = "policy route of the proxy";
  if (auto done = request(std::move(message), what); !done && errno != EEXIST) return done;
  rtmsg body{};
  body.rtm_family = family;
  body.rtm_protocol = RTPROT_STATIC;
  body.rtm_scope = RT_SCOPE_HOST;
  body.rtm_type = RTN_LOCAL;
  message = message_of(add ? RTM_NEWROUTE : RTM_DELROUTE, flags, body);
  const auto loopback = index_of("lo");
  if (!loopback) return loopback.error();
  add_attribute(message, RTA_TABLE, mark);
  add_attribute(message, RTA_OIF, *loopback);
  if (auto done = request(std::move(message), what); !done && errno != EEXIST) return done;
  return {};
}

Result<void> NetLink::keep_marked(std::uint32_t mark) {
  if (auto v4 = change_marked(true, mark, AF_INET); !v4) return v4;
  (void)change_marked(true, mark, AF_INET6);  // a kernel without IPv6 refuses
  return {};
}

void NetLink::release_marked(std::uint32_t mark) {
  for (const std::uint8_t family : {std::uint8_t{AF_INET}, std::uint8_t{AF_INET6}}) {
    (void)change_marked(false, mark, family);
  }
}

bool has_interface(const std::string& interface) {
  return ::if_nametoindex(interface.c_str()) != 0;
}

std::vector<IpAddress> addresses_of(const std::string& interface) {
  return find_addresses(interface);
}

std::vector<IpAddress> addresses_of_host() {
  return find_addresses(std::nullopt);
}

}  // namespace s5066::ip_client
