// SPDX-License-Identifier: Apache-2.0
// Input: messages of the transfer service, each behind its length in two octets. A message that is
// accepted has the same meaning after it is written and read again. All go to a relay whose spool
// takes everything, and no input may make it keep more than its limits allow.
#include <algorithm>

#include "gateways/common/image_codec.h"
#include "gateways/file_relay/relay_core.h"
#include "s5066d/base/assert.h"

using namespace s5066;
using namespace s5066::file_relay;

namespace {

constexpr Address kPeer{0x01020304};

RelayCore::Config relay_config() {
  RelayCore::Config config;
  config.sender.transfer_service = true;
  config.transfers.transfers_max = 4;
  config.transfers.pending_octets_max = 10'000;
  config.transfers.file_octets_max = 1u << 20;
  return config;
}

gateways::StoreAnswer answer_to(const gateways::StoreOperation& operation) {
  if (std::holds_alternative<gateways::ListOpen>(operation)) return gateways::OpenItems{};
  if (std::holds_alternative<gateways::ListTransfers>(operation)) return gateways::OpenTransfers{};
  if (std::holds_alternative<gateways::OpenTransfer>(operation)) return gateways::TransferNews{};
  if (std::holds_alternative<gateways::FinishTransfer>(operation)) {
    gateways::TransferNews news;
    news.state = gateways::TransferNews::State::done;
    return news;
  }
  if (std::holds_alternative<gateways::StoreFile>(operation)) return gateways::FileStored{};
  return gateways::Saved{};
}

void drain(RelayCore& core, Instant now) {
  while (auto action = core.poll_action()) {
    if (auto* request = std::get_if<gateways::StoreRequest>(&*action)) {
      core.on_store_result(now, {request->ticket, answer_to(request->operation)});
    } else if (auto* updu = std::get_if<gateways::SisUnidata>(&*action)) {
      S5066_ASSERT(updu->updu.size() <= 300);
      core.on_sis(now, gateways::SisConfirmed{updu->id});
    }
  }
}

void check_message(ByteSpan octets) {
  const auto message = decode_transfer_message(octets);
  if (!message) return;
  const Bytes written = encode(*message);
  const auto again = decode_transfer_message(written);
  S5066_ASSERT(again && *again == *message);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  ByteSpan input(data, size);
  check_message(input);
  static_cast<void>(gateways::expand(input, 1000));
  static_cast<void>(gateways::apply_delta(Bytes(1000, 1), input, 1000));
  if (size < 4096) static_cast<void>(gateways::delta_image(input, Bytes(2000, 1)));
  RelayCore core(relay_config());
  Instant now{std::chrono::seconds(1)};
  core.on_clock(now, UtcSeconds{1'700'000'000}, now.time_since_epoch());
  core.on_start(now);
  drain(core, now);
  core.on_sis(now, gateways::SisBound{300});
  while (input.size() >= 2) {
    const std::size_t octets = std::min<std::size_t>(get_u16(input, 0), input.size() - 2);
    check_message(input.subspan(2, octets));
    Bytes updu;
    gateways::encode(gateways::RcopHeader{.application_id = kTransferApplication}, updu);
    append(updu, input.subspan(2, octets));
    input = input.subspan(2 + octets);
    core.on_sis(now, gateways::SisIndication{kPeer, gateways::kRcopSap, updu});
    drain(core, now);
    S5066_ASSERT(core.transfer_receiver().transfers().size() <= 4);
    S5066_ASSERT(core.transfer_receiver().octets_held() <= 4 * 10'000);
    now += std::chrono::seconds(1);
  }
  core.on_deadline(now + std::chrono::hours(1));
  drain(core, now + std::chrono::hours(1));
  return 0;
}
