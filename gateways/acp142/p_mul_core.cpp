#include "gateways/acp142/p_mul_core.h"

#include <algorithm>

#include "s5066d/base/assert.h"
#include "s5066d/base/deadline_table.h"

namespace s5066::acp142 {

PMulCore::PMulCore(const Config& config, Rng& rng)
    : config_(config), sender_(config.sender, utc_), receiver_(config.receiver, rng, utc_) {
  S5066_ASSERT(config.sender.node == config.receiver.node);
}

void PMulCore::on_datagram(Instant now, ByteSpan octets) {
  ++stats_.pdus;
  const auto pdu = decode(octets, config_.decode);
  if (pdu) {
    std::visit([&](const auto& value) { on(now, value); }, *pdu);
    return;
  }
  switch (pdu.error().code) {
    case ErrorCode::bad_checksum:
      ++stats_.bad_checksum;
      break;
    case ErrorCode::unsupported:
      ++stats_.unknown_type;
      break;
    default:
      ++stats_.malformed;
  }
}

bool PMulCore::believed(NodeId source) {
  const auto& sources = config_.sources;
  if (sources.empty() || std::find(sources.begin(), sources.end(), source) != sources.end()) {
    return true;
  }
  ++stats_.source_refused;
  return false;
}

void PMulCore::on(Instant now, const DataPdu& pdu) {
  if (believed(pdu.name.source)) receiver_.on_data(now, pdu);
}
void PMulCore::on(Instant now, const AckPdu& pdu) {
  sender_.on_ack(now, pdu);
}
void PMulCore::on(Instant now, const AddressPdu& pdu) {
  if (believed(pdu.name.source)) receiver_.on_address(now, pdu);
}
void PMulCore::on(Instant now, const DiscardPdu& pdu) {
  if (believed(pdu.name.source)) receiver_.on_discard(now, pdu);
}
void PMulCore::on(Instant now, const ParityPdu& pdu) {
  if (believed(pdu.name.source)) receiver_.on_parity(now, pdu);
}
// Groups are configured ones: on HF nobody can join another, and on a LAN there is no need to.
void PMulCore::on(Instant, const AnnouncePdu&) {
  ++stats_.group_pdus;
}
void PMulCore::on(Instant, const GroupPdu&) {
  ++stats_.group_pdus;
}

void PMulCore::on_own_silence(Instant now, bool silent, bool listened) {
  silent_ = silent;
  receiver_.on_silent(now, silent, listened);
}

void PMulCore::on_deadline(Instant now) {
  receiver_.on_deadline(now);
  sender_.on_deadline(now);
}

std::optional<Instant> PMulCore::next_deadline() const {
  return earlier(receiver_.next_deadline(), sender_.next_deadline());
}

std::optional<MessageEvent> PMulCore::poll_event() {
  if (auto event = receiver_.poll_event()) return event;
  return sender_.poll_event();
}

// Acknowledgements go first: they are short, and somebody waits for them.
std::optional<OutgoingPdu> PMulCore::poll_pdu(Instant now) {
  if (silent_) return std::nullopt;
  if (auto pdu = receiver_.poll_pdu(now)) return pdu;
  return sender_.poll_pdu(now);
}

}  // namespace s5066::acp142
