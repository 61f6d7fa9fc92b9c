// SPDX-License-Identifier: Apache-2.0
// Options of our command-line clients: where the SIS server is, and how long to stay after the end
// of the input.
#pragma once

#include <boost/program_options/options_description.hpp>
#include <boost/program_options/variables_map.hpp>
#include <chrono>
#include <cstdint>
#include <string>

#include "s5066d/base/ids.h"
#include "sis/client.h"

namespace s5066::sis_tools {

/// A problem of the command line; thrown by the readers of options, and caught in the reader of the
/// whole command line.
struct Wrong {
  std::string what;
};

/// Returns the text of an option, or an empty one.
std::string text(const boost::program_options::variables_map& given, const char* name);
/// Returns the number of an option, or throws unless it is 0 to `max`.
std::uint8_t number(const boost::program_options::variables_map& given, const char* name, int max);
/// Returns the option --ttl in units of 2 s.
std::uint32_t ttl_units(const boost::program_options::variables_map& given);

/// Adds --stations, the address book with the names that station() takes.
void add_station_options(boost::program_options::options_description& options);
/// Returns the address that an option gives, or that the address book has for its name or call
/// sign. The book is read only for a name. Throws Wrong.
Address station(const boost::program_options::variables_map& given, const char* name);

/// Adds --host, --port, --rank and those of TLS.
void add_connection_options(boost::program_options::options_description& options);
/// Returns what they say, with the SAP still to come.
sis::Client::Config connection(const boost::program_options::variables_map& given);

/// Returns how long data without ARQ takes to leave at a low rate, with its repeats and a margin
/// for others' transmissions. The server drops what it has not sent of a client that leaves, and
/// reports nothing (A.2.1.2).
std::chrono::seconds time_to_leave(std::uint64_t octets, unsigned repeats);

}  // namespace s5066::sis_tools
