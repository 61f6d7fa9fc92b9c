// SPDX-License-Identifier: Apache-2.0
#include "tests/support/sis_dissection.h"

#include <utility>

#include "sis/codec.h"

namespace s5066::test {

namespace {

/// Collects the differences in the fields of one primitive; names are without "s5066sis.".
class Check {
 public:
  explicit Check(const DissectedPacket& packet) : packet_(packet) {}

  void numbers(const std::string& name, const std::vector<std::uint64_t>& meant) {
    const auto shown = packet_.numbers("s5066sis." + name);
    if (shown != meant) note(name, list(shown), list(meant));
  }
  template <typename T>
  void number(const std::string& name, T meant) {
    numbers(name, {static_cast<std::uint64_t>(meant)});
  }
  void addresses(const std::vector<Address>& meant) {
    std::vector<std::string> values;
    std::vector<std::uint64_t> groups;
    for (const Address address : meant) {
      values.push_back(to_string(address));
      groups.push_back(address.group);
    }
    numbers("address.size", std::vector<std::uint64_t>(meant.size(), 7));
    numbers("address.group", groups);
    const auto shown = packet_.shown("s5066sis.address.address");
    if (shown != values) note("address", join(shown), join(values));
  }
  void octets(const std::string& name, ByteSpan meant) {
    const auto shown = from_hex(packet_.hex(name));
    if (!shown || *shown != Bytes(meant.begin(), meant.end())) {
      note(name, packet_.hex(name), to_hex(meant));
    }
  }
  void delivery(const sis::DeliveryMode& mode) {
    number("st.txmode", mode.mode);
    number("st.confirm", mode.confirmation);
    number("st.order", mode.as_they_arrive);
    number("st.extended", mode.extended);
    number("st.retries", mode.retransmissions);
  }
  void link(const std::string& type, const sis::HardLink& link) {
    number(type + ".type", link.type);
    number(type + ".priority", link.priority);
    number(type + ".sapid", link.remote_sap.value);
    addresses({link.remote});
  }
  void note(const std::string& name, const std::string& shown, const std::string& meant) {
    found_.push_back(name + ": shown " + shown + ", meant " + meant);
  }
  std::vector<std::string> take() { return std::move(found_); }

 private:
  static std::string join(const std::vector<std::string>& parts) {
    std::string all;
    for (const auto& part : parts) all += (all.empty() ? "" : " ") + part;
    return all.empty() ? "nothing" : all;
  }
  static std::string list(const std::vector<std::uint64_t>& values) {
    std::vector<std::string> parts;
    for (const auto value : values) parts.push_back(std::to_string(value));
    return join(parts);
  }

