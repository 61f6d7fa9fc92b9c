// SPDX-License-Identifier: Apache-2.0
// A Client talks to a scripted server over a real loopback connection. Both share one io_context,
// so that the result does not depend on the scheduler. A watchdog ends a test whose event never
// comes.
#include "sis/client.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/asio/write.hpp>
#include <cstdio>
#include <fstream>
#include <functional>
#include <memory>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "sis/codec.h"
#include "sis/framer.h"

namespace s5066::sis {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;
using std::chrono::milliseconds;
using std::chrono::seconds;

/// Accepts one connection after another and hands each primitive to `on_primitive`.
class LoopbackServer {
 public:
  explicit LoopbackServer(asio::io_context& io)
      : acceptor_(io, tcp::endpoint(asio::ip::address_v4::loopback(), 0)), socket_(io) {
    accept();
  }

  std::uint16_t port() const { return acceptor_.local_endpoint().port(); }
  void say(const Primitive& primitive) {
    Bytes octets;
    encode(primitive, octets);
    say_octets(octets);
  }
  void say_octets(ByteSpan octets) {
    asio::write(socket_, asio::buffer(octets.data(), octets.size()));
  }
  /// Sends also to a client that has left.
  void try_to_say(const Primitive& primitive) {
    Bytes octets;
    encode(primitive, octets);
    error_code gone;
    asio::write(socket_, asio::buffer(octets), gone);
  }
  void hang_up() { socket_.close(); }
  void close() {
    acceptor_.close();
    socket_.close();
  }

  /// Makes later connections take in little, so that octets that are not read stay with the client.
  void take_in_little() { acceptor_.set_option(tcp::socket::receive_buffer_size(4096)); }
  void read_on() { read(); }

  /// Called after each read. Returns whether the server reads on.
  std::function<bool()> goes_on = [] { return true; };
  std::function<void(const Primitive&)> on_primitive = [](const Primitive&) {};
  std::function<void()> on_end = [] {};
  int accepted = 0;

 private:
  void accept() {
    acceptor_.async_accept([this](const error_code& code, tcp::socket socket) {
      if (code) return;
      ++accepted;
      socket_ = std::move(socket);
      framer_ = {};
      read();
    });
  }

  void read() {
    socket_.async_read_some(asio::buffer(in_), [this](const error_code& code, std::size_t size) {
      if (code == asio::error::operation_aborted && !acceptor_.is_open()) return;
      if (code) {
        socket_.close();  // a client that has stopped waits for this
        on_end();
        return accept();
      }
      framer_.push(ByteSpan(in_).first(size));
      while (const auto item = framer_.poll()) {
        const auto* frame = std::get_if<Framer::Frame>(&*item);
        ASSERT_NE(frame, nullptr);
        const auto primitive = decode(frame->body);
        ASSERT_TRUE(primitive.ok());
        on_primitive(*primitive);
      }
      if (goes_on()) read();
    });
  }

  tcp::acceptor acceptor_;
  tcp::socket socket_;
  Framer framer_;
  std::array<std::uint8_t, 1000> in_{};
};

class ClientTest : public testing::Test {
 protected:
  ClientTest() : server(io), watchdog(io, seconds(60)) {
    watchdog.async_wait([this](const error_code& code) {
      if (code) return;
      ADD_FAILURE() << "nothing happened";
      io.stop();
    });
    server.on_primitive = [this](const Primitive& primitive) {
      seen.push_back(primitive);
      if (std::holds_alternative<BindRequest>(primitive)) server.say(BindAccepted{.sap = {6}});
    };
  }

  void make_client(std::function<void(const Event&)> handler) {
    Client::Config config{.host = "127.0.0.1", .port = server.port()};
    config.core.sap = {6};
    config.core.retry_first = milliseconds(1);
    client.emplace(io, config, 1, [this, handler = std::move(handler)](const Event& event) {
      events.push_back(event);
      handler(event);
    });
  }

