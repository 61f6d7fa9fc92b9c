// SPDX-License-Identifier: Apache-2.0
#include "modem/tools/options.h"

#include <fnmatch.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <iostream>
#include <typeinfo>

#include "modem/api/receive_modes.h"
#include "modem/tools/subcommands.h"
#include "s5066d/posix/unknown_option.h"

namespace s5066::modem::tools {

namespace po = boost::program_options;

namespace {

/// A negative number for an unsigned option is an error, because it would be read as a very large
/// number.
Result<void> check_signs(const po::parsed_options& parsed, const po::options_description& all) {
  for (const po::option& option : parsed.options) {
    const auto* const value = dynamic_cast<const po::typed_value_base*>(
        all.find(option.string_key, false).semantic().get());
    const bool counts = value != nullptr && (value->value_type() == typeid(unsigned) ||
                                             value->value_type() == typeid(std::uint64_t) ||
                                             value->value_type() == typeid(std::uint16_t));
    if (counts && !option.value.empty() && option.value.front().starts_with('-')) {
      return Error{ErrorCode::bad_field, "--" + option.string_key + " must not be below 0"};
    }
  }
  return {};
}

}  // namespace

ParsedOptions parse_options(const std::string& subcommand, po::options_description description,
                            const std::vector<std::string>& arguments,
                            const PlainArguments& plain) {
  description.add_options()("help,h", "list the options");
  ParsedOptions parsed;
  try {
    po::positional_options_description positional;
    if (plain.count_max != 0) positional.add(plain.option.c_str(), plain.count_max);
    const auto read =
        po::command_line_parser(arguments).options(description).positional(positional).run();
    po::store(read, parsed.values);
    if (parsed.values.count("help") > 0) {
      std::cout << "usage: hfmodem " << subcommand << " [OPTIONS]"
                << (plain.words.empty() ? "" : " ") << plain.words << '\n'
                << description;
      parsed.exit_code = kExitOk;
      return parsed;
    }
    if (const auto good = check_signs(read, description); !good) {
      parsed.exit_code = usage_error(subcommand, good.error());
      return parsed;
    }
    po::notify(parsed.values);
  } catch (const po::unknown_option& error) {
    std::fprintf(stderr, "hfmodem %s: %s\n", subcommand.c_str(),
                 posix::unknown_option_text(error, description).c_str());
    parsed.exit_code = kExitUsage;
  } catch (const po::error& error) {
    std::fprintf(stderr, "hfmodem %s: %s\n", subcommand.c_str(), error.what());
    parsed.exit_code = kExitUsage;
  }
  return parsed;
}

Result<void> check_within(const std::string& option, double value, double low, double high) {
  if (value >= low && value <= high) return {};
  std::array<char, 64> range{};
  std::snprintf(range.data(), range.size(), " must be %.10g to %.10g", low, high);
  return Error{ErrorCode::bad_field, option + range.data()};
}

Result<std::vector<Mode>> modes_of(const std::vector<std::string>& names) {
  std::vector<Mode> modes;
  for (const std::string& name : names) {
    bool any = false;
    for (const Mode& mode : all_modes()) {
      const std::string full = to_string(mode);
      const bool fits = ::fnmatch(name.c_str(), full.c_str(), 0) == 0 ||
                        ::fnmatch((name + "-*").c_str(), full.c_str(), 0) == 0;
      if (!fits) continue;
      any = true;
      if (std::find(modes.begin(), modes.end(), mode) == modes.end()) modes.push_back(mode);
    }
    if (!any) return Error{ErrorCode::bad_field, "--mode " + name + ": one of " + mode_names()};
  }
  return modes;
}

Result<std::vector<Mode>> modes_of_one_receiver(const std::vector<std::string>& names) {
  auto modes = modes_of(names);
  if (!modes) return modes;
  if (const auto good = check_receive_modes(*modes); !good) {
    return Error{good.error().code, "--mode: " + good.error().detail};
  }
  return modes;
}

void describe(Ms110dChoice& choice, po::options_description& description) {
  const auto take = [&choice](bool seven) {
    if (seven) choice.constraint = 7;
  };
  description.add_options()  //
      ("constraint-length-7", po::bool_switch()->notifier(take),
       "send 110D with constraint length 7, for a peer that decodes no other; default: 9");
}

int usage_error(const std::string& subcommand, const Error& error) {
  std::fprintf(stderr, "hfmodem %s: %s\n", subcommand.c_str(), error.detail.c_str());
  return kExitUsage;
}

int failure(const std::string& subcommand, const Error& error) {
  std::fprintf(stderr, "hfmodem %s: %s\n", subcommand.c_str(), error.detail.c_str());
  return kExitFailed;
}

}  // namespace s5066::modem::tools
