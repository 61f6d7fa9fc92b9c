// SPDX-License-Identifier: Apache-2.0
// How much of a configuration is checked.
#pragma once

namespace s5066::config {

enum class Scope {
  text,          // the file alone
  before_start,  // this machine as well; folders that a unit makes may be missing yet
  start,         // this machine as well, by the program that is about to serve
};

}  // namespace s5066::config
