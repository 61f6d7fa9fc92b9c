// SPDX-License-Identifier: Apache-2.0
// `hfmodem mod` converts octets to a sound file.
#include <utility>

#include "modem/api/airtime.h"
#include "modem/audio/wav_file.h"
#include "modem/tools/files.h"
#include "modem/tools/options.h"
#include "modem/tools/samples.h"
#include "modem/tools/subcommands.h"
#include "modem/waveforms/burst_transmitter.h"

namespace s5066::modem::tools {
namespace {

namespace po = boost::program_options;

/// Silence around the burst, so that a receiver's filters fill and drain.
constexpr double kSilenceSeconds = 0.1;

/// No burst is longer. At every rate this much fits a WAV file, which counts its octets in 32 bits.
constexpr Duration kBurstMax = std::chrono::hours(3);
static_assert(2 * kFileRateMax * (to_seconds(kBurstMax) + 1) < 0xFFFFFFFF);
constexpr std::size_t kPortion = 1U << 16;

Result<void> modulate(const Mode& mode, ByteSpan bytes, const Ms110dChoice& choice,
                      SampleSink& sink) {
  const std::vector<float> silence(static_cast<std::size_t>(kSilenceSeconds * kSampleRate), 0.0F);
  if (auto written = sink.write(silence); !written) return written;
  BurstTransmitter transmitter(mode, bytes, choice);
  std::vector<float> portion(kPortion);
  while (!transmitter.finished()) {
    const std::size_t count = transmitter.read(portion);
    const auto samples = std::span<const float>(portion).first(count);
    if (auto written = sink.write(samples); !written) return written;
  }
  if (auto written = sink.write(silence); !written) return written;
  return sink.close();
}

Result<void> mod(const Mode& mode, const std::string& in, const std::string& out, unsigned rate,
                 const Ms110dChoice& choice) {
  const auto bytes = read_octets(in);
  if (!bytes) return bytes.error();
  if (airtime(mode, bytes->size()) > kBurstMax) {
    const auto hours = std::chrono::duration_cast<std::chrono::hours>(kBurstMax).count();
    return Error{ErrorCode::too_large, in + ": " + std::to_string(bytes->size()) +
                                           " octets, a burst of more than " +
                                           std::to_string(hours) + " hours in " + to_string(mode)};
  }
  auto writer = WavWriter::open(out, rate);
  if (!writer) return writer.error();
  SampleSink sink(std::move(*writer), rate);
  return modulate(mode, *bytes, choice, sink);
}

}  // namespace

int run_mod(const std::vector<std::string>& arguments) {
  std::string mode_text;
  std::string in;
  std::string out;
  unsigned rate = 0;
  Ms110dChoice choice;
  po::options_description description;
  description.add_options()  //
      ("mode", po::value(&mode_text)->required(),
       "waveform, rate and interleaver, such as 110a-2400-short")                        //
      ("in", po::value(&in)->required(), "file of bytes to send; - for standard input")  //
      ("out", po::value(&out)->required(),
       "sound file to write, such as .wav or .flac; - for samples without a header, s16le, on "
       "standard output")  //
      ("rate", po::value(&rate)->default_value(48000), "samples per second");
  describe(choice, description);
  const PlainArguments plain{.option = "in", .count_max = 1, .words = "FILE"};
  const ParsedOptions parsed = parse_options("mod", description, arguments, plain);
  if (parsed.exit_code) return *parsed.exit_code;

  const auto mode = parse_mode(mode_text);
  if (!mode) {
    return usage_error("mod",
                       {ErrorCode::bad_field, "--mode " + mode_text + ": one of " + mode_names()});
  }
  if (const auto good = check_within("--rate", rate, kFileRateMin, kFileRateMax); !good) {
    return usage_error("mod", good.error());
  }
  for (const Result<void>& good : {check_sound_file_name(out), check_apart(in, out)}) {
    if (!good) return usage_error("mod", good.error());
  }
  const auto done = mod(*mode, in, out, rate, choice);
  return done ? kExitOk : failure("mod", done.error());
}

}  // namespace s5066::modem::tools
