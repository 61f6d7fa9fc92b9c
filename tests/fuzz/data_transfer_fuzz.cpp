// SPDX-License-Identifier: Apache-2.0
// Input: a script of octets for a data transfer sublayer. Links come and go, data is requested, and
// the air carries frames of any type from a few addresses or from many, and bare bits, in any mode
// and quality. For any input, no assert fails, the core becomes idle, and the state about other
// stations stays bounded.
#include <type_traits>

#include "tests/support/dpdu_samples.h"
#include "tests/support/lone_station.h"

using namespace s5066;

namespace {

constexpr Address kUs{0x01020301};

class Script {
 public:
  explicit Script(ByteSpan octets) : octets_(octets) {}
  bool over() const { return octets_.empty(); }
  std::uint8_t octet() {
    if (octets_.empty()) return 0;
    const std::uint8_t value = octets_.front();
    octets_ = octets_.subspan(1);
    return value;
  }
  ByteSpan octets(std::size_t n) {
    const ByteSpan taken = octets_.first(std::min(n, octets_.size()));
    octets_ = octets_.subspan(taken.size());
    return taken;
  }

 private:
  ByteSpan octets_;
};

Address peer(std::uint8_t choice) {
  return {0x01020302u + choice % 3};
}

modem::Mode mode(std::uint8_t choice) {
  return modem::all_modes()[choice % modem::all_modes().size()];
}

/// Returns a frame of type 9 or 10.
pdu::Dpdu long_frame(Rng& rng) {
  const pdu::Common common = test::random_common(rng);
  if (rng.chance(0.5)) {
    return pdu::LongData{common, test::random_flags(rng), {}, test::random_bytes(rng, 12)};
  }
  const auto octets =
      static_cast<std::uint32_t>(rng.chance(0.2) ? pdu::kLongSelectiveOctetsMax : 3);
  return pdu::LongAckOnly{common, {{}, test::random_bytes(rng, rng.below(octets + 1))}};
}

/// Returns advice or an offer; the other types of EOW are drawn with the frame.
pdu::Eow eow(std::uint8_t choice) {
  if (choice % 2 == 0) return pdu::make_extensions(choice);
  const pdu::DrcRequest advice{.rate = static_cast<std::uint8_t>(choice / 2 % 16),
                               .interleaver = static_cast<std::uint8_t>(choice / 32 % 4),
                               .advisory = true};
  return pdu::make_eow(pdu::EowType::drc_request, advice);
}

/// Returns a frame of any type with numbers close to 0, so that they often fit the window.
pdu::Dpdu frame(Script& script) {
  const std::uint8_t choice = script.octet();
  Rng rng(script.octet() * 256u + script.octet());
  pdu::Dpdu dpdu = choice < 160 ? test::random_dpdu(rng, 12) : long_frame(rng);
  const std::uint8_t number = script.octet();
  const auto adjust = [&](auto& d) {
    d.common.destination = choice % 16 == 0 ? Address{99} : kUs;
    d.common.source = choice % 8 == 1 ? Address{script.octet() * 100u} : peer(choice);
    d.common.eot_half_s = choice % 4 == 0 ? script.octet() : std::uint8_t{1};
    if (choice % 4 == 3) d.common.eow = eow(script.octet());
    // Long numbers are multiples of 17, so that far more than 128 frames may be outstanding.
    if constexpr (requires { d.number; }) {
      const bool is_long = std::is_same_v<decltype(d.number), LongFrameNumber>;
      d.number.value = static_cast<decltype(d.number.value)>(is_long ? 17 * number : number);
    }
    if constexpr (requires { d.ack.rx_lwe; }) d.ack.rx_lwe.value = script.octet();
    if constexpr (requires { d.frame_id; }) d.frame_id = number;
  };
  std::visit(adjust, dpdu);
  if (auto* nonarq = std::get_if<pdu::Nonarq>(&dpdu)) {
    nonarq->cpdu_id = number % 4;
    nonarq->window_half_s = script.octet();
    nonarq->common.destination.group = choice % 8 == 2;
  }
  return dpdu;
}

void step(Script& script, test::LoneStation& station, std::uint64_t& next_id) {
  const std::uint8_t what = script.octet();
  switch (what % 8) {
    case 0:
      station.made(peer(what / 8));
      break;
    case 1:
      station.terminated(peer(what / 8));
      break;
    case 2: {
      dts::CpduRequest request{.id = {next_id++},
                               .service = static_cast<dts::Service>(what / 8 % 4),
                               .destination = peer(script.octet())};
      request.cpdu = Bytes(1 + script.octet() * 8u, 0xA5);
      request.in_order = what >= 128;
      request.repeats = what / 32 % 4;
      request.priority = what / 16 % 16;
      if (what % 16 == 10) request.time_to_die = station.now() + std::chrono::seconds(what);
      station.request(std::move(request));
      break;
    }
    case 3:
    case 4: {
      std::vector<pdu::Dpdu> frames;
      for (int i = 0; i <= what / 64; ++i) {
        auto one = frame(script);
        if (!std::holds_alternative<pdu::Unsupported>(one)) frames.push_back(std::move(one));
      }
      if (!frames.empty()) station.hear(frames);
      break;
    }
    case 5:
      station.hear(script.octets(1 + what));
      break;
    case 6:
      station.run_for(std::chrono::milliseconds(what * 100));
      break;
    default:
      if (what >= 192) {
        station.set_heard(mode(script.octet()), static_cast<float>(script.octet()) / 4 - 16);
      } else {
        static_cast<void>(station.ask_for(peer(what / 8), mode(script.octet())));
      }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::size_t kOctetsMax = 2000;
  if (size > kOctetsMax) return 0;
  Script script(ByteSpan(data, size));
  const std::uint8_t first = script.octet();
  dts::Config config{.address = kUs,
                     .mode = mode(first),
                     .segment_octets = first % 5 == 0 ? 30u : 0u,
                     .window = first % 2 == 0 ? 8u : dts::kWindowMax,
                     .link_queue_octets_max = 8192,
                     .expedited_queue_octets_max = 8192,
                     .nonarq_queue_octets_max = 8192,
                     .rate_change = first % 3 != 0,
                     .peers_max = 8};
  if (script.octet() % 2 == 1) config.adaptation.emplace();
  test::LoneStation station(config);
  std::uint64_t next_id = 1;
  while (!script.over()) {
    step(script, station, next_id);
    S5066_ASSERT(station.dts().peers_known() <= 8);
    for (std::uint8_t i = 0; i < 3; ++i) {
      S5066_ASSERT(station.dts().queued_octets(peer(i)) <= 16384);
    }
  }
  // Every accepted request has one answer, however it ends.
  for (std::uint8_t i = 0; i < 3; ++i) station.terminated(peer(i));
  station.run_for(std::chrono::hours(6));
  std::map<CpduId, int> answers;
  for (const auto& action : station.take_actions()) {
    if (const auto* confirm = std::get_if<dts::CpduConfirm>(&action)) ++answers[confirm->id];
    if (const auto* rejected = std::get_if<dts::CpduRejected>(&action)) ++answers[rejected->id];
  }
  S5066_ASSERT(answers.size() == next_id - 1);
  for (const auto& [id, count] : answers) S5066_ASSERT(count == 1);
  return 0;
}
