// SPDX-License-Identifier: Apache-2.0
// The architecture as a table of allowed includes. An include never goes upward; s5066d, modem and
// gateways meet only through modem/api and sis.
#pragma once

#include <string_view>
#include <vector>

namespace s5066::tidy {

struct Layer {
  std::string_view name;
  std::string_view files;                     // regular expression for the whole path
  std::vector<std::string_view> may_include;  // layers, besides itself; "*" for any but tests
  std::vector<std::string_view> libraries;  // names in kLibraries, besides the plain standard ones
  bool core = false;                        // no clock, thread, randomness, I/O, exception
};

/// A third-party library, or a part of the standard library that only some layers may use.
struct Library {
  std::string_view name;
  std::string_view headers;  // regular expression for the whole name in the include
};

/// Returns the layers; the first that matches a path is its layer.
const std::vector<Layer>& layers();
const std::vector<Library>& libraries();

/// Returns the layer of a path, or null if no row of the table covers it.
const Layer* layer_of(std::string_view path);
/// Returns the library of a header: empty for plain standard headers; "?" if no row has it.
std::string_view library_of(std::string_view header);

}  // namespace s5066::tidy
