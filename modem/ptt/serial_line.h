// Keys by the RTS or DTR line of a serial port, as most radio interfaces do. The port is set to
// drop both lines when it is closed (HUPCL), which the kernel also does for a process that was
// killed.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "modem/ptt/ptt.h"

namespace s5066::modem {

/// An open port. Its lines may be set by any thread.
class SerialPort {
 public:
  struct Lines {
    bool rts = false;
    bool dtr = false;
    friend bool operator==(const Lines&, const Lines&) = default;
  };

  virtual ~SerialPort() = default;
  virtual Result<void> set(Lines lines) = 0;
  /// As the driver reports them. Some ask the adapter, others (ftdi_sio, cdc-acm) only know what
  /// was set last.
  virtual Result<Lines> get() = 0;
};

using OpenSerialPort = std::function<Result<std::shared_ptr<SerialPort>>(const std::string& path)>;

/// A port of the kernel. Opening alone may raise both lines for a moment, so it cannot be opened
/// again while it is open, except by root.
Result<std::shared_ptr<SerialPort>> open_serial_port(const std::string& path);

class SerialLinePtt final : public Ptt {
 public:
  enum class Line : std::uint8_t { rts, dtr };
  struct Config {
    std::string path;  // /dev/ttyUSB0
    Line line = Line::rts;
    /// The line that does not key stays up, for interfaces that live on its current.
    bool other_line_up = false;
  };

  explicit SerialLinePtt(Config config, OpenSerialPort open = open_serial_port)
      : config_(std::move(config)), open_(std::move(open)) {}
  ~SerialLinePtt() override;

  /// Opens the port when it is not open, and unkeys before anything else. After an error it is
  /// closed, which drops the lines. Unkeying is read back.
  Result<void> key(bool on) override;
  Result<void> release() override;
  /// By what the driver reports.
  Result<Unkeyed> confirm_unkeyed() override;

 private:
  std::shared_ptr<SerialPort> port() const;
  void set_port(std::shared_ptr<SerialPort> port);
  Result<void> put(SerialPort& port, bool on) const;
  Result<void> read_back(SerialPort& port) const;

  Config config_;
  OpenSerialPort open_;
  mutable std::mutex mutex_;  // of the pointer, never held while the port works
  std::shared_ptr<SerialPort> port_;
};

}  // namespace s5066::modem
