// SPDX-License-Identifier: Apache-2.0
#include "gateways/acp142/mail/address_table.h"

#include <utility>

#include "gateways/acp142/mail/mail_types.h"

namespace s5066::acp142 {

bool is_pattern(std::string_view text) {
  if (text == "*") return true;
  if (text.find('@') == std::string_view::npos) {
    if (text.rfind("*.", 0) == 0) text.remove_prefix(2);
    return parse_path("<a@" + std::string(text) + ">", PathUse::forward).ok();
  }
  return parse_path("<" + std::string(text) + ">", PathUse::forward).ok();
}

bool fits(std::string_view pattern, std::string_view address) {
  if (pattern == "*") return true;
  if (pattern.find('@') != std::string_view::npos) {
    return pattern.size() == address.size() && same_but_for_case(pattern, address);
  }
  const std::string domain = domain_of(address);
  const std::string wanted = lower_case(pattern);
  if (wanted.rfind("*.", 0) != 0) return domain == wanted;
  const std::string_view below = std::string_view(wanted).substr(1);
  return domain.size() > below.size() && domain.ends_with(below);
}

Result<void> AddressTable::add(Entry entry) {
  if (!is_pattern(entry.pattern)) {
    return Error{ErrorCode::bad_field,
                 "`" + entry.pattern + "` is not an address, a domain, *.domain or *"};
  }
  if (entry.route.own != entry.route.stations.empty()) {
    return Error{ErrorCode::bad_field, "a route has either `own` or `stations`"};
  }
  if (entry.route.relay && entry.route.own) {
    return Error{ErrorCode::bad_field, "`relay` is not allowed with `own`"};
  }
  const auto added = routes_.try_emplace(lower_case(entry.pattern), std::move(entry.route));
  if (!added.second) return Error{ErrorCode::already_exists, "another route has this pattern"};
  return {};
}

const Route* AddressTable::find(std::string_view address) const {
  const std::string whole = lower_case(address);
  if (whole.find('@') == std::string::npos) return &own_;
  const auto look = [this](std::string_view pattern) {
    const auto found = routes_.find(pattern);
    return found == routes_.end() ? nullptr : &found->second;
  };
  if (const Route* route = look(whole)) return route;
  const std::string domain = domain_of(whole);
  if (const Route* route = look(domain)) return route;
  for (std::size_t dot = domain.find('.'); dot != std::string::npos;
       dot = domain.find('.', dot + 1)) {
    if (const Route* route = look("*" + domain.substr(dot))) return route;
  }
  return look("*");
}

}  // namespace s5066::acp142
