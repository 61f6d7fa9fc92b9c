// SPDX-License-Identifier: Apache-2.0
#include "gateways/acp142/store/mail_recovery.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "gateways/common/sha256.h"

namespace s5066::acp142 {
namespace {

constexpr std::int64_t kReportLifeS = 7 * 86400;
constexpr std::uint8_t kReportPriority = 6;  // routine
constexpr std::size_t kReportOctetsMax = 1 << 20;
constexpr std::size_t kLineOctetsMax = 900;  // SMTP allows 998

/// One line of printable characters.
std::string one_line(std::string text) {
  if (text.size() > kLineOctetsMax) text = text.substr(0, kLineOctetsMax) + "...";
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 32 || c == 127) c = '?';
  }
  return text;
}

std::string name_of(const MailItem& item) {
  return "message " + std::to_string(item.id.value) + " " + item.label + " from <" +
         item.from.address + ">";
}

/// The text with the line ends of mail.
std::string as_mail_text(const std::string& text) {
  std::string lines;
  std::size_t begin = 0;
  while (begin < text.size() && lines.size() < kReportOctetsMax) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    lines += one_line(text.substr(begin, end - begin)) + "\r\n";
    begin = end + 1;
  }
  if (begin < text.size()) lines += "... the rest is in report.txt there\r\n";
  return lines;
}

}  // namespace

// Marks are made anew before anything is taken out that repeats them.
Result<void> MailRecovery::run() {
  auto done = has_backup() ? take_marks_from_backup() : Result<void>();
  if (done) done = restore_marks();
  if (done && has_backup()) done = take_messages_from_backup();
  if (done) done = drop_parts_without_message();
  if (done) done = review_mails();
  if (done) done = restore_numbers();
  return done ? report() : done;
}

// Marks only keep messages from being taken twice, so old ones do no harm.
Result<void> MailRecovery::take_marks_from_backup() {
  for (const char* sql : {"INSERT OR IGNORE INTO mail_seen SELECT * FROM backup.mail_seen",
                          "INSERT OR IGNORE INTO mail_received SELECT * FROM backup.mail_received",
                          "INSERT OR IGNORE INTO mail_station SELECT * FROM backup.mail_station"}) {
    const std::string table = std::string(sql).substr(std::string("INSERT OR IGNORE INTO ").size());
    if (!report_->has_gap(table.substr(0, table.find(' ')))) continue;
    if (auto done = db_->execute(sql); !done) return done;
  }
  return {};
}

Result<void> MailRecovery::take_messages_from_backup() {
  std::vector<MailId> ids;
  {
    auto rows = db_->prepare(
        "SELECT id FROM backup.mail WHERE state NOT IN ('delivered', 'failed', 'expired') EXCEPT "
        "SELECT id FROM main.mail");
    if (!rows) return rows.error();
    auto found = ids_of(*rows);
    if (!found) return found.error();
    ids = *std::move(found);
  }
  for (const MailId id : ids) {
    if (!report_->has_gap("mail", id.value)) continue;  // an operator has deleted it since
    if (auto done = take_message(id); !done) return done;
  }
  return {};
}

// Rows of recipients that could be read say what has become of them since. Nobody knows that of the
// others, so the message waits for the operator.
Result<void> MailRecovery::take_message(MailId id) {
  for (const char* sql :
       {"INSERT INTO mail SELECT * FROM backup.mail WHERE id = ?",
        "INSERT OR IGNORE INTO mail_target SELECT * FROM backup.mail_target WHERE mail = ?",
        "INSERT OR IGNORE INTO mail_content SELECT * FROM backup.mail_content WHERE id = ?",
        "INSERT OR IGNORE INTO mail_submitted SELECT * FROM backup.mail_submitted WHERE mail = ?",
        "INSERT OR IGNORE INTO mail_course SELECT * FROM backup.mail_course WHERE mail = ?"}) {
    if (auto done = update(*db_, sql, id.value); !done) return done;
  }
  auto open = db_->prepare(
      "SELECT 1 FROM mail_target WHERE mail = ? AND state NOT IN ('delivered', 'failed', "
      "'expired')");
  if (!open) return open.error();
  const auto found = open->bind(id.value).step();
  if (!found) return found.error();
  if (!*found) return rows_.erase(id);  // it was over
  return hold(id, "message " + std::to_string(id.value) + recipients_of(id) +
                      ": it is as in the last copy of the spool, and may have been sent since");
}

/// The content of a message never changes, so that of the copy is right if its hash is.
Result<bool> MailRecovery::take_content(MailId id) {
  if (!has_backup()) return false;
  auto row = db_->prepare(
      "SELECT m.sha256, c.content FROM main.mail m JOIN backup.mail_content c USING (id) WHERE id "
      "= ?");
  if (!row) return row.error();
  const auto found = row->bind(id.value).step();
  if (!found) return found.error();
  if (!*found) return false;
  const Bytes content = row->blob(1);
  if (row->blob(0) != gateways::sha256_of(content)) return false;
  auto put = update(*db_, "INSERT OR REPLACE INTO mail_content VALUES (?, ?)", id.value, content);
  return put ? Result<bool>(true) : put.error();
}

