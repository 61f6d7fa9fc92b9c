// SPDX-License-Identifier: Apache-2.0
// Computes the bound of receivers that decode as ours does, at the rows of the standards' minimum
// performance. Each symbol is received by itself, all power of both paths is collected, the channel
// and the noise are known exactly (matched filter bound), and demapping and decoding alternate
// until nothing changes. There is no preamble, no synchronisation, and no intersymbol interference.
// The rows leave out 75 bit/s, where symbols are not decided one by one.
//
// --only keeps the rows whose mode begins with this text, --seconds is the exposure (3 x 3000 s
// over the Doppler spread, 3000 s without fading), --below moves every ratio down by this many
// decibels, --seed draws other fades.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "modem/channel/awgn.h"
#include "modem/channel/watterson.h"
#include "modem/dsp/viterbi.h"
#include "modem/waveforms/framed/constellation.h"
#include "modem/waveforms/framed/demapper.h"
#include "modem/waveforms/ms110a/block_decoder.h"
#include "modem/waveforms/ms110a/demapper.h"
#include "modem/waveforms/ms110d/code.h"
#include "modem/waveforms/stanag4539/parameters.h"
#include "tests/bench/common/arguments.h"
#include "tests/bench/modem_ber/standard.h"

namespace s5066::modem {
namespace {

using dsp::Complex;
using Bits = std::vector<std::uint8_t>;

constexpr double kSymbolsPerSecond = 2400;
constexpr unsigned kPassesMax = 12;

struct Counts {
  std::uint64_t bits = 0;
  std::uint64_t errors = 0;
  std::uint64_t frames = 0;  // interleaver blocks
  std::uint64_t frame_errors = 0;

  void add(std::uint64_t block_bits, std::uint64_t wrong) {
    bits += block_bits;
    errors += wrong;
    ++frames;
    frame_errors += wrong > 0 ? 1 : 0;
  }
};

/// Gives symbols as received over a known channel: the symbol plus noise of a known variance.
class KnownChannel {
 public:
  struct Seen {
    Complex estimate;
    float variance;
  };

  /// The ratio counts the mean power of all sent symbols, which is `power`.
  KnownChannel(const StandardRow& row, double snr_db, double power, Rng& rng) : rng_(rng) {
    const double ratio = std::pow(10, snr_db / 10) * channel::kNoiseBandwidthHz / kSymbolsPerSecond;
    variance_ = power / ratio;
    const int paths = row.delay_ms > 0 ? 2 : 1;
    for (int i = 0; row.doppler_hz > 0 && i < paths; ++i) {
      gains_.emplace_back(row.doppler_hz, kSymbolsPerSecond, Rng(rng.next()));
    }
  }

  Seen send(Complex symbol) {
    const double variance = variance_ / std::max(step(), 1e-9);
    const double deviation = std::sqrt(variance / 2);
    const Complex noise(static_cast<float>(deviation * normal()),
                        static_cast<float>(deviation * normal()));
    return {symbol + noise, static_cast<float>(variance)};
  }
  /// Advances the channel over known symbols.
  void skip(unsigned symbols) {
    while (symbols-- > 0) step();
  }

 private:
  double step() {
    if (gains_.empty()) return 1;
    double power = 0;
    for (auto& gain : gains_) power += std::norm(gain.next());
    return power / static_cast<double>(gains_.size());
  }
  double normal() {
    const double u = (static_cast<double>(rng_.below(1U << 31)) + 1) / 2147483649.0;
    const double v = static_cast<double>(rng_.below(1U << 31)) / 2147483648.0;
    return std::sqrt(-2 * std::log(u)) * std::cos(6.283185307179586 * v);
  }

