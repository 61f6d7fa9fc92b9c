// SPDX-License-Identifier: Apache-2.0
#include "gateways/streams/receive_side.h"

#include <algorithm>
#include <utility>

namespace s5066::streams {

Result<std::size_t> ReceiveSide::on_data(const DataFrame& data) {
  const std::uint64_t past = data.offset + data.octets.size();
  if (past + (data.end ? 1 : 0) > granted_) {
    return Error{ErrorCode::too_large, "beyond what was granted"};
  }
  const std::uint64_t furthest =
      early_.empty() ? received_ : early_.rbegin()->first + early_.rbegin()->second.size();
  const bool beyond = end_at_ && (past > *end_at_ || (data.end && past != *end_at_));
  if (beyond || (data.end && past < furthest)) return Error{ErrorCode::bad_field, "two ends"};
  if (data.end) end_at_ = past;
  if (data.offset == 0 && received_ == 0 && data.compressed) decompressor_.emplace();
  if (past <= received_) return std::size_t{0};
  const std::uint64_t begin = std::max(data.offset, received_);
  const ByteSpan fresh = data.octets.subspan(static_cast<std::size_t>(begin - data.offset));
  if (begin > received_) {
    auto [at, is_new] = early_.try_emplace(begin);
    if (at->second.size() >= fresh.size()) return std::size_t{0};
    if (is_new && early_.size() > config_->early_pieces_max) {
      early_.erase(at);
      return Error{ErrorCode::too_large, "too many gaps"};
    }
    early_octets_ += fresh.size() - at->second.size();
    // Overlapping pieces are held twice at most, because only whole U_PDUs are repeated.
    at->second.assign(fresh.begin(), fresh.end());
    if (early_octets_ > 2 * window_) return Error{ErrorCode::too_large, "overlapping data"};
    return fresh.size();
  }
  append(ready_, fresh);
  received_ = past;
  while (!early_.empty() && early_.begin()->first <= received_) {
    const auto node = early_.extract(early_.begin());
    early_octets_ -= node.mapped().size();
    const std::uint64_t end = node.key() + node.mapped().size();
    if (end <= received_) continue;
    append(ready_,
           ByteSpan(node.mapped()).subspan(static_cast<std::size_t>(received_ - node.key())));
    received_ = end;
  }
  return fresh.size();
}

std::uint64_t ReceiveSide::received() const {
  return received_ + (ended() ? 1 : 0);
}

Result<std::optional<Bytes>> ReceiveSide::poll_octets() {
  const bool more = decompressor_ && decompressor_->more();
  if (decompressor_ && ready_.empty() && !more && ended()) {
    return Error{ErrorCode::truncated, "compressed data without its end"};
  }
  if ((ready_.empty() && !more) || unconsumed_ >= config_->unconsumed_max) {
    return std::optional<Bytes>();
  }
  const std::size_t room = config_->unconsumed_max - unconsumed_;
  ByteSpan in = ready_;
  Bytes out;
  if (decompressor_ && !decompressor_->ended()) {
    if (auto read = decompressor_->read(in, room, out); !read) return read.error();
  }
  if (decompressor_ && decompressor_->ended()) decompressor_.reset();
  if (!decompressor_) {
    const std::size_t plain = std::min(in.size(), room - out.size());
    append(out, in.first(plain));
    in = in.subspan(plain);
  }
  const std::size_t used = ready_.size() - in.size();
  ready_.erase(ready_.begin(), ready_.begin() + static_cast<std::ptrdiff_t>(used));
  taken_ += used;
  unconsumed_ += out.size();
  if (out.empty()) return std::optional<Bytes>();
  return std::optional(std::move(out));
}

bool ReceiveSide::poll_end() {
  if (end_told_ || !ended() || !ready_.empty()) return false;
  if (decompressor_ && decompressor_->more()) return false;
  end_told_ = true;
  return true;
}

void ReceiveSide::on_consumed(std::size_t octets) {
  unconsumed_ -= std::min(octets, unconsumed_);
}

bool ReceiveSide::wants_larger_window() const {
  return window_ < config_->window_max && received_ - granted_at_ >= window_ / 2;
}

void ReceiveSide::enlarge_window() {
  window_ = std::min(2 * window_, config_->window_max);
}

}  // namespace s5066::streams
