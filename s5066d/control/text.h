// SPDX-License-Identifier: Apache-2.0
// Shows the answers of the control interface to people.
#pragma once

#include <string>

namespace google::protobuf {
class Message;
}

namespace s5066::control {

/// Returns a message as text: a line "name value" for each field that has a value, an indented
/// block for each message in it, and a table for a list of messages. A list whose rows have lists
/// of their own becomes blocks. A message without any value is "none". Texts are escaped as in the
/// log.
std::string text_of(const google::protobuf::Message& answer);

}  // namespace s5066::control
