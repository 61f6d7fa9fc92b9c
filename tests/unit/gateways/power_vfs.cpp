// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/gateways/power_vfs.h"

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string_view>
#include <utility>

namespace s5066::test {

namespace {

sqlite3_vfs* below() {
  return sqlite3_vfs_find(nullptr);
}

struct PowerFile {
  sqlite3_file base;
  PowerVfs* owner;
  const char* path;  // SQLite keeps it while the file is open; null for temporary files
  sqlite3_file* real;
};

PowerFile* self(sqlite3_file* file) {
  return reinterpret_cast<PowerFile*>(file);
}
sqlite3_file* real(sqlite3_file* file) {
  return self(file)->real;
}
const sqlite3_io_methods* methods(sqlite3_file* file) {
  return real(file)->pMethods;
}

}  // namespace

struct PowerFileMethods {
  static int close(sqlite3_file* file) { return methods(file)->xClose(real(file)); }

  static int read(sqlite3_file* file, void* to, int amount, sqlite3_int64 offset) {
    PowerVfs& owner = *self(file)->owner;
    if (owner.dead_ || (owner.reads_left_ > 0 && --owner.reads_left_ == 0)) {
      return SQLITE_IOERR_READ;
    }
    const auto begin = static_cast<std::uint64_t>(offset);
    const char* path = self(file)->path;
    if (path != nullptr && std::string_view(path).ends_with(".db") && begin < owner.bad_.second &&
        begin + static_cast<std::uint64_t>(amount) > owner.bad_.first) {
      return SQLITE_IOERR_READ;
    }
    return methods(file)->xRead(real(file), to, amount, offset);
  }

  static int write(sqlite3_file* file, const void* from, int amount, sqlite3_int64 offset) {
    PowerVfs& owner = *self(file)->owner;
    if (owner.is_full()) return SQLITE_FULL;
    const bool was_dead = owner.dead_;
    if (owner.spend()) {
      if (!was_dead && owner.unsynced_ == PowerVfs::Unsynced::torn) {
        methods(file)->xWrite(real(file), from, amount / 2, offset);
      }
      return SQLITE_IOERR_WRITE;
    }
    return methods(file)->xWrite(real(file), from, amount, offset);
  }

  static int truncate(sqlite3_file* file, sqlite3_int64 size) {
    if (self(file)->owner->spend()) return SQLITE_IOERR_TRUNCATE;
    return methods(file)->xTruncate(real(file), size);
  }

  static int sync(sqlite3_file* file, int flags) {
    PowerVfs& owner = *self(file)->owner;
    if (owner.spend()) return SQLITE_IOERR_FSYNC;
    const int result = methods(file)->xSync(real(file), flags);
    if (result != SQLITE_OK || self(file)->path == nullptr) return result;
    sqlite3_int64 size = 0;
    methods(file)->xFileSize(real(file), &size);
    Bytes content(static_cast<std::size_t>(size));
    if (size > 0) methods(file)->xRead(real(file), content.data(), static_cast<int>(size), 0);
    owner.synced_[self(file)->path] = std::move(content);
    return result;
  }

  static int file_size(sqlite3_file* file, sqlite3_int64* size) {
    return methods(file)->xFileSize(real(file), size);
  }
  static int lock(sqlite3_file* file, int level) { return methods(file)->xLock(real(file), level); }
  static int unlock(sqlite3_file* file, int level) {
    return methods(file)->xUnlock(real(file), level);
  }
  static int check_reserved_lock(sqlite3_file* file, int* out) {
    return methods(file)->xCheckReservedLock(real(file), out);
  }
  static int file_control(sqlite3_file* file, int op, void* arg) {
    return methods(file)->xFileControl(real(file), op, arg);
  }
  static int sector_size(sqlite3_file* file) { return methods(file)->xSectorSize(real(file)); }
  static int device_characteristics(sqlite3_file* file) {
    return methods(file)->xDeviceCharacteristics(real(file));
  }
  static int shm_map(sqlite3_file* file, int page, int size, int extend, void volatile** out) {
    return methods(file)->xShmMap(real(file), page, size, extend, out);
  }
  static int shm_lock(sqlite3_file* file, int offset, int n, int flags) {
    return methods(file)->xShmLock(real(file), offset, n, flags);
  }
  static void shm_barrier(sqlite3_file* file) { methods(file)->xShmBarrier(real(file)); }
  static int shm_unmap(sqlite3_file* file, int remove) {
    return methods(file)->xShmUnmap(real(file), remove);
  }

