// SPDX-License-Identifier: Apache-2.0
// The running file relay: RelayCore between the SIS client, the store thread, a control socket and
// one timer, on one io_context. The cores decide; this only carries.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gateways/common/node_time.h"
#include "gateways/common/node_time_asker.h"
#include "gateways/common/service_host.h"
#include "gateways/common/sis_requests.h"
#include "gateways/common/spool_keeper.h"
#include "gateways/common/sqlite_store.h"
#include "gateways/common/store_thread.h"
#include "gateways/file_relay/folder_watch.h"
#include "gateways/file_relay/relay_config.h"
#include "gateways/file_relay/relay_core.h"
#include "gateways/file_relay/relay_requests.h"
#include "s5066d/base/counter_set.h"
#include "s5066d/base/log.h"
#include "s5066d/base/result.h"
#include "s5066d/base/step_limit.h"
#include "sis/client.h"

namespace s5066::file_relay {

class RelayService {
 public:
  RelayService(const RelayConfig& config, LogSink& log);
  ~RelayService();

  /// Serves until SIGINT, SIGTERM or SIGHUP. An error when it cannot start, and `bad_checksum` when
  /// the spool was found damaged.
  Result<void> run();
  /// Tests call start(), which is the first part of run(), and then run io() themselves.
  Result<void> start();
  boost::asio::io_context& io() { return host_.io(); }
  /// Returns the counters of all parts of the process, after start().
  CounterRows counters() const;

 private:
  void stop();
  gateways::SpoolKeeper::Config spool_config();
  Result<void> tell(const gateways::SpoolReport& report) const;
  Result<void> leave_p_mul(gateways::SqliteStore& store);

  Duration machine_time() const;
  Instant now() const { return time_.now(machine_time()); }
  void set_clock();
  void on_node_time(std::optional<gateways::NodeTime> node);
  void on_sis(const sis::Event& event);
  void to_core(const gateways::SisEvent& event);
  void on_store_result(const gateways::StoreResult& result);
  void drain();
  void carry_out(const RelayEvent& event);
  void carry_out(gateways::StoreRequest request);
  void carry_out(gateways::SisUnidata updu);
  void carry_out(RelayCore::UdopUnidata updu);
  void arm_timer();
  void offer_store_requests();
  void add_verbs();
  std::string status();
  Result<std::string> change(gateways::SpoolChange change, SpoolId id);
  void add_spool_verbs();
  void add_inbox_verbs();
  void look_at_folders();
  Result<void> accept_watched(const WatchFolder& folder, const HandedFile& file, bool maybe_again);
  Result<std::string> queue(const control::Words& words);
  Result<std::string> show(SpoolId id);
  Result<std::string> put(const PutRequest& request, const posix::PassedFile& content);
  std::vector<Result<SpoolId>> accept(gateways::NewItem item, const std::vector<Address>& to,
                                      const gateways::GradeSettings& grade);
  void on_udop(const sis::Event& event);
  Result<std::string> ask_inbox(Address station, InboxRequest request, const std::string& path);
  Result<std::string> inbox_answer(TransferNumber number);
  Result<std::string> incoming();
  Result<std::string> received();
  std::optional<Result<std::string>> change_incoming(gateways::SpoolChange asked,
                                                     std::string_view id);

  RelayConfig config_;
  gateways::ServiceHost host_;
  LogSink& log_;
  boost::asio::steady_timer timer_{host_.io()};
  std::chrono::steady_clock::time_point started_ = std::chrono::steady_clock::now();
  gateways::NodeTimeFollower time_{Duration::zero()};
  /// Store of this thread, for operators' requests.
  std::optional<gateways::SqliteStore> operator_store_;
  std::unique_ptr<gateways::NodeTimeAsker> asker_;  // set if the node's control socket is known
  gateways::SpoolKeeper spool_;
  RelayCore core_;
  StepLimit steps_;
  bool draining_ = false;
  bool stopping_ = false;
  /// Requests for which the store had no room yet.
  std::deque<gateways::StoreRequest> store_requests_;
  gateways::SisRequests requests_;
  std::unique_ptr<sis::Client> client_;
  gateways::SisRequests udop_requests_;
  std::unique_ptr<sis::Client> udop_client_;  // client of SAP 7, if the configuration has P_MUL
  std::unique_ptr<gateways::StoreThread<gateways::SqliteStore>> store_;
  std::vector<FolderWatch> folders_;
  boost::asio::steady_timer folder_timer_{host_.io()};
};

}  // namespace s5066::file_relay
