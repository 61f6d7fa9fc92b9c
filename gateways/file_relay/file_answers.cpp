// SPDX-License-Identifier: Apache-2.0
#include "gateways/file_relay/file_answers.h"

#include <string>

#include "config/proto/control.pb.h"
#include "s5066d/control/log_fields.h"

namespace s5066::file_relay {

using gateways::SpoolItem;

namespace {

/// Returns what a file waits for outside of its transfer window; empty if it may be sent now.
std::string window_of(const SpoolItem& item, const RelayConfig& config, UtcSeconds now) {
  if (is_final(item.state)) return {};
  const UtcSeconds opens =
      config.sending.of(item.destination).opens_at(now, item.priority.value_or(config.priority));
  return opens > now ? "its transfer window, which opens at " + control::utc_text(opens) : "";
}

/// Returns what a file waits for; empty for one that is over.
std::string waits_for(const SpoolItem& item, const RelayConfig& config,
                      const std::optional<TransferStatus>& on_its_way, UtcSeconds now) {
  if (item.state == SpoolState::held) return "the operator, who holds it";
  if (item.state == SpoolState::corrupt) return "the operator: it cannot be read";
  if (is_final(item.state)) return {};
  if (on_its_way) {
    return "acknowledgements: it is on its way, " + std::to_string(on_its_way->octets_confirmed) +
           " of " + std::to_string(on_its_way->octets) + " octets acknowledged";
  }
  if (const std::string window = window_of(item, config, now); !window.empty()) return window;
  if (item.next_try > now) return "the next try at " + control::utc_text(item.next_try);
  return "its turn";
}

}  // namespace

proto::FileQueue queue_answer(const std::vector<SpoolItem>& items,
                              const gateways::ListFilter& filter, const RelayConfig& config,
                              UtcSeconds now) {
  proto::FileQueue queue;
  if (items.empty()) {
    const bool filtered = filter.state || filter.destination;
    queue.set_note(filtered      ? "no file matches"
                   : filter.over ? "the spool is empty"
                                 : "nothing waits; `queue --all` lists what is over");
  }
  for (const SpoolItem& item : items) {
    if (queue.files_size() == static_cast<int>(kRowsListed)) {
      queue.set_more(true);
      queue.set_note("there are more than " + std::to_string(kRowsListed) +
                     "; ask by state or station");
      break;
    }
    proto::QueuedFile& file = *queue.add_files();
    file.set_id(static_cast<double>(item.id.value));
    file.set_state(std::string(to_string(item.state)));
    file.set_destination(to_string(item.destination));
    file.set_octets(static_cast<double>(item.size));
    file.set_attempts(item.attempts);
    file.set_name(item.name);
    const std::string window = window_of(item, config, now);
    file.set_last(window.empty() ? item.reason : "waits for " + window);
  }
  return queue;
}

proto::FileDetails details_answer(const SpoolItem& item, const RelayConfig& config,
                                  const std::optional<TransferStatus>& on_its_way, UtcSeconds now) {
  proto::FileDetails file;
  file.set_id(static_cast<double>(item.id.value));
  file.set_state(std::string(to_string(item.state)));
  file.set_destination(to_string(item.destination));
  file.set_priority(item.priority.value_or(config.priority));
  file.set_octets(static_cast<double>(item.size));
  file.set_attempts(item.attempts);
  file.set_name(item.name);
  if (item.p_mul) {
    const std::int64_t number = item.p_mul->first.value & UINT32_MAX;
    file.set_transfer(transfer_name(static_cast<std::uint32_t>(number), item.sha256));
  } else if (item.attempts > 0) {
    file.set_transfer(transfer_id(item.updu_id, item.name, item.sha256));
  }
  file.set_last(item.reason);
  if (!is_final(item.state)) {
    file.set_expires(control::utc_text(UtcSeconds{item.created.value + config.lifetime_s}));
  }
  file.set_waits_for(waits_for(item, config, on_its_way, now));
  return file;
}

proto::ReceivedFiles received_answer(const std::vector<gateways::ReceivedFile>& files) {
  proto::ReceivedFiles answer;
  for (const gateways::ReceivedFile& from : files) {
    if (answer.files_size() == static_cast<int>(kRowsListed)) {
      answer.set_more(true);
      answer.set_note("these are the newest " + std::to_string(kRowsListed));
      break;
    }
    proto::ReceivedFile& file = *answer.add_files();
    file.set_received(control::utc_text(from.received));
    file.set_source(to_string(from.source));
    file.set_octets(static_cast<double>(from.size));
    if (from.took) file.set_took_s(static_cast<double>(from.took->count()));
    file.set_sha256(hex_digits(from.sha256));
    file.set_name(from.name);
  }
  return answer;
}

}  // namespace s5066::file_relay
