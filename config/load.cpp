// SPDX-License-Identifier: Apache-2.0
#include "config/load.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <functional>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>

#include "config/address_book.h"
#include "config/contradictions.h"
#include "config/file_kind.h"
#include "config/obstacles.h"
#include "config/proto/address_book.pb.h"
#include "config/proto/gateway.pb.h"
#include "config/proto/node.pb.h"
#include "config/text_format.h"
#include "config/translate.h"
#include "config/validate.h"

namespace s5066::config {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

/// Returns the address book; the argument is the file that the configuration names, if it does.
using BookSource = std::function<Loaded<AddressBook>(const std::string& named)>;

BookSource given(const AddressBook& book) {
  return [&book](const std::string&) { return Loaded<AddressBook>{book, {}}; };
}

template <typename Proto>
Loaded<AddressBook> book_for(const Proto& message, const BookSource& books) {
  if constexpr (std::is_same_v<Proto, proto::AddressBook>)
    return {AddressBook(), {}};
  else
    return books(message.address_book());
}

/// Fills in the settings that a configuration takes from the address book.
template <typename Setup>
void take_from_book(const AddressBook&, Setup&) {}

/// The call sign of the station, if the configuration gives none. Nothing is sent without interval.
void take_from_book(const AddressBook& book, NodeSetup& setup) {
  auto& identification = setup.node.dts.identification;
  const AddressBook::Entry* const own = book.entry_of(setup.node.dts.address);
  if (identification.text.empty() && own != nullptr) identification.text = own->call_sign;
}

template <typename Proto, typename Setup>
Loaded<Setup> load_text(const std::string& file, const std::string& text, Scope scope,
                        const BookSource& books) {
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
  const std::string plain = marked ? text.substr(kByteOrderMark.size()) : text;
  auto wrong_kind = find_foreign_text(plain);
  if (!wrong_kind) wrong_kind = find_other_program(plain, *Proto::descriptor());
  if (wrong_kind) {
    problems.add(wrong_kind->line, wrong_kind->column, wrong_kind->text);
    return {std::nullopt, problems.errors()};
  }
  Proto message;
  const ParsedText parsed = parse_text(plain, message, problems);
  // The names of stations have no meaning while the address book has errors.
  Loaded<AddressBook> book = book_for(message, books);
  if (!book.value) return {std::nullopt, book.problems};
  resolve_names(message, *book.value);
  const Section section(message, parsed.places.get(), problems);
  validate(section, parsed, *book.value);
  Setup setup = translate(message);
  take_from_book(*book.value, setup);
  find_contradictions(section, setup);
  if constexpr (!std::is_same_v<Setup, AddressBook>) {
    if (scope != Scope::text) find_obstacles(section, setup, scope);
  }
  if (!problems.usable()) return {std::nullopt, problems.errors(), problems.warnings()};
  if constexpr (!std::is_same_v<Setup, AddressBook>) setup.book = *std::move(book.value);
  return {std::move(setup), {}, problems.warnings()};
}

template <typename Proto, typename Setup>
Loaded<Setup> load_file(const std::string& path, Scope scope) {
  Problems problems(path);
  const auto text = read_file(path, problems);
  if (!text) return {std::nullopt, problems.errors()};
  return load_text<Proto, Setup>(path, *text, scope, [&path](const std::string& named) {
    return address_book_of(path, named);
  });
}

}  // namespace

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

Loaded<NodeSetup> parse_node(const std::string& file, const std::string& text,
                             const AddressBook& book, Scope scope) {
  return load_text<proto::Node, NodeSetup>(file, text, scope, given(book));
}

Loaded<NodeSetup> load_node(const std::string& path, Scope scope) {
  return load_file<proto::Node, NodeSetup>(path, scope);
}

Loaded<file_relay::RelayConfig> parse_relay(const std::string& file, const std::string& text,
                                            const AddressBook& book, Scope scope) {
  return load_text<proto::Relay, file_relay::RelayConfig>(file, text, scope, given(book));
}

Loaded<file_relay::RelayConfig> load_relay(const std::string& path, Scope scope) {
  return load_file<proto::Relay, file_relay::RelayConfig>(path, scope);
}

Loaded<acp142::MailConfig> parse_mail(const std::string& file, const std::string& text,
                                      const AddressBook& book, Scope scope) {
  return load_text<proto::MailGateway, acp142::MailConfig>(file, text, scope, given(book));
}

Loaded<acp142::MailConfig> load_mail(const std::string& path, Scope scope) {
  return load_file<proto::MailGateway, acp142::MailConfig>(path, scope);
}

Loaded<ip_client::IpConfig> parse_ip(const std::string& file, const std::string& text,
                                     const AddressBook& book, Scope scope) {
  return load_text<proto::IpClient, ip_client::IpConfig>(file, text, scope, given(book));
}

Loaded<ip_client::IpConfig> load_ip(const std::string& path, Scope scope) {
  return load_file<proto::IpClient, ip_client::IpConfig>(path, scope);
}

Loaded<AddressBook> parse_address_book(const std::string& file, const std::string& text) {
  return load_text<proto::AddressBook, AddressBook>(file, text, Scope::text, {});
}

Loaded<AddressBook> load_address_book(const std::string& path) {
  return load_file<proto::AddressBook, AddressBook>(path, Scope::text);
}

}  // namespace s5066::config
