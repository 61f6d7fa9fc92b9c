// SPDX-License-Identifier: Apache-2.0
// Runs hfmodem in a folder of its own.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

namespace s5066::modem::test {

class Hfmodem : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto* const info = ::testing::UnitTest::GetInstance()->current_test_info();
    folder_ = std::filesystem::temp_directory_path() /
              ("hfmodem_test_" + std::string(info->name()) + "_" + std::to_string(::getpid()));
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  int run(const std::string& arguments) const {
    const std::string command =
        std::string(HFMODEM) + " " + arguments + " >" + path("stdout") + " 2>" + path("stderr");
    return WEXITSTATUS(std::system(command.c_str()));
  }
  std::string read(const std::string& name) const {
    std::ifstream file(path(name), std::ios::binary);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
  }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(path(name), std::ios::binary) << text;
  }
  int mod(const std::string& mode, unsigned rate, const std::string& more = "") const {
    return run("mod --mode " + mode + " --in " + path("in") + " --out " + path("wav") + " --rate " +
               std::to_string(rate) + " " + more);
  }
  int demod(const std::string& more = "") const {
    return run("demod --in " + path("wav") + " --out " + path("out") + " " + more);
  }

  std::filesystem::path folder_;
};

}  // namespace s5066::modem::test
