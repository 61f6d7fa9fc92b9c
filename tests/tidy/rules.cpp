// SPDX-License-Identifier: Apache-2.0
#include "tests/tidy/rules.h"

#include <algorithm>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include "tests/tidy/layers.h"

namespace s5066::tidy {
namespace {

struct Ban {
  const char* what;
  std::regex pattern;
};

/// Tokens banned in cores, matched in code without comments and literals.
const std::vector<Ban>& bans() {
  static const std::vector<Ban> table = [] {
    const auto word = [](const char* alternatives) {
      return std::regex("(^|[^A-Za-z0-9_])(" + std::string(alternatives) + ")($|[^A-Za-z0-9_])");
    };
    return std::vector<Ban>{
        {"a clock", word("system_clock|steady_clock|high_resolution_clock|utc_clock|gettimeofday|"
                         "clock_gettime|localtime|gmtime|mktime|sleep_for|sleep_until|usleep|"
                         "nanosleep|std::time")},
        {"a clock", std::regex("::now\\s*\\(")},
        {"a thread", word("std::thread|jthread|mutex|shared_mutex|recursive_mutex|lock_guard|"
                          "unique_lock|scoped_lock|condition_variable|std::async|std::future|"
                          "std::promise|thread_local|std::atomic|pthread_create")},
        {"randomness", word("random_device|mt19937|mt19937_64|default_random_engine|std::rand|rand|"
                            "srand|random|uniform_int_distribution|uniform_real_distribution|"
                            "normal_distribution")},
        {"a socket", word("asio|::socket|sockaddr|AF_INET|AF_UNIX|recvfrom|sendto")},
        {"an exception", word("throw|try|catch|std::exception|std::runtime_error")},
        {"a stream or file", word("std::cout|std::cerr|std::clog|std::cin|printf|fprintf|fopen|"
                                  "ifstream|ofstream|fstream|std::filesystem|getenv|std::system")},
    };
  }();
  return table;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

bool listed(const std::vector<std::string_view>& list, std::string_view name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

bool may_include(const Layer& from, const Layer& to) {
  if (from.name == to.name || listed(from.may_include, to.name)) return true;
  return listed(from.may_include, "*") && to.name != "tests";
}

std::size_t columns(const std::string& line) {  // UTF-8 characters
  return static_cast<std::size_t>(
      std::count_if(line.begin(), line.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

Problems check_include(const SourceFile& file, const Layer& layer, const Include& include,
                       const std::set<std::string>& paths) {
  const auto problem = [&](const std::string& text) {
    return Problems{{file.path, include.line, include.name + ": " + text}};
  };
  if (!include.quoted) {
    const std::string_view library = library_of(include.name);
    if (library.empty() || listed(layer.libraries, library) || listed(layer.libraries, "*")) {
      return {};
    }
    if (library == "?") return problem("a library that the table does not know");
    return problem(std::string(layer.name) + " may not use " + std::string(library));
  }
  if (include.name.ends_with(".pb.h")) {
    const bool may = listed(layer.libraries, "protobuf") || listed(layer.libraries, "*");
    return may ? Problems{} : problem(std::string(layer.name) + " may not use Protobuf");
  }
  if (!paths.contains(include.name)) return problem("no such file from the root");
  const Layer* to = layer_of(include.name);
  if (to == nullptr) return problem("a folder that the table does not know");
  if (!may_include(layer, *to)) {
    return problem(std::string(layer.name) + " may not include " + std::string(to->name));
  }
  return {};
}

}  // namespace

std::string to_string(const Problem& problem) {
  return problem.path + ':' + std::to_string(problem.line) + ": " + problem.text;
}

Problems check_top_level(const std::vector<std::string>& names) {
  const std::set<std::string> wanted = {"CMakeLists.txt", "README.md", "config", "docs", "gateways",
                                        "modem",          "s5066d",    "sis",    "tests"};
  const std::set<std::string> there(names.begin(), names.end());
  Problems problems;
  for (const auto& name : there) {
    if (!wanted.contains(name)) problems.push_back({name, 0, "does not belong at the top"});
  }
  for (const auto& name : wanted) {
    if (!there.contains(name)) problems.push_back({name, 0, "is missing"});
  }
  return problems;
}

Problems check_includes(const std::vector<SourceFile>& tree) {
  std::set<std::string> paths;
  for (const auto& file : tree) paths.insert(file.path);
  Problems problems;
  for (const auto& file : tree) {
    if (!is_cpp(file.path)) continue;
    const Layer* layer = layer_of(file.path);
    if (layer == nullptr) {
      problems.push_back({file.path, 0, "a folder that the table does not know"});
      continue;
    }
    for (const auto& include : includes_of(file.text)) {
      const Problems found = check_include(file, *layer, include, paths);
      problems.insert(problems.end(), found.begin(), found.end());
    }
  }
  return problems;
}

Problems check_banned_tokens(const SourceFile& file) {
  if (!is_cpp(file.path)) return {};
  const Layer* layer = layer_of(file.path);
  if (layer == nullptr || !layer->core) return {};
  Problems problems;
  const auto lines = lines_of(code_only(file.text));
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (lines[i].find_first_not_of(' ') == std::string::npos) continue;
    for (const Ban& ban : bans()) {
      std::smatch match;
      if (!std::regex_search(lines[i], match, ban.pattern)) continue;
      problems.push_back({file.path, i + 1, std::string(ban.what) + " in a core: " + match.str()});
    }
  }
  return problems;
}

Problems check_length(const SourceFile& file) {
  if (!is_cpp(file.path)) return {};
  Problems problems;
  const auto lines = lines_of(file.text);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (columns(lines[i]) > kColumnsMax) problems.push_back({file.path, i + 1, "line too long"});
  }
  return problems;
}

Problems check_leftovers(const SourceFile& file) {
  // Written in two parts, so that this file passes its own check.
  static const std::regex pattern(
      "(^|[^A-Za-z0-9_.])(/wo"
      "rk(/|\\b)|TO"
      "DO\\b|FIX"
      "ME\\b|XX"
      "X\\b)");
  Problems problems;
  const auto lines = lines_of(file.text);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    std::smatch match;
    if (std::regex_search(lines[i], match, pattern)) {
      problems.push_back({file.path, i + 1, "left over: " + match.str(2)});
    }
  }
  return problems;
}

Problems check_binary(const SourceFile& file) {
  const std::size_t at = file.text.find('\0');
  if (at == std::string::npos) return {};
  return {{file.path, line_at(file.text, at), "a binary file: keep its source or a text form"}};
}

Problems check_header_opening(const SourceFile& file) {
  if (!file.path.ends_with(".h")) return {};
  const auto lines = lines_of(file.text);
  const auto first_code = std::find_if(
      lines.begin(), lines.end(), [](const std::string& line) { return !line.starts_with("//"); });
  const bool licence = !lines.empty() && lines.front().starts_with("// SPDX-");
  if (first_code - lines.begin() < (licence ? 2 : 1)) {
    return {{file.path, 1, "no sentence of purpose at the head"}};
  }
  if (first_code == lines.end() || *first_code != "#pragma once") {
    return {{file.path, static_cast<std::size_t>(first_code - lines.begin()) + 1,
             "#pragma once must follow the opening comment"}};
  }
  return {};
}

Problems check_licence(const SourceFile& file) {
  if (!ends_with_any(file.path,
                     {".h", ".cpp", ".c", ".proto", ".py", ".sh", ".sql", ".cmake", ".cmake.in",
                      ".service", ".sysusers", ".tmpfiles", ".supp", "CMakeLists.txt"}) &&
      !file.text.starts_with("#!")) {
    return {};
  }
  const auto lines = lines_of(file.text);
  const std::size_t at = file.text.starts_with("#!") ? 1 : 0;
  if (at < lines.size() && lines[at].ends_with(" SPDX-License-Identifier: Apache-2.0")) return {};
  return {{file.path, at + 1, "no SPDX line"}};
}

Problems check_constants(const std::vector<SourceFile>& tree) {
  static const std::regex opens("^namespace ([\\w:]+) \\{");
  static const std::regex constant(
      "^inline (?:constexpr|const) [^({=]*\\b(\\w+)(?:\\[\\w*\\])?\\s*[={]");
  Problems problems;
  std::map<std::string, std::string> found;  // full name to the first header with it
  for (const auto& file : tree) {
    if (!file.path.ends_with(".h")) continue;
    std::vector<std::string> scopes;  // the namespace of each open brace; "" if none
    const auto lines = lines_of(code_only(file.text));
    for (std::size_t i = 0; i < lines.size(); ++i) {
      std::smatch match;
      if (std::regex_search(lines[i], match, constant)) {
        std::string name;
        for (const auto& scope : scopes) name += scope + "::";
        name += match[1];
        const auto [first, is_new] = found.emplace(name, file.path);
        if (!is_new) problems.push_back({file.path, i + 1, name + " is in " + first->second});
      }
      const bool is_namespace = std::regex_search(lines[i], match, opens);
      for (const char c : lines[i]) {
        if (c == '{') scopes.push_back(is_namespace ? match.str(1) : "");
        if (c == '}' && !scopes.empty()) scopes.pop_back();
      }
    }
  }
  return problems;
}

Problems check_targets(const std::vector<SourceFile>& tree) {
  static const std::regex defines_target(
      "(^|\\n)\\s*(add_library|add_executable|s5066_[a-z]+)\\s*\\(");
  std::map<std::string, std::string> cmake;  // text by folder
  std::set<std::string> folders;             // folders with sources
  for (const auto& file : tree) {
    const std::string folder = folder_of(file.path);
    if (file.path.ends_with("CMakeLists.txt")) cmake[folder] = file.text;
    if (file.path.ends_with(".cpp")) folders.insert(folder);
  }
  const auto text_of = [&](const std::string& folder) {
    const auto found = cmake.find(folder);
    return found == cmake.end() ? std::string() : found->second;
  };
  Problems problems;
  for (const auto& folder : folders) {
    const std::string parent = folder_of(folder);
    const std::string name = folder.substr(parent.empty() ? 0 : parent.size() + 1);
    if (!cmake.contains(folder)) {  // the folder above must name its sources
      const std::regex lists_folder("FOLDERS [^)]*\\b" + name + "\\b");
      if (text_of(parent).find(name + "/") == std::string::npos &&
          !std::regex_search(text_of(parent), lists_folder)) {
        problems.push_back({folder, 0, "has sources, but no target"});
      }
      continue;
    }
    if (!std::regex_search(text_of(folder), defines_target)) {
      problems.push_back({folder + "/CMakeLists.txt", 0, "defines no target"});
    }
    if (folder.starts_with("tests/")) continue;  // tests/CMakeLists.txt finds these folders
    if (text_of(parent).find("add_subdirectory(" + name + ")") == std::string::npos) {
      problems.push_back({folder, 0, "is not reached from the folder above"});
    }
  }
  return problems;
}

}  // namespace s5066::tidy
