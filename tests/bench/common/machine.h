// SPDX-License-Identifier: Apache-2.0
// Measures the machine: wall time, memory of a process, and how fast a disk commits.
#pragma once

#include <fcntl.h>
#include <sys/types.h>
#include <unistd.h>

#include <chrono>
#include <cstddef>
#include <fstream>
#include <string>

#include "s5066d/base/bytes.h"

namespace s5066::bench {

inline double now_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Returns the resident memory in KiB; 0 if there is no such process.
inline long resident_kib(pid_t process) {
  std::ifstream status("/proc/" + std::to_string(process) + "/status");
  for (std::string word; status >> word;) {
    long kib = 0;
    if (word == "VmRSS:" && status >> kib) return kib;
  }
  return 0;
}

/// Returns the messages of this size per second that a file takes with one fdatasync for each
/// batch.
inline double synced_per_s(const std::string& path, std::size_t octets, std::size_t batch,
                           std::size_t messages) {
  const int file = ::open(path.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
  const Bytes written(batch * octets, 1);
  const double begin = now_s();
  for (std::size_t done = 0; done < messages; done += batch) {
    if (::write(file, written.data(), written.size()) < 0 || ::fdatasync(file) != 0) break;
  }
  const double spent = now_s() - begin;
  ::close(file);
  return static_cast<double>(messages) / spent;
}

}  // namespace s5066::bench