  const DissectedPacket& packet_;
  std::vector<std::string> found_;
};

/// True if the dissector also decodes the U_PDUs of this SAP.
bool has_client_header(SapId sap) {
  return sap.value == 2 || sap.value == 6 || sap.value == 7;
}
constexpr std::size_t kClientHeaderOctets = 6;

void check(Check&, const sis::UnbindRequest&) {}
void check(Check&, const sis::DataFlowOn&) {}
void check(Check&, const sis::DataFlowOff&) {}
void check(Check&, const sis::KeepAlive&) {}

void check(Check& c, const sis::BindRequest& p) {
  c.number("01.sapid", p.sap.value);
  c.number("01.rank", p.rank);
  c.delivery(p.service);
  c.number("01.unused", 0);
}
void check(Check& c, const sis::BindAccepted& p) {
  c.number("03.sapid", p.sap.value);
  c.number("03.unused", 0);
  c.number("03.mtu", p.mtu);
}
void check(Check& c, const sis::BindRejected& p) {
  c.number("04.reason", p.reason);
}
void check(Check& c, const sis::UnbindIndication& p) {
  c.number("05.reason", p.reason);
}

void check(Check& c, const sis::HardLinkEstablish& p) {
  c.link("06", p.link);
}
void check(Check& c, const sis::HardLinkTerminate& p) {
  c.addresses({p.remote});
}
void check(Check& c, const sis::HardLinkEstablished& p) {
  c.number("08.status", p.status);
  c.link("08", p.link);
}
void check(Check& c, const sis::HardLinkRejected& p) {
  c.number("09.reason", p.reason);
  c.link("09", p.link);
}
void check(Check& c, const sis::HardLinkTerminated& p) {
  c.number("10.reason", p.reason);
  c.link("10", p.link);
}
void check(Check& c, const sis::HardLinkIndication& p) {
  c.number("11.status", p.status);
  c.link("11", p.link);
}
void check(Check& c, const sis::HardLinkAccept& p) {
  c.link("12", p.link);
}
void check(Check& c, const sis::HardLinkReject& p) {
  c.number("13.reason", p.reason);
  c.link("13", p.link);
}

void check(Check& c, const sis::SubnetAvailability& p) {
  c.number("14.status", p.status);
  c.number("14.reason", p.reason);
}
void check(Check& c, const sis::ManagementRequest& p) {
  c.number("18.type", p.message_type);
  c.octets("s5066sis.18.body", p.body);
}
void check(Check& c, const sis::ManagementIndication& p) {
  c.number("19.type", p.message_type);
  c.octets("s5066sis.19.body", p.body);
}

// The functions below serve normal and expedited data. The types differ, and expedited data has no
// priority.

/// Returns the type as digits: "20" for S_UNIDATA_REQUEST.
template <typename P>
std::string type_digits() {
  return std::to_string(static_cast<int>(sis::type_of(P{})));
}
template <typename P>
void check_priority(Check& c, const P& p) {
  if constexpr (requires { p.priority; }) {
    c.number(type_digits<P>() + ".priority", p.priority);
  } else {
    c.number(type_digits<P>() + ".unused", 0);
  }
}

template <typename Request>
requires requires(Request p) {
  p.time_to_live;
}
void check(Check& c, const Request& p) {
  const std::string type = type_digits<Request>();
  check_priority(c, p);
  c.number(type + ".sapid", p.destination_sap.value);
  c.addresses({p.destination});
  c.delivery(p.delivery);
  c.number(type + ".ttl", p.time_to_live);
  c.number(type + ".size", p.updu.size());
  if (!has_client_header(p.destination_sap)) c.octets("data.data", p.updu);
}

/// Checks one list of blocks as the dissector shows it: the count, then pointers and sizes.
void check_blocks(Check& c, const std::string& prefix, const std::vector<OctetRange>& blocks) {
  std::vector<std::uint64_t> offsets;
  std::vector<std::uint64_t> sizes;
  for (const OctetRange& block : blocks) {
    offsets.push_back(block.offset);
    sizes.push_back(block.octets);
  }
  c.number(prefix + "_blocks", blocks.size());
  c.numbers(prefix + "_ptr", offsets);
  c.numbers(prefix + "_size", sizes);
}

template <typename Indication>
requires requires(Indication p) {
  p.errored;
}
void check(Check& c, const Indication& p) {
  const std::string type = type_digits<Indication>();
  check_priority(c, p);
  c.number(type + ".sapid", p.destination_sap.value);
  c.number(type + ".txmode", p.mode);
  c.number(type + ".src_sapid", p.source_sap.value);
  c.addresses({p.destination, p.source});
  c.number(type + ".size", p.updu.size());
  if (p.mode == sis::TransmissionMode::nonarq_with_errors) {
    if (p.errored.empty() && p.missing.empty()) return;  // the dissector misreads the rest
    check_blocks(c, type + ".err", p.errored);
    check_blocks(c, type + ".nrx", p.missing);
  } else {
    c.numbers(type + ".err_blocks", {});
    c.numbers(type + ".nrx_blocks", {});
  }
  if (!has_client_header(p.destination_sap)) c.octets("data.data", p.updu);
}

template <typename Answer>
requires requires(Answer p) {
  p.updu_part;
}
void check(Check& c, const Answer& p) {
  const std::string type = type_digits<Answer>();
  if constexpr (requires { p.reason; }) {
    c.number(type + ".reason", p.reason);
  } else {
    c.number(type + ".unused", 0);
  }
  c.number(type + ".sapid", p.destination_sap.value);
  c.addresses({p.destination});
  c.number(type + ".size", p.updu_part.size());
  c.octets("s5066sis." + type + ".data", p.updu_part);
}

}  // namespace

std::vector<DissectedPacket> split_primitives(const DissectedPacket& packet) {
  std::vector<DissectedPacket> all;
  for (const DissectedField& field : packet.fields) {
    if (field.name == "s5066sis.sync") all.emplace_back();
    if (all.empty()) continue;
    DissectedPacket& primitive = all.back();
    if (field.name == "_ws.malformed") primitive.malformed = true;
    if (is_complaint(field)) primitive.complaints.push_back(field.text);
    primitive.fields.push_back(field);
  }
  return all;
}

std::vector<std::string> differences(const DissectedPacket& shown, const sis::Primitive& meant) {
  Bytes frame;
  encode(meant, frame);
  Check c(shown);
  c.number("sync", 0x90EB);
  c.number("version", 0);
  c.number("size", frame.size() - sis::kHeaderOctets);
  c.number("type", type_of(meant));
  std::visit([&c](const auto& p) { check(c, p); }, meant);
  if (known_fault(meant)) return c.take();
  if (shown.malformed) c.note("packet", "malformed", "clean");
  for (const auto& complaint : shown.complaints) c.note("packet", complaint, "clean");
  return c.take();
}

bool known_fault(const sis::Primitive& primitive) {
  return std::visit(
      [](const auto& p) {
        if constexpr (requires { p.updu_part; }) {
          return has_client_header(p.destination_sap);
        } else if constexpr (requires { p.updu; }) {
          if constexpr (requires { p.errored; }) {
            const bool with_errors = p.mode == sis::TransmissionMode::nonarq_with_errors;
            if (with_errors && p.errored.empty() && p.missing.empty()) return true;
          }
          return has_client_header(p.destination_sap) && p.updu.size() < kClientHeaderOctets;
        } else {
          return false;
        }
      },
      primitive);
}

}  // namespace s5066::test