  void finish() {
    client->stop();
    watchdog.cancel();
    server.close();
  }

  static UnidataRequest hello(std::size_t size = 5,
                              Confirmation confirmation = Confirmation::node) {
    return {.destination_sap = {6},
            .destination = Address{5},
            .delivery = {.mode = TransmissionMode::arq, .confirmation = confirmation},
            .updu = Bytes(size, 'x')};
  }
  void confirm(const UnidataRequest& request) {
    server.say(UnidataRequestConfirm{.destination_sap = request.destination_sap,
                                     .destination = request.destination,
                                     .updu_part = request.updu});
  }

  asio::io_context io;
  LoopbackServer server;
  asio::steady_timer watchdog;
  std::optional<Client> client;
  std::vector<Primitive> seen;
  std::vector<Event> events;
};

TEST_F(ClientTest, binds_sends_is_confirmed_and_stops_cleanly) {
  server.on_primitive = [this](const Primitive& primitive) {
    seen.push_back(primitive);
    if (std::holds_alternative<BindRequest>(primitive)) server.say(BindAccepted{.sap = {6}});
    if (const auto* request = std::get_if<UnidataRequest>(&primitive)) confirm(*request);
    if (std::holds_alternative<UnbindRequest>(primitive)) server.close();
  };
  make_client([this](const Event& event) {
    if (std::holds_alternative<event::Bound>(event)) {
      EXPECT_TRUE(client->request_unidata(hello()).ok());
    }
    if (std::holds_alternative<event::Confirmed>(event)) {
      client->stop();
      watchdog.cancel();
    }
  });
  client->start();
  io.run();  // ends by itself, because the client keeps nothing running
  EXPECT_TRUE(client->stopped());
  ASSERT_EQ(events.size(), 2u);
  ASSERT_EQ(seen.size(), 3u);
  EXPECT_EQ(seen[1], Primitive{hello()});
  EXPECT_EQ(seen[2], Primitive{UnbindRequest{}});
}

TEST_F(ClientTest, what_was_sent_arrives_after_a_stop_though_the_server_goes_on_talking) {
  constexpr std::size_t kRequests = 60;
  std::size_t arrived = 0;
  server.on_primitive = [&](const Primitive& primitive) {
    seen.push_back(primitive);
    if (std::holds_alternative<BindRequest>(primitive)) server.say(BindAccepted{.sap = {6}});
    arrived += std::holds_alternative<UnidataRequest>(primitive) ? 1 : 0;
  };
  std::size_t sent = 0;
  server.take_in_little();
  server.goes_on = [&] {  // reads only after all is sent, and then sends each time
    if (sent < kRequests) return false;
    server.try_to_say(UnidataIndication{.destination_sap = {6}, .updu = Bytes(1000)});
    return true;
  };
  server.on_end = [this] { finish(); };
  make_client([&](const Event& event) {
    if (std::holds_alternative<event::Bound>(event)) {
      for (std::size_t i = 0; i < kRequests; ++i) {
        EXPECT_TRUE(client->request_unidata(hello(2000, Confirmation::none)).ok());
      }
    }
    if (std::holds_alternative<event::Sent>(event) && ++sent == kRequests) {
      client->stop();
      server.read_on();
    }
  });
  client->start();
  io.run();
  EXPECT_EQ(sent, kRequests);
  EXPECT_EQ(arrived, kRequests);
  EXPECT_EQ(seen.back(), Primitive{UnbindRequest{}});
  EXPECT_TRUE(client->stopped());
}

TEST_F(ClientTest, goes_on_when_a_handler_has_thrown_and_the_application_runs_on) {
  server.on_primitive = [this](const Primitive& primitive) {
    if (std::holds_alternative<BindRequest>(primitive)) server.say(BindAccepted{.sap = {6}});
    // The handler asked for this before it threw. The answer shows that the client still reads.
    if (std::holds_alternative<UnidataRequest>(primitive)) server.say(SubnetAvailability{});
  };
  make_client([this](const Event& event) {
    if (std::holds_alternative<event::Availability>(event)) return finish();
    if (!std::holds_alternative<event::Bound>(event)) return;
    EXPECT_TRUE(client->request_unidata(hello()).ok());
    throw std::runtime_error("of the application");
  });
  client->start();
  EXPECT_THROW(io.run(), std::runtime_error);
  io.run();
  EXPECT_TRUE(client->stopped());
  EXPECT_TRUE(std::any_of(events.begin(), events.end(), [](const Event& event) {
    return std::holds_alternative<event::Availability>(event);
  }));
}

TEST_F(ClientTest, connects_again_when_the_server_hangs_up) {
  make_client([this](const Event& event) {
    if (!std::holds_alternative<event::Bound>(event)) return;
    if (server.accepted < 3) return server.hang_up();
    finish();
  });
  client->start();
  io.run();
  EXPECT_EQ(server.accepted, 3);
  EXPECT_EQ(client->counters()[ClientCounter::binds], 3u);
}

TEST_F(ClientTest, connects_again_after_garbage) {
  make_client([this](const Event& event) {
    if (!std::holds_alternative<event::Bound>(event)) return;
    if (server.accepted < 2) return server.say_octets(Bytes{1, 2, 3});
    finish();
  });
  client->start();
  io.run();
  EXPECT_EQ(server.accepted, 2);
  EXPECT_EQ(client->counters()[ClientCounter::protocol_errors], 1u);
}

TEST_F(ClientTest, keeps_trying_a_port_that_nobody_listens_on) {
  server.close();
  tcp::acceptor closed(io, tcp::endpoint(asio::ip::address_v4::loopback(), 0));
  Client::Config config{.host = "127.0.0.1", .port = closed.local_endpoint().port()};
  closed.close();
  config.core.retry_first = milliseconds(1);
  int lost = 0;
  client.emplace(io, config, 1, [&](const Event& event) {
    ASSERT_TRUE(std::holds_alternative<event::Lost>(event));
    EXPECT_EQ(std::get<event::Lost>(event).why.code, ErrorCode::io);
    if (++lost == 3) finish();
  });
  client->start();
  io.run();
  EXPECT_EQ(lost, 3);
}

TEST_F(ClientTest, a_host_that_does_not_resolve_is_an_error_and_not_a_crash) {
  server.close();
  Client::Config config{.host = "no such host", .port = 1};
  client.emplace(io, config, 1, [&](const Event& event) {
    EXPECT_TRUE(std::holds_alternative<event::Lost>(event));
    finish();
  });
  client->start();
  io.run();
  EXPECT_TRUE(client->stopped());
}

// Goal:   a client that only receives notices within two minutes that its server has vanished.
// Method: the kernel's list of connections shows the purpose of an idle connection's timer and its
//         end.
TEST_F(ClientTest, probes_a_server_that_is_silent_for_a_minute) {
  std::string timer;
  make_client([&](const Event& event) {
    if (!std::holds_alternative<event::Bound>(event)) return;
    char to_server[16];
    std::snprintf(to_server, sizeof to_server, "0100007F:%04X", unsigned{server.port()});
    std::ifstream connections("/proc/self/net/tcp");
    for (std::string line; std::getline(connections, line);) {
      std::istringstream fields(line);
      std::string number, local, remote, state, queues, timer_of_line;
      fields >> number >> local >> remote >> state >> queues >> timer_of_line;
      if (remote == to_server && state == "01") timer = timer_of_line;
    }
    finish();
  });
  client->start();
  io.run();
  ASSERT_EQ(timer.substr(0, 3), "02:");  // keep-alive
  EXPECT_LE(std::stoul(timer.substr(3), nullptr, 16), 60u * 100);
}

TEST_F(ClientTest, many_large_requests_all_arrive_in_order) {
  constexpr std::size_t kRequests = 500;
  std::size_t asked = 0, confirmed = 0;
  const auto ask = [&] {
    while (asked < kRequests && client->request_unidata(hello(1 + asked % kMtu)).ok()) ++asked;
  };
  server.on_primitive = [&](const Primitive& primitive) {
    if (std::holds_alternative<BindRequest>(primitive)) server.say(BindAccepted{.sap = {6}});
    const auto* request = std::get_if<UnidataRequest>(&primitive);
    if (request == nullptr) return;
    EXPECT_EQ(request->updu.size(), 1 + confirmed % kMtu);
    confirm(*request);
    ++confirmed;
  };
  make_client([&](const Event& event) {
    if (std::holds_alternative<event::Bound>(event) ||
        std::holds_alternative<event::Confirmed>(event)) {
      ask();
    }
    if (client->counters()[ClientCounter::confirmed] == kRequests) finish();
  });
  client->start();
  io.run();
  EXPECT_EQ(client->counters()[ClientCounter::confirmed], kRequests);
  EXPECT_EQ(client->counters()[ClientCounter::unresolved], 0u);
}

TEST_F(ClientTest, no_handler_runs_after_the_destructor) {
  bool destroyed = false;
  make_client([&](const Event&) { EXPECT_FALSE(destroyed); });
  server.on_end = [&] {
    watchdog.cancel();
    server.close();
  };
  server.on_primitive = [&](const Primitive&) {
    client.reset();
    destroyed = true;
  };
  client->start();
  io.run();
  EXPECT_TRUE(destroyed);
}

TEST_F(ClientTest, a_sent_request_ends_in_its_handler_and_in_no_event) {
  server.on_primitive = [this](const Primitive& primitive) {
    if (std::holds_alternative<BindRequest>(primitive)) server.say(BindAccepted{.sap = {6}});
    const auto* request = std::get_if<UnidataRequest>(&primitive);
    if (request == nullptr) return;
    if (request->updu.size() == 2) {
      server.say(UnidataRequestRejected{.reason = RejectReason::ttl_expired,
                                        .destination_sap = request->destination_sap,
                                        .destination = request->destination,
                                        .updu_part = request->updu});
    } else if (request->delivery.confirmation == Confirmation::node) {
      confirm(*request);
    }
  };
  std::vector<std::string> ends;
  make_client([&](const Event& event) {
    if (!std::holds_alternative<event::Bound>(event)) return;
    // A handler need not be copyable.
    client->async_send(hello(1), [&, own = std::make_unique<int>(1)](const SendOutcome& outcome) {
      EXPECT_TRUE(outcome.ok() && outcome.id && own);
      ends.push_back(to_string(outcome));
    });
    client->async_send(hello(2), [&](const SendOutcome& outcome) {
      EXPECT_FALSE(outcome.ok());
      ends.push_back(to_string(outcome));
      finish();
    });
    client->async_send(hello(3, Confirmation::none), [&](const SendOutcome& outcome) {
      EXPECT_TRUE(outcome.ok());
      ends.push_back(to_string(outcome));
    });
    client->async_send(hello(kMtu + 1), [&](const SendOutcome& outcome) {
      EXPECT_EQ(outcome.error->code, ErrorCode::too_large);
      ends.push_back("refused");
    });
    EXPECT_TRUE(ends.empty()) << "no handler runs before async_send() has returned";
  });
  client->start();
  io.run();
  std::sort(ends.begin(), ends.end());
  EXPECT_EQ(ends, (std::vector<std::string>{"confirmed", "refused",
                                            "rejected: time to live expired", "sent"}));
  EXPECT_EQ(events.size(), 1u);
}

TEST_F(ClientTest, a_send_that_the_binding_does_not_outlive_is_unresolved) {
  server.on_primitive = [this](const Primitive& primitive) {
    if (std::holds_alternative<BindRequest>(primitive)) server.say(BindAccepted{.sap = {6}});
    if (std::holds_alternative<UnidataRequest>(primitive)) server.hang_up();
  };
  make_client([&](const Event& event) {
    if (!std::holds_alternative<event::Bound>(event) || server.accepted > 1) return;
    client->async_send(hello(), [&](const SendOutcome& outcome) {
      EXPECT_EQ(outcome.end, SendOutcome::End::unresolved);
      finish();
    });
  });
  client->start();
  io.run();
  EXPECT_EQ(client->counters()[ClientCounter::unresolved], 1u);
}

TEST_F(ClientTest, a_send_before_the_bind_is_refused_in_its_handler) {
  make_client([](const Event&) {});
  int refused = 0;
  client->async_send(hello(), [&](const SendOutcome& outcome) {
    EXPECT_EQ(outcome.error->code, ErrorCode::link_down);
    ++refused;
    finish();
  });
  EXPECT_EQ(refused, 0);
  io.run();
  EXPECT_EQ(refused, 1);
}

TEST_F(ClientTest, takes_other_completion_tokens_of_asio) {
  make_client([](const Event&) {});
  auto outcome = client->async_send(hello(), asio::use_future);
  finish();
  io.run();
  EXPECT_EQ(outcome.get().end, SendOutcome::End::refused);
}

TEST_F(ClientTest, no_completion_handler_runs_after_the_destructor) {
  make_client([&](const Event& event) {
    if (!std::holds_alternative<event::Bound>(event)) return;
    client->async_send(hello(), [](const SendOutcome&) { ADD_FAILURE(); });
  });
  server.on_primitive = [&](const Primitive& primitive) {
    if (std::holds_alternative<BindRequest>(primitive)) server.say(BindAccepted{.sap = {6}});
    if (std::holds_alternative<UnidataRequest>(primitive)) client.reset();
  };
  server.on_end = [&] {
    watchdog.cancel();
    server.close();
  };
  client->start();
  io.run();
}

TEST_F(ClientTest, a_handler_with_another_executor_keeps_the_outcome_that_it_was_handed) {
  asio::io_context elsewhere;
  std::vector<std::string> ends;
  const auto note = [&](const SendOutcome& outcome) { ends.push_back(to_string(outcome)); };
  make_client([&](const Event& event) {
    if (!std::holds_alternative<event::Bound>(event)) return;
    client->async_send(hello(1), asio::bind_executor(elsewhere, note));
    client->async_send(hello(2), asio::bind_executor(elsewhere, note));
    client->async_send(hello(3), asio::bind_executor(elsewhere, [](const SendOutcome&) {
                         ADD_FAILURE() << "its outcome was not known in time";
                       }));
  });
  server.on_primitive = [&](const Primitive& primitive) {
    if (std::holds_alternative<BindRequest>(primitive)) server.say(BindAccepted{.sap = {6}});
    const auto* request = std::get_if<UnidataRequest>(&primitive);
    if (request != nullptr && request->updu.size() < 3) confirm(*request);
  };
  client->start();
  while (client->counters()[ClientCounter::confirmed] < 2 && io.run_one() > 0) {
  }
  EXPECT_TRUE(ends.empty()) << "not on this executor";
  server.on_end = [&] {
    watchdog.cancel();
    server.close();
  };
  client.reset();
  io.run();
  elsewhere.run();
  EXPECT_EQ(ends, (std::vector<std::string>{"confirmed", "confirmed"}));
}

TEST_F(ClientTest, expedited_data_and_hard_links_reach_the_server) {
  const HardLink link{.type = HardLinkType::full_bandwidth, .remote_sap = {6}, .remote = {5}};
  server.on_primitive = [&](const Primitive& primitive) {
    seen.push_back(primitive);
    if (std::holds_alternative<BindRequest>(primitive)) server.say(BindAccepted{.sap = {6}});
    if (const auto* p = std::get_if<HardLinkEstablish>(&primitive)) {
      server.say(HardLinkEstablished{1, p->link});
    }
    if (const auto* p = std::get_if<ExpeditedUnidataRequest>(&primitive)) {
      server.say(ExpeditedUnidataRequestConfirm{p->destination_sap, p->destination, p->updu});
    }
    if (std::holds_alternative<HardLinkTerminate>(primitive)) {
      server.say(HardLinkIndication{1, link});
    }
    if (std::holds_alternative<HardLinkAccept>(primitive)) finish();
  };
  make_client([&](const Event& event) {
    if (std::holds_alternative<event::Bound>(event)) {
      EXPECT_TRUE(client->request_hard_link(link).ok());
    }
    if (std::holds_alternative<event::HardLinkEstablished>(event)) {
      ExpeditedUnidataRequest request{
          .destination_sap = {6},
          .destination = {5},
          .delivery = {.mode = TransmissionMode::arq, .confirmation = Confirmation::client},
          .updu = {1}};
      client->async_send(std::move(request), [&](const SendOutcome& outcome) {
        EXPECT_EQ(outcome.end, SendOutcome::End::confirmed);
        EXPECT_TRUE(client->request_hard_link_end({5}).ok());
      });
    }
    if (const auto* offered = std::get_if<event::HardLinkOffered>(&event)) {
      EXPECT_TRUE(client->request_hard_link_accept(offered->link).ok());
    }
  });
  client->start();
  io.run();
  EXPECT_EQ(seen.back(), Primitive{HardLinkAccept{link}});
}

TEST_F(ClientTest, a_handler_may_request_and_stop) {
  make_client([this](const Event& event) {
    if (std::holds_alternative<event::Bound>(event)) {
      EXPECT_TRUE(client->request_unidata(hello()).ok());
      finish();
    }
  });
  client->start();
  io.run();
  ASSERT_EQ(events.size(), 2u);
  EXPECT_TRUE(std::holds_alternative<event::Unresolved>(events[1]));
}

// A host with a slash in it is the path of a local socket.
TEST(LocalClient, binds_over_a_local_socket_and_says_what_is_wrong_with_a_path) {
  using asio::local::stream_protocol;
  const std::string path = "/tmp/s5066-client-" + std::to_string(::getpid());
  ::unlink(path.c_str());
  asio::io_context io;
  stream_protocol::acceptor acceptor(io, stream_protocol::endpoint(path));
  stream_protocol::socket server(io);
  std::array<std::uint8_t, 64> request{};
  acceptor.async_accept(server, [&](const error_code& code) {
    ASSERT_FALSE(code) << code.message();
    server.async_read_some(asio::buffer(request), [&](const error_code&, std::size_t) {
      Bytes accepted;
      encode(BindAccepted{.sap = SapId{6}, .mtu = kMtu}, accepted);
      asio::write(server, asio::buffer(accepted));
    });
  });
  bool bound = false;
  std::vector<std::string> lost;
  const auto config = [](const std::string& host, bool tls) {
    Client::Config made;
    made.host = host;
    made.core.sap = SapId{6};
    if (tls) made.tls = Client::Tls{};
    return made;
  };
  const auto note = [&](const Event& what) {
    if (std::holds_alternative<event::Bound>(what)) bound = true;
    if (const auto* loss = std::get_if<event::Lost>(&what)) lost.push_back(loss->why.detail);
  };
  Client client(io, config(path, false), 1, note);
  Client with_tls(io, config(path, true), 2, note);
  Client too_long(io, config("/" + std::string(200, 'x'), false), 3, note);
  for (Client* one : {&client, &with_tls, &too_long}) one->start();
  asio::steady_timer watchdog(io, seconds(20));
  watchdog.async_wait([&](const error_code&) { io.stop(); });
  while (!(bound && lost.size() >= 2) && io.run_one() > 0) {
  }
  EXPECT_TRUE(bound);
  ASSERT_GE(lost.size(), 2u);
  EXPECT_NE((lost[0] + lost[1]).find("TLS is not for a local socket"), std::string::npos);
  EXPECT_NE((lost[0] + lost[1]).find("the path is too long"), std::string::npos);
  ::unlink(path.c_str());
}

}  // namespace
}  // namespace s5066::sis
