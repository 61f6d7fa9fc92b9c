#include "gateways/common/store_thread.h"

#include <utility>

namespace s5066::gateways {

StoreThread::StoreThread(SqliteStore store, std::size_t requests_max, Post post)
    : store_(std::move(store)),
      post_(std::move(post)),
      requests_(requests_max),
      thread_([this] { run(); }) {}

StoreThread::~StoreThread() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_one();
  thread_.join();
}

Result<void> StoreThread::request(StoreRequest request) {
  {
    const std::lock_guard lock(mutex_);
    if (!requests_.push(std::move(request))) return Error{ErrorCode::queue_full, "store"};
  }
  wake_.notify_one();
  return {};
}

void StoreThread::run() {
  while (true) {
    std::optional<StoreRequest> next;
    {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [this] { return stopping_ || !requests_.empty(); });
      next = requests_.pop();
      if (!next) return;  // stopping, and nothing left to do
    }
    post_(store_.execute(*next));
  }
}

}  // namespace s5066::gateways
