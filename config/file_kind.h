// SPDX-License-Identifier: Apache-2.0
// Recognises a file that is no configuration of ours, or one of another program, so that one line
// can say so in place of many about its syntax.
#pragma once

#include <google/protobuf/descriptor.h>

#include <optional>
#include <string>
#include <string_view>

namespace s5066::config {

/// A finding about the text as a whole. Line and column count from 1.
struct FileFinding {
  int line = 1;
  int column = 1;
  std::string text;
};

/// Tells that the text is binary, JSON, XML, a certificate, a unit, or has typographic quotes;
/// returns nothing if it may be a configuration.
std::optional<FileFinding> find_foreign_text(std::string_view text);

/// Tells that the text is the configuration of another of our programs than the one that reads
/// `wanted`.
std::optional<FileFinding> find_other_program(std::string_view text,
                                              const google::protobuf::Descriptor& wanted);

}  // namespace s5066::config
