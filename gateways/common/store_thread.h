// The one thread that touches the spool while a gateway runs: requests in through a bounded queue,
// results out through a function that posts them to the gateway's own thread.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

#include "gateways/common/sqlite_store.h"
#include "gateways/common/store_port.h"
#include "s5066d/base/bounded_queue.h"
#include "s5066d/base/result.h"

namespace s5066::gateways {

class StoreThread {
 public:
  /// `post` is called on the store's thread, once per request, in the order of the requests.
  using Post = std::function<void(StoreResult)>;

  StoreThread(SqliteStore store, std::size_t requests_max, Post post);
  /// Finishes what was accepted, then stops.
  ~StoreThread();
  StoreThread(const StoreThread&) = delete;
  StoreThread& operator=(const StoreThread&) = delete;

  /// `queue_full` when it has too much to do already.
  Result<void> request(StoreRequest request);

 private:
  void run();

  SqliteStore store_;
  Post post_;
  std::mutex mutex_;
  std::condition_variable wake_;
  BoundedQueue<StoreRequest> requests_;
  bool stopping_ = false;
  std::thread thread_;  // last: it uses all of the above
};

}  // namespace s5066::gateways
