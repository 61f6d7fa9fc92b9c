// SPDX-License-Identifier: Apache-2.0
// Keys by the RTS or DTR line of a serial port, as most radio interfaces do. The port is set to
// drop both lines when it is closed (HUPCL). The kernel closes it also when the process is killed.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "modem/ptt/ptt.h"

namespace s5066::modem {

/// An open port. Any thread may set its lines.
class SerialPort {
 public:
  struct Lines {
    bool rts = false;
    bool dtr = false;
    friend bool operator==(const Lines&, const Lines&) = default;
  };

  virtual ~SerialPort() = default;
  virtual Result<void> set(Lines lines) = 0;
  /// Returns the lines that the driver reports. Some drivers ask the adapter; others (ftdi_sio,
  /// cdc-acm) return what was set last.
  virtual Result<Lines> get() = 0;
};

using OpenSerialPort = std::function<Result<std::shared_ptr<SerialPort>>(const std::string& path)>;

/// Opens a port of the kernel. Opening may raise both lines for a moment, so the port cannot be
/// opened a second time while it is open, except by root.
Result<std::shared_ptr<SerialPort>> open_serial_port(const std::string& path);

class SerialLinePtt final : public Ptt {
 public:
  enum class Line : std::uint8_t { rts, dtr };
  struct Config {
    std::string path;  // path such as /dev/ttyUSB0
    Line line = Line::rts;
    /// The line that does not key stays up, for interfaces that take their supply current from it.
    bool other_line_up = false;
  };

  explicit SerialLinePtt(Config config, OpenSerialPort open = open_serial_port)
      : config_(std::move(config)), open_(std::move(open)) {}
  ~SerialLinePtt() override;

  /// Opens the port if it is not open, and then unkeys first. After an error the port is closed,
  /// which drops the lines. Unkeying is read back.
  Result<void> key(bool on) override;
  Result<void> release() override;
  /// The result is what the driver reports.
  Result<Unkeyed> confirm_unkeyed() override;

 private:
  std::shared_ptr<SerialPort> port() const;
  void set_port(std::shared_ptr<SerialPort> port);
  Result<void> put(SerialPort& port, bool on) const;
  Result<void> read_back(SerialPort& port) const;

  Config config_;
  OpenSerialPort open_;
  // This mutex guards the pointer. It is never held while the port works.
  mutable std::mutex mutex_;
  std::shared_ptr<SerialPort> port_;
};

}  // namespace s5066::modem
