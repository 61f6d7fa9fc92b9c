// SPDX-License-Identifier: Apache-2.0
#include "gateways/acp142/mail/cdt.h"

#include <string>

namespace s5066::acp142 {
namespace {

constexpr std::uint8_t kSequence = 0x30;
constexpr std::uint8_t kOctetString = 0x04;
constexpr std::uint8_t kOctetStringInPieces = 0x24;
constexpr std::uint8_t kInteger = 0x02;
constexpr std::uint8_t kShortImplicit = 0x80;  // [0] IMPLICIT INTEGER
constexpr std::uint8_t kShortExplicit = 0xA0;  // [0] EXPLICIT INTEGER; also the compressedContent
constexpr int kDepthMax = 8;

// --- BER -----------------------------------------------------------------------------------------

void put_header(Bytes& out, std::uint8_t tag, std::size_t length) {
  out.push_back(tag);
  if (length < 128) {
    out.push_back(static_cast<std::uint8_t>(length));
    return;
  }
  int octets = 0;
  for (std::size_t rest = length; rest > 0; rest >>= 8) ++octets;
  out.push_back(static_cast<std::uint8_t>(0x80 | octets));
  for (int i = octets - 1; i >= 0; --i) out.push_back(static_cast<std::uint8_t>(length >> (8 * i)));
}

Bytes wrap(std::uint8_t tag, ByteSpan inner) {
  Bytes out;
  put_header(out, tag, inner.size());
  append(out, inner);
  return out;
}

Bytes short_form(CdtTags tags, std::uint8_t value) {
  const Bytes number{value};
  if (tags == CdtTags::implicit_) return wrap(kShortImplicit, number);
  return wrap(kShortExplicit, wrap(kInteger, number));
}

struct Element {
  std::uint8_t tag = 0;
  ByteSpan content;
  ByteSpan rest;  // octets behind the element
};

Result<Element> take_element(ByteSpan from, int depth = 0);

/// The content of an element of indefinite length ends at two zero octets of its own level.
Result<Element> take_indefinite(std::uint8_t tag, ByteSpan body, int depth) {
  if (depth == kDepthMax) return Error{ErrorCode::too_large, "the elements are nested too deeply"};
  ByteSpan at = body;
  while (true) {
    if (at.size() < 2)
      return Error{ErrorCode::truncated, "an element of indefinite length has no end"};
    if (at[0] == 0 && at[1] == 0) {
      return Element{tag, body.first(body.size() - at.size()), at.subspan(2)};
    }
    auto inner = take_element(at, depth + 1);
    if (!inner) return inner.error();
    at = inner->rest;
  }
}

Result<Element> take_element(ByteSpan from, int depth) {
  if (from.size() < 2)
    return Error{ErrorCode::truncated, "the data end inside the header of an element"};
  const std::uint8_t tag = from[0];
  if ((tag & 0x1F) == 0x1F)
    return Error{ErrorCode::unsupported, "an element has a tag of more than one octet"};
  if (from[1] == 0x80) return take_indefinite(tag, from.subspan(2), depth);
  std::size_t length = from[1];
  std::size_t at = 2;
  if (length > 0x80) {
    const std::size_t octets = length & 0x7F;
    if (octets > 4)
      return Error{ErrorCode::too_large, "the length of an element has more than 4 octets"};
    if (from.size() < 2 + octets)
      return Error{ErrorCode::truncated, "the data end inside the length of an element"};
    length = 0;
    for (; at < 2 + octets; ++at) length = length << 8 | from[at];
  }
  if (length > from.size() - at)
    return Error{ErrorCode::truncated, "the data end inside an element"};
  return Element{tag, from.subspan(at, length), from.subspan(at + length)};
}

Result<Element> take_tagged(ByteSpan from, std::uint8_t tag, const char* what) {
  auto element = take_element(from);
  if (element && element->tag != tag) return Error{ErrorCode::bad_field, what};
  return element;
}

struct ShortForm {
  std::uint32_t value = 0;
  ByteSpan rest;
};

// STANDARD: the module of RFC 8494 names no tagging, which by X.680 means explicit tags; older
// programs send implicit tags. We accept both.
Result<ShortForm> take_short_form(ByteSpan from, const char* what) {
  auto element = take_element(from);
  if (!element) return element.error();
  ByteSpan number = element->content;
  if (element->tag == kShortExplicit) {
    auto inner = take_tagged(element->content, kInteger, what);
    if (!inner) return inner.error();
    number = inner->content;
  } else if (element->tag != kShortImplicit) {
    return Error{ErrorCode::unsupported, what};  // an object identifier, which MULE never uses
  }
  if (number.empty() || number.size() > 4) return Error{ErrorCode::bad_field, what};
  ShortForm form{0, element->rest};
  for (const std::uint8_t octet : number) form.value = form.value << 8 | octet;
  return form;
}

Result<Bytes> take_octet_string(ByteSpan from, int depth = 0) {
  auto element = take_element(from);
  if (!element) return element.error();
  if (element->tag == kOctetString) {
    return Bytes(element->content.begin(), element->content.end());
  }
  if (element->tag != kOctetStringInPieces)
    return Error{ErrorCode::bad_field, "the compressed content is not an octet string"};
  if (depth == kDepthMax) return Error{ErrorCode::too_large, "the elements are nested too deeply"};
  Bytes whole;
  for (ByteSpan at = element->content; !at.empty();) {
    auto piece = take_octet_string(at, depth + 1);
    if (!piece) return piece.error();
    append(whole, *piece);
    at = take_element(at)->rest;
  }
  return whole;
}

}  // namespace

Bytes encode_cdt(ByteSpan content, CdtTags tags) {
  Bytes info = short_form(tags, kContentTypeMule);
  append(info, wrap(kShortExplicit, wrap(kOctetString, deflated(content, Container::zlib))));
  Bytes whole = short_form(tags, 0);  // zlibCompress
  append(whole, wrap(kSequence, info));
  return wrap(kSequence, whole);
}

Result<Bytes> decode_cdt(ByteSpan octets, const InflateLimits& limits, std::uint8_t content_type) {
  const auto whole = take_tagged(octets, kSequence, "the message is not CompressedData");
  if (!whole) return whole.error();
  const auto algorithm =
      take_short_form(whole->content, "the compression algorithm has a wrong form");
  if (!algorithm) return algorithm.error();
  if (algorithm->value != 0)
    return Error{ErrorCode::unsupported, "the compression algorithm is not zlib"};
  const auto info = take_tagged(algorithm->rest, kSequence, "CompressedContentInfo is missing");
  if (!info) return info.error();
  const auto type = take_short_form(info->content, "the content type has a wrong form");
  if (!type) return type.error();
  if (type->value != content_type)
    return Error{ErrorCode::unsupported, "the content type is " + std::to_string(type->value) +
                                             ", not " + std::to_string(content_type)};
  const auto tagged = take_tagged(type->rest, kShortExplicit, "the compressed content is missing");
  if (!tagged) return tagged.error();
  const auto compressed = take_octet_string(tagged->content);
  if (!compressed) return compressed.error();

  return inflated(*compressed, limits, Container::zlib);
}

}  // namespace s5066::acp142
