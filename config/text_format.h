// Reads Protobuf text format and goes on after a problem, so that one run lists them all.
#pragma once

#include <google/protobuf/text_format.h>

#include <memory>
#include <set>
#include <string>

#include "config/problem.h"

namespace s5066::config {

using FieldPlaces = google::protobuf::TextFormat::ParseInfoTree;

struct ParsedText {
  std::unique_ptr<FieldPlaces> places;  // where each field stands
  bool reached_end = false;             // false: what follows the last problem was not read
  std::set<std::string> left_out;       // names of fields left out because of a problem in them
};

/// Fills `message` with the fields that are right. An unknown field is a problem like any other.
ParsedText parse_text(const std::string& text, google::protobuf::Message& message,
                      Problems& problems);

}  // namespace s5066::config
