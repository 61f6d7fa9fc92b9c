// SPDX-License-Identifier: Apache-2.0
#include "s5066d/control/station_names.h"

#include <google/protobuf/descriptor.h>

#include <memory>
#include <vector>

#include "s5066d/control/json.h"

namespace s5066::control {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

}  // namespace

void add_names(Message& answer, const AddressBook& book) {
  if (book.empty()) return;
  const auto& reflection = *answer.GetReflection();
  const auto& type = *answer.GetDescriptor();
  std::vector<const FieldDescriptor*> present;
  reflection.ListFields(answer, &present);
  for (const FieldDescriptor* field : present) {
    if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE && !field->is_map()) {
      if (!field->is_repeated()) add_names(*reflection.MutableMessage(&answer, field), book);
      const int count = field->is_repeated() ? reflection.FieldSize(answer, field) : 0;
      for (int i = 0; i < count; ++i) {
        add_names(*reflection.MutableRepeatedMessage(&answer, field, i), book);
      }
      continue;
    }
    const FieldDescriptor* const name = type.FindFieldByName(field->name() + "_name");
    if (name == nullptr || field->cpp_type() != FieldDescriptor::CPPTYPE_STRING) continue;
    const auto address = parse_address(reflection.GetString(answer, field));
    if (!address) continue;
    reflection.SetString(&answer, name, std::string(book.name_of(*address)));
  }
}

std::string with_names(const VerbInfo& verb, std::string json, const AddressBook& book) {
  if (book.empty()) return json;
  const std::unique_ptr<Message> answer(verb.answer().New());
  if (!read_answer(json, *answer)) return json;
  add_names(*answer, book);
  return json_of(*answer);
}

}  // namespace s5066::control
