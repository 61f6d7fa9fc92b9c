// SPDX-License-Identifier: Apache-2.0
#include "modem/audio/cable_device.h"

#include "s5066d/base/assert.h"

namespace s5066::modem {
namespace {

using cable::Answer;

Error refusal(Answer answer) {
  switch (answer) {
    case Answer::no_such_station:
      return Error{ErrorCode::refused, "the cable has no end with this number, or no free end"};
    case Answer::taken:
      // The place may have been ours a moment ago, so the error is not final.
      return Error{ErrorCode::already_exists, "another station uses this end of the cable"};
    case Answer::bad_version:
    case Answer::accepted:
      break;
  }
  return Error{ErrorCode::refused,
               "the hub uses another protocol version; update it or this program"};
}

}  // namespace

Result<void> CableDevice::open() {
  close();
  auto socket = posix::connect_unix(config_.socket_path, config_.connect_timeout);
  if (!socket) return socket.error();
  socket_ = std::move(*socket);
  auto agreed = shake_hands();
  if (!agreed) close();
  return agreed;
}

void CableDevice::close() {
  socket_.reset();
  held_ = 0;
  index_.reset();
}

Result<void> CableDevice::shake_hands() {
  const Bytes hello =
      cable::encode(cable::Hello{.station = config_.station.value_or(cable::kAnyStation)});
  if (auto sent = posix::send_all(socket_.get(), hello, config_.connect_timeout); !sent)
    return sent;
  in_.resize(cable::kWelcomeBytes);
  const Duration end = posix::monotonic_now() + config_.connect_timeout;
  while (held_ < in_.size()) {
    const auto got = posix::receive_some(socket_.get(), std::span(in_).subspan(held_),
                                         end - posix::monotonic_now());
    if (!got) return got.error();
    held_ += *got;
  }
  held_ = 0;
  const auto welcome = cable::decode_welcome(in_);
  if (!welcome) return welcome.error();
  if (welcome->answer != Answer::accepted) return refusal(welcome->answer);
  if (welcome->version != cable::kVersion) return refusal(Answer::bad_version);
  info_ = {.name = "cable " + config_.socket_path + " station " + std::to_string(welcome->station),
           .rate_hz = welcome->rate_hz,
           .block_samples = welcome->block_samples,
           .lockstep = welcome->pace == cable::Pace::max,
           .utc = welcome->utc,
           .transmit_delay = std::size_t{welcome->delay_blocks} * welcome->block_samples};
  in_.resize(cable::kBlockHeaderBytes + info_.block_samples * sizeof(float));
  return {};
}

Result<Device::Received> CableDevice::receive(std::span<float> samples) {
  S5066_ASSERT(samples.size() == info_.block_samples);
  if (!socket_) return Error{ErrorCode::link_down, "cable is not open"};
  while (held_ < in_.size()) {
    const auto got =
        posix::receive_some(socket_.get(), std::span(in_).subspan(held_), config_.receive_timeout);
    if (!got) return got.error();
    held_ += *got;
  }
  held_ = 0;
  const ByteSpan block(in_);
  const auto header =
      cable::decode_block_header(block.first(cable::kBlockHeaderBytes), samples.size());
  if (!header) return header.error();
  if (index_ && header->index <= *index_) return Error{ErrorCode::bad_field, "block index"};
  if (auto read = cable::decode_samples(block.subspan(cable::kBlockHeaderBytes), samples); !read) {
    return read.error();
  }
  const std::uint64_t missed = index_ ? header->index - *index_ - 1 : 0;
  if (missed > cable::kGapBlocksMax) return Error{ErrorCode::bad_field, "gap of block indices"};
  index_ = header->index;
  return Received{.dropped = missed * info_.block_samples,
                  .underrun = std::uint64_t{header->late} * info_.block_samples};
}

Result<void> CableDevice::transmit(bool keyed, std::span<const float> samples) {
  S5066_ASSERT(samples.size() == info_.block_samples);
  S5066_ASSERT(index_.has_value());
  if (!socket_) return Error{ErrorCode::link_down, "cable is not open"};
  out_.clear();
  cable::append_block({.keyed = keyed,
                       .count = static_cast<std::uint16_t>(samples.size()),
                       .late = 0,
                       .index = *index_},
                      samples, out_);
  auto sent = posix::send_all(socket_.get(), out_, config_.transmit_timeout);
  // A part of a block may have been sent, so nothing more can follow on this connection.
  if (!sent) close();
  return sent;
}

}  // namespace s5066::modem
