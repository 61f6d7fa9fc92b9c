// SPDX-License-Identifier: Apache-2.0
// A value, or the reason why there is none. Layers return this; no exception crosses a layer.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "s5066d/base/assert.h"

namespace s5066 {

enum class ErrorCode : std::uint8_t {
  truncated,       // the input ends too early
  bad_sync,        // the input does not start as it must
  bad_field,       // a field has a value that the standard or our limits do not allow
  bad_checksum,    // a CRC or hash does not match
  too_large,       // the input exceeds a named limit
  queue_full,      // bounded storage is in use; try later
  link_down,       // there is no connection to the peer
  refused,         // the other side refused
  unsupported,     // legal, but not offered here
  not_found,       // the thing does not exist
  already_exists,  // the thing exists already
  timed_out,       // no answer came in the time allowed
  io,              // the operating system, a device or a file failed
};

std::string_view to_string(ErrorCode code);

struct Error {
  ErrorCode code;
  std::string detail;  // for people: what failed and where, no trailing full stop
};

/// Returns text like "truncated: fixed header".
std::string to_string(const Error& error);

template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }

  T& value() & {
    S5066_ASSERT(ok());
    return *std::get_if<0>(&state_);
  }
  const T& value() const& {
    S5066_ASSERT(ok());
    return *std::get_if<0>(&state_);
  }
  T&& value() && {
    S5066_ASSERT(ok());
    return std::move(*std::get_if<0>(&state_));
  }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  const Error& error() const {
    S5066_ASSERT(!ok());
    return *std::get_if<1>(&state_);
  }

 private:
  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)), ok_(false) {}

  bool ok() const { return ok_; }
  explicit operator bool() const { return ok_; }
  const Error& error() const {
    S5066_ASSERT(!ok_);
    return error_;
  }

 private:
  Error error_{ErrorCode::io, {}};
  bool ok_ = true;
};

}  // namespace s5066
