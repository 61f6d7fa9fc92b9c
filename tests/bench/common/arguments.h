// SPDX-License-Identifier: Apache-2.0
// Parses the command lines of the benchmarks, which have only --name value and --flag.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <map>
#include <set>
#include <string>

namespace s5066::bench {

class Arguments {
 public:
  /// Exits with a message if an argument is not among the names.
  Arguments(int argc, char** argv, const std::set<std::string>& values,
            const std::set<std::string>& flags) {
    for (int i = 1; i < argc; ++i) {
      const std::string text = argv[i];
      const std::string name = text.rfind("--", 0) == 0 ? text.substr(2) : "";
      if (flags.count(name) > 0) {
        given_[name] = "";
      } else if (values.count(name) > 0 && i + 1 < argc) {
        given_[name] = argv[++i];
      } else {
        std::fprintf(stderr, "%s: what is '%s'? Known:", argv[0], text.c_str());
        for (const auto& known : values) std::fprintf(stderr, " --%s VALUE", known.c_str());
        for (const auto& known : flags) std::fprintf(stderr, " --%s", known.c_str());
        std::fputc('\n', stderr);
        std::exit(2);
      }
    }
  }

  bool has(const std::string& name) const { return given_.count(name) > 0; }
  std::string text(const std::string& name, const std::string& otherwise) const {
    const auto found = given_.find(name);
    return found == given_.end() ? otherwise : found->second;
  }
  double number(const std::string& name, double otherwise) const {
    return has(name) ? std::strtod(text(name, "").c_str(), nullptr) : otherwise;
  }

 private:
  std::map<std::string, std::string> given_;
};

}  // namespace s5066::bench
