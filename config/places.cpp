// SPDX-License-Identifier: Apache-2.0
#include "config/places.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "config/tls_files.h"
#include "s5066d/posix/user_name.h"

namespace s5066::config {
namespace {

namespace fs = std::filesystem;

std::string reason(int code) {
  return std::generic_category().message(code);
}

std::string quoted(const std::string& path) {
  return "\"" + path + "\"";
}

/// Returns the same text for two paths of one place, also when nothing is there yet.
std::string canonical(const std::string& path) {
  std::error_code failure;
  const fs::path found = fs::weakly_canonical(fs::absolute(path, failure), failure);
  std::string text = failure ? path : found.lexically_normal().string();
  while (text.size() > 1 && text.back() == '/') text.pop_back();
  return text;
}

/// True for a folder that systemd makes when a unit of ours starts, see config/systemd: the two
/// roots, and of each station the folders of its sockets, of the relay and of the mail gateway.
bool is_made_by_unit(const std::string& folder) {
  constexpr std::string_view kRun = "/run/s5066";
  constexpr std::string_view kState = "/var/lib/s5066";
  constexpr std::array<std::string_view, 3> kNames = {"spool", "inbox", "mail"};
  const fs::path path = canonical(folder);
  if (path == kRun || path.parent_path() == kRun || path == kState) return true;
  const bool named = std::find(kNames.begin(), kNames.end(), path.filename()) != kNames.end();
  return named && path.parent_path().parent_path() == kState;
}

/// True for a fault of a folder that may end without a change of the configuration, as when a disk
/// comes late. A start fails of it and is tried again.
bool may_pass(int code) {
  return code == ENOENT || code == EROFS || code == EIO || code == ESTALE || code == ETIMEDOUT;
}

std::string folder_of(const std::string& path) {
  const std::string folder = fs::path(path).parent_path().string();
  return folder.empty() ? "." : folder;
}

/// A socket that closes itself.
class OpenSocket {
 public:
  explicit OpenSocket(int number) : number_(number) {}
  ~OpenSocket() {
    if (number_ >= 0) ::close(number_);
  }
  OpenSocket(const OpenSocket&) = delete;
  OpenSocket& operator=(const OpenSocket&) = delete;
  int get() const { return number_; }

