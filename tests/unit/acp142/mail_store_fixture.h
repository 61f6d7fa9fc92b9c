// SPDX-License-Identifier: Apache-2.0
// Makes an empty spool of mail.
#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "gateways/acp142/store/sqlite_mail_store.h"
#include "tests/unit/acp142/now.h"
#include "tests/unit/gateways/temporary_folder.h"

namespace s5066::acp142 {

inline NewMail mail_to(std::vector<std::uint32_t> stations, std::uint8_t priority = 6,
                       std::size_t octets = 100, const std::string& mark = "") {
  NewMail mail;
  mail.priority = priority;
  mail.expiry = {kNow.value + 1000};
  mail.from = {"a@b", {{"RET", "HDRS"}}};
  for (const std::uint32_t station : stations) {
    mail.targets.push_back({{"r" + std::to_string(station) + "@x", {}}, {station}, mark});
  }
  mail.content = std::make_shared<const Bytes>(octets, std::uint8_t{65});
  mail.label = "<1@b>";
  return mail;
}

class MailStore : public testing::Test {
 protected:
  MailStore() {
    config.path = (folder.path() / "spool.db").string();
    config.open_mails_max = 20;
    config.open_octets_max = 10000;
    reopen();
  }
  void reopen() {
    store.reset();
    auto opened = SqliteMailStore::open(config);
    ASSERT_TRUE(opened) << to_string(opened.error());
    store.emplace(std::move(opened).value());
  }
  Result<MailAnswer> ask(MailOperation operation) {
    std::vector<MailRequest> one(1);
    one[0].operation = std::move(operation);
    return store->execute(one)[0].answer;
  }
  Result<MailAnswer> accept(NewMail mail, UtcSeconds now = kNow) {
    return ask(AcceptMail{{std::move(mail)}, now, {}, {}});
  }
  MailId keep(NewMail mail, UtcSeconds now = kNow) {
    const auto answer = accept(std::move(mail), now);
    EXPECT_TRUE(answer);
    return std::get<MailKept>(*answer).ids.at(0);
  }
  std::vector<MailItem> take(UtcSeconds now = kNow, std::uint32_t max = 100) {
    return std::get<TakenMail>(*ask(TakeDue{Transport::air, now, max})).items;
  }
  SpoolState state(MailId id) { return (*store->find(id))->state; }
  Result<void> sql(const char* text) {
    auto db = gateways::Database::open({.path = config.path});
    return db ? db->execute(text) : db.error();
  }

  test::TemporaryFolder folder;
  SqliteMailStore::Config config;
  std::optional<SqliteMailStore> store;
};

}  // namespace s5066::acp142
