// hfmodem mod: octets to a WAV file.
#include <cstdio>
#include <iostream>

#include "modem/audio/wav_file.h"
#include "modem/dsp/resampler.h"
#include "modem/tools/files.h"
#include "modem/tools/options.h"
#include "modem/tools/subcommands.h"
#include "modem/waveforms/ms110a/burst_transmitter.h"

namespace s5066::modem::tools {
namespace {

namespace po = boost::program_options;

constexpr unsigned kRateMin = 8000;
constexpr unsigned kRateMax = 192000;
/// Silence around the burst, so that a receiver's filters fill and drain.
constexpr double kSilenceSeconds = 0.1;

std::vector<float> audio(const Mode& mode, ByteSpan bytes) {
  ms110a::BurstTransmitter transmitter(mode, bytes);
  const auto silence = static_cast<std::size_t>(kSilenceSeconds * kSampleRate);
  std::vector<float> samples(2 * silence + transmitter.total_samples(), 0.0F);
  transmitter.read(std::span(samples).subspan(silence, transmitter.total_samples()));
  return samples;
}

std::vector<float> at_rate(std::vector<float> samples, unsigned rate) {
  if (rate == kSampleRate) return samples;
  dsp::Resampler resampler({.rate_in = kSampleRate, .rate_out = static_cast<double>(rate)});
  std::vector<float> out;
  resampler.process(samples, out);
  return out;
}

}  // namespace

int run_mod(const std::vector<std::string>& arguments) {
  std::string mode_text;
  std::string in;
  std::string out;
  unsigned rate = 0;
  po::options_description description;
  description.add_options()  //
      ("mode", po::value(&mode_text)->required(),
       "waveform, rate, interleaver: 110a-2400-short")             //
      ("in", po::value(&in)->required(), "file of bytes to send")  //
      ("out", po::value(&out)->required(), "WAV file to write")    //
      ("rate", po::value(&rate)->default_value(48000), "samples per second");
  const ParsedOptions parsed = parse_options("mod", description, arguments);
  if (parsed.exit_code) return *parsed.exit_code;

  const auto mode = parse_mode(mode_text);
  if (!mode) {
    std::cerr << "hfmodem mod: --mode " << mode_text << ": one of";
    for (const Mode& known : all_modes()) std::cerr << ' ' << to_string(known);
    std::cerr << '\n';
    return kExitUsage;
  }
  if (rate < kRateMin || rate > kRateMax) {
    std::cerr << "hfmodem mod: --rate must be " << kRateMin << " to " << kRateMax << '\n';
    return kExitUsage;
  }
  const auto bytes = read_octets(in);
  if (!bytes) {
    std::cerr << "hfmodem mod: " << bytes.error().detail << '\n';
    return kExitFailed;
  }
  const auto written = write_wav(out, rate, at_rate(audio(*mode, *bytes), rate));
  if (!written) {
    std::cerr << "hfmodem mod: " << written.error().detail << '\n';
    return kExitFailed;
  }
  return kExitOk;
}

}  // namespace s5066::modem::tools
