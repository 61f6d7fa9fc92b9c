// SPDX-License-Identifier: Apache-2.0
// Finds the way of a message: by air to stations, to the mail server, or both. Each way, and each
// transmission by air, becomes a message of its own in the spool.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gateways/acp142/mail/address_table.h"
#include "gateways/acp142/mail/mail_core_config.h"
#include "gateways/acp142/mail/mail_store_port.h"
#include "gateways/acp142/mail/mail_types.h"
#include "s5066d/base/time.h"
#include "s5066d/base/utc_clock.h"

namespace s5066::acp142 {

class MailRouter {
 public:
  enum class Unrouted : std::uint8_t { left_out, to_mail_server };

  /// The arguments outlive the router.
  MailRouter(const MailCoreConfig& config, const AddressTable& table, const UtcClock& utc)
      : config_(config), table_(table), utc_(utc) {}

  /// Gives a message from SMTP its precedence, at most `most`.
  void settle_precedence(Mail& mail, int most) const;
  /// Returns what the spool is to keep of the message. `marks`: the hash of each recipient, by
  /// which a repeat is known. `priority` is of P_MUL and counts where MT-PRIORITY says nothing.
  std::vector<NewMail> route(Instant now, Mail mail, const std::vector<std::string>& marks,
                             std::uint8_t priority, Unrouted unrouted = Unrouted::left_out) const;
  /// Writes our Received field.
  void add_trace(Instant now, Bytes& content, const std::string& from, const char* with);
  /// Returns an id that no other field or report of ours has.
  std::string next_id(Instant now);
  /// Returns how the station takes mail.
  MailWay way_of(NodeId station) const;
  /// Returns the form in which the stations of the message take the compressed data type.
  CdtTags tags_for(const MailItem& item) const;

 private:
  std::vector<NewMail> by_transmission(const NewMail& air) const;
  std::vector<NewMail> by_group(const NewMail& air) const;
  UtcSeconds expiry_of(Instant now, const Parameters& from, std::uint8_t priority) const;

  const MailCoreConfig& config_;
  const AddressTable& table_;
  const UtcClock& utc_;
  std::uint64_t last_id_ = 0;
};

}  // namespace s5066::acp142
