// SPDX-License-Identifier: Apache-2.0
#include "s5066d/base/counter_set.h"

namespace s5066 {

std::string full_name(const CounterRow& row) {
  std::string name(row.name);
  for (const CounterLabel& label : row.labels) {
    name += (&label == &row.labels.front() ? "{" : ",") + label.name + "=" + label.value;
  }
  return row.labels.empty() ? name : name + "}";
}

}  // namespace s5066
