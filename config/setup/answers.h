// SPDX-License-Identifier: Apache-2.0
// The answers of the operator to `s5066 setup`, read from a file with the checks of configurations.
#pragma once

#include <string>

#include "config/problem.h"
#include "config/proto/setup.pb.h"

namespace s5066::config {

Loaded<proto::SetupAnswers> load_answers(const std::string& path);
Loaded<proto::SetupAnswers> parse_answers(const std::string& file, const std::string& text);

}  // namespace s5066::config
