// SPDX-License-Identifier: Apache-2.0
#include "gateways/common/image_codec.h"

#include <librsync.h>
#include <zstd.h>

#include <algorithm>
#include <memory>

#include "gateways/common/octet_reader.h"

namespace s5066::gateways {
namespace {

constexpr std::size_t kTrialOctets = 65536;
constexpr int kTrialLevel = 3;
constexpr int kSmallLevel = 19;
constexpr int kLargeLevel = 9;
constexpr std::size_t kSmallOctets = std::size_t{1} << 20;
// A signature has for each block 4 octets of weak sum and 1 or 2 of strong sum. A false match has a
// chance of 2^28 / 2^40 = 2.4e-4 for the largest file with 1, and of 1.6e-4 for 64 MiB in 680
// blocks with 2. The receiver finds it by the digest of the file, and the file goes whole.
constexpr std::size_t kWeakOctets = 4;
constexpr std::size_t kStrongOctetsMax = 8;  // limit of the strong sums that peers send
constexpr std::uint64_t kShortSumPairsMax = std::uint64_t{1} << 28;  // limit of octets times blocks
constexpr std::size_t kBlockOctetsMin = 320;
constexpr std::size_t kBlockOctetsMax = std::size_t{1} << 30;
constexpr std::size_t kSignatureHeaderOctets = 12;
/// A delta has at most so many octets for each octet of the file, and some more.
constexpr std::size_t kDeltaOverheadOctets = 1024;

int level_for(std::size_t octets) {
  return octets <= kSmallOctets ? kSmallLevel : kLargeLevel;
}

/// Returns an empty string of octets if the content does not shrink.
Bytes compress(ByteSpan content, int level) {
  Bytes out(ZSTD_compressBound(content.size()));
  const std::size_t octets =
      ZSTD_compress(out.data(), out.size(), content.data(), content.size(), level);
  if (ZSTD_isError(octets) != 0) return {};
  out.resize(octets);
  return out;
}

bool saves_enough(std::size_t compressed, std::size_t octets) {
  return compressed > 0 && compressed < octets - octets / 50;
}

struct FreeJob {
  void operator()(rs_job_t* job) const { rs_job_free(job); }
};
using Job = std::unique_ptr<rs_job_t, FreeJob>;
struct FreeSignature {
  void operator()(rs_signature_t* signature) const { rs_free_sumset(signature); }
};

/// Runs a job over the input until its end. More output than `octets_max` is an error.
Result<Bytes> run(rs_job_t* job, ByteSpan input, std::size_t octets_max) {
  Bytes out;
  Bytes part(32768);
  Bytes in(input.begin(), input.end());
  rs_buffers_t buffers{};
  buffers.next_in = reinterpret_cast<char*>(in.data());
  buffers.avail_in = in.size();
  buffers.eof_in = 1;
  while (true) {
    buffers.next_out = reinterpret_cast<char*>(part.data());
    buffers.avail_out = part.size();
    const std::size_t before = buffers.avail_in;
    const rs_result result = rs_job_iter(job, &buffers);
    const std::size_t made = part.size() - buffers.avail_out;
    out.insert(out.end(), part.begin(), part.begin() + static_cast<std::ptrdiff_t>(made));
    if (out.size() > octets_max) return Error{ErrorCode::too_large, "rdiff: output"};
    if (result == RS_DONE) return out;
    const bool stuck = made == 0 && buffers.avail_in == before;
    if (result != RS_BLOCKED || stuck) {
      return Error{ErrorCode::bad_field, std::string("rdiff: ") + rs_strerror(result)};
    }
  }
}

rs_result copy_from_base(void* base, rs_long_t position, std::size_t* octets, void** to) {
  const ByteSpan& from = *static_cast<const ByteSpan*>(base);
  if (position < 0 || static_cast<std::size_t>(position) >= from.size()) return RS_INPUT_ENDED;
  const ByteSpan rest = from.subspan(static_cast<std::size_t>(position));
  *octets = std::min(*octets, rest.size());
  std::copy_n(rest.begin(), *octets, static_cast<std::uint8_t*>(*to));
  return RS_DONE;
}

/// Returns true if the header of a signature is one that signature_of() writes, or wrote. Small
/// blocks would cost much time.
bool is_our_signature(ByteSpan signature) {
  OctetReader reader(signature);
  const std::uint32_t magic = reader.u32();
  const std::uint32_t block = reader.u32();
  const std::uint32_t strong = reader.u32();
  return magic == RS_RK_BLAKE2_SIG_MAGIC && block >= kBlockOctetsMin && block <= kBlockOctetsMax &&
         strong >= 1 && strong <= kStrongOctetsMax;
}

}  // namespace

FileImage compressed_image(ByteSpan content) {
  const ByteSpan sample = content.first(std::min(content.size(), kTrialOctets));
  if (content.empty()) return {};
  if (content.size() > kTrialOctets &&
      !saves_enough(compress(sample, kTrialLevel).size(), sample.size())) {
    return {};
  }
  Bytes image = compress(content, level_for(content.size()));
  if (!saves_enough(image.size(), content.size())) return {};
  return {ImageForm::zstd, std::move(image)};
}

Result<Bytes> signature_of(ByteSpan content) {
  constexpr std::size_t kBlocksMax =
      (kSignatureOctetsMax / 4 - kSignatureHeaderOctets) / (kWeakOctets + 2);
  const std::size_t block = std::max(kBlockOctetsMin, content.size() / kBlocksMax + 1);
  const std::uint64_t pairs = std::uint64_t{content.size()} * (content.size() / block + 1);
  const std::size_t strong = pairs <= kShortSumPairsMax ? 1 : 2;
  const Job job(rs_sig_begin(block, strong, RS_RK_BLAKE2_SIG_MAGIC));
  return run(job.get(), content, kSignatureOctetsMax);
}

Result<Bytes> delta_image(ByteSpan signature, ByteSpan content) {
  if (!is_our_signature(signature)) return Error{ErrorCode::bad_field, "rdiff: signature"};
  rs_signature_t* loaded = nullptr;
  const Job load(rs_loadsig_begin(&loaded));
  auto read = run(load.get(), signature, 0);
  const std::unique_ptr<rs_signature_t, FreeSignature> sums(loaded);
  if (!read) return read.error();
  if (sums == nullptr || rs_build_hash_table(sums.get()) != RS_DONE) {
    return Error{ErrorCode::bad_field, "rdiff: signature"};
  }
  const Job job(rs_delta_begin(sums.get()));
  const auto delta = run(job.get(), content, content.size());
  if (!delta) return delta.error();
  Bytes image = compress(*delta, level_for(delta->size()));
  if (image.empty()) return Error{ErrorCode::io, "zstd"};
  return image;
}

Result<Bytes> expand(ByteSpan image, std::size_t octets) {
  Bytes out(octets);
  const std::size_t got = ZSTD_decompress(out.data(), out.size(), image.data(), image.size());
  if (ZSTD_isError(got) != 0 || got != octets) {
    return Error{ErrorCode::bad_field, "the compressed octets do not give the file"};
  }
  return out;
}

Result<Bytes> apply_delta(ByteSpan base, ByteSpan image, std::size_t octets) {
  const unsigned long long delta_octets = ZSTD_getFrameContentSize(image.data(), image.size());
  if (delta_octets > 2 * octets + kDeltaOverheadOctets) {  // this fails also if the size is unknown
    return Error{ErrorCode::too_large, "the difference is larger than the file"};
  }
  const auto delta = expand(image, static_cast<std::size_t>(delta_octets));
  if (!delta) return delta.error();
  const Job job(rs_patch_begin(&copy_from_base, const_cast<ByteSpan*>(&base)));
  auto file = run(job.get(), *delta, octets);
  if (file && file->size() != octets) {
    return Error{ErrorCode::bad_field, "the difference does not give the file"};
  }
  return file;
}

}  // namespace s5066::gateways
