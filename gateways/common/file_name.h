// SPDX-License-Identifier: Apache-2.0
// File names that came over the air (F.10.2.2): whatever they say, the result names one plain file
// in the directory it is used in.
#pragma once

#include <string>
#include <string_view>

namespace s5066::gateways {

inline constexpr std::size_t kFileNameBytesMax = 255;

/// Returns the name under which the inbox stores a file that came as `wire_name`: the part after
/// the last '/' or '\\', and after a drive letter ("C:") at its start. Each control character, each
/// character that turns the direction of text round, each of " * < > ? | and a dot at the start
/// becomes '_'; each octet that is not UTF-8 becomes U+FFFD. A colon stays, because Linux allows
/// it. The name has at most 255 octets. Returns `fallback` when no more than dots remains.
std::string safe_file_name(std::string_view wire_name, std::string_view fallback);

/// Returns the name with '_' in place of each colon, for file systems that refuse colons (FAT,
/// exFAT, NTFS).
std::string without_colons(std::string_view name);

/// Returns "one.txt" for 0, "one.1.txt" for 1 …, never longer than 255 octets. The number goes in
/// front of the ending (".gz", with ".tar" before it), or behind a name without one; what has a
/// blank or no letter, as in "v1.2", is not an ending.
std::string numbered_name(std::string_view name, unsigned number);

/// Returns the name, shortened if needed, with the suffix behind it: at most 255 octets.
std::string suffixed_name(std::string_view name, std::string_view suffix);

}  // namespace s5066::gateways
