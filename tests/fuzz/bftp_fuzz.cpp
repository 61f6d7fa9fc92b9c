// SPDX-License-Identifier: Apache-2.0
// Input: U_PDUs, each behind one octet of flags and its length in two octets. They go to a relay
// with one file of its own under way, by RCOP (SAP 6) or UDOP (SAP 7): segments, files by BFTP and
// their acknowledgements by FRAP. The flags choose the SAP, the station and the time that passes.
// No input may make the relay keep more than its limits allow, and what is read has the same
// meaning after it is written and read again.
#include <algorithm>
#include <memory>

#include "gateways/file_relay/bftp.h"
#include "gateways/file_relay/relay_core.h"
#include "s5066d/base/assert.h"

using namespace s5066;
using namespace s5066::file_relay;

namespace {

constexpr Address kPeer{0x01020304};
constexpr Address kOther{0x01020305};
constexpr std::size_t kSourceOctetsMax = 20'000;

RelayCore::Config relay_config() {
  RelayCore::Config config;
  config.sender.transfer_service = false;
  config.sender.sending.others.by_udop = true;
  config.receiver.sending = config.sender.sending;
  config.reassembler.contexts_max = 8;
  config.reassembler.pdu_octets_max = 10'000;
  config.reassembler.source_octets_max = kSourceOctetsMax;
  config.receiver.octets_max = 10'000;
  config.sender.begun_octets_max = 10'000;
  return config;
}

class Relay {
 public:
  Relay() {
    core_.on_clock(now_, UtcSeconds{1'700'000'000}, now_.time_since_epoch());
    core_.on_start(now_);
    drain();
    core_.on_sis(now_, gateways::SisBound{300});
    core_.on_udop(now_, gateways::SisBound{300});
    drain();
  }

  void take(std::uint8_t flags, ByteSpan octets) {
    const Address source = (flags & 2) != 0 ? kPeer : kOther;
    const Bytes updu(octets.begin(), octets.end());
    if ((flags & 1) != 0) {
      core_.on_sis(now_, gateways::SisIndication{source, gateways::kRcopSap, updu});
    } else {
      core_.on_udop(now_, gateways::SisIndication{source, SapId{7}, updu});
    }
    drain();
    S5066_ASSERT(core_.reassembler().contexts() <= 8);
    S5066_ASSERT(core_.reassembler().octets_held(source) <= kSourceOctetsMax);
    now_ += std::chrono::seconds(flags >> 2);
    if (const auto next = core_.next_deadline(); next && *next <= now_) core_.on_deadline(now_);
    drain();
  }

  void wait() {
    now_ += std::chrono::hours(3);
    core_.on_deadline(now_);
    drain();
    S5066_ASSERT(core_.reassembler().contexts() == 0);
  }

 private:
  gateways::StoreAnswer answer_to(const gateways::StoreOperation& operation) {
    if (std::holds_alternative<gateways::ListOpen>(operation)) return open_file();
    if (std::holds_alternative<gateways::ReadContent>(operation) ||
        std::holds_alternative<gateways::PrepareImage>(operation) ||
        std::holds_alternative<gateways::ReadImage>(operation)) {
      return gateways::Content{Bytes(500, 7)};
    }
    if (std::holds_alternative<gateways::StoreFile>(operation)) return gateways::FileStored{};
    // The input may have messages of the transfer service, too.
    if (std::holds_alternative<gateways::ListTransfers>(operation)) {
      return gateways::OpenTransfers{};
    }
    if (std::holds_alternative<gateways::OpenTransfer>(operation)) return gateways::TransferNews{};
    if (std::holds_alternative<gateways::FinishTransfer>(operation)) {
      gateways::TransferNews news;
      news.state = gateways::TransferNews::State::done;
      return news;
    }
    return gateways::Saved{};
  }

  gateways::OpenItems open_file() {
    if (std::exchange(listed_, true)) return {};
    gateways::SpoolItem item;
    item.id = {1};
    item.destination = kPeer;
    item.name = "f";
    item.size = 500;
    item.updu_id = 5;
    gateways::OpenItems items;
    items.items.push_back(std::move(item));
    return items;
  }

  void drain() {
    while (auto action = core_.poll_action()) {
      if (auto* request = std::get_if<gateways::StoreRequest>(&*action)) {
        core_.on_store_result(now_, {request->ticket, answer_to(request->operation)});
      } else if (auto* updu = std::get_if<gateways::SisUnidata>(&*action)) {
        core_.on_sis(now_, gateways::SisConfirmed{updu->id});
      } else if (auto* udop = std::get_if<RelayCore::UdopUnidata>(&*action)) {
        core_.on_udop(now_, gateways::SisConfirmed{udop->unidata.id});
      }
    }
  }

  RelayCore core_{relay_config()};
  Instant now_{std::chrono::seconds(1)};
  bool listed_ = false;
};

void check_codecs(ByteSpan octets) {
  if (const auto pdu = gateways::decode_rcop(octets)) {
    Bytes written;
    gateways::encode(pdu->header, written);
    append(written, Bytes(pdu->data.begin(), pdu->data.end()));
    const auto again = gateways::decode_rcop(written);
    S5066_ASSERT(again && again->header == pdu->header);
  }
  if (const auto header = decode_bftp_header(octets)) {
    Bytes written;
    encode(*header, written);
    const auto again = decode_bftp_header(written);
    S5066_ASSERT(again && *again == *header && written.size() == encoded_bytes(*header));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  ByteSpan input(data, size);
  check_codecs(input);
  Relay relay;
  while (input.size() >= 3) {
    const std::uint8_t flags = input[0];
    const std::size_t octets = std::min<std::size_t>(get_u16(input, 1), input.size() - 3);
    check_codecs(input.subspan(3, octets));
    relay.take(flags, input.subspan(3, octets));
    input = input.subspan(3 + octets);
  }
  relay.wait();
  return 0;
}
