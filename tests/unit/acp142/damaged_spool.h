// SPDX-License-Identifier: Apache-2.0
// A spool of mail is on a disk that returns other data than was written to it.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include "gateways/acp142/sqlite_mail_store.h"
#include "tests/unit/acp142/now.h"
#include "tests/unit/gateways/temporary_folder.h"

namespace s5066::acp142 {

inline constexpr UtcSeconds kMuchLater{kNow.value + 100 * 86400};
inline constexpr std::uint64_t kPage = 4096;
inline constexpr int kMails = 12;

/// Holds a dozen messages that are so large in each table that a page has a few of them.
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
    auto results = store->execute(requests);
    for (const MailResult& result : results) {
      mended.insert(mended.end(), result.mended.begin(), result.mended.end());
      left_out.insert(left_out.end(), result.left_out.begin(), result.left_out.end());
      for (const MailTrouble& trouble : result.troubles) {
        (trouble.parked ? parked : passed_over).push_back(trouble.id);
      }
    }
    return results;
  }
  Result<MailAnswer> ask(MailOperation operation) {
    return execute({std::move(operation)})[0].answer;
  }
  std::vector<MailId> take(UtcSeconds now = kNow) {
    const auto answer = ask(TakeDue{Transport::air, now, 100});
    EXPECT_TRUE(answer);
    std::vector<MailId> taken;
    if (!answer) return taken;
    for (const MailItem& item : std::get<TakenMail>(*answer).items) taken.push_back(item.id);
    return taken;
  }
  /// Closes the store and returns the begin of the first page that holds `text`.
  std::uint64_t page_of(const std::string& text) {
    store.reset();
    std::ifstream file(config.path, std::ios::binary);
    const std::string all{std::istreambuf_iterator<char>(file), {}};
    const auto at = all.find(text);
    EXPECT_NE(at, std::string::npos);
    return at / kPage * kPage;
  }
  void damage(const std::string& text) { damage(page_of(text)); }
  void damage(std::uint64_t at) {
    store.reset();
    std::fstream file(config.path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(at));
    file.put('\xff');
    file.close();
    reopen();
  }
  /// Returns the begin of this table or index.
  std::uint64_t root_of(const std::string& name) {
    return (number("SELECT rootpage FROM sqlite_schema WHERE name = '" + name + "'") - 1) * kPage;
  }
  std::uint64_t number(const std::string& query) {
    auto db = gateways::Database::open({.path = config.path});
    auto row = db->prepare(query);
    EXPECT_TRUE(row && row->step());
    return static_cast<std::uint64_t>(row->integer(0));
  }
  Result<MailAnswer> finish(MailId id, SpoolState state, UtcSeconds now = kNow) {
    SaveOutcome outcome{.id = id, .changes = {}, .now = now};
    for (std::uint32_t i = 0; i < 5; ++i) outcome.changes.push_back({i, state, ""});
    return ask(outcome);
  }
  /// Returns how many more messages are taken before the spool is full.
  int room() {
    for (int kept = 0;; ++kept) {
      const auto answer =
          ask(AcceptMail{{mail(0)}, {kNow.value + 30 * 86400 * (kept + 1)}, {}, {}});
      if (answer) continue;
      EXPECT_EQ(answer.error().code, ErrorCode::queue_full);
      return kept;
    }
  }
  std::vector<MailId> corrupt() {
    std::vector<MailId> found;
    const auto listed = store->list(100);
    EXPECT_TRUE(listed);
    EXPECT_EQ(listed->size(), ids.size());
    for (const MailItem& item : *listed) {
      if (item.state == SpoolState::corrupt) found.push_back(item.id);
    }
    std::sort(found.begin(), found.end());
    return found;
  }
  /// Returns all accepted messages except these.
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
  std::vector<MailId> parked;
  std::vector<MailId> passed_over;
  std::vector<std::string> mended;
  std::vector<std::string> left_out;
};

}  // namespace s5066::acp142
