// SPDX-License-Identifier: Apache-2.0
#include "gateways/common/damage_note.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "s5066d/posix/fd.h"

namespace s5066::gateways {
namespace {

constexpr std::size_t kReasonOctetsMax = 1000;

std::string path_of(const std::string& spool) {
  return spool + ".damage";
}

}  // namespace

void note_damage(const std::string& spool, const std::string& reason) {
  const std::string text = reason.substr(0, kReasonOctetsMax);
  const posix::Fd file(
      ::open(path_of(spool).c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  if (!file) return;
  // An empty note counts as well.
  static_cast<void>(!text.empty() && ::write(file.get(), text.data(), text.size()));
  static_cast<void>(::fsync(file.get()));
}

std::string noted_damage(const std::string& spool) {
  std::ifstream file(path_of(spool));
  if (!file) return {};
  std::string reason((std::istreambuf_iterator<char>(file)), {});
  reason.resize(std::min(reason.size(), kReasonOctetsMax));
  std::replace(reason.begin(), reason.end(), '\n', ' ');
  return "reported while the gateway ran: " + (reason.empty() ? "no reason is known" : reason);
}

void forget_damage(const std::string& spool) {
  std::error_code none;
  std::filesystem::remove(path_of(spool), none);
}

}  // namespace s5066::gateways