  Rng& rng_;
  std::vector<channel::FadingGain> gains_;
  double variance_ = 1;
};

Bits random_bits(std::size_t count, Rng& rng) {
  Bits bits(count);
  for (auto& bit : bits) bit = static_cast<std::uint8_t>(rng.below(2));
  return bits;
}

std::uint64_t count_wrong(std::span<const std::uint8_t> a, std::span<const std::uint8_t> b) {
  std::uint64_t wrong = 0;
  for (std::size_t i = 0; i < a.size(); ++i) wrong += a[i] != b[i] ? 1 : 0;
  return wrong;
}

unsigned next_group(std::span<const std::uint8_t> bits, std::size_t at, unsigned count) {
  unsigned group = 0;
  for (unsigned b = 0; b < count; ++b) group = group << 1 | bits[at + b];
  return group;
}

/// Returns the mean power of the sent symbols; known symbols have power 1.
double mean_power(double data, double known, double data_power) {
  return (data * data_power + known) / (data + known);
}

// --- STANAG 4539 and 110D -------------------------------------------------------------------

struct FramedScheme {
  framed::TailBitingConfig code;
  unsigned bits_per_symbol;
  unsigned data;  // symbols of a frame
  unsigned known;
  unsigned frames_per_block;
};

Counts run_framed(const FramedScheme& s, const StandardRow& row, double snr_db, double seconds,
                  std::uint64_t seed) {
  Rng rng(seed);
  const framed::Demapper demapper(s.bits_per_symbol);
  KnownChannel channel(row, snr_db, mean_power(s.data, s.known, demapper.power()), rng);
  const auto points = framed::constellation(s.bits_per_symbol);
  const dsp::Interleaver interleaver(s.code.interleaver);
  framed::TailBitingCode decoder(s.code, std::pmr::get_default_resource());
  const std::size_t block_bits = interleaver.size();
  std::vector<KnownChannel::Seen> seen(block_bits / s.bits_per_symbol);
  std::vector<float> llr(block_bits);
  std::vector<float> extrinsic(block_bits);
  Bits fetched(block_bits);
  const double symbols = s.frames_per_block * (s.data + s.known);
  const auto blocks = static_cast<std::uint64_t>(seconds * kSymbolsPerSecond / symbols) + 1;
  Counts counts;
  for (std::uint64_t block = 0; block < blocks; ++block) {
    const Bits bits = random_bits(s.code.user_bits, rng);
    const Bits coded = framed::encode_block(s.code, bits);
    interleaver.interleave<std::uint8_t>(coded, fetched);
    for (std::size_t i = 0; i < seen.size(); ++i) {
      seen[i] = channel.send(points[next_group(fetched, i * s.bits_per_symbol, s.bits_per_symbol)]);
      if ((i + 1) % s.data == 0) channel.skip(s.known);
    }
    for (unsigned pass = 0; pass < kPassesMax; ++pass) {
      for (std::size_t i = 0; i < seen.size(); ++i) {
        const std::size_t at = i * s.bits_per_symbol;
        const auto prior = pass == 0
                               ? std::span<const float>()
                               : std::span<const float>(extrinsic).subspan(at, s.bits_per_symbol);
        demapper.demap(seen[i].estimate, seen[i].variance, prior, 0,
                       std::span(llr).subspan(at, s.bits_per_symbol));
      }
      if (decoder.decode(llr, extrinsic) < 0.01F) break;
    }
    counts.add(bits.size(), count_wrong(bits, decoder.bits()));
  }
  return counts;
}

// --- MIL-STD-188-110A -------------------------------------------------------------------------

void demap_110a(unsigned bits_per_symbol, std::span<const KnownChannel::Seen> seen,
                std::span<const float> prior, std::span<float> llr) {
  for (std::size_t i = 0; i < seen.size(); ++i) {
    const auto out = llr.subspan(i * bits_per_symbol, bits_per_symbol);
    if (prior.empty()) {
      ms110a::demap(bits_per_symbol, seen[i].estimate, seen[i].variance, 0, out);
    } else {
      ms110a::demap_again(prior.subspan(i * bits_per_symbol, bits_per_symbol), seen[i].estimate,
                          seen[i].variance, 0, out);
    }
  }
}

Counts run_110a(const ms110a::Parameters& p, const StandardRow& row, double snr_db, double seconds,
                std::uint64_t seed) {
  Rng rng(seed);
  KnownChannel channel(row, snr_db, 1, rng);
  dsp::ConvolutionalEncoder encoder;
  const auto interleaver =
      p.interleaved ? std::optional<dsp::Interleaver>(p.interleaver) : std::nullopt;
  ms110a::BlockDecoder decoder(p);
  const std::size_t block_bits = p.block_coded_bits();
  std::vector<KnownChannel::Seen> seen(block_bits / p.bits_per_symbol);
  std::vector<float> llr(block_bits);
  std::vector<float> extrinsic(block_bits);
  Bits fetched(block_bits);
  const auto blocks =
      static_cast<std::uint64_t>(seconds * kSymbolsPerSecond / p.block_symbols()) + 1;
  Bits sent;
  Bits got;
  for (std::uint64_t block = 0; block < blocks; ++block) {
    const Bits bits = random_bits(p.block_user_bits(), rng);
    sent.insert(sent.end(), bits.begin(), bits.end());
    Bits coded = bits;
    if (p.coded) {
      coded.clear();
      for (const std::uint8_t bit : bits) {
        const auto pair = encoder.encode(bit);
        for (unsigned i = 0; i < p.repetition; ++i) {
          coded.push_back(pair.first);
          coded.push_back(pair.second);
        }
      }
    }
    if (interleaver) {
      interleaver->interleave<std::uint8_t>(coded, fetched);
    } else {
      fetched = coded;
    }
    for (std::size_t i = 0; i < seen.size(); ++i) {
      const unsigned group = next_group(fetched, i * p.bits_per_symbol, p.bits_per_symbol);
      seen[i] = channel.send(framed::phase(ms110a::tribit_of_bits(p.bits_per_symbol, group)));
      if ((i + 1) % p.data_symbols == 0) channel.skip(p.probe_symbols);
    }
    demap_110a(p.bits_per_symbol, seen, {}, llr);
    for (unsigned pass = 0; p.coded && pass < kPassesMax; ++pass) {
      decoder.feed_back(llr, extrinsic);
      demap_110a(p.bits_per_symbol, seen, extrinsic, llr);
    }
    decoder.take(llr);
    for (const std::uint8_t octet : decoder.message().take().bytes) {
      for (unsigned b = 0; b < 8; ++b) got.push_back(octet >> b & 1);
    }
  }
  Counts counts;
  const std::size_t frame = p.block_user_bits();
  for (std::size_t at = 0; at + frame <= got.size(); at += frame) {
    counts.add(frame,
               count_wrong(std::span(sent).subspan(at, frame), std::span(got).subspan(at, frame)));
  }
  return counts;
}

/// Returns nothing for a mode whose symbols are not decided one by one, or that has no code over
/// blocks.
std::optional<Counts> run(const StandardRow& row, double snr_db, double seconds,
                          std::uint64_t seed) {
  const Mode mode = *parse_mode(row.mode);
  if (mode.waveform == Waveform::ms110a) {
    const ms110a::Parameters p = ms110a::parameters(mode);
    if (p.walsh) return std::nullopt;
    return run_110a(p, row, snr_db, seconds, seed);
  }
  if (mode.waveform == Waveform::stanag4539) {
    const stanag4539::Parameters p = stanag4539::parameters(mode);
    if (!p.coded) return std::nullopt;
    const FramedScheme scheme{stanag4539::code_of(p), p.bits_per_symbol, stanag4539::kFrameData,
                              stanag4539::kFrameProbe, p.frames_per_block};
    return run_framed(scheme, row, snr_db, seconds, seed);
  }
  const ms110d::Parameters p = ms110d::parameters(mode);
  if (p.walsh) return std::nullopt;
  const FramedScheme scheme{ms110d::code_of(p), p.bits_per_symbol, p.data_symbols, p.probe_symbols,
                            p.frames_per_block};
  return run_framed(scheme, row, snr_db, seconds, seed);
}

}  // namespace
}  // namespace s5066::modem

