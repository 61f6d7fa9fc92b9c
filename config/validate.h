// Holds a parsed configuration against the rules in its schema (config/proto/rules.proto).
#pragma once

#include <google/protobuf/message.h>

#include <string>

#include "config/problem.h"
#include "config/text_format.h"

namespace s5066::config {

/// One message of the configuration and where its parts stand in the file.
class Section {
 public:
  /// `places` may be null where the file does not mention the message.
  Section(const google::protobuf::Message& message, const FieldPlaces* places, Problems& problems)
      : message_(&message), places_(places), problems_(&problems) {}

  const google::protobuf::Message& message() const { return *message_; }
  bool has(const std::string& field) const;
  /// The nested message, the schema's default if the file does not mention it.
  Section nested(const std::string& field, int index = -1) const;
  /// A problem at the place of the field, or of this section if the file does not mention it.
  void complain(const std::string& field, const std::string& text, int index = -1) const;
  /// A warning at the same place: the configuration is used all the same.
  void warn(const std::string& field, const std::string& text, int index = -1) const;
  /// A problem of something that has no field of its own.
  void complain_of_section(const std::string& text) const;

 private:
  void note(const std::string& field, const std::string& text, int index, bool warning) const;
  const google::protobuf::FieldDescriptor* field(const std::string& name) const;

  const google::protobuf::Message* message_;
  const FieldPlaces* places_;
  Problems* problems_;
  int line_ = 1;  // of the section itself
  int column_ = 1;
};

/// Adds a problem for each missing, overlong, out-of-range or ill-formed field, nested ones too.
void validate(const Section& section, const ParsedText& parsed);

}  // namespace s5066::config
