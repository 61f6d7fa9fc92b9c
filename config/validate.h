// SPDX-License-Identifier: Apache-2.0
// Checks a parsed configuration against the rules in its schema (config/proto/rules.proto).
#pragma once

#include <google/protobuf/message.h>

#include <string>

#include "config/problem.h"
#include "config/text_format.h"
#include "s5066d/base/address_book.h"

namespace s5066::config {

/// A section is one message of the configuration together with the places of its fields in the
/// file.
class Section {
 public:
  /// `places` may be null when the file does not contain the message.
  Section(const google::protobuf::Message& message, const FieldPlaces* places, Problems& problems)
      : message_(&message), places_(places), problems_(&problems) {}

  const google::protobuf::Message& message() const { return *message_; }
  bool has(const std::string& field) const;
  /// Returns the nested message, or its default when the file does not contain it.
  Section nested(const std::string& field, int index = -1) const;
  /// Adds an error at the place of the field, or of this section when the file does not contain the
  /// field. `text` follows the value of the field in the message, as in "port: 0 is below 1".
  void complain(const std::string& field, const std::string& text, int index = -1) const;
  /// Adds a warning at the same place; the configuration stays usable.
  void warn(const std::string& field, const std::string& text, int index = -1) const;
  /// Adds an error that concerns the section as a whole.
  void complain_of_section(const std::string& text) const;

 private:
  /// Returns a value as the file states it; empty for a section and for a field that is not there.
  std::string value_text(const std::string& name, int index) const;
  void note(const std::string& field, const std::string& text, int index, bool warning) const;
  const google::protobuf::FieldDescriptor* field(const std::string& name) const;

  const google::protobuf::Message* message_;
  const FieldPlaces* places_;
  Problems* problems_;
  int line_ = 1;  // place of the section itself
  int column_ = 1;
};

/// Adds a problem for each field that is missing, too long, out of range or ill-formed; nested
/// messages are checked as well. The book is asked which station a wrong name may mean.
void validate(const Section& section, const ParsedText& parsed, const AddressBook& book);

}  // namespace s5066::config
