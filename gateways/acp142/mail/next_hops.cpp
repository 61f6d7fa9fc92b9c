// SPDX-License-Identifier: Apache-2.0
#include "gateways/acp142/mail/next_hops.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <string_view>

#include "gateways/acp142/mail/mail_types.h"

namespace s5066::acp142 {
namespace {

constexpr std::size_t kLineOctets = 76;
// Limit for reading. P_MUL has fewer destinations, and a thousand recipients need fewer.
constexpr std::size_t kStationsMax = 1000;
constexpr std::size_t kFieldOctetsMax = 1u << 20;

bool number_of(std::string_view text, std::size_t most, std::size_t& value) {
  const char* end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, value);
  return read.ec == std::errc{} && read.ptr == end && value <= most;
}

std::optional<NodeId> node_of(std::string_view text) {
  NodeId node;
  for (int octet = 0; octet < 4; ++octet) {
    const std::size_t dot = octet < 3 ? text.find('.') : text.size();
    std::size_t value = 0;
    if (dot == std::string_view::npos || !number_of(text.substr(0, dot), 255, value)) return {};
    node.value = node.value << 8 | static_cast<std::uint32_t>(value);
    text.remove_prefix(octet < 3 ? dot + 1 : dot);
  }
  return node;
}

/// Returns the words between blanks and folded line ends.
std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  constexpr std::string_view kBlank = " \t\r\n";
  for (std::size_t at = text.find_first_not_of(kBlank); at != std::string_view::npos;) {
    const std::size_t end = std::min(text.find_first_of(kBlank, at), text.size());
    words.push_back(text.substr(at, end - at));
    at = text.find_first_not_of(kBlank, end);
  }
  return words;
}

std::optional<NextHops> read(NodeId sender, std::size_t recipients, std::string_view value) {
  if (value.size() > kFieldOctetsMax) return std::nullopt;
  const auto words = words_of(value);
  if (words.empty() || words[0] != dotted(sender) + ";") return std::nullopt;
  NextHops hops(recipients);
  std::optional<NodeId> station;
  std::size_t stations = 0;
  for (std::size_t i = 1; i < words.size(); ++i) {
    if (words[i].find('.') != std::string_view::npos) {
      const auto next = node_of(words[i]);
      if (!next || (station && *next <= *station)) return std::nullopt;
      if (++stations > kStationsMax) return std::nullopt;
      station = next;
      continue;
    }
    const std::size_t dash = std::min(words[i].find('-'), words[i].size());
    std::size_t first = 0;
    if (!station || !number_of(words[i].substr(0, dash), recipients, first)) return std::nullopt;
    std::size_t last = first;
    if (dash < words[i].size() && !number_of(words[i].substr(dash + 1), recipients, last)) {
      return std::nullopt;
    }
    if (first == 0 || last < first) return std::nullopt;
    for (std::size_t n = first; n <= last; ++n) {
      if (!hops[n - 1].empty() && hops[n - 1].back() == *station) return std::nullopt;
      hops[n - 1].push_back(*station);
    }
  }
  const auto nowhere = [](const auto& one) { return one.empty(); };
  if (std::any_of(hops.begin(), hops.end(), nowhere)) return std::nullopt;
  return hops;
}

}  // namespace

std::string dotted(NodeId node) {
  const auto octet = [&](int shift) { return std::to_string(node.value >> shift & 0xFF); };
  return octet(24) + "." + octet(16) + "." + octet(8) + "." + octet(0);
}

std::string next_hops_field(NodeId sender, const NextHops& hops) {
  std::map<NodeId, std::vector<std::size_t>> recipients;
  for (std::size_t i = 0; i < hops.size(); ++i) {
    for (const NodeId station : hops[i]) recipients[station].push_back(i + 1);
  }
  if (recipients.size() < 2) return {};
  std::string text = std::string(kNextHopsName) + ": " + dotted(sender) + ";";
  std::size_t line = text.size();
  const auto add = [&](const std::string& word) {
    const bool breaks = line + 1 + word.size() > kLineOctets;
    text += breaks ? "\r\n " : " ";
    text += word;
    line = (breaks ? 0 : line) + 1 + word.size();
  };
  for (const auto& [station, numbers] : recipients) {
    add(dotted(station));
    for (std::size_t i = 0; i < numbers.size();) {
      std::size_t last = i;
      while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1) ++last;
      const std::string first = std::to_string(numbers[i]);
      add(last == i ? first : first + "-" + std::to_string(numbers[last]));
      i = last + 1;
    }
  }
  return text + "\r\n";
}

std::optional<NextHops> take_next_hops(NodeId sender, std::size_t recipients, Bytes& content) {
  const std::string_view text(reinterpret_cast<const char*>(content.data()), content.size());
  const std::size_t octets = field_octets(text, kNextHopsName);
  if (octets == 0) return std::nullopt;
  constexpr std::size_t kValueAt = kNextHopsName.size() + 1;
  auto hops = read(sender, recipients, text.substr(kValueAt, octets - kValueAt));
  content.erase(content.begin(), content.begin() + static_cast<std::ptrdiff_t>(octets));
  return hops;
}

void drop_next_hops(Bytes& content) {
  if (count_header_fields(content, kNextHopsName) == 0) return;
  content = without_header_fields(content, {kNextHopsName});
}

}  // namespace s5066::acp142
