// SPDX-License-Identifier: Apache-2.0
// Words for what the parser of Protobuf complains about: the field, the bad value and the cure.
#pragma once

#include <google/protobuf/descriptor.h>

#include <string>
#include <string_view>

namespace s5066::config {

/// The parser's text, and the field and value that it concerns where they are known.
struct ParserComplaint {
  std::string_view text;
  std::string_view field;
  std::string_view value;
};

/// Returns the message for an operator. `root` is the whole configuration, in whose sections a
/// misplaced field is looked for.
std::string wording_of(const ParserComplaint& complaint, const google::protobuf::Descriptor& root);

}  // namespace s5066::config
