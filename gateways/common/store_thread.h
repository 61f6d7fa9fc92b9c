// SPDX-License-Identifier: Apache-2.0
// The one thread that touches a spool while a gateway runs: requests in through a bounded queue,
// results out through a function that posts them to the gateway's own thread. What waits is handed
// to the store together, so that it may commit once for many.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "s5066d/base/bounded_queue.h"
#include "s5066d/base/result.h"

namespace s5066::gateways {

/// A Store has the types Request and Outcome, `std::vector<Outcome> execute(const
/// std::vector<Request>&)` with an outcome for each request in their order, and damage(), the
/// reason why its file must be used no more.
template <typename Store>
class StoreThread {
 public:
  using Request = typename Store::Request;
  using Outcome = typename Store::Outcome;
  /// `post` is called on the store's thread, with an outcome for each request, in their order.
  using Post = std::function<void(std::vector<Outcome>)>;
  /// The store's thread calls this once. It posts and does nothing afterwards, because the process
  /// is to end.
  using OnDamage = std::function<void(const Error&)>;

  StoreThread(Store store, std::size_t requests_max, Post post, OnDamage on_damage)
      : store_(std::move(store)),
        post_(std::move(post)),
        on_damage_(std::move(on_damage)),
        requests_(requests_max),
        thread_([this] { run(); }) {}

  /// Finishes what was accepted, then stops.
  ~StoreThread() {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    wake_.notify_one();
    thread_.join();
  }
  StoreThread(const StoreThread&) = delete;
  StoreThread& operator=(const StoreThread&) = delete;

  /// Fails with `queue_full` when the store has too much to do already; the request is then as it
  /// was.
  Result<void> request(Request& request) {
    {
      const std::lock_guard lock(mutex_);
      if (requests_.full()) return Error{ErrorCode::queue_full, "store"};
      static_cast<void>(requests_.push(std::move(request)));
    }
    wake_.notify_one();
    return {};
  }

 private:
  void run() {
    while (true) {
      std::vector<Request> batch;
      {
        std::unique_lock lock(mutex_);
        wake_.wait(lock, [this] { return stopping_ || !requests_.empty(); });
        while (auto next = requests_.pop()) batch.push_back(*std::move(next));
      }
      if (batch.empty()) return;  // the store is stopping and nothing is left to do
      auto outcomes = store_.execute(batch);
      if (const auto damage = store_.damage()) return on_damage_(*damage);
      post_(std::move(outcomes));
    }
  }

  Store store_;
  Post post_;
  OnDamage on_damage_;
  std::mutex mutex_;
  std::condition_variable wake_;
  BoundedQueue<Request> requests_;
  bool stopping_ = false;
  std::thread thread_;  // the last member, because it uses all of the above
};

}  // namespace s5066::gateways
