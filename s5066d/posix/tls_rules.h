// SPDX-License-Identifier: Apache-2.0
// Rules for every TLS connection of our programs. This file is for programs that link OpenSSL;
// nothing else here does.
#pragma once

#include <openssl/ssl.h>

namespace s5066::posix {

/// Requires TLS 1.2 or later, and forbids resumption of earlier sessions.
inline void harden_tls(SSL_CTX* context) {
  SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_num_tickets(context, 0);
  SSL_CTX_set_options(context, SSL_OP_NO_TICKET | SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
}

}  // namespace s5066::posix
