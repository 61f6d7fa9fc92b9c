// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/node/link_model.h"

#include <vector>

#include "s5066d/base/rng.h"
#include "s5066d/node/link_agreement.h"

namespace s5066::test {
namespace {

using Event = LinkModel::Event;

TEST(LinkModel, long_random_histories_keep_the_sublayers_agreed_about_a_link) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    Rng rng(seed);
    LinkModel model;
    std::vector<Event> events;
    while (events.size() < 40) {
      events.push_back(static_cast<Event>(rng.below(static_cast<std::uint64_t>(Event::count))));
    }
    SCOPED_TRACE(std::to_string(seed) + ": " + to_string(events));
    for (const Event event : events) model.happen(event);
    model.settle();
    if (HasFailure()) return;
  }
}

TEST(LinkAgreement, data_may_go_to_a_link_only_where_one_is_made) {
  using Exclusive = sap::ExclusiveLinks::State;
  using Session = sap::LinkManager::State;
  const auto soft = [](cas::LinkState state) {
    return std::optional(cas::LinkInfo{.peer = Address{5}, .state = state});
  };
  EXPECT_TRUE(link_views_agree(std::nullopt, {}));
  EXPECT_FALSE(link_views_agree(std::nullopt, {Session::up, Exclusive::none}));
  EXPECT_TRUE(link_views_agree(soft(cas::LinkState::made), {Session::up, Exclusive::none}));
  EXPECT_FALSE(link_views_agree(soft(cas::LinkState::breaking), {Session::up, Exclusive::none}));
  EXPECT_TRUE(
      link_views_agree(soft(cas::LinkState::breaking), {Session::closing, Exclusive::none}));
  EXPECT_FALSE(link_views_agree(soft(cas::LinkState::made), {Session::closing, Exclusive::none}));
}

}  // namespace
}  // namespace s5066::test
