// SPDX-License-Identifier: Apache-2.0
// HFCHAT, the operators' orderwire (F.7): sends the user's lines to one station at a time, or to a
// group, and says who said what and what became of each message of ours. It has no timers, because
// the node reports the end of every request.
//
//   core.on_bound(now, mtu);                       // or on_unbound, on_received, on_outcome
//   core.on_line(now, "QSL?");                     // a line of the user
//   while (auto action = core.poll_action()) …     // submit, show, quit
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "gateways/chat/chat_types.h"
#include "s5066d/base/action_queue.h"
#include "s5066d/base/counter_set.h"
#include "sis/primitives.h"
#include "sis/send_outcome.h"

namespace s5066::chat {

/// The access point of HFCHAT (F.7.3).
inline constexpr SapId kChatSap{5};

class ChatCore {
 public:
  static constexpr std::size_t kHistoryMin = 10;  // F.7.4
  static constexpr std::size_t kHistoryMax = 100;

  struct Config {
    std::optional<Address> to;  // the first destination; none: a command names it
    std::uint8_t priority = 8;  // 0..15
    std::uint8_t repeats = 0;   // without ARQ, 0..15
    std::uint32_t ttl_s = 120;  // 0: the default of the node
    bool commands = false;      // a line that begins with one / is a command
    std::size_t history_max = kHistoryMax;
    std::size_t line_octets_max = 4096;  // of a line of the user
    // Messages whose end is still to come, of which one destination leaves half to the others.
    std::size_t open_max = 64;
  };

  /// Hand the request to the node, and report on_outcome with the number.
  struct Submit {
    std::uint64_t number = 0;
    sis::UnidataRequest request;
  };
  struct Show {
    Line line;
  };
  struct Quit {};
  using Action = std::variant<Submit, Show, Quit>;

  explicit ChatCore(const Config& config) : config_(config), to_(config.to) {}

  // Events in. `now` never goes backwards.
  void on_bound(Instant now, std::size_t mtu);
  /// The node does not serve us now; `why` is for the user.
  void on_unbound(Instant now, std::string why);
  void on_received(Instant now, const sis::UnidataIndication& indication);
  void on_outcome(Instant now, std::uint64_t number, const sis::SendOutcome& outcome);
  /// A line that the user has entered, without its end; `cut` if the rest was too long to keep.
  void on_line(Instant now, std::string_view line, bool cut = false);

  // Outputs.
  std::optional<Action> poll_action() { return actions_.poll(); }

  /// True if any line up to the limit will find room for its messages, or if nothing is open.
  bool can_take() const;
  bool bound() const { return mtu_.has_value(); }
  std::size_t open() const { return open_.size(); }
  /// True if a message has not arrived, may not have arrived, or was refused.
  bool any_failed() const;
  /// Octets that were sent without ARQ.
  std::uint64_t unconfirmed_octets() const { return unconfirmed_octets_; }
  const std::optional<Address>& to() const { return to_; }
  const CounterSet<ChatCounter>& counters() const { return counters_; }

 private:
  void show(Line line);
  void remember(Line line);
  void notice(std::string text);
  void refuse(std::string_view text, std::string reason);
  void command(std::string_view line);
  void change_destination(std::string_view text);
  void send(std::string_view text);
  std::string status() const;
  std::size_t room_for(Address destination) const;

  const Config config_;
  std::optional<Address> to_;
  std::optional<std::size_t> mtu_;
  std::uint64_t last_number_ = 0;
  std::map<std::uint64_t, Address> open_;  // destinations of messages whose end is still to come
  std::deque<Line> history_;
  std::uint64_t unconfirmed_octets_ = 0;
  CounterSet<ChatCounter> counters_;
  ActionQueue<Action> actions_;
};

}  // namespace s5066::chat
