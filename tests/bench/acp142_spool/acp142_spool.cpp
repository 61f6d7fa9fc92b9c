// SPDX-License-Identifier: Apache-2.0
// Measures how many one-kilobyte messages a second the mail spool commits with synchronous=FULL, by
// batch size, in wall time. Measures also the cost of 100,000 queued messages: memory, the search
// for the next message, and a query for due messages that finds none, in EMCON and to the mail
// server. The reference in the same run is fdatasync of as many octets in the same batches.
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "gateways/acp142/store/sqlite_mail_store.h"
#include "s5066d/base/rng.h"
#include "tests/bench/common/arguments.h"
#include "tests/bench/common/machine.h"

namespace s5066::acp142 {
namespace {

using bench::now_s;

constexpr std::size_t kOctets = 1024;
constexpr UtcSeconds kNow{1'000'000};

NewMail message(Rng& rng) {
  auto content = std::make_shared<Bytes>(kOctets);
  for (auto& octet : *content) octet = static_cast<std::uint8_t>(rng.below(256));
  std::string mark;
  for (int i = 0; i < 16; ++i) mark.push_back(static_cast<char>(rng.below(256)));
  NewMail mail;
  mail.expiry = {kNow.value + 86400};
  mail.from = {"sender@example.org", {}};
  mail.targets.push_back({{"recipient@example.net", {}}, {2}, mark});
  mail.content = std::move(content);
  mail.label = "<message@example.org>";
  return mail;
}

double accept_per_s(SqliteMailStore& store, Rng& rng, std::size_t batch, std::size_t messages) {
  double spent = 0;
  for (std::size_t done = 0; done < messages; done += batch) {
    std::vector<MailRequest> requests(batch);
    for (std::size_t i = 0; i < batch; ++i) {
      auto& accept = requests[i].operation.emplace<AcceptMail>();
      accept.mails.push_back(message(rng));
      accept.now = kNow;
    }
    const double begin = now_s();
    for (const MailResult& result : store.execute(requests)) {
      if (!result.answer) std::fprintf(stderr, "%s\n", to_string(result.answer.error()).c_str());
    }
    spent += now_s() - begin;
  }
  return static_cast<double>(messages) / spent;
}

int run(int argc, char** argv) {
  const bench::Arguments arguments(argc, argv, {"folder"}, {"quick", "json"});
  const bool json = arguments.has("json");
  const std::string parent =
      arguments.text("folder", std::filesystem::temp_directory_path().string());
  const std::string folder = parent + "/bench_acp142_spool." + std::to_string(::getpid());
  std::filesystem::create_directory(folder);
  SqliteMailStore::Config config;
  config.path = folder + "/spool.db";
  auto store = SqliteMailStore::open(config);
  if (!store) {
    std::fprintf(stderr, "%s\n", to_string(store.error()).c_str());
    return 1;
  }
  Rng rng(1);
  const std::size_t scale = arguments.has("quick") ? 1 : 4;
  for (const std::size_t batch : {1, 16, 64, 256}) {
    const std::size_t messages = scale * (batch == 1 ? 128 : 2048);
    const double per_s = accept_per_s(*store, rng, batch, messages);
    const double reference = bench::synced_per_s(folder + "/reference", kOctets, batch, messages);
    std::printf(json ? "{\"row\": \"accept\", \"batch\": %zu, \"messages_per_s\": %.0f, "
                       "\"fdatasync_messages_per_s\": %.0f, \"ratio\": %.3f}\n"
                     : "accept, batch %zu: %.0f messages/s (fdatasync alone: %.0f, ratio %.3f)\n",
                batch, per_s, reference, per_s / reference);
  }
  const std::size_t queued = arguments.has("quick") ? 10000 : 100000;
  const long before = bench::resident_kib(::getpid());
  const auto listed = store->list(1);
  for (std::size_t n = static_cast<std::size_t>((*listed)[0].id.value); n < queued; n += 256) {
    accept_per_s(*store, rng, 256, 256);
  }
  const double begin = now_s();
  constexpr std::size_t kTaken = 1000;
  for (std::size_t i = 0; i < kTaken; ++i) {
    std::vector<MailRequest> one(1);
    one[0].operation.emplace<TakeDue>(TakeDue{Transport::air, kNow, 1});
    static_cast<void>(store->execute(one));
  }
  const double take_ms = (now_s() - begin) * 1000 / kTaken;
  const double look_begin = now_s();
  for (std::size_t i = 0; i < kTaken; ++i) {
    std::vector<MailRequest> both(2);
    both[0].operation.emplace<TakeDue>(TakeDue{Transport::air, kNow, 1, true});
    both[1].operation.emplace<TakeDue>(TakeDue{Transport::smtp, kNow, 1});
    static_cast<void>(store->execute(both));
  }
  const double look_ms = (now_s() - look_begin) * 1000 / kTaken;
  std::printf(json ? "{\"row\": \"queued\", \"messages\": %zu, \"resident_kib_before\": %ld, "
                     "\"resident_kib\": %ld, \"take_ms\": %.3f, \"look_ms\": %.3f}\n"
                   : "%zu queued: resident %ld KiB before, %ld KiB after; the next one in %.3f ms, "
                     "a look in vain in %.3f ms\n",
              queued, before, bench::resident_kib(::getpid()), take_ms, look_ms);
  std::filesystem::remove_all(folder);
  return 0;
}

}  // namespace
}  // namespace s5066::acp142

int main(int argc, char** argv) {
  return s5066::acp142::run(argc, argv);
}
