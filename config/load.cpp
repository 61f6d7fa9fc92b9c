// SPDX-License-Identifier: Apache-2.0
#include "config/load.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <optional>
#include <string_view>
#include <utility>

#include "config/contradictions.h"
#include "config/proto/gateway.pb.h"
#include "config/proto/node.pb.h"
#include "config/text_format.h"
#include "config/translate.h"
#include "config/validate.h"

namespace s5066::config {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

std::optional<std::string> read_file(const std::string& path, Problems& problems) {
  errno = 0;
  std::ifstream in(path, std::ios::binary);
  std::string text(kFileOctetsMax + 1, '\0');
  if (in) in.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (!in && !in.eof()) {
    problems.add(0, 0, std::string("cannot be read: ") + std::strerror(errno ? errno : EIO));
    return std::nullopt;
  }
  text.resize(static_cast<std::size_t>(in.gcount()));
  return text;
}

/// A text after the checks of its syntax and of the schema's rules. The section holds the fields
/// that could be read.
template <typename Proto>
struct Checked {
  Checked(const std::string& text, Problems& problems)
      : parsed(parse_text(text, message, problems)),
        section(message, parsed.places.get(), problems) {
    validate(section, parsed);
  }
  Proto message;
  ParsedText parsed;
  Section section;
};

template <typename Proto, typename Setup>
Loaded<Setup> load_text(const std::string& file, const std::string& text) {
  Problems problems(file);
  if (text.size() > kFileOctetsMax) {
    problems.add(0, 0, "larger than the limit of " + std::to_string(kFileOctetsMax) + " octets");
    return {std::nullopt, problems.errors()};
  }
  if (text.starts_with("\xFF\xFE") || text.starts_with("\xFE\xFF")) {
    problems.add(1, 1, "this is UTF-16; save the file as UTF-8");
    return {std::nullopt, problems.errors()};
  }
  // Windows editors put the mark in front of the text. It takes no column there, so columns count
  // without it.
  const bool marked = text.starts_with(kByteOrderMark);
  const Checked<Proto> checked(marked ? text.substr(kByteOrderMark.size()) : text, problems);
  Setup setup = translate(checked.message);
  find_contradictions(checked.section, setup);
  if (!problems.usable()) return {std::nullopt, problems.errors(), problems.warnings()};
  return {std::move(setup), {}, problems.warnings()};
}

template <typename Setup>
Loaded<Setup> load_file(const std::string& path,
                        Loaded<Setup> (*parse)(const std::string&, const std::string&)) {
  Problems problems(path);
  const auto text = read_file(path, problems);
  if (!text) return {std::nullopt, problems.errors()};
  return parse(path, *text);
}

}  // namespace

Loaded<NodeSetup> parse_node(const std::string& file, const std::string& text) {
  return load_text<proto::Node, NodeSetup>(file, text);
}

Loaded<file_relay::RelayConfig> parse_relay(const std::string& file, const std::string& text) {
  return load_text<proto::Relay, file_relay::RelayConfig>(file, text);
}

Loaded<acp142::MailConfig> parse_mail(const std::string& file, const std::string& text) {
  return load_text<proto::MailGateway, acp142::MailConfig>(file, text);
}

Loaded<ip_client::IpConfig> parse_ip(const std::string& file, const std::string& text) {
  return load_text<proto::IpClient, ip_client::IpConfig>(file, text);
}

Loaded<NodeSetup> load_node(const std::string& path) {
  return load_file<NodeSetup>(path, parse_node);
}

Loaded<file_relay::RelayConfig> load_relay(const std::string& path) {
  return load_file<file_relay::RelayConfig>(path, parse_relay);
}

Loaded<acp142::MailConfig> load_mail(const std::string& path) {
  return load_file<acp142::MailConfig>(path, parse_mail);
}

Loaded<ip_client::IpConfig> load_ip(const std::string& path) {
  return load_file<ip_client::IpConfig>(path, parse_ip);
}

}  // namespace s5066::config
