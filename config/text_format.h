// SPDX-License-Identifier: Apache-2.0
// Parses Protobuf text format. Parsing goes on after a problem, so that one run lists all of them.
#pragma once

#include <google/protobuf/text_format.h>

#include <memory>
#include <set>
#include <string>

#include "config/problem.h"

namespace s5066::config {

using FieldPlaces = google::protobuf::TextFormat::ParseInfoTree;

struct ParsedText {
  std::unique_ptr<FieldPlaces> places;  // the place of each field in the text
  bool reached_end = false;             // when false, the text behind the last problem was not read
  // Names of the fields that were skipped because of a problem in them.
  std::set<std::string> left_out;
};

/// This function fills `message` with the fields that are right. An unknown field is a problem.
ParsedText parse_text(const std::string& text, google::protobuf::Message& message,
                      Problems& problems);

}  // namespace s5066::config
