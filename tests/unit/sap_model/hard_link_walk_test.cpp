// SPDX-License-Identifier: Apache-2.0
// Goal:   whatever two clients, two peers and the clock do to the hard links of a node, in any
//         order, nothing illegal happens, and nothing remains when the network falls silent.
// Method: every sequence of six events. The model checks the node after each event, and after each
//         sequence the network stops answering. Each test walks the sequences that begin with its
//         share of the pairs of events, so that the tests can run side by side.
#include <iostream>
#include <optional>

#include "tests/unit/sap/hard_link_model.h"

namespace s5066::sap::model {
namespace {

constexpr unsigned kDepth = 6;
constexpr unsigned kShares = 8;

class HardLinkWalk : public ::testing::TestWithParam<unsigned> {
 protected:
  void explore(const Model& from, unsigned depth) {
    if (HasFailure()) return;
    if (depth == 2 && pairs_++ % kShares != GetParam()) return;
    ++sequences;
    Model silent = from;
    silent.settle();
    if (depth == kDepth) return;
    std::optional<Model> next(from);
    for (unsigned event = 0; event < Model::kinds; ++event) {
      for (std::size_t who = 0; who < 2; ++who) {
        if (!next->happen(event, who, false)) continue;
        explore(*next, depth + 1);
        next.emplace(from);
      }
    }
  }

  Counters counters;
  NullTrace trace;
  Outbox outbox{counters};
  std::size_t sequences = 0;

 private:
  unsigned pairs_ = 0;
};

// A.3.2.2(1)
TEST_P(HardLinkWalk, every_order_of_six_events_stays_legal_and_ends_in_silence) {
  explore({{}, outbox, counters, trace}, 0);
  EXPECT_GT(sequences, 1'000'000u);
  std::cout << sequences << " sequences of events\n";
}
INSTANTIATE_TEST_SUITE_P(Share, HardLinkWalk, ::testing::Range(0u, kShares));

}  // namespace
}  // namespace s5066::sap::model
