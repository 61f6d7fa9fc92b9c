// File names that came over the air (F.10.2.2): whatever they say, the result names one plain file
// in the directory it is used in.
#pragma once

#include <string>
#include <string_view>

namespace s5066::gateways {

inline constexpr std::size_t kFileNameBytesMax = 255;

/// The part after the last '/', '\' or ':', without control characters and leading dots, as valid
/// UTF-8 of at most 255 octets. `fallback` when nothing remains.
std::string safe_file_name(std::string_view wire_name, std::string_view fallback);

/// "name" for 0, "name.1" for 1 …, never longer than 255 octets.
std::string numbered_name(std::string_view name, unsigned number);

}  // namespace s5066::gateways
