#include "s5066d/sap/unidata_receiver.h"

#include <algorithm>

namespace s5066::sap {

UnidataReceiver::UnidataReceiver(const Config& config, const ClientTable& clients,
                                 const UtcClock& utc, PeerCounts& counts, Outbox& outbox,
                                 Counters& counters)
    : config_(config),
      clients_(clients),
      utc_(utc),
      counts_(counts),
      outbox_(outbox),
      counters_(counters),
      repeat_filter_(config.repeats_remembered_max) {}

std::optional<bool> UnidataReceiver::on_data(Instant now, const cas::SpduIndication& from,
                                             const DataSpdu& data) {
  const bool arq = from.service == cas::Service::arq;
  if (!arq && from.service != cas::Service::nonarq) {
    counters_.add(Counter::spdus_unsupported);  // expedited data
    return std::nullopt;
  }
  if (!is_for_us(from.destination)) {
    counters_.add(Counter::spdus_not_for_us);
    return std::nullopt;
  }
  if (has_died(now, data)) {
    counters_.add(Counter::spdus_expired);  // no answer has a reason for this; the sender times out
    return std::nullopt;
  }
  const auto client = clients_.client_at(data.destination_sap);
  if (!client) {
    counters_.add(Counter::spdus_unbound);
  } else if (arq && repeat_filter_.is_repeat(from.source, data)) {
    counters_.add(Counter::updus_repeated);
  } else {
    if (arq) repeat_filter_.on_delivered(from.source, data);
    counters_.add(Counter::updus_indicated);
    counts_.add_received(from.source, data.updu.size());
    outbox_.send(*client, sis::UnidataIndication{
                              data.priority, data.destination_sap, from.destination,
                              arq ? sis::TransmissionMode::arq : sis::TransmissionMode::nonarq,
                              data.source_sap, from.source, data.updu});
  }
  if (!data.client_confirm_required || !arq) return std::nullopt;
  return client.has_value();
}

bool UnidataReceiver::on_local(const UnidataItem& item) {
  const auto& data = std::get<DataSpdu>(item.spdu);
  const auto client = clients_.client_at(data.destination_sap);
  if (!client) {
    counters_.add(Counter::spdus_unbound);
    return false;
  }
  const bool arq = item.service == cas::Service::arq;
  counters_.add(Counter::updus_indicated);
  outbox_.send(*client, sis::UnidataIndication{
                            item.priority, data.destination_sap, item.destination,
                            arq ? sis::TransmissionMode::arq : sis::TransmissionMode::nonarq,
                            data.source_sap, config_.address, data.updu});
  return true;
}

bool UnidataReceiver::is_for_us(Address destination) const {
  return destination == config_.address || destination == Address::all_stations() ||
         std::find(config_.groups.begin(), config_.groups.end(), destination) !=
             config_.groups.end();
}

bool UnidataReceiver::has_died(Instant now, const DataSpdu& data) const {
  const auto utc_now = utc_.at(now);
  if (!config_.enforce_received_time_to_die || !data.time_to_die || !utc_now) return false;
  const auto died_at = decode_time_to_die(*utc_now, *data.time_to_die);
  const auto tolerance = std::chrono::duration_cast<seconds>(config_.time_to_die_tolerance).count();
  return died_at && died_at->value + tolerance < utc_now->value;
}

}  // namespace s5066::sap
