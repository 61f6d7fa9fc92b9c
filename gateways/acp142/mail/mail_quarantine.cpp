// SPDX-License-Identifier: Apache-2.0
#include "gateways/acp142/mail/mail_quarantine.h"

#include <sys/stat.h>

#include <cerrno>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

#include "gateways/common/sha256.h"
#include "s5066d/posix/os_error.h"

namespace s5066::acp142 {
namespace {

constexpr std::size_t kNameDigestOctets = 16;

struct Use {
  std::size_t files = 0;
  std::uint64_t octets = 0;
  bool exceeds(std::size_t files_max, std::uint64_t octets_max, std::size_t more) const {
    return files >= files_max || octets + more > octets_max;
  }
};

std::string full_text(const std::string& folder, const Use& use, std::string_view whose) {
  return folder + " has " + std::to_string(use.files) + " files with " +
         std::to_string(use.octets) + " octets" + std::string(whose) + "; empty it";
}

}  // namespace

Result<MailQuarantine::Kept> MailQuarantine::keep(Address from, ByteSpan octets) const {
  namespace fs = std::filesystem;
  if (::mkdir(config_.directory.c_str(), 0750) != 0 && errno != EEXIST) {
    return posix::os_error(config_.directory);
  }
  const Bytes digest = gateways::sha256_of(octets);
  const std::string prefix = "cftp-" + to_string(from) + "-";
  const std::string name = prefix + to_hex(ByteSpan(digest).first(kNameDigestOctets)) + ".bftp";
  Use all;
  Use of_station;
  std::error_code error;
  fs::directory_iterator at(config_.directory, error);
  for (; !error && at != fs::directory_iterator(); at.increment(error)) {
    std::error_code unknown;
    if (at->symlink_status(unknown).type() != fs::file_type::regular) continue;
    const std::string other = at->path().filename().string();
    if (other == name) return Kept{name};
    const std::uintmax_t size = at->file_size(unknown);
    const auto add = [&](Use& use) {
      ++use.files;
      if (!unknown) use.octets += size;
    };
    add(all);
    if (other.starts_with(prefix)) add(of_station);
  }
  if (error) return Error{ErrorCode::io, config_.directory + ": " + error.message()};
  if (of_station.exceeds(config_.station_files_max, config_.station_octets_max, octets.size())) {
    return Kept{name, full_text(config_.directory, of_station, " of this station")};
  }
  if (all.exceeds(config_.files_max, config_.octets_max, octets.size())) {
    return Kept{name, full_text(config_.directory, all, "")};
  }
  gateways::Inbox folder(config_.directory, config_.inbox_hook);
  // A crash may have left one that was not named yet.
  if (const auto old = folder.temporaries()) {
    for (const std::string& one : *old) static_cast<void>(folder.remove_temporary(one));
  }
  const auto temporary = folder.write_temporary(octets);
  if (!temporary) return temporary.error();
  auto published = folder.publish(*temporary, name);
  if (!published) return published.error();
  return Kept{std::move(published).value()};
}

}  // namespace s5066::acp142