// A mark is kept with its message as well, and a number from the air with where the message came
// from.
Result<void> MailRecovery::restore_marks() {
  if (report_->has_gap("mail_seen")) {
    auto done = db_->execute(
        "INSERT OR IGNORE INTO mail_seen SELECT k.mark, k.seen_utc FROM mail_mark k LEFT JOIN mail "
        "m ON m.id = k.mail LEFT JOIN mail_target t ON t.mail = k.mail AND t.number = k.number "
        "WHERE m.id IS NULL OR m.state NOT IN ('failed', 'expired', 'corrupt') OR t.state = "
        "'delivered' ORDER BY k.seen_utc DESC");
    if (!done) return done;
    report_->lost.push_back("marks of mail from SMTP: " + std::to_string(db_->changes()) +
                            " were made anew from messages; a repeat of other mail may be taken");
  }
  if (!report_->has_gap("mail_received")) return {};
  auto done = db_->execute(
      "INSERT OR IGNORE INTO mail_received (source, message_id, expiry_utc, sha256) SELECT c.node, "
      "c.message_id, max(m.expiry_utc), x'' FROM mail_course c JOIN mail m ON m.id = c.mail WHERE "
      "c.node > 0 GROUP BY c.node, c.message_id");
  if (!done) return done;
  report_->lost.push_back("numbers of mail from the air: " + std::to_string(db_->changes()) +
                          " were made anew from messages; a repeat of other mail may be taken");
  return {};
}

std::string MailRecovery::recipients_of(MailId id, const char* table) {
  std::string text;
  auto rows =
      db_->prepare("SELECT recipient, state FROM " + std::string(table) + " WHERE mail = ?");
  if (rows) rows->bind(id.value);
  while (rows) {
    const auto row = rows->step();
    if (!row || !*row) break;
    text += (text.empty() ? " to " : ", ") + rows->text(0) + " (" + rows->text(1) + ")";
  }
  return text;
}

// Without its row nothing says what a message is. It is lost where some recipient may not have it.
Result<void> MailRecovery::drop_parts_without_message() {
  std::vector<MailId> parts;
  {
    auto rows = db_->prepare(
        "SELECT mail FROM mail_target UNION SELECT id FROM mail_content UNION SELECT mail FROM "
        "mail_submitted UNION SELECT mail FROM mail_mark UNION SELECT mail FROM mail_course EXCEPT "
        "SELECT id FROM mail");
    if (!rows) return rows.error();
    auto ids = ids_of(*rows);
    if (!ids) return ids.error();
    parts = *std::move(ids);
  }
  for (const MailId id : parts) {
    auto over = db_->prepare(
        "SELECT count(*), count(*) FILTER (WHERE state NOT IN ('delivered', 'failed', 'expired')) "
        "FROM mail_target WHERE mail = ?");
    if (!over) return over.error();
    if (auto row = over->bind(id.value).step(); !row) return row.error();
    const bool was_over = over->integer(0) > 0 && over->integer(1) == 0;
    if (!was_over) {
      report_->lost.push_back("message " + std::to_string(id.value) + recipients_of(id) +
                              ": its row cannot be read");
    }
    if (auto done = rows_.erase(id); !done) return done;
  }
  return {};
}

Result<void> MailRecovery::review_mails() {
  std::vector<MailId> ids;
  {
    auto rows = db_->prepare(
        "SELECT id FROM mail WHERE state NOT IN ('delivered', 'failed', 'expired', 'corrupt')");
    if (!rows) return rows.error();
    auto found = ids_of(*rows);
    if (!found) return found.error();
    ids = *std::move(found);
  }
  for (const MailId id : ids) {
    if (auto done = review(id); !done) return done;
  }
  return {};
}

Result<void> MailRecovery::review(MailId id) {
  auto item = rows_.read(id);
  if (!item) return item.error();
  if (!*item) {
    return park(
        id, true,
        "message " + std::to_string(id.value) + recipients_of(id) + ": its row makes no sense");
  }
  const bool was_active = (*item)->state == SpoolState::active;
  const auto intact = read_whole(**item);
  if (!intact) return intact.error();
  if (!*intact) {
    return park(id, was_active,
                name_of(**item) + recipients_of(id) + ": it is not what was accepted");
  }
  return review_open(**item);
}

/// False if the message is not what was accepted, and the copy of the spool does not help.
Result<bool> MailRecovery::read_whole(MailItem& item) {
  const MailItem row = item;
  const auto intact = rows_.read_rest(item);
  if (!intact || *intact) return intact;
  const auto taken = take_content(item.id);
  if (!taken || !*taken) return taken;
  item = row;
  return rows_.read_rest(item);
}

