// SPDX-License-Identifier: Apache-2.0
#include "gateways/acp142/mail/mail_store_port.h"

namespace s5066::acp142 {

std::string_view to_string(Transport transport) {
  return transport == Transport::air ? "air" : "smtp";
}

}  // namespace s5066::acp142
