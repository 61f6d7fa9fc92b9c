// SPDX-License-Identifier: Apache-2.0
// Writes the events of the cores for operators: log lines, a capture of D_PDUs, and the last events
// in memory for an assert to print.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>

#include "s5066d/base/address_book.h"
#include "s5066d/base/log.h"
#include "s5066d/base/time.h"
#include "s5066d/base/trace.h"
#include "s5066d/posix/log_limiter.h"
#include "s5066d/runtime/settings.h"

namespace s5066::runtime {

class TraceWriter final : public TraceSink {
 public:
  /// Limits lines that clients and received signals cause repeatedly to a few a second in `log`.
  explicit TraceWriter(LogSink& log)
      : log_(log), limited_(log, LogLevel::info, [this] { return traced_at_; }) {}
  ~TraceWriter();
  TraceWriter(const TraceWriter&) = delete;
  TraceWriter& operator=(const TraceWriter&) = delete;

  /// Writes every D_PDU from now on to new files for tshark. If they cannot be written, the capture
  /// ends and the log tells it. `epoch` is the UTC time of Instant{}.
  Result<void> open_capture(const CaptureConfig& config, Duration epoch);

  void on_trace(const TraceEvent& event) override;
  bool wants_octets() const override { return capture_ >= 0; }

  /// Log lines show the names of this book from now on.
  void set_book(AddressBook book) { book_ = std::move(book); }

  /// Makes a failing assert print the last events; only one writer of a process may call it.
  void print_at_assert();

 private:
  void log_event(const TraceEvent& event);
  Result<void> begin_file();
  Result<void> rotate();
  Result<void> write(const Bytes& octets);
  void capture(const Bytes& record);
  void log_capture_ended(std::string_view reason);
  void close_capture();

  LogSink& log_;
  AddressBook book_;
  posix::LogLimiter limited_;
  Duration traced_at_{};  // time by the sample clock
  TraceRing ring_;
  CaptureConfig capture_config_;
  int capture_ = -1;
  std::uint64_t file_octets_ = 0;  // octets in the present file
  Duration capture_epoch_{};
};

}  // namespace s5066::runtime
