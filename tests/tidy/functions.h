// SPDX-License-Identifier: Apache-2.0
// Functions and classes of a source as text: how long each function is, how many branches it has,
// and in which sources the members of a class are defined.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "tests/tidy/rules.h"

namespace s5066::tidy {

inline constexpr std::size_t kFunctionLinesMax = 80;
inline constexpr std::size_t kFunctionBranchesMax = 25;

struct Function {
  std::string name;  // as written before the parameters, "Node::on_deadline" for a member
  std::size_t line = 0;
  std::size_t lines = 0;     // from the name to the closing brace, both counted
  std::size_t branches = 0;  // if, for, while, case, catch, ?, && and ||
};

/// Returns the functions that are defined in `text`, which is C++. Lambdas count to the function
/// around them.
std::vector<Function> functions_of(std::string_view text);

/// Reports each function over kFunctionLinesMax lines or kFunctionBranchesMax branches.
Problems check_functions(const SourceFile& file);
/// Reports each class whose members are defined in more than one source of a folder.
Problems check_classes(const std::vector<SourceFile>& tree);

}  // namespace s5066::tidy
