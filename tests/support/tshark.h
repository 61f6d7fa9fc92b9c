// SPDX-License-Identifier: Apache-2.0
// Runs tshark, an independent implementation, to dissect a capture.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "s5066d/base/bytes.h"
#include "s5066d/base/result.h"

namespace s5066::test {

struct DissectedField {
  std::string name;
  std::string shown;  // "7", "0x90eb", "1.2.3.4"
  std::string text;   // the whole line of the dissection
  std::string value;  // octets of the field in hex; for a bit field its value
};

/// True if the field is a warning or an error of a dissector.
bool is_complaint(const DissectedField& field);

struct DissectedPacket {
  std::vector<DissectedField> fields;  // in the order of the dissection, "_ws.malformed" among them
  bool malformed = false;
  std::vector<std::string> complaints;  // warnings and errors of the dissectors

  std::size_t count(const std::string& name) const;
  /// Returns each occurrence of the field as a number.
  std::vector<std::uint64_t> numbers(const std::string& name) const;
  /// Returns each occurrence of the field as shown.
  std::vector<std::string> shown(const std::string& name) const;
  /// Returns the octets of the field's only occurrence; empty if there is none.
  std::string hex(const std::string& name) const;
  /// Counts the lines of the dissection that end in `part`, such as "(Correct)".
  std::size_t lines_with(const std::string& part) const;
};

/// Dissects a capture; `options` go to tshark unchanged.
Result<std::vector<DissectedPacket>> dissect(const Bytes& pcap, const std::string& options = {});

}  // namespace s5066::test
