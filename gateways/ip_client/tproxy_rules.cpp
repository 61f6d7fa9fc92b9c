// SPDX-License-Identifier: Apache-2.0
#include "gateways/ip_client/tproxy_rules.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "gateways/ip_client/net_link.h"
#include "s5066d/posix/fd.h"

namespace s5066::ip_client {
namespace {

std::string table_name(const std::string& interface) {
  std::string name = "s5066_proxy_";
  for (const char c : interface) {
    const bool plain = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
    name += plain ? c : '_';
  }
  return name;
}

std::string remove_script(const std::string& interface) {
  const std::string name = table_name(interface);
  // The table is added first so that its removal succeeds if there was none.
  return "add table inet " + name + "\ndelete table inet " + name + "\n";
}

struct Family {
  const char* type;
  const char* word;
  const char* listener;
  bool v6;
};
constexpr std::array kFamilies = {Family{"ipv4_addr", "ip", "127.0.0.1", false},
                                  Family{"ipv6_addr", "ip6", "[::1]", true}};

/// Runs `nft -f -` with the script as its input.
Result<void> run_nft(const std::string& script) {
  int in[2];
  int out[2];
  if (::pipe2(in, O_CLOEXEC) != 0) return posix::errno_error("pipe for nft");
  posix::Fd read_script(in[0]);
  posix::Fd write_script(in[1]);
  if (::pipe2(out, O_CLOEXEC) != 0) return posix::errno_error("pipe for nft");
  posix::Fd read_problem(out[0]);
  posix::Fd write_problem(out[1]);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, read_script.get(), STDIN_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, write_problem.get(), STDOUT_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, write_problem.get(), STDERR_FILENO);
  std::string program = "nft";
  std::string path = "PATH=/usr/sbin:/sbin:/usr/bin:/bin";
  std::string from = "-f";
  std::string input = "-";
  const std::array<char*, 4> arguments = {program.data(), from.data(), input.data(), nullptr};
  const std::array<char*, 2> environment = {path.data(), nullptr};
  pid_t child = 0;
  int failed = ENOENT;
  for (const char* place : {"/usr/sbin/nft", "/sbin/nft", "/usr/bin/nft"}) {
    failed = ::posix_spawn(&child, place, &actions, nullptr, arguments.data(), environment.data());
    if (failed == 0) break;
  }
  ::posix_spawn_file_actions_destroy(&actions);
  read_script.reset();
  write_problem.reset();
  if (failed != 0) {
    return Error{ErrorCode::not_found, "the program nft is missing; install the package nftables"};
  }
  // nft reads all of its input before it acts. If nft has ended, write() gives EPIPE, because the
  // programs of this suite ignore SIGPIPE.
  for (std::size_t at = 0; at < script.size();) {
    const auto wrote = ::write(write_script.get(), script.data() + at, script.size() - at);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) break;
    at += static_cast<std::size_t>(wrote);
  }
  write_script.reset();
  std::string problem;
  std::array<char, 512> piece{};
  for (;;) {
    const auto got = ::read(read_problem.get(), piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    if (problem.size() < piece.size()) problem.append(piece.data(), static_cast<std::size_t>(got));
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return {};
  const auto line = problem.substr(0, problem.find('\n'));
  return Error{ErrorCode::io, "nft refused the rules: " + line};
}

}  // namespace

std::uint32_t tproxy_mark(const std::string& interface) {
  std::uint32_t hash = 2166136261;  // FNV-1a
  for (const char c : interface) hash = (hash ^ static_cast<std::uint8_t>(c)) * 16777619;
  return 0x50660000 | ((hash >> 16 ^ hash) & 0xFFFF);
}

std::string tproxy_script(const TproxyPlan& plan) {
  std::string script = remove_script(plan.interface);
  const std::string mark = std::to_string(tproxy_mark(plan.interface));
  std::string sets;
  std::string incoming;
  std::string outgoing;
  for (const Family& family : kFamilies) {
    const std::uint16_t port = family.v6 ? plan.port_v6 : plan.port_v4;
    std::string elements;
    for (const IpPrefix& prefix : plan.prefixes) {
      if (prefix.address.v6 != family.v6) continue;
      elements += (elements.empty() ? "" : ", ") + to_string(prefix);
    }
    if (port == 0 || elements.empty()) continue;
    const std::string word = family.word;
    sets += " set " + word + "_servers {\n  type " + family.type +
            "\n  flags interval\n  auto-merge\n  elements = { " + elements + " }\n }\n";
    const std::string syn =
        "  " + word + " daddr @" + word + "_servers tcp flags & (syn | ack) == syn ";
    incoming += syn + "tproxy " + word + " to " + family.listener + ":" + std::to_string(port) +
                " meta mark set " + mark + " accept\n";
    outgoing += "  oifname \"" + plan.interface + "\"" + syn.substr(1) +
                "meta mark 0 ct mark set " + mark + "\n";
  }
  if (sets.empty()) return script;
  script += "table inet " + table_name(plan.interface) + " {\n" + sets +
            " chain incoming {\n  type filter hook prerouting priority mangle\n  policy accept\n"
            "  iifname \"" +
            plan.interface +
            "\" accept\n  fib daddr type local accept\n  meta l4proto tcp socket transparent 1 "
            "meta mark set " +
            mark + " accept\n" + incoming +
            " }\n chain outgoing {\n  type route hook output priority mangle\n  policy accept\n" +
            outgoing + "  meta l4proto tcp ct mark " + mark +
            " ct direction original meta mark set " + mark + "\n }\n}\n";
  return script;
}

Result<void> TproxyRules::set(const TproxyPlan& plan) {
  std::string script = tproxy_script(plan);
  if (script == script_) return {};
  script_.clear();
  auto link = NetLink::open();
  if (!link) return link.error();
  present_ = true;
  if (auto routed = link->keep_marked(tproxy_mark(interface_)); !routed) return routed;
  if (auto done = run_nft(script); !done) return done;
  script_ = std::move(script);
  return {};
}

void TproxyRules::remove() {
  if (!present_) return;
  remove_stale();
}

void TproxyRules::remove_stale() {
  present_ = false;
  script_.clear();
  (void)run_nft(remove_script(interface_));
  if (auto link = NetLink::open()) link->release_marked(tproxy_mark(interface_));
}

}  // namespace s5066::ip_client
