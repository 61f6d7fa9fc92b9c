// SPDX-License-Identifier: Apache-2.0
#include "tests/tidy/layers.h"

#include <map>
#include <regex>
#include <string>

namespace s5066::tidy {
namespace {

bool matches(std::string_view text, std::string_view pattern) {
  static std::map<std::string_view, std::regex> compiled;
  const auto [entry, fresh] = compiled.try_emplace(pattern);
  if (fresh) entry->second = std::regex(pattern.begin(), pattern.end());
  return std::regex_match(text.begin(), text.end(), entry->second);
}

/// Libraries of the shell of a process: its clock, its threads, the operating system, and the
/// source of random seeds.
const std::vector<std::string_view> kShell = {"threads", "files",  "stdio",
                                              "clocks",  "system", "random"};

std::vector<std::string_view> shell_and(std::vector<std::string_view> more) {
  more.insert(more.end(), kShell.begin(), kShell.end());
  return more;
}

const std::vector<Layer> kLayers = {
    {"base", "s5066d/base/.*", {}, {"stdio"}},
    {"posix", "s5066d/posix/.*", {"base"}, {"stdio", "clocks", "threads", "system", "openssl"}},

    {"control settings", "s5066d/control/socket_config\\.h", {"base"}, {}, true},
    {"control",
     "s5066d/control/.*",
     {"control settings", "posix", "base"},
     {"stdio", "files", "clocks", "threads", "asio", "protobuf"}},

    {"pdu", "s5066d/pdu/.*", {"base"}, {}, true},
    {"dts", "s5066d/dts/.*", {"pdu", "base", "modem/api"}, {}, true},
    {"cas", "s5066d/cas/.*", {"dts", "pdu", "base"}, {}, true},
    {"sap", "s5066d/sap/.*", {"cas", "sis core", "base"}, {}, true},
    {"node", "s5066d/node/.*", {"sap", "cas", "dts", "sis core", "modem/api", "base"}, {}, true},
    {"runtime settings", "s5066d/runtime/settings\\.h", {"sap", "sis core", "base"}, {}, true},
    {"runtime", "s5066d/runtime/.*", {"*"}, shell_and({"asio", "openssl"})},
    {"s5066d main", "s5066d/main\\.cpp", {"*"}, shell_and({"program_options", "random"})},

    {"sis client", "sis/client(_connection)?\\.(h|cpp)", {"sis core", "base"}, shell_and({"asio"})},
    {"sis c", "sis/c/.*", {"sis client", "sis core", "base"}, shell_and({"asio", "c"})},
    {"sis tools",
     "sis/tools/.*",
     {"sis client", "sis core", "config", "posix", "base"},
     shell_and({"asio", "program_options"})},
    {"sis examples",
     "sis/examples/.*",
     {"sis c", "sis client", "sis core", "base"},
     shell_and({"asio", "program_options"})},
    {"sis core", "sis/[^/]*", {"base"}, {}, true},

    {"modem/api", "modem/api/.*", {"base"}, {}, true},
    {"modem/dsp", "modem/dsp/.*", {"modem/api", "base"}, {"liquid"}, true},
    {"modem/waveforms", "modem/waveforms/.*", {"modem/dsp", "modem/api", "base"}, {}, true},
    {"modem/channel", "modem/channel/.*", {"modem/dsp", "modem/api", "base"}, {}, true},
    {"modem portaudio",
     "modem/audio/(portaudio_device|sound_server_watch|sound_server_list)\\.cpp",
     {"modem/audio", "modem/dsp", "modem/api", "posix", "base"},
     shell_and({"portaudio"})},
    {"modem/audio",
     "modem/audio/.*",
     {"modem/channel", "modem/dsp", "modem/api", "posix", "base"},
     shell_and({"sndfile"})},
    {"modem/ptt", "modem/ptt/.*", {"modem/audio", "modem/api", "posix", "base"}, kShell},
    {"modem/worker",
     "modem/worker/.*",
     {"modem/audio", "modem/ptt", "modem/waveforms", "modem/channel", "modem/dsp", "modem/api",
      "posix", "base"},
     kShell},
    {"modem/remote", "modem/remote/.*", {"modem/api", "posix", "base"}, kShell},
    {"modem tools",
     "modem/tools/.*",
     {"modem/remote", "modem/worker", "modem/audio", "modem/ptt", "modem/waveforms",
      "modem/channel", "modem/dsp", "modem/api", "control", "control settings", "posix", "base"},
     shell_and({"program_options", "asio", "protobuf"})},

    {"gateway ports",
     "gateways/common/(.*_(core|port|types)|rcop|sis_requests|handover_window|range_set|"
     "octet_reader|transfer_manifest)\\.(h|cpp)",
     {"sis core", "base"},
     {},
     true},
    {"p_mul erasure code", "gateways/p_mul/erasure_code\\.cpp", {"p_mul", "base"}, {"isal"}, true},
    {"p_mul udp",
     "gateways/p_mul/carrier_udp\\.(h|cpp)",
     {"p_mul", "posix", "base"},
     shell_and({"asio"})},
    {"p_mul", "gateways/p_mul/.*", {"gateway ports", "sis core", "base"}, {}, true},

    {"streams compression",
     "gateways/streams/stream_zstd\\.cpp",
     {"streams", "base"},
     {"zstd"},
     true},
    {"streams", "gateways/streams/.*", {"gateway ports", "sis core", "base"}, {}, true},

    {"ip client core",
     "gateways/ip_client/(ip_address|datagram|fragment|icmp|route_table|service_class|drop_rules|"
     "packet_queue|ip_types|ipv6_peers|proxy_types|socks5|dns_types|dns_message|"
     "dns_frames|dns_core|ip_client_core)\\.(h|cpp)",
     {"streams", "gateway ports", "sis core", "base"},
     {},
     true},
    {"traffic core",
     "gateways/traffic/(probe|load_schedule|run_statistics|receiver_core)\\.(h|cpp)",
     {"base"},
     {},
     true},
    {"traffic",
     "gateways/traffic/.*",
     {"traffic core", "posix", "base"},
     shell_and({"asio", "program_options"})},
    {"chat core",
     "gateways/chat/(chat_text|chat_types|chat_core|line_input)\\.(h|cpp)",
     {"sis core", "base"},
     {},
     true},
    {"gateway core",
     "gateways/(.*_core\\.(h|cpp)|.*_(port|types)\\.(h|cpp)|file_relay/(bftp|station_access|"
     "sending_rules|"
     "transfer_messages|transfer_envelope|transfer_attempt|transfer_receiver|message_outbox|inbox_"
     "server|far_inbox)"
     "\\.(h|cpp)|acp142/mail/"
     "((mule|delivery_room|next_hops|delivery_report|address_table|p_mul_names|mail_news|"
     "mail_core_config|mail_router|mail_reporter|mail_relay|trace_fields|attempt_end)\\.(h|cpp)|"
     "repeat_marks\\.h)|acp142/peers/.*|acp142/smtp/smtp_reply\\.(h|cpp))",
     {"gateway compression", "gateway hash", "p_mul", "gateway ports", "sis core", "base"},
     {},
     true},
    {"gateway compression",
     "gateways/(acp142/mail/(cdt|compression)|common/image_codec)\\.(h|cpp)",
     {"gateway ports", "base"},
     {"zlib", "zstd", "librsync"},
     true},
    {"gateway hash", "gateways/common/sha256\\.(h|cpp)", {"base"}, {"openssl"}, true},
    {"gateway sqlite",
     "gateways/(common/"
     "(sqlite_store|spool_recovery|file_recovery|spool_backup|table_copy|table_list|"
     "remove_each|transfer_table|outgoing_images|block_digests|p_mul_table)|acp142/store/).*",
     {"gateway shell", "gateway core", "gateway compression", "gateway hash", "p_mul",
      "gateway ports", "sis core", "posix", "base"},
     shell_and({"sqlite", "openssl"})},
    {"gateway settings",
     "gateways/.*/(relay|mail|ip)_config\\.h",
     {"gateway sqlite", "gateway shell", "ip client core", "gateway core", "p_mul", "gateway ports",
      "sis core", "posix", "base"},
     {}},
    {"chat shell",
     "gateways/chat/(chat_options|chat_output|chat_session|terminal_mode)\\.(h|cpp)",
     {"chat core", "sis tools", "sis client", "sis core", "control", "posix", "base"},
     shell_and({"asio", "program_options"})},
    {"gateway main",
     "gateways/(.*/main|common/service_main)\\.(cpp|h)",
     {"*"},
     shell_and({"asio", "program_options", "protobuf"})},
    {"gateway shell",
     "gateways/.*",
     {"gateway settings", "gateway sqlite", "ip client core", "streams", "gateway core",
      "gateway hash", "p_mul udp", "p_mul", "gateway ports", "sis client", "sis core", "modem/api",
      "control settings", "control", "posix", "base"},
     shell_and({"asio", "openssl", "protobuf"})},

    {"setup",
     "config/setup/.*",
     {"config", "control", "modem tools", "modem/worker", "modem/waveforms", "modem/audio",
      "modem/ptt", "modem/api", "sis core", "posix", "base"},
     shell_and({"program_options", "protobuf"})},
    {"config",
     "config/.*",
     {"base",
      "dts",
      "cas",
      "sap",
      "node",
      "sis core",
      "modem/api",
      "modem/audio",
      "modem/ptt",
      "modem/worker",
      "modem/remote",
      "runtime settings",
      "control settings",
      "control",
      "posix",
      "p_mul",
      "ip client core",
      "streams",
      "gateway core",
      "gateway settings"},
     {"protobuf", "openssl", "files", "stdio", "system"}},

    {"tests", "tests/.*", {"*", "tests"}, {"*"}},
};

}  // namespace

const std::vector<Layer>& layers() {
  return kLayers;
}

const std::vector<Library>& libraries() {
  static const std::vector<Library> table = {
      {"c", "std(def|int)\\.h"},
      {"threads",
       "thread|mutex|shared_mutex|condition_variable|future|stop_token|semaphore|latch|barrier"},
      {"random", "random"},
      {"files", "iostream|fstream|filesystem|iomanip|syncstream"},
      {"clocks", "ctime|time\\.h"},
      {"stdio", "cstdio"},
      {"system",
       "(sys|arpa|netinet|net|linux)/"
       ".*|unistd\\.h|fnmatch\\.h|fcntl\\.h|termios\\.h|poll\\.h|netdb\\.h|"
       "dirent\\.h|ifaddrs\\.h|grp\\.h|pwd\\.h|pthread\\.h|sched\\.h|csignal|signal\\.h|cerrno|"
       "errno\\.h|"
       "spawn\\.h"},
      {"asio", "boost/asio.*|boost/system/.*"},
      {"program_options", "boost/program_options.*"},
      {"liquid", "liquid/.*"},
      {"portaudio", "portaudio\\.h|pa_linux_alsa\\.h|alsa/asoundlib\\.h|jack/jack\\.h|pulse/.*"},
      {"sndfile", "sndfile\\.(h|hh)"},
      {"sqlite", "sqlite3\\.h"},
      {"zlib", "zlib\\.h"},
      {"zstd", "zstd\\.h"},
      {"librsync", "librsync\\.h"},
      {"protobuf", "google/protobuf/.*"},
      {"openssl", "openssl/.*"},
      {"isal", "isa-l/.*"},
      {"gtest", "(gtest|gmock)/.*"},
  };
  return table;
}

const Layer* layer_of(std::string_view path) {
  for (const Layer& layer : layers()) {
    if (matches(path, layer.files)) return &layer;
  }
  return nullptr;
}

std::string_view library_of(std::string_view header) {
  for (const Library& library : libraries()) {
    if (matches(header, library.headers)) return library.name;
  }
  const bool plain_standard = matches(header, "[a-z0-9_]+");
  return plain_standard ? "" : "?";
}

}  // namespace s5066::tidy
