// SPDX-License-Identifier: Apache-2.0
#include "gateways/streams/send_side.h"

#include <algorithm>

#include "s5066d/base/assert.h"

namespace s5066::streams {
namespace {

/// Compression ends if, after this many octets, it has saved less than one part in kSavedPart.
constexpr std::uint64_t kTrialOctets = 4096;
constexpr std::uint64_t kSavedPart = 16;

}  // namespace

SendSide::SendSide(std::uint64_t limit, bool compress)
    : start_compressed_(compress), limit_(limit) {
  if (compress) compressor_.emplace();
}

void SendSide::write(ByteSpan octets) {
  S5066_ASSERT(!finished_);
  if (!compressor_) return append(wire_, octets);
  compressor_->write(octets, wire_);
  unflushed_ += octets.size();
  if (unflushed_ >= kTrialOctets) flush();
}

void SendSide::flush() {
  if (!compressor_) return;
  compressor_->flush(wire_);
  unflushed_ = 0;
  const std::uint64_t in = compressor_->octets_in();
  const bool helps = compressor_->octets_out() < in - in / kSavedPart;
  if (in >= kTrialOctets && !helps) give_up_compression();
}

void SendSide::give_up_compression() {
  compressor_->end(wire_);
  before_ = compressor_->octets_in();
  after_ = compressor_->octets_out();
  compressor_.reset();
  gave_up_ = true;
}

void SendSide::finish() {
  if (finished_) return;
  flush();
  if (compressor_) {
    compressor_->end(wire_);
    before_ = compressor_->octets_in();
    after_ = compressor_->octets_out();
    compressor_.reset();
  }
  finished_ = true;
}

std::size_t SendSide::waiting() const {
  std::uint64_t octets = 0;
  for (const auto& [offset, past] : again_) octets += past - offset;
  const std::uint64_t may = std::min(limit_, past());
  if (may > next_) octets += may - next_;
  if (limit_ > past()) octets += std::min<std::uint64_t>(unflushed_, limit_ - past());
  return static_cast<std::size_t>(octets);
}

bool SendSide::blocked() const {
  return again_.empty() && next_ >= limit_ && (next_ < past() || unflushed_ > 0);
}

SendSide::Piece SendSide::piece(std::uint64_t offset, std::uint64_t past) const {
  S5066_ASSERT(offset >= base_ && past <= this->past() && offset < past);
  Piece made{.offset = offset};
  made.end = past > end_offset();
  const auto begin = wire_.begin() + static_cast<std::ptrdiff_t>(offset - base_);
  const auto octets = static_cast<std::ptrdiff_t>(past - offset - (made.end ? 1 : 0));
  made.octets.assign(begin, begin + octets);
  made.compressed = start_compressed_ && offset == 0;
  return made;
}

std::optional<SendSide::Piece> SendSide::take(std::size_t octets_max) {
  if (octets_max == 0) return std::nullopt;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  const bool repeated = !again_.empty();
  if (repeated) {
    begin = again_.begin()->first;
    end = std::min(again_.begin()->second, begin + octets_max);
    const std::uint64_t rest = again_.begin()->second;
    again_.erase(again_.begin());
    if (end < rest) again_.emplace(end, rest);
  } else {
    if (next_ + octets_max > past()) flush();
    begin = next_;
    end = std::min({limit_, past(), begin + octets_max});
    if (end <= begin) return std::nullopt;
    // The end of the direction goes with the last octets, so that it needs no U_PDU of its own.
    if (finished_ && end == end_offset() && limit_ > end) end = past();
    next_ = end;
  }
  Piece taken = piece(begin, end);
  taken.repeated = repeated;
  flights_[begin] = {end, std::nullopt};
  return taken;
}

void SendSide::on_confirmed(Instant now, std::uint64_t offset, std::uint64_t past) {
  // An acknowledgement may have come first, and may have cut off the front of the flight.
  const auto found = flights_.lower_bound(offset);
  if (found != flights_.end() && found->second.past == past) found->second.confirmed = now;
}

void SendSide::on_failed(std::uint64_t offset, std::uint64_t past) {
  const auto found = flights_.lower_bound(offset);
  if (found == flights_.end() || found->second.past != past) return;
  const std::uint64_t begin = found->first;
  flights_.erase(found);
  send_again(begin, past);
}

void SendSide::send_again(std::uint64_t offset, std::uint64_t past) {
  again_[offset] = past;
  resent_ += past - offset;
}

void SendSide::on_lost(Instant until) {
  for (auto at = flights_.begin(); at != flights_.end();) {
    if (!at->second.confirmed || *at->second.confirmed > until) {
      ++at;
      continue;
    }
    send_again(at->first, at->second.past);
    at = flights_.erase(at);
  }
}

bool SendSide::on_ack(std::uint64_t received, std::uint64_t limit) {
  if (received > next_ || limit > kOffsetMax) return false;
  limit_ = std::max(limit_, limit);
  if (received <= base_ || end_acknowledged_) return true;
  const std::uint64_t octets = std::min(received, end_offset()) - base_;
  wire_.erase(wire_.begin(), wire_.begin() + static_cast<std::ptrdiff_t>(octets));
  base_ += octets;
  end_acknowledged_ = received > base_;
  const auto cut = [&](auto& ranges, auto past_of, auto make) {
    while (!ranges.empty() && ranges.begin()->first < received) {
      auto node = ranges.extract(ranges.begin());
      if (past_of(node.mapped()) > received) ranges.emplace(received, make(node.mapped()));
    }
  };
  cut(
      flights_, [](const Flight& flight) { return flight.past; },
      [](const Flight& flight) { return flight; });
  cut(
      again_, [](std::uint64_t past) { return past; }, [](std::uint64_t past) { return past; });
  return true;
}

std::optional<Instant> SendSide::oldest_confirmed() const {
  std::optional<Instant> oldest;
  for (const auto& [offset, flight] : flights_) {
    if (flight.confirmed && (!oldest || *flight.confirmed < *oldest)) oldest = flight.confirmed;
  }
  return oldest;
}

}  // namespace s5066::streams
