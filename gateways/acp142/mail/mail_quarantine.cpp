// SPDX-License-Identifier: Apache-2.0
#include "gateways/acp142/mail/mail_quarantine.h"

#include <sys/stat.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

#include "gateways/common/sha256.h"
#include "s5066d/posix/os_error.h"

namespace s5066::acp142 {
namespace {

constexpr std::size_t kNameDigestOctets = 16;

}  // namespace

Result<std::string> MailQuarantine::keep(Address from, ByteSpan octets) const {
  namespace fs = std::filesystem;
  if (::mkdir(config_.directory.c_str(), 0750) != 0 && errno != EEXIST) {
    return posix::os_error(config_.directory);
  }
  const Bytes digest = gateways::sha256_of(octets);
  const std::string name =
      "cftp-" + to_string(from) + "-" + to_hex(ByteSpan(digest).first(kNameDigestOctets)) + ".bftp";
  std::size_t files = 0;
  std::uint64_t there = 0;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(config_.directory, error)) {
    std::error_code ignored;
    if (entry.symlink_status(ignored).type() != fs::file_type::regular) continue;
    if (entry.path().filename() == name) return name;
    ++files;
    there += entry.file_size(ignored);
  }
  if (error) return Error{ErrorCode::io, config_.directory + ": " + error.message()};
  if (files >= config_.files_max || there + octets.size() > config_.octets_max) {
    return Error{ErrorCode::queue_full, config_.directory + " has " + std::to_string(files) +
                                            " files with " + std::to_string(there) +
                                            " octets; empty it"};
  }
  gateways::Inbox folder(config_.directory, config_.inbox_hook);
  // A crash may have left one that was not named yet.
  if (const auto old = folder.temporaries()) {
    for (const std::string& one : *old) static_cast<void>(folder.remove_temporary(one));
  }
  const auto temporary = folder.write_temporary(octets);
  if (!temporary) return temporary.error();
  return folder.publish(*temporary, name);
}

}  // namespace s5066::acp142
