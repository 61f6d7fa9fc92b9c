// SPDX-License-Identifier: Apache-2.0
#include "gateways/common/outgoing_images.h"

#include <algorithm>
#include <utility>

#include "gateways/common/block_digests.h"
#include "gateways/common/image_codec.h"

namespace s5066::gateways {

Result<void> OutgoingImages::note_facts(SpoolId id, const Facts& facts) {
  auto put = db_.prepare(
      "INSERT OR REPLACE INTO outgoing_file (item, mtime, mode, request) VALUES (?, ?, ?, ?)");
  if (!put) return put.error();
  return put->bind(id.value).bind(facts.mtime).bind(facts.mode).bind(facts.request).run();
}

Result<OutgoingImages::Facts> OutgoingImages::facts(SpoolId id) {
  auto row = db_.prepare("SELECT mtime, mode, request FROM outgoing_file WHERE item = ?");
  if (!row) return row.error();
  const auto found = row->bind(id.value).step();
  if (!found) return found.error();
  if (!*found) return Facts{};
  return Facts{std::clamp<std::int64_t>(row->integer(0), 0, UINT32_MAX),
               static_cast<std::uint16_t>(row->integer(1) & 0777),
               static_cast<std::uint32_t>(row->integer(2) & UINT32_MAX)};
}

// A file of the same name may be an older version, and one of the same content may have another
// name.
Result<bool> OutgoingImages::is_known_there(const SpoolItem& item) {
  auto row = db_.prepare(
      "SELECT 1 FROM outgoing WHERE destination = ? AND state = 'delivered' AND id <> ? AND (name "
      "= ? OR sha256 = ?) LIMIT 1");
  if (!row) return row.error();
  row->bind_text(to_string(item.destination))
      .bind(item.id.value)
      .bind_blob(std::string_view(item.name))
      .bind_blob(ByteSpan(item.sha256));
  return row->step();
}

Result<std::optional<OutgoingImages::Kept>> OutgoingImages::kept(SpoolId id) {
  auto row = db_.prepare("SELECT form, base, content FROM outgoing_image WHERE item = ?");
  if (!row) return row.error();
  const auto found = row->bind(id.value).step();
  if (!found) return found.error();
  if (!*found) return std::optional<Kept>();
  const bool delta = row->integer(0) == static_cast<std::int64_t>(ImageForm::delta);
  Kept image{delta ? ImageForm::delta : ImageForm::zstd, row->blob(1), row->blob(2)};
  if (image.base.size() != (delta ? kDigestOctets : 0u)) return std::optional<Kept>();
  return std::optional<Kept>(std::move(image));
}

Result<void> OutgoingImages::keep(SpoolId id, const Kept& image) {
  auto put = db_.prepare(
      "INSERT OR REPLACE INTO outgoing_image (item, form, base, content) VALUES (?, ?, ?, ?)");
  if (!put) return put.error();
  return put->bind(id.value)
      .bind(static_cast<std::int64_t>(image.form))
      .bind_blob(ByteSpan(image.base))
      .bind_blob(ByteSpan(image.octets))
      .run();
}

Result<void> OutgoingImages::forget(SpoolId id) {
  auto remove = db_.prepare("DELETE FROM outgoing_image WHERE item = ?");
  if (!remove) return remove.error();
  return remove->bind(id.value).run();
}

Result<ImageReady> OutgoingImages::prepare(const PrepareImage& operation, const SpoolItem& item,
                                           ByteSpan content) {
  auto image = kept(item.id);
  if (!image) return image.error();
  const bool forget_it =
      image->has_value() && (*image)->form == ImageForm::delta && operation.without_delta;
  if (forget_it) {
    if (auto done = forget(item.id); !done) return done.error();
    image->reset();
  }
  if (!image->has_value() && !operation.plain) {
    FileImage compressed = compressed_image(content);
    if (compressed.form != ImageForm::plain) {
      *image = Kept{compressed.form, {}, std::move(compressed.octets)};
      if (auto done = keep(item.id, **image); !done) return done.error();
    }
  }
  const std::size_t octets = image->has_value() ? (*image)->octets.size() : content.size();
  if (operation.signature != nullptr && !operation.without_delta) {
    auto delta = delta_image(*operation.signature, content);
    if (delta && delta->size() < octets / 10 * 9) {
      *image = Kept{ImageForm::delta, operation.base, std::move(delta).value()};
      if (auto done = keep(item.id, **image); !done) return done.error();
    }
  }
  const auto facts_of = facts(item.id);
  if (!facts_of) return facts_of.error();
  const auto known = is_known_there(item);
  if (!known) return known.error();

  ImageReady ready{.manifest = {}, .known_there = *known};
  TransferManifest& manifest = ready.manifest;
  manifest.name = item.name;
  manifest.size = item.size;
  manifest.mtime = facts_of->mtime;
  manifest.mode = facts_of->mode;
  manifest.request = facts_of->request;
  manifest.sha256 = item.sha256;
  if (image->has_value()) {
    manifest.form = (*image)->form;
    manifest.base = (*image)->base;
  }
  const ByteSpan on_air = image->has_value() ? ByteSpan((*image)->octets) : content;
  manifest.image_octets = static_cast<std::uint32_t>(on_air.size());
  manifest.block_size_log2 = block_size_log2_for(manifest.image_octets);
  manifest.block_digests = block_digests_of(on_air, manifest.block_size_log2);
  return ready;
}

Result<std::optional<Bytes>> OutgoingImages::read(const ReadImage& operation) {
  auto row = db_.prepare("SELECT substr(content, ?, ?) FROM outgoing_image WHERE item = ?");
  if (!row) return row.error();
  const auto most =
      static_cast<std::int64_t>(std::min<std::uint64_t>(operation.octets_max, INT32_MAX));
  const auto found = row->bind(static_cast<std::int64_t>(operation.offset) + 1)
                         .bind(most)
                         .bind(operation.id.value)
                         .step();
  if (!found) return found.error();
  return *found ? std::optional(row->blob(0)) : std::nullopt;
}

}  // namespace s5066::gateways