int main(int argc, char** argv) {
  using namespace s5066::modem;
  const s5066::bench::Arguments arguments(argc, argv, {"only", "seconds", "below", "seed"},
                                          {"json", "quick"});
  const std::string only = arguments.text("only", "");
  const double below_db = arguments.number("below", 0);
  const auto seed = static_cast<std::uint64_t>(arguments.number("seed", 1));
  for (const StandardRow& row : kStandardRows) {
    if (!row.mode.starts_with(only) || row.snr_db >= 50) continue;
    const double full = row.doppler_hz > 0 ? 9000 / row.doppler_hz : 3000;
    const double seconds = arguments.number("seconds", arguments.has("quick") ? 100 : full);
    const double snr_db = row.sought_db - below_db;
    const auto counts = run(row, snr_db, seconds, seed);
    if (!counts) continue;
    const double rate = static_cast<double>(counts->errors) / static_cast<double>(counts->bits);
    std::printf(arguments.has("json")
                    ? "{\"bench\":\"modem_bound\",\"mode\":\"%s\",\"delay_ms\":%g,"
                      "\"doppler_hz\":%g,\"standard_snr_db\":%g,\"snr_db\":%g,\"seed\":%llu,"
                      "\"bits\":%llu,\"errors\":%llu,\"ber\":%.3g,\"frames\":%llu,"
                      "\"frame_errors\":%llu}\n"
                    : "%-15s %g ms %g Hz, standard %g dB, at %g dB, seed %llu: %llu bits, %llu "
                      "wrong, %.2g; %llu frames, %llu wrong\n",
                std::string(row.mode).c_str(), row.delay_ms, row.doppler_hz, row.snr_db, snr_db,
                static_cast<unsigned long long>(seed),
                static_cast<unsigned long long>(counts->bits),
                static_cast<unsigned long long>(counts->errors), rate,
                static_cast<unsigned long long>(counts->frames),
                static_cast<unsigned long long>(counts->frame_errors));
    std::fflush(stdout);
  }
}
