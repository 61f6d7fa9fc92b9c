// SPDX-License-Identifier: Apache-2.0
#include "s5066d/node/input_rate.h"

#include <algorithm>

namespace s5066 {
namespace {

constexpr Duration kBurst = std::chrono::seconds(1);
/// Input that must be paid for before a client continues, so that it does not stop at each
/// primitive.
constexpr Duration kPause = std::chrono::milliseconds(100);

Duration cost(std::uint64_t amount, std::uint32_t per_second_max) {
  if (per_second_max == 0) return Duration::zero();
  return Duration(static_cast<Duration::rep>(amount * 1'000'000'000 / per_second_max));
}

}  // namespace

// There is one account for both limits: a primitive costs the larger of the two amounts.
void InputRate::take(Instant now, std::size_t octets) {
  empty_at_ = std::max(empty_at_, now) + std::max(cost(1, config_.primitives_per_second_max),
                                                  cost(octets, config_.octets_per_second_max));
  if (empty_at_ - now >= kBurst && !resumes_at_) resumes_at_ = empty_at_ - kBurst + kPause;
}

void InputRate::refill(Instant now) {
  if (resumes_at_ && now >= *resumes_at_) resumes_at_.reset();
}

}  // namespace s5066
