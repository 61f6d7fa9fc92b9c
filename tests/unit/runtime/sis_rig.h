// SPDX-License-Identifier: Apache-2.0
// SisPort opens a SIS port on loopback with a real node behind it, on virtual time. Its clients use
// the same io_context.
#pragma once

#include <gtest/gtest.h>

#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <chrono>
#include <list>
#include <optional>
#include <string>
#include <vector>

#include "s5066d/node/node.h"
#include "s5066d/runtime/asio_driver.h"
#include "s5066d/runtime/sis_listener.h"
#include "s5066d/runtime/trace_writer.h"
#include "sis/codec.h"
#include "sis/framer.h"

namespace s5066::runtime {

constexpr auto kPatience = std::chrono::seconds(20);

/// Keeps the lines of the log.
class TestLog final : public LogSink {
 public:
  void write(LogLevel, std::string_view line) override { lines.emplace_back(line); }
  bool has(const std::string& text) const {
    for (const std::string& line : lines) {
      if (line.find(text) != std::string::npos) return true;
    }
    return false;
  }
  std::vector<std::string> lines;
};

/// A modem without events. The test sets its clock.
class ModemClock final : public ModemPort {
 public:
  Instant now() const override { return now_; }
  bool lockstep() const override { return true; }
  Result<void> request(modem::Command) override { return {}; }
  Instant now_{};
};

class SisPort : public testing::Test {
 protected:
  static constexpr std::uint32_t kOwn = 0x01020304;

  SisPort() {
    node_config_.dts.address = Address{kOwn};
    node_config_.dts.mode = *modem::parse_mode("110a-2400-short");
    config_.port = 0;
  }
  // The clients are gone by now, so the listener must not call them.
  ~SisPort() override {
    if (listener_) listener_->stop();
  }

  /// Opens the port with the present node_config_ and config_.
  Result<void> open() {
    node_.emplace(node_config_, rng_, trace_);
    driver_.emplace(io_, *node_, log_);
    listener_.emplace(io_, config_, *driver_, log_);
    driver_->connect(modem_, *listener_);
    if (auto opened = listener_->open(); !opened) return opened;
    listener_->accept();
    return {};
  }

  void run_until(const std::function<bool()>& done) {
    const auto end = std::chrono::steady_clock::now() + kPatience;
    while (!done()) {
      ASSERT_LT(std::chrono::steady_clock::now(), end) << "it does not happen";
      io_.restart();
      io_.run_one_for(std::chrono::milliseconds(100));
    }
  }
  void pass(Duration time) {
    modem_.now_ += time;
    driver_->drive([](Node& node, Instant now) { node.on_deadline(now); });
  }

  NodeConfig node_config_;
  SisListenerConfig config_;
  TestLog log_;
  TraceWriter trace_{log_};
  Rng rng_{1};
  boost::asio::io_context io_;
  ModemClock modem_;
  std::optional<Node> node_;
  std::optional<AsioDriver> driver_;
  std::optional<SisListener> listener_;
};

/// A client over any stream that reads all the time.
template <typename Stream>
class TestClient {
 public:
  template <typename... Arguments>
  explicit TestClient(boost::asio::io_context& io, Arguments&&... more)
      : stream(io, std::forward<Arguments>(more)...) {}

  void connect(std::uint16_t port) {
    stream.lowest_layer().connect({boost::asio::ip::address_v4::loopback(), port});
  }
  void send(const sis::Primitive& primitive) {
    Bytes octets;
    sis::encode(primitive, octets);
    send_octets(octets);
  }
  /// Sends in the background, because the server that reads the octets runs on the same thread.
  void send_octets(const Bytes& octets) {
    append(waiting_, octets);
    if (sending_.empty()) write();
  }
  void read() {
    stream.async_read_some(boost::asio::buffer(input_), [this](auto failure, std::size_t octets) {
      framer_.push(ByteSpan(input_.data(), octets));
      while (const auto item = framer_.poll()) {
        const auto* frame = std::get_if<sis::Framer::Frame>(&*item);
        if (frame == nullptr) continue;  // not SIS, for example a TLS alert
        received.push_back(*sis::decode(frame->body));
      }
      if (failure) {
        end = failure;
      } else {
        read();
      }
    });
  }
  template <typename T>
  std::vector<T> all() const {
    std::vector<T> found;
    for (const auto& primitive : received) {
      if (const auto* match = std::get_if<T>(&primitive)) found.push_back(*match);
    }
    return found;
  }

  Stream stream;
  std::vector<sis::Primitive> received;
  boost::system::error_code end;       // why reading ended
  boost::system::error_code not_sent;  // why an octet could not be sent
  bool all_sent() const { return sending_.empty(); }

 private:
  void write() {
    std::swap(sending_, waiting_);
    boost::asio::async_write(stream, boost::asio::buffer(sending_), [this](auto failure, auto) {
      sending_.clear();
      not_sent = failure;
      if (!failure && !waiting_.empty()) write();
    });
  }

  std::array<std::uint8_t, 4096> input_{};
  sis::Framer framer_;
  Bytes sending_;
  Bytes waiting_;
};

/// A port with clients over plain TCP.
class TcpPort : public SisPort {
 protected:
  using Client = TestClient<boost::asio::ip::tcp::socket>;

  Client& connected() {
    Client& client = clients_.emplace_back(io_);
    client.connect(listener_->port());
    client.read();
    return client;
  }

  std::list<Client> clients_;
};

inline sis::BindRequest bind_to(std::uint8_t sap, std::uint8_t rank = 5) {
  sis::BindRequest request;
  request.sap = SapId{sap};
  request.rank = rank;
  request.service.mode = sis::TransmissionMode::arq;
  return request;
}

}  // namespace s5066::runtime
