// SPDX-License-Identifier: Apache-2.0
#include "tests/support/tshark.h"

#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <memory>

namespace s5066::test {
namespace {

/// Returns the attribute of a line of PDML; empty if it has none.
std::string attribute(const std::string& line, const std::string& name) {
  const std::string start = ' ' + name + "=\"";
  const std::size_t from = line.find(start);
  if (from == std::string::npos) return {};
  const std::size_t begin = from + start.size();
  return line.substr(begin, line.find('"', begin) - begin);
}

void read_line(const std::string& line, std::vector<DissectedPacket>& packets) {
  if (line.find("<packet>") != std::string::npos) packets.emplace_back();
  if (packets.empty()) return;
  DissectedPacket& packet = packets.back();
  if (line.find("<proto name=\"_ws.malformed\"") != std::string::npos) {
    packet.malformed = true;
    packet.fields.push_back({.name = "_ws.malformed"});
  }
  if (line.find("<field name=") == std::string::npos) return;
  DissectedField field{.name = attribute(line, "name"),
                       .shown = attribute(line, "show"),
                       .text = attribute(line, "showname"),
                       .value = attribute(line, "value")};
  if (is_complaint(field)) packet.complaints.push_back(field.text);
  packet.fields.push_back(std::move(field));
}

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
struct ClosePipe {
  void operator()(std::FILE* file) const { pclose(file); }
};
struct RemoveFile {
  ~RemoveFile() { unlink(path.c_str()); }
  std::string path;
};

}  // namespace

bool is_complaint(const DissectedField& field) {
  return field.name == "_ws.expert" && (field.text.find("(Error") != std::string::npos ||
                                        field.text.find("(Warn") != std::string::npos);
}

std::size_t DissectedPacket::count(const std::string& name) const {
  return static_cast<std::size_t>(std::count_if(
      fields.begin(), fields.end(), [&](const DissectedField& f) { return f.name == name; }));
}

std::vector<std::uint64_t> DissectedPacket::numbers(const std::string& name) const {
  std::vector<std::uint64_t> all;
  for (const auto& text : shown(name)) all.push_back(std::strtoull(text.c_str(), nullptr, 0));
  return all;
}

std::vector<std::string> DissectedPacket::shown(const std::string& name) const {
  std::vector<std::string> all;
  for (const auto& field : fields) {
    if (field.name == name) all.push_back(field.shown);
  }
  return all;
}

std::string DissectedPacket::hex(const std::string& name) const {
  for (const auto& field : fields) {
    if (field.name == name) return field.value;
  }
  return {};
}

std::size_t DissectedPacket::lines_with(const std::string& part) const {
  return static_cast<std::size_t>(std::count_if(
      fields.begin(), fields.end(),
      [&](const DissectedField& f) { return f.text.find(part) != std::string::npos; }));
}

Result<std::vector<DissectedPacket>> dissect(const Bytes& pcap, const std::string& options) {
  char path[] = "/tmp/s5066-capture-XXXXXX";
  const int fd = mkstemp(path);
  if (fd < 0) return Error{ErrorCode::io, "no temporary file"};
  const RemoveFile remove{path};
  {
    const std::unique_ptr<std::FILE, CloseFile> file(fdopen(fd, "wb"));
    if (std::fwrite(pcap.data(), 1, pcap.size(), file.get()) != pcap.size()) {
      return Error{ErrorCode::io, "cannot write the capture"};
    }
  }
  const std::string command = "tshark -T pdml " + options + " -r " + path + " 2>/dev/null";
  std::unique_ptr<std::FILE, ClosePipe> pipe(popen(command.c_str(), "r"));
  if (!pipe) return Error{ErrorCode::io, "cannot start tshark"};

  std::vector<DissectedPacket> packets;
  std::string line;
  for (int c = std::fgetc(pipe.get()); c != EOF; c = std::fgetc(pipe.get())) {
    if (c != '\n') {
      line.push_back(static_cast<char>(c));
      continue;
    }
    read_line(line, packets);
    line.clear();
  }
  const int status = pclose(pipe.release());
  if (status != 0) return Error{ErrorCode::io, "tshark failed or is not installed"};
  return packets;
}

}  // namespace s5066::test
