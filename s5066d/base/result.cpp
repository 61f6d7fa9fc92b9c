// SPDX-License-Identifier: Apache-2.0
#include "s5066d/base/result.h"

namespace s5066 {

std::string_view to_string(ErrorCode code) {
  switch (code) {
    case ErrorCode::truncated:
      return "truncated";
    case ErrorCode::bad_sync:
      return "bad sync";
    case ErrorCode::bad_field:
      return "bad field";
    case ErrorCode::bad_checksum:
      return "bad checksum";
    case ErrorCode::too_large:
      return "too large";
    case ErrorCode::queue_full:
      return "queue full";
    case ErrorCode::link_down:
      return "link down";
    case ErrorCode::refused:
      return "refused";
    case ErrorCode::unsupported:
      return "unsupported";
    case ErrorCode::not_found:
      return "not found";
    case ErrorCode::already_exists:
      return "already exists";
    case ErrorCode::timed_out:
      return "timed out";
    case ErrorCode::io:
      return "input/output";
  }
  return "unknown";
}

std::string to_string(const Error& error) {
  std::string text(to_string(error.code));
  if (!error.detail.empty()) text.append(": ").append(error.detail);
  return text;
}

}  // namespace s5066
