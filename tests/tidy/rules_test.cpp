// SPDX-License-Identifier: Apache-2.0
// Tests that each rule finds its violation in a small bad example, and passes the good one beside
// it.
#include "tests/tidy/rules.h"

#include <gtest/gtest.h>

#include "tests/tidy/layers.h"

namespace s5066::tidy {
namespace {

std::vector<std::string> good_top_level() {
  return {"CMakeLists.txt", "README.md", "config", "docs", "gateways",
          "modem",          "s5066d",    "sis",    "tests"};
}

TEST(TopLevel, refuses_one_entry_more_or_less) {
  auto names = good_top_level();
  EXPECT_TRUE(check_top_level(names).empty());
  names.push_back("scripts");
  ASSERT_EQ(check_top_level(names).size(), 1u);
  EXPECT_EQ(check_top_level(names)[0].path, "scripts");
  names = good_top_level();
  names.erase(names.begin());
  ASSERT_EQ(check_top_level(names).size(), 1u);
  EXPECT_EQ(check_top_level(names)[0].text, "is missing");
}

/// Returns the problems of one file among headers of every layer.
Problems include_problems(const std::string& path, const std::string& text) {
  std::vector<SourceFile> tree = {{path, text}};
  for (const char* header :
       {"s5066d/base/bytes.h", "s5066d/pdu/dpdu.h", "s5066d/dts/service.h", "s5066d/cas/cpdu.h",
        "s5066d/sap/config.h", "s5066d/node/node.h", "s5066d/runtime/asio_driver.h", "sis/codec.h",
        "sis/client.h", "modem/api/port.h", "modem/dsp/viterbi.h", "modem/audio/device.h",
        "modem/worker/worker.h", "gateways/common/store_port.h", "gateways/common/sqlite_store.h",
        "tests/support/samples.h"}) {
    tree.push_back({header, "// A header.\n#pragma once\n"});
  }
  return check_includes(tree);
}

bool allowed(const std::string& path, const std::string& include) {
  const bool angle = include.front() == '<';
  return include_problems(path, "#include " + (angle ? include : '"' + include + '"') + "\n")
      .empty();
}

TEST(Includes, go_down_and_never_up) {
  EXPECT_TRUE(allowed("s5066d/pdu/x.cpp", "s5066d/base/bytes.h"));
  EXPECT_FALSE(allowed("s5066d/base/x.cpp", "s5066d/pdu/dpdu.h"));
  EXPECT_TRUE(allowed("s5066d/dts/x.cpp", "modem/api/port.h"));
  EXPECT_FALSE(allowed("s5066d/dts/x.cpp", "modem/worker/worker.h"));
  EXPECT_FALSE(allowed("s5066d/dts/x.cpp", "s5066d/cas/cpdu.h"));
  EXPECT_TRUE(allowed("s5066d/cas/x.cpp", "s5066d/dts/service.h"));
  EXPECT_FALSE(allowed("s5066d/pdu/x.cpp", "modem/api/port.h"));
  EXPECT_FALSE(allowed("s5066d/sap/x.cpp", "s5066d/node/node.h"));
  EXPECT_FALSE(allowed("s5066d/node/x.cpp", "s5066d/runtime/asio_driver.h"));
  EXPECT_TRUE(allowed("s5066d/main.cpp", "s5066d/runtime/asio_driver.h"));
}

TEST(Includes, join_the_three_trees_only_through_modem_api_and_sis) {
  EXPECT_FALSE(allowed("modem/worker/x.cpp", "s5066d/dts/service.h"));
  EXPECT_FALSE(allowed("gateways/file_relay/relay_core.cpp", "s5066d/dts/service.h"));
  EXPECT_FALSE(allowed("gateways/file_relay/relay_core.cpp", "modem/api/port.h"));
  EXPECT_FALSE(allowed("s5066d/node/x.cpp", "gateways/common/store_port.h"));
  EXPECT_TRUE(allowed("gateways/file_relay/relay_core.cpp", "sis/codec.h"));
  EXPECT_FALSE(allowed("gateways/file_relay/relay_core.cpp", "sis/client.h"));
  EXPECT_FALSE(allowed("sis/codec.cpp", "sis/client.h"));
  EXPECT_FALSE(allowed("sis/codec.cpp", "tests/support/samples.h"));
}

TEST(Includes, keep_each_library_in_its_place) {
  EXPECT_TRUE(allowed("modem/dsp/x.cpp", "<liquid/liquid.h>"));
  EXPECT_FALSE(allowed("modem/waveforms/ms110a/x.cpp", "<liquid/liquid.h>"));
  EXPECT_TRUE(allowed("modem/audio/portaudio_device.cpp", "<portaudio.h>"));
  EXPECT_FALSE(allowed("modem/audio/cable_device.cpp", "<portaudio.h>"));
  EXPECT_TRUE(allowed("modem/audio/file_device.cpp", "<sndfile.h>"));
  EXPECT_FALSE(allowed("modem/tools/hfmodem.cpp", "<sndfile.h>"));
  EXPECT_TRUE(allowed("gateways/common/sqlite_store.cpp", "<sqlite3.h>"));
  EXPECT_FALSE(allowed("gateways/common/inbox.cpp", "<sqlite3.h>"));
  EXPECT_TRUE(allowed("s5066d/main.cpp", "<boost/program_options.hpp>"));
  EXPECT_FALSE(allowed("s5066d/runtime/x.cpp", "<boost/program_options.hpp>"));
  EXPECT_TRUE(allowed("s5066d/runtime/x.cpp", "<boost/asio.hpp>"));
  EXPECT_FALSE(allowed("s5066d/node/x.cpp", "<boost/asio.hpp>"));
  EXPECT_FALSE(allowed("s5066d/node/x.cpp", "<boost/beast.hpp>"));
  EXPECT_TRUE(allowed("config/load.cpp", "<google/protobuf/text_format.h>"));
  EXPECT_TRUE(allowed("config/load.cpp", "config/proto/node.pb.h"));
  EXPECT_TRUE(allowed("s5066d/control/x.cpp", "config/proto/control.pb.h"));
  EXPECT_TRUE(allowed("gateways/common/x.cpp", "config/proto/control.pb.h"));
  EXPECT_FALSE(allowed("gateways/common/x_core.cpp", "config/proto/control.pb.h"));
  EXPECT_FALSE(allowed("s5066d/runtime/x.cpp", "config/proto/node.pb.h"));
}

TEST(Includes, keep_threads_and_files_out_of_cores) {
  for (const char* header : {"<thread>", "<mutex>", "<random>", "<iostream>", "<ctime>",
                             "<filesystem>", "<sys/socket.h>", "<cstdio>"}) {
    EXPECT_FALSE(allowed("s5066d/dts/x.cpp", header)) << header;
  }
  EXPECT_TRUE(allowed("s5066d/dts/x.cpp", "<chrono>"));
  EXPECT_TRUE(allowed("modem/worker/x.cpp", "<thread>"));
}

TEST(Includes, start_at_the_root_and_name_a_file) {
  EXPECT_FALSE(allowed("s5066d/pdu/x.cpp", "dpdu.h"));
  EXPECT_FALSE(allowed("s5066d/pdu/x.cpp", "../base/bytes.h"));
  EXPECT_FALSE(allowed("s5066d/pdu/x.cpp", "s5066d/base/absent.h"));
  EXPECT_FALSE(include_problems("s5066d/newcomer/x.cpp", "").empty());
  EXPECT_EQ(include_problems("s5066d/pdu/x.cpp", "\n\n  #  include  <thread>\n")[0].line, 3u);
}

Problems banned(const std::string& text, const std::string& path = "s5066d/dts/x.cpp") {
  return check_banned_tokens({path, text});
}

TEST(BannedTokens, are_found_in_cores) {
  for (const char* text :
       {"auto t = std::chrono::steady_clock::now();", "auto t = NodeClock::now();",
        "std::thread t;", "std::mutex m;", "std::atomic<int> n;", "std::mt19937 g;",
        "int r = rand();", "boost::asio::io_context c;", "throw 1;", "try { f(); }",
        "std::cout << 1;", "printf(\"x\");", "std::ofstream f;"}) {
    EXPECT_EQ(banned(text).size() > 0, true) << text;
  }
  EXPECT_EQ(banned("int a;\nthrow 1;\n")[0].line, 2u);
}

TEST(BannedTokens, are_no_matter_in_comments_literals_and_shells) {
  EXPECT_TRUE(banned("// we throw nothing and try std::thread never\n").empty());
  EXPECT_TRUE(banned("/* throw\n try */ int a;").empty());
  EXPECT_TRUE(banned("auto s = \"throw \\\" throw\";").empty());
  EXPECT_TRUE(banned("auto s = R\"x(throw \" )\" throw)x\";").empty());
  EXPECT_TRUE(banned("int a = 1'000; char c = '\"'; int b = 2;").empty());
  EXPECT_FALSE(banned("int a = 1'000; throw 1; int b = 1'000;").empty());
  EXPECT_FALSE(banned("char c = '\\''; throw 1;").empty());
  EXPECT_TRUE(banned("bool retry = false; int thrown = 0; catching();").empty());
  EXPECT_TRUE(banned("throw 1;", "s5066d/runtime/x.cpp").empty());
  EXPECT_TRUE(banned("throw 1;", "tests/unit/x.cpp").empty());
}

TEST(Length, a_hundred_columns_pass_and_one_more_does_not) {
  const std::string line(100, 'x');
  EXPECT_TRUE(check_length({"sis/x.cpp", line}).empty());
  EXPECT_EQ(check_length({"sis/x.cpp", line + "x"}).size(), 1u);
  EXPECT_TRUE(check_length({"sis/x.cpp", line.substr(1) + "\u00B1"}).empty());
}

TEST(Leftovers, are_found_wherever_they_stand) {
  // The text is in two parts, so that this file passes the check.
  EXPECT_EQ(check_leftovers({"docs/x.md",
                             "ok\nsee /wo"
                             "rk/main\n"})
                .size(),
            1u);
  EXPECT_EQ(check_leftovers({"sis/x.cpp",
                             "// TO"
                             "DO: later\n"})
                .size(),
            1u);
  EXPECT_EQ(check_leftovers({"sis/x.cpp",
                             "// FIX"
                             "ME\n"})
                .size(),
            1u);
  EXPECT_TRUE(check_leftovers({"sis/x.cpp", "// sis/work/x, mastodon\n"}).empty());
}

TEST(Binary, files_are_found_by_their_zeros) {
  using namespace std::string_literals;
  EXPECT_EQ(check_binary({"tests/x.pyc", "a\nb\0c"s}).size(), 1u);
  EXPECT_EQ(to_string(check_binary({"tests/x.pyc", "a\nb\0c"s})[0]),
            "tests/x.pyc:2: a binary file: keep its source or a text form");
  EXPECT_TRUE(check_binary({"docs/x.md", "\u00B1\n"}).empty());
}

TEST(HeaderOpening, wants_a_comment_and_then_pragma_once) {
  EXPECT_TRUE(check_header_opening({"sis/x.h", "// Why.\n#pragma once\n"}).empty());
  EXPECT_EQ(check_header_opening({"sis/x.h", "#pragma once\n"}).size(), 1u);
  EXPECT_EQ(check_header_opening({"sis/x.h", "// SPDX-x\n#pragma once\n"}).size(), 1u);
  EXPECT_TRUE(check_header_opening({"sis/x.h", "// SPDX-x\n// Why.\n#pragma once\n"}).empty());
  EXPECT_EQ(check_header_opening({"sis/x.h", "// Why.\n#include <span>\n"}).size(), 1u);
  EXPECT_EQ(check_header_opening({"sis/x.h", "// Why.\n"}).size(), 1u);
  EXPECT_TRUE(check_header_opening({"sis/x.cpp", "int a;\n"}).empty());
}

TEST(Licence, is_named_in_the_first_line_or_behind_the_interpreter) {
  const std::string line = "// SPDX-License-Identifier: Apache-2.0\n";
  EXPECT_TRUE(check_licence({"sis/x.cpp", line + "int a;\n"}).empty());
  EXPECT_EQ(check_licence({"sis/x.cpp", "int a;\n" + line}).size(), 1u);
  EXPECT_EQ(check_licence({"sis/x.cpp", "// SPDX-License-Identifier: MIT\n"}).size(), 1u);
  EXPECT_TRUE(
      check_licence({"tests/run", "#!/bin/bash\n# SPDX-License-Identifier: Apache-2.0\n"}).empty());
  EXPECT_EQ(check_licence({"tests/run", "#!/bin/bash\n# Runs.\n"}).size(), 1u);
  EXPECT_TRUE(
      check_licence({"gateways/x.sql", "-- SPDX-License-Identifier: Apache-2.0\n"}).empty());
  for (const char* name : {"x.sql", "x.cmake", "x.cmake.in", "x@.service", "x.supp"}) {
    EXPECT_EQ(check_licence({name, "# Serves.\n"}).size(), 1u) << name;
  }
  EXPECT_TRUE(check_licence({"docs/x.md", "text\n"}).empty());
}

TEST(Constants, stand_in_one_header_of_a_namespace) {
  const auto header = [](const char* path, const std::string& body) {
    return SourceFile{path, "namespace s5066 {\n" + body + "\n}  // namespace s5066\n"};
  };
  const SourceFile one = header("sis/a.h", "struct A {\n};\ninline constexpr int kMax{3};");
  EXPECT_TRUE(check_constants({one}).empty());
  const auto twice = check_constants({one, header("sis/b.h", "inline constexpr long kMax = 4;")});
  ASSERT_EQ(twice.size(), 1u);
  EXPECT_EQ(to_string(twice[0]), "sis/b.h:2: s5066::kMax is in sis/a.h");
  EXPECT_EQ(check_constants({one, header("sis/b.h", "inline const int kMax[] = {4};")}).size(), 1u);
  EXPECT_TRUE(check_constants({one, header("sis/b.h", "inline constexpr int kMax2 = 4;")}).empty());
  EXPECT_TRUE(
      check_constants({one, header("sis/b.h", "inline constexpr int max(int kMax = 4);")}).empty());
  EXPECT_TRUE(check_constants(
                  {one, header("sis/b.h",
                               "namespace b {\ninline constexpr int kMax = 4;\n}  // namespace b")})
                  .empty());
  EXPECT_TRUE(
      check_constants({one, {"sis/b.h", "namespace b {\ninline constexpr int kMax = 4;"}}).empty());
}

TEST(Targets, each_folder_defines_one_and_is_reached) {
  const SourceFile source{"modem/dsp/x.cpp", ""};
  const SourceFile target{"modem/dsp/CMakeLists.txt", "s5066_library(s5066_modem_dsp)\n"};
  const SourceFile parent{"modem/CMakeLists.txt", "add_subdirectory(dsp)\n"};
  EXPECT_TRUE(check_targets({source, target, parent}).empty());
  EXPECT_EQ(check_targets({source, parent}).size(), 1u);
  EXPECT_EQ(check_targets({source, target}).size(), 1u);
  EXPECT_EQ(check_targets({source, {"modem/dsp/CMakeLists.txt", "# none\n"}, parent}).size(), 1u);
  EXPECT_TRUE(
      check_targets({source, {"modem/CMakeLists.txt", "add_executable(a dsp/x.cpp)\n"}}).empty());
  const auto of_folders = [&](const std::string& folders) {
    return check_targets({source, {"modem/CMakeLists.txt", "s5066_library(a FOLDERS " + folders}});
  };
  EXPECT_TRUE(of_folders("api dsp)\n").empty());
  EXPECT_EQ(of_folders("api)\n").size(), 1u);
}

TEST(Layers, name_only_layers_and_libraries_that_exist) {
  const auto is_layer = [](std::string_view name) {
    return name == "*" || std::any_of(layers().begin(), layers().end(),
                                      [&](const Layer& layer) { return layer.name == name; });
  };
  const auto is_library = [](std::string_view name) {
    return name == "*" || std::any_of(libraries().begin(), libraries().end(),
                                      [&](const Library& library) { return library.name == name; });
  };
  for (const Layer& layer : layers()) {
    for (const auto name : layer.may_include) EXPECT_TRUE(is_layer(name)) << name;
    for (const auto name : layer.libraries) EXPECT_TRUE(is_library(name)) << name;
  }
}

}  // namespace
}  // namespace s5066::tidy