Result<void> MailRecovery::review_open(const MailItem& item) {
  const bool was_active = item.state == SpoolState::active;
  const bool some_lost = report_->has_gap("mail_target", item.id.value);
  const bool any_open = std::any_of(item.targets.begin(), item.targets.end(),
                                    [](const MailTarget& one) { return is_open(one); });
  if (!any_open) {
    return park(item.id, was_active, name_of(item) + ": no open recipient of it can be read");
  }
  if (some_lost) {
    std::string line =
        name_of(item) + ": some of its recipients cannot be read, and the others are served";
    if (has_backup()) {
      line +=
          "; by the last copy of the spool it was" + recipients_of(item.id, "backup.mail_target");
    }
    report_->lost.push_back(line);
  }
  if (item.transport == Transport::smtp && was_active) {
    return hold(item.id, name_of(item) + recipients_of(item.id) +
                             ": it was being handed to the mail server, which may have it");
  }
  if (item.transport == Transport::smtp || !report_->has_gap("mail_submitted", item.id.value))
    return {};
  auto form = db_->prepare(
      "SELECT 1 FROM mail WHERE id = ?1 AND message_id > 0 AND NOT EXISTS (SELECT 1 FROM "
      "mail_submitted WHERE mail = ?1)");
  if (!form) return form.error();
  const auto unknown = form->bind(item.id.value).step();
  if (!unknown) return unknown.error();
  if (!*unknown) return {};
  return hold(item.id, name_of(item) + recipients_of(item.id) +
                           ": it was begun by air, and in which form cannot be read");
}

// Another copy may come where this one has reached nobody, which is not known of what was active.
Result<void> MailRecovery::park(MailId id, bool was_active, const std::string& what) {
  report_->lost.push_back(what);
  if (auto done = rows_.park(id, "damaged spool"); !done) return done;
  if (!was_active) return marks_.release(id);
  return update(*db_, "DELETE FROM mail_mark WHERE mail = ?", id.value);
}

Result<void> MailRecovery::hold(MailId id, const std::string& what) {
  report_->held.push_back(what);
  auto done = update(*db_,
                     "UPDATE mail SET state = 'held', reason = 'damaged spool: it may have been "
                     "sent' WHERE id = ?",
                     id.value);
  return done ? update(*db_, "DELETE FROM mail_mark WHERE mail = ?", id.value) : done;
}

// A number by air is never given twice; numbers begin at the time of day.
Result<void> MailRecovery::restore_numbers() {
  auto done =
      update(*db_,
             "INSERT OR IGNORE INTO mail_counter SELECT 1, max(?, coalesce(max(message_id), "
             "0)) FROM mail",
             config_.now.value);
  if (done && report_->has_gap("mail_station")) {
    done = db_->execute(
        "INSERT OR IGNORE INTO mail_station (station, sequence) SELECT station, max(sequence) FROM "
        "mail_target WHERE station > 0 AND sequence > 0 GROUP BY station");
  }
  if (done && report_->has_gap("mail_emcon")) done = restore_silences();
  return done;
}

// A transmission may betray a station, and silence only delays its mail.
Result<void> MailRecovery::restore_silences() {
  if (has_backup()) {
    auto done = db_->execute(
        "INSERT OR IGNORE INTO mail_emcon SELECT * FROM backup.mail_emcon WHERE station > 0");
    if (!done) return done;
  }
  report_->lost.push_back(
      "which stations are in EMCON: enter `station NAME silent` for each that must not answer");
  if (!report_->has_gap("mail_emcon", 0)) return {};
  report_->held.push_back(
      "all mail by air: whether this station is in EMCON cannot be read, so it is silent until the "
      "operator enters `emcon off`");
  return db_->execute("INSERT OR IGNORE INTO mail_emcon VALUES (0, 1)");
}

Result<void> MailRecovery::report() {
  if (config_.operator_mailbox.empty()) return {};
  const std::string id = std::to_string(config_.now.value);
  const std::string text =
      "Date: " + mail_date(config_.now) + "\r\nFrom: Mail gateway <postmaster@" + config_.hostname +
      ">\r\nTo: <" + config_.operator_mailbox +
      ">\r\nSubject: Damaged spool of the mail gateway\r\nMessage-ID: <spool." + id + "@" +
      config_.hostname +
      ">\r\nAuto-Submitted: auto-generated\r\nMIME-Version: 1.0\r\nContent-Type: text/plain; "
      "charset=utf-8\r\nContent-Transfer-Encoding: 8bit\r\n\r\n" +
      as_mail_text(to_text(*report_));
  NewMail mail;
  mail.transport = Transport::smtp;
  mail.priority = kReportPriority;
  mail.expiry = {config_.now.value + kReportLifeS};
  mail.targets.push_back({{config_.operator_mailbox, {}}, {}, {}});
  mail.content = std::make_shared<const Bytes>(text.begin(), text.end());
  mail.label = "<spool." + id + "@" + config_.hostname + ">";
  const auto kept = rows_.insert(mail, config_.now);
  return kept ? Result<void>() : kept.error();
}

}  // namespace s5066::acp142
