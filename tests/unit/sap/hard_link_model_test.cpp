// SPDX-License-Identifier: Apache-2.0
// Goal:   whatever clients, peers and the clock do to the hard links of a node over a long time,
//         also with answers that nobody asked for, nothing illegal happens.
// Method: random histories. The model checks the node after each event, and after each history the
//         network stops answering. tests/unit/sap_model walks all short histories.
#include "tests/unit/sap/hard_link_model.h"

#include "s5066d/base/rng.h"
#include "tests/support/seeds.h"

namespace s5066::sap::model {
namespace {

TEST(HardLinkModel, long_random_histories_with_stray_answers_stay_legal) {
  Counters counters;
  NullTrace trace;
  Outbox outbox{counters};
  for (const sim::Seed seed : sim::thinned_seeds(20'000)) {
    if (::testing::Test::HasFailure()) return;
    Rng choice(seed);
    const auto rank = [&] { return static_cast<std::uint8_t>(4 + choice.below(3)); };
    Model history{{{rank(), rank()}, rank()}, outbox, counters, trace};
    history.trail = " seed " + std::to_string(seed) + ":";
    for (int i = 0; i < 60 && !::testing::Test::HasFailure(); ++i) {
      history.happen(choice.below(Model::kinds), choice.below(3), true);
    }
    history.settle();
  }
}

}  // namespace
}  // namespace s5066::sap::model