  static int open(sqlite3_vfs* vfs, const char* path, sqlite3_file* file, int flags, int* out) {
    auto* owner = static_cast<PowerVfs*>(vfs->pAppData);
    PowerFile* opened = self(file);
    opened->base.pMethods = nullptr;
    if (owner->dead_) return SQLITE_CANTOPEN;
    opened->owner = owner;
    opened->path = path;
    opened->real = reinterpret_cast<sqlite3_file*>(opened + 1);
    if (path != nullptr && !owner->seen_.contains(path) && std::filesystem::exists(path)) {
      std::ifstream before(path, std::ios::binary);
      owner->synced_[path] = {std::istreambuf_iterator<char>(before), {}};
    }
    const int result = below()->xOpen(below(), path, opened->real, flags, out);
    if (result == SQLITE_OK) {
      static const sqlite3_io_methods kMethods = {2,
                                                  close,
                                                  read,
                                                  write,
                                                  truncate,
                                                  sync,
                                                  file_size,
                                                  lock,
                                                  unlock,
                                                  check_reserved_lock,
                                                  file_control,
                                                  sector_size,
                                                  device_characteristics,
                                                  shm_map,
                                                  shm_lock,
                                                  shm_barrier,
                                                  shm_unmap,
                                                  nullptr,
                                                  nullptr};
      opened->base.pMethods = &kMethods;
      if (path != nullptr) owner->seen_[path] = true;
    }
    return result;
  }

  static int remove(sqlite3_vfs* vfs, const char* path, int sync_folder) {
    auto* owner = static_cast<PowerVfs*>(vfs->pAppData);
    if (owner->spend()) return SQLITE_IOERR_DELETE;
    owner->synced_.erase(path);
    return below()->xDelete(below(), path, sync_folder);
  }
};

PowerVfs::PowerVfs(Unsynced unsynced) : vfs_(*below()), unsynced_(unsynced) {
  static int count = 0;
  name_ = "power-" + std::to_string(++count);
  vfs_.zName = name_.c_str();
  vfs_.pAppData = this;
  vfs_.szOsFile = static_cast<int>(sizeof(PowerFile)) + below()->szOsFile;
  vfs_.xOpen = &PowerFileMethods::open;
  vfs_.xDelete = &PowerFileMethods::remove;
  vfs_.pNext = nullptr;
  sqlite3_vfs_register(&vfs_, 0);
}

PowerVfs::~PowerVfs() {
  sqlite3_vfs_unregister(&vfs_);
}

bool PowerVfs::is_full() const {
  std::error_code gone;
  return full_ ||
         (!full_beside_.empty() && std::filesystem::file_size(full_beside_, gone) > 0 && !gone);
}

void PowerVfs::rename(const std::string& from, const std::string& to) {
  const auto move = [&](auto& known) {
    known.erase(to);
    auto one = known.extract(from);
    if (one.empty()) return;
    one.key() = to;
    known.insert(std::move(one));
  };
  move(seen_);
  move(synced_);
}

bool PowerVfs::spend() {
  if (!dead_ && changes_left_ && --*changes_left_ == 0) dead_ = true;
  return dead_;
}

void PowerVfs::restore() {
  for (const auto& [path, seen] : seen_) {
    if (path.ends_with("-shm")) continue;
    std::filesystem::remove(path + "-shm");
    if (unsynced_ != Unsynced::lost) continue;
    std::filesystem::remove(path);
    const auto content = synced_.find(path);
    if (content == synced_.end()) continue;
    std::ofstream file(path, std::ios::binary);
    file.write(reinterpret_cast<const char*>(content->second.data()),
               static_cast<std::streamsize>(content->second.size()));
  }
}

}  // namespace s5066::test
