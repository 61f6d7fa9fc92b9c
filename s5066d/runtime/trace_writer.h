// What cores report, for operators: log lines, a capture of D_PDUs, and the last events in memory
// for an assert to print.
#pragma once

#include <cstdint>
#include <string_view>

#include "s5066d/base/log.h"
#include "s5066d/base/time.h"
#include "s5066d/base/trace.h"
#include "s5066d/posix/log_limiter.h"
#include "s5066d/runtime/settings.h"

namespace s5066::runtime {

class TraceWriter final : public TraceSink {
 public:
  /// Of what clients and the air cause again and again a second has a few lines in `log`.
  explicit TraceWriter(LogSink& log)
      : log_(log), limited_(log, LogLevel::info, [this] { return traced_at_; }) {}
  ~TraceWriter();
  TraceWriter(const TraceWriter&) = delete;
  TraceWriter& operator=(const TraceWriter&) = delete;

  /// Every D_PDU from now on goes to new files for tshark, until they cannot be written, which the
  /// log tells. `epoch` is what Instant{} is in UTC.
  Result<void> open_capture(const CaptureConfig& config, Duration epoch);

  void on_trace(const TraceEvent& event) override;
  bool wants_octets() const override { return capture_ >= 0; }

  /// Makes a failing assert print the last events; for one writer of a process.
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
  posix::LogLimiter limited_;
  Duration traced_at_{};  // by the clock of the samples
  TraceRing ring_;
  CaptureConfig capture_config_;
  int capture_ = -1;
  std::uint64_t file_octets_ = 0;  // in it
  Duration capture_epoch_{};
};

}  // namespace s5066::runtime
