// SPDX-License-Identifier: Apache-2.0
// The directory received files appear in. A file is written under a temporary name in a hidden
// folder of the same file system and then renamed: it appears whole, under a name no other file
// has, or not at all.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "s5066d/base/bytes.h"
#include "s5066d/base/result.h"

namespace s5066::gateways {

class Inbox {
 public:
  enum class Step { write, sync_file, rename, sync_folder };
  /// Tests are called before each step; a value other than 0 is the errno it fails with.
  using StepHook = std::function<int(Step)>;

  /// The hidden folder of temporary files; no received name can begin with a dot.
  static constexpr const char* kTemporaryFolder = ".incoming";

  /// Tests give the errno with which the file system refuses a name; 0: it takes it.
  using NameHook = std::function<int(const std::string& name)>;

  explicit Inbox(std::string directory, StepHook hook = {}, NameHook name_hook = {})
      : directory_(std::move(directory)),
        hook_(std::move(hook)),
        name_hook_(std::move(name_hook)) {}

  /// Attributes of a file at its sender. An attribute of 0 stays as the file system sets it.
  struct Attributes {
    std::int64_t mtime = 0;  // UTC seconds
    std::uint16_t mode = 0;  // permissions; the owner can always read and write
  };
  /// Writes and syncs the content under a fresh temporary name, and returns that name.
  Result<std::string> write_temporary(ByteSpan content) { return write_temporary(content, {}); }
  Result<std::string> write_temporary(ByteSpan content, const Attributes& attributes);

  /// Gives a temporary file other attributes.
  Result<void> set_temporary(const std::string& temporary_name, const Attributes& attributes);

  enum class Temporary { present, absent };
  /// Fails when the inbox or its hidden folder is not there: then nothing is known.
  Result<Temporary> find_temporary(const std::string& temporary_name);

  /// Renames to `name`, or to the first of its numbered names that is free (numbered_name()), with
  /// '_' for ':' where the file system refuses colons. Never overwrites, never follows a link. A
  /// name may have '/' between folders, which are made; if one cannot be a folder, '_' takes the
  /// place of each '/'. Returns the name taken.
  Result<std::string> publish(const std::string& temporary_name, const std::string& name);

  /// Makes earlier renames durable.
  Result<void> sync(const std::string& name = {});

  Result<void> remove_temporary(const std::string& temporary_name);
  Result<std::vector<std::string>> temporaries();

  /// Returns an error if no file can be put there now.
  Result<void> check_writable();

 private:
  Result<void> step(Step step, const std::string& what);
  Result<std::string> publish_as(const std::string& temporary_name, const std::string& name);

  std::string directory_;
  StepHook hook_;
  NameHook name_hook_;
  unsigned next_number_ = 0;
};

}  // namespace s5066::gateways
