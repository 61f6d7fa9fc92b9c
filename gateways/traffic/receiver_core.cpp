// SPDX-License-Identifier: Apache-2.0
#include "gateways/traffic/receiver_core.h"

#include <algorithm>

namespace s5066::traffic {
namespace {

constexpr CounterTable<TrafficCounter> kTable({
    {TrafficCounter::datagrams_malformed, "traffic_datagrams_malformed", "datagrams",
     "datagrams that are no probes"},
    {TrafficCounter::streams_malformed, "traffic_streams_malformed", "connections",
     "connections that were closed because their octets are no probes"},
    {TrafficCounter::streams_refused, "traffic_streams_refused", "connections",
     "connections that were refused because there were too many"},
    {TrafficCounter::runs_refused, "traffic_runs_refused", "probes",
     "probes of further runs, because there were too many runs"},
});

}  // namespace

const CounterTable<TrafficCounter>& counter_table(TrafficCounter) {
  return kTable;
}

/// Returns nothing and counts the probe if there are too many runs.
ReceiverCore::Run* ReceiverCore::run(const RunKey& key) {
  if (const auto found = runs_.find(key); found != runs_.end()) return &found->second;
  if (runs_.size() >= kRunsMax) {
    counters_.add(TrafficCounter::runs_refused);
    return nullptr;
  }
  return &runs_.try_emplace(key, config_.statistics).first->second;
}

void ReceiverCore::on_datagram(const Time& time, const std::string& source, ByteSpan payload,
                               std::size_t line_octets) {
  const auto probe = decode_header(payload);
  if (!probe) return counters_.add(TrafficCounter::datagrams_malformed);
  Run* to = run({source, probe->run, false});
  if (to == nullptr) return;
  last_at_ = time.at;
  to->statistics.on_probe({.at = time.at,
                           .utc_us = time.utc_us,
                           .octets = line_octets,
                           .intact = is_intact(*probe, payload)},
                          *probe);
}

bool ReceiverCore::on_stream(StreamId stream, const std::string& source) {
  if (streams_.size() >= kStreamsMax) {
    counters_.add(TrafficCounter::streams_refused);
    return false;
  }
  streams_[stream].source = source;
  return true;
}

bool ReceiverCore::on_stream_octets(const Time& time, StreamId id, ByteSpan octets) {
  const auto found = streams_.find(id);
  if (found == streams_.end()) return false;
  Stream& stream = found->second;
  while (!octets.empty()) {
    const std::size_t step = std::min(octets.size(), kProbeMax);
    append(stream.pending, octets.first(step));
    octets = octets.subspan(step);
    if (take_probe(time, stream)) continue;
    on_stream_end(id);
    return false;
  }
  return true;
}

/// Takes all whole probes. Returns false if the octets are not probes or have no place.
bool ReceiverCore::take_probe(const Time& time, Stream& stream) {
  std::size_t at = 0;
  while (stream.pending.size() - at >= kProbeHeader) {
    const ByteSpan rest = ByteSpan(stream.pending).subspan(at);
    const auto probe = decode_header(rest);
    if (!probe || (stream.run && stream.run->run != probe->run)) {
      counters_.add(TrafficCounter::streams_malformed);
      return false;
    }
    if (rest.size() < probe->octets) break;
    if (!stream.run) stream.run = RunKey{stream.source, probe->run, true};
    Run* to = run(*stream.run);
    if (to == nullptr) return false;
    last_at_ = time.at;
    to->statistics.on_probe({.at = time.at,
                             .utc_us = time.utc_us,
                             .octets = probe->octets,
                             .intact = is_intact(*probe, rest.first(probe->octets))},
                            *probe);
    at += probe->octets;
  }
  stream.pending.erase(stream.pending.begin(),
                       stream.pending.begin() + static_cast<std::ptrdiff_t>(at));
  return true;
}

void ReceiverCore::on_stream_end(StreamId id) {
  const auto found = streams_.find(id);
  if (found == streams_.end()) return;
  if (found->second.run) {
    if (const auto of = runs_.find(*found->second.run); of != runs_.end()) of->second.ended = true;
  }
  streams_.erase(found);
}

bool ReceiverCore::is_over(Instant now) const {
  if (runs_.empty()) return false;
  if (const auto end = next_deadline(); end && now >= *end) return true;
  return std::all_of(runs_.begin(), runs_.end(), [](const auto& entry) {
    return entry.second.ended || entry.second.statistics.is_complete();
  });
}

std::optional<Instant> ReceiverCore::next_deadline() const {
  if (!last_at_) return std::nullopt;
  return *last_at_ + config_.quiet_end;
}

std::vector<RunReport> ReceiverCore::reports() const {
  std::vector<RunReport> reports;
  for (const auto& [key, of] : runs_) {
    reports.push_back({key.source, key.run, key.stream, of.statistics.figures()});
  }
  return reports;
}

}  // namespace s5066::traffic