 private:
  int number_;
};

/// Binds to the address for a moment; returns 0 or the errno.
int try_port(const std::string& address, std::uint16_t port) {
  sockaddr_storage storage{};
  socklen_t size = 0;
  auto* const four = reinterpret_cast<sockaddr_in*>(&storage);
  auto* const six = reinterpret_cast<sockaddr_in6*>(&storage);
  if (::inet_pton(AF_INET, address.c_str(), &four->sin_addr) == 1) {
    four->sin_family = AF_INET;
    four->sin_port = htons(port);
    size = sizeof *four;
  } else if (::inet_pton(AF_INET6, address.c_str(), &six->sin6_addr) == 1) {
    six->sin6_family = AF_INET6;
    six->sin6_port = htons(port);
    size = sizeof *six;
  } else {
    return 0;  // the schema's rules have complained
  }
  const OpenSocket probe(::socket(storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (probe.get() < 0) return errno;
  const int on = 1;
  ::setsockopt(probe.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  return ::bind(probe.get(), reinterpret_cast<const sockaddr*>(&storage), size) == 0 ? 0 : errno;
}

/// True if a program listens on the socket.
bool is_served(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) return false;
  std::memcpy(address.sun_path, path.data(), path.size());
  const OpenSocket probe(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (probe.get() < 0) return false;
  return ::connect(probe.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 ||
         errno == EAGAIN;
}

}  // namespace

void Places::complain(const Section& section, const std::string& field, const std::string& text,
                      bool warning) const {
  if (warning) return section.warn(field, text);
  section.complain(field, text);
}

bool Places::claim(const Section& section, const std::string& field, const std::string& path,
                   const std::string& cure, bool other) {
  const std::string place = canonical(path);
  for (const Claim& earlier : claims_) {
    if (earlier.path != place || (earlier.other && other)) continue;
    complain(section, field, quoted(path) + " is also `" + earlier.field + "`; " + cure);
    return false;
  }
  claims_.push_back({place, field, other});
  return true;
}

// `whose` is empty when the field is the folder itself.
bool Places::usable_folder(const Section& section, const std::string& field,
                           const std::string& folder, const std::string& whose) const {
  const std::string named =
      whose.empty() ? quoted(folder) : quoted(whose) + ": the folder " + quoted(folder);
  const std::string user = posix::user_name(::geteuid());
  struct stat status {};
  if (::stat(folder.c_str(), &status) != 0) {
    const int code = errno;
    const bool later = scope_ == Scope::start && may_pass(code);
    if (code == ENOENT && scope_ == Scope::before_start && is_made_by_unit(folder)) {
      complain(section, field,
               named + " does not exist yet; the systemd unit makes that of its station", true);
    } else if (code == ENOENT) {
      // The user of the units cannot make a folder in those of root.
      const std::string make = user == "s5066" ? "sudo install -d -o s5066 -g s5066 " : "mkdir -p ";
      complain(section, field, named + " does not exist; make it: " + make + folder, later);
    } else {
      complain(section, field,
               named + " cannot be reached by " + user + " (" + reason(code) +
                   "); give this user access to all folders above it",
               later);
    }
    return false;
  }
  if (!S_ISDIR(status.st_mode)) {
    complain(section, field, named + " is not a folder; name one");
    return false;
  }
  if (::faccessat(AT_FDCWD, folder.c_str(), W_OK | X_OK, AT_EACCESS) == 0) return true;
  const int code = errno;
  const bool later = scope_ == Scope::start && may_pass(code);
  if (code == EROFS) {
    complain(section, field,
             named +
                 " is on a file system that is read-only for this program; for a unit of "
                 "systemd add ReadWritePaths=" +
                 folder + " with `systemctl edit`",
             later);
  } else if (later) {
    complain(section, field, named + " cannot be written now (" + reason(code) + ")", true);
  } else {
    // The user who checks need not be the one of the service, who is to own the folder.
    const std::string other_cure =
        scope_ == Scope::start ? ", or: chown " + user + " " + folder : std::string();
    complain(section, field,
             named + " belongs to " + posix::user_name(status.st_uid) +
                 " and cannot be written by " + user + "; run this as " +
                 posix::user_name(status.st_uid) + other_cure);
  }
  return false;
}

void Places::folder(const Section& section, const std::string& field, const std::string& path) {
  if (path.empty()) return;
  if (!claim(section, field, path, "give each a folder of its own")) return;
  usable_folder(section, field, path, "");
}

void Places::own_socket(const Section& section, const std::string& field, const std::string& path) {
  if (path.empty()) return;
  if (!claim(section, field, path, "give each socket a path of its own")) return;
  if (!usable_folder(section, field, folder_of(path), path)) return;
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0) return;
  if (!S_ISSOCK(status.st_mode)) {
    complain(section, field,
             quoted(path) + " is there and is not a socket; remove it or name another path");
  } else if (scope_ == Scope::before_start && is_served(path)) {
    complain(section, field,
             quoted(path) + " is in use; that is right only while this service itself runs", true);
  }
}

void Places::other_socket(const Section& section, const std::string& field,
                          const std::string& path) {
  if (path.empty()) return;
  if (!claim(section, field, path, "name the socket of the other program", true)) return;
  struct stat status {};
  if (::stat(path.c_str(), &status) == 0 && !S_ISSOCK(status.st_mode)) {
    complain(section, field, quoted(path) + " is not a socket; name that of the other program");
  }
}

void Places::new_file(const Section& section, const std::string& field, const std::string& path) {
  if (path.empty() || !usable_folder(section, field, folder_of(path), path)) return;
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return;
  if (S_ISDIR(status.st_mode)) {
    complain(section, field, quoted(path) + " is a folder; name a file in it");
  } else if (::faccessat(AT_FDCWD, path.c_str(), W_OK, AT_EACCESS) != 0) {
    complain(section, field,
             quoted(path) + " cannot be written by " + posix::user_name(::geteuid()) + " (" +
                 reason(errno) + "); remove it or name another path");
  }
}

void Places::device(const Section& section, const std::string& field, const std::string& path) {
  if (path.empty()) return;
  if (::faccessat(AT_FDCWD, path.c_str(), R_OK | W_OK, AT_EACCESS) == 0) return;
  const int code = errno;
  complain(section, field,
           quoted(path) + (code == ENOENT
                               ? std::string(" is not there now; is it plugged in?")
                               : " cannot be opened by " + posix::user_name(::geteuid()) + " (" +
                                     reason(code) + "); add this user to the device's group"),
           true);
}

void Places::tls(const Section& section, const Tls& files) {
  for (const TlsFinding& found :
       check_tls_files(files.certificate_file, files.key_file, files.authority_file)) {
    complain(section, found.field, found.text, found.warning);
  }
}

void Places::port(const Section& section, const std::string& address_field,
                  const std::string& address, std::uint16_t port) {
  const int code = try_port(address, port);
  const std::string name = std::to_string(port) + " on " + address;
  // An address may come up later, and another program may end: the service says so and is started
  // again. A unit may have a capability that the user who checks has not.
  if (code == EACCES) {
    complain(
        section, "port",
        name + " is not allowed to " + posix::user_name(::geteuid()) + "; take a port from 1024 on",
        scope_ == Scope::before_start);
  } else if (code == EADDRNOTAVAIL && scope_ == Scope::before_start) {
    complain(section, address_field,
             address +
                 " is not an address of this machine; `ip address` "
                 "lists them");
  } else if (code == EADDRINUSE && scope_ == Scope::before_start) {
    complain(section, "port",
             name + " is in use; that is right only while this service itself runs", true);
  }
}

}  // namespace s5066::config
