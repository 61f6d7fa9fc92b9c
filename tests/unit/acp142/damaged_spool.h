// SPDX-License-Identifier: Apache-2.0
// A spool of mail is on a disk that returns other data than was written to it.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include "gateways/acp142/store/mail_recovery.h"
#include "gateways/acp142/store/sqlite_mail_store.h"
#include "gateways/common/spool_backup.h"
#include "gateways/common/spool_recovery.h"
#include "gateways/common/table_list.h"
#include "tests/unit/acp142/now.h"
#include "tests/unit/gateways/temporary_folder.h"

namespace s5066::acp142 {

inline constexpr UtcSeconds kMuchLater{kNow.value + 100 * 86400};
inline constexpr std::uint64_t kPage = 4096;
inline constexpr int kMails = 12;

/// A dozen messages, so large in each table that a page has a few of them.
class DamagedSpool : public testing::Test {
 protected:
  DamagedSpool() {
    config.path = (folder.path() / "spool.db").string();
    reopen();
    for (int i = 0; i < kMails; ++i) ids.push_back(keep(i));
  }
  void reopen() {
    store.reset();
    auto opened = SqliteMailStore::open(config);
    ASSERT_TRUE(opened) << to_string(opened.error());
    store.emplace(std::move(opened).value());
    if (config.vfs != nullptr) return;
    EXPECT_TRUE(gateways::TableList(config.path).keep());
  }
  static NewMail mail(int i) {
    const std::string name = std::string(1, static_cast<char>('a' + i));
    NewMail mail;
    mail.expiry = {kNow.value + 100'000};
    mail.delay = kNow;
    mail.from = {"op@x", {}};
    mail.label = "label-" + name + std::string(1000, ' ');
    std::string domain = "x";
    while (domain.size() < 180) domain += ".xxxxxxxxx";
    for (const char* number : {"0", "1", "2", "3", "4"}) {
      const std::string recipient = "to-" + name + "-" + number;
      mail.targets.push_back({{recipient + "@" + domain, {}}, {7}, "mark-" + recipient});
    }
    const std::string content = "content-" + name + std::string(1000, ' ');
    mail.content = std::make_shared<const Bytes>(content.begin(), content.end());
    return mail;
  }
  MailId keep(int i) {
    const auto answer = ask(AcceptMail{{mail(i)}, kNow, {}, {}});
    EXPECT_TRUE(answer);
    return std::get<MailKept>(*answer).ids.at(0);
  }
  std::vector<MailResult> execute(std::vector<MailOperation> operations) {
    std::vector<MailRequest> requests;
    for (auto& one : operations) requests.push_back({{requests.size()}, std::move(one)});
    return store->execute(requests);
  }
  Result<MailAnswer> ask(MailOperation operation) {
    return execute({std::move(operation)})[0].answer;
  }
  std::vector<MailId> take(UtcSeconds at = kNow) {
    const auto answer = ask(TakeDue{Transport::air, at, 100});
    EXPECT_TRUE(answer);
    std::vector<MailId> taken;
    if (!answer) return taken;
    for (const MailItem& item : std::get<TakenMail>(*answer).items) taken.push_back(item.id);
    return taken;
  }
  /// Closes the store and returns where the first page with this text begins.
  std::uint64_t page_of(const std::string& text) {
    store.reset();
    const std::string all = octets();
    const auto at = all.find(text);
    EXPECT_NE(at, std::string::npos);
    return at / kPage * kPage;
  }
  std::string octets() const {
    std::ifstream file(config.path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void damage(const std::string& text) { damage(page_of(text)); }
  void damage(std::uint64_t at) {
    store.reset();
    std::fstream file(config.path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(at));
    file.put('\xff');
  }
  /// Overwrites the first page with zeros.
  void wipe_first_page() {
    store.reset();
    std::fstream(config.path, std::ios::in | std::ios::out | std::ios::binary)
        << std::string(kPage, '\0');
  }
  void back_up() {
    backups = folder.make("backups");
    EXPECT_TRUE(gateways::SpoolBackup(config.path, {.directory = backups}).run(clock));
  }
  static void write(const std::string& path, const Bytes& content) {
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(content.data()),
               static_cast<std::streamsize>(content.size()));
  }
  /// The spool as a power cut leaves it, with one more message that is only in the WAL, and a
  /// damaged page.
  void cut_power_after_another() {
    reopen();
    ids.push_back(keep(kMails));
    const Bytes main = test::read_file(config.path);
    wal = test::read_file(config.path + "-wal");
    store.reset();
    write(config.path, main);
    damage("label-d");
    write(config.path + "-wal", wal);
  }
  Result<std::optional<gateways::SpoolReport>> recover() {
    store.reset();
    const MailRecovery::Config review{
        .hostname = "gw.example", .operator_mailbox = "op@ship.example", .now = kNow};
    return gateways::SpoolRecovery(
               {.path = config.path,
                .now = clock,
                .review =
                    [&](gateways::Database& fresh, gateways::SpoolReport& found) {
                      return MailRecovery(review, fresh, found).run();
                    },
                .backups = backups,
                .vfs = config.vfs,
                .hook = hook})
        .run();
  }
  /// Recovers and opens the spool, as a starting gateway does.
  void restart() {
    auto found = recover();
    ASSERT_TRUE(found) << to_string(found.error());
    report = *std::move(found);
    reopen();
    ASSERT_TRUE(ask(Resume{kNow}));
  }
  /// Some line of the report has this.
  static bool says(const std::vector<std::string>& lines, const std::string& text) {
    return std::any_of(lines.begin(), lines.end(),
                       [&](const std::string& line) { return line.find(text) != line.npos; });
  }
  bool lost(MailId id) const {
    return report && says(report->lost, "message " + std::to_string(id.value) + " ");
  }
  SpoolState state(MailId id) { return (*store->find(id))->state; }
  /// Returns where this table or index begins.
  std::uint64_t root_of(const std::string& name) {
    return (number("SELECT rootpage FROM sqlite_schema WHERE name = '" + name + "'") - 1) * kPage;
  }
  std::uint64_t number(const std::string& query) {
    auto db = gateways::Database::open({.path = config.path});
    auto row = db->prepare(query);
    EXPECT_TRUE(row && row->step());
    return static_cast<std::uint64_t>(row->integer(0));
  }
  Result<MailAnswer> finish(MailId id, SpoolState state, UtcSeconds at = kNow) {
    SaveOutcome outcome{.id = id, .changes = {}, .now = at};
    for (std::uint32_t i = 0; i < 5; ++i) outcome.changes.push_back({i, state, ""});
    return ask(outcome);
  }
  /// All that were accepted but for these.
  std::vector<MailId> but_for(const std::vector<MailId>& some) const {
    std::vector<MailId> rest;
    for (const MailId id : ids) {
      if (std::find(some.begin(), some.end(), id) == some.end()) rest.push_back(id);
    }
    return rest;
  }

  test::TemporaryFolder folder;
  SqliteMailStore::Config config;
  std::optional<SqliteMailStore> store;
  std::vector<MailId> ids;
  Bytes wal;
  UtcSeconds clock = kNow;  // at the start of the gateway
  std::string backups;      // empty: no copies were made
  std::optional<gateways::SpoolReport> report;
  decltype(gateways::SpoolRecovery::Config::hook) hook;
};

}  // namespace s5066::acp142
