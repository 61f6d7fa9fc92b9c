// SPDX-License-Identifier: Apache-2.0
#include "sis/text.h"

#include <array>
#include <cstddef>

namespace s5066::sis {

namespace {

/// The name of each type, from type 1 on.
constexpr std::array<std::string_view, kTypeMax> kTypeNames = {
    "S_BIND_REQUEST",
    "S_UNBIND_REQUEST",
    "S_BIND_ACCEPTED",
    "S_BIND_REJECTED",
    "S_UNBIND_INDICATION",
    "S_HARD_LINK_ESTABLISH",
    "S_HARD_LINK_TERMINATE",
    "S_HARD_LINK_ESTABLISHED",
    "S_HARD_LINK_REJECTED",
    "S_HARD_LINK_TERMINATED",
    "S_HARD_LINK_INDICATION",
    "S_HARD_LINK_ACCEPT",
    "S_HARD_LINK_REJECT",
    "S_SUBNET_AVAILABILITY",
    "S_DATA_FLOW_ON",
    "S_DATA_FLOW_OFF",
    "S_KEEP_ALIVE",
    "S_MANAGEMENT_MSG_REQUEST",
    "S_MANAGEMENT_MSG_INDICATION",
    "S_UNIDATA_REQUEST",
    "S_UNIDATA_INDICATION",
    "S_UNIDATA_REQUEST_CONFIRM",
    "S_UNIDATA_REQUEST_REJECTED",
    "S_EXPEDITED_UNIDATA_REQUEST",
    "S_EXPEDITED_UNIDATA_INDICATION",
    "S_EXPEDITED_UNIDATA_REQUEST_CONFIRM",
    "S_EXPEDITED_UNIDATA_REQUEST_REJECTED",
};

}  // namespace

std::string_view to_string(Type type) {
  const auto value = static_cast<std::size_t>(type);
  return value < 1 || value > kTypeMax ? "unknown" : kTypeNames[value - 1];
}

std::string_view to_string(TransmissionMode mode) {
  switch (mode) {
    case TransmissionMode::unspecified:
      return "unspecified";
    case TransmissionMode::arq:
      return "ARQ";
    case TransmissionMode::nonarq:
      return "non-ARQ";
    case TransmissionMode::nonarq_with_errors:
      return "non-ARQ with errors";
  }
  return "unknown";
}

std::string_view to_string(Confirmation confirmation) {
  switch (confirmation) {
    case Confirmation::none:
      return "none";
    case Confirmation::node:
      return "node";
    case Confirmation::client:
      return "client";
    case Confirmation::undefined:
      return "undefined";
  }
  return "unknown";
}

std::string_view to_string(BindRejectReason reason) {
  switch (reason) {
    case BindRejectReason::not_enough_resources:
      return "not enough resources";
    case BindRejectReason::invalid_sap:
      return "invalid SAP";
    case BindRejectReason::sap_already_allocated:
      return "SAP already allocated";
    case BindRejectReason::arq_unsupportable_in_broadcast:
      return "ARQ unsupportable during broadcast session";
  }
  return "unknown";
}

std::string_view to_string(UnbindReason reason) {
  switch (reason) {
    case UnbindReason::preempted:
      return "pre-empted by a client of higher rank";
    case UnbindReason::inactivity:
      return "inactivity";
    case UnbindReason::too_many_invalid_primitives:
      return "too many invalid primitives";
    case UnbindReason::too_many_expedited_requests:
      return "too many expedited requests";
    case UnbindReason::arq_unsupportable_in_broadcast:
      return "ARQ unsupportable during broadcast session";
  }
  return "unknown";
}

std::string_view to_string(RejectReason reason) {
  switch (reason) {
    case RejectReason::ttl_expired:
      return "time to live expired";
    case RejectReason::destination_sap_not_bound:
      return "destination SAP not bound";
    case RejectReason::destination_not_responding:
      return "destination node not responding";
    case RejectReason::larger_than_mtu:
      return "larger than the MTU";
    case RejectReason::mode_not_specified:
      return "transmission mode not specified";
  }
  return "unknown";
}

std::string_view to_string(HardLinkType type) {
  switch (type) {
    case HardLinkType::link_reservation:
      return "link reservation";
    case HardLinkType::partial_bandwidth:
      return "partial bandwidth";
    case HardLinkType::full_bandwidth:
      return "full bandwidth";
  }
  return "unknown";
}

std::string_view to_string(HardLinkRejectReason reason) {
  switch (reason) {
    case HardLinkRejectReason::remote_busy:
      return "remote node busy";
    case HardLinkRejectReason::higher_priority_existing:
      return "link of higher priority exists";
    case HardLinkRejectReason::remote_not_responding:
      return "remote node not responding";
    case HardLinkRejectReason::destination_sap_not_bound:
      return "destination SAP not bound";
    case HardLinkRejectReason::type_0_exists:
      return "the requested type 0 link exists";
  }
  return "unknown";
}

std::string_view to_string(HardLinkEndReason reason) {
  switch (reason) {
    case HardLinkEndReason::by_remote:
      return "terminated by the remote node";
    case HardLinkEndReason::higher_priority_requested:
      return "link of higher priority requested";
    case HardLinkEndReason::remote_not_responding:
      return "remote node not responding";
    case HardLinkEndReason::destination_sap_unbound:
      return "destination SAP unbound";
    case HardLinkEndReason::physical_link_broken:
      return "physical link broken";
  }
  return "unknown";
}

std::string_view to_string(NodeStatus status) {
  switch (status) {
    case NodeStatus::off:
      return "off";
    case NodeStatus::on:
      return "on";
    case NodeStatus::receive_only:
      return "receive only";
    case NodeStatus::half_duplex:
      return "half duplex";
    case NodeStatus::full_duplex:
      return "full duplex";
    case NodeStatus::transmit_only:
      return "transmit only";
  }
  return "unknown";
}

std::string_view to_string(AvailabilityReason reason) {
  switch (reason) {
    case AvailabilityReason::unspecified:
      return "unspecified";
    case AvailabilityReason::emcon:
      return "emission control";
    case AvailabilityReason::higher_priority_link:
      return "link of higher priority requested";
  }
  return "unknown";
}

std::string_view to_string(Framer::Problem problem) {
  switch (problem) {
    case Framer::Problem::garbage:
      return "garbage";
    case Framer::Problem::bad_version:
      return "bad version";
    case Framer::Problem::empty:
      return "empty frame";
  }
  return "unknown";
}

}  // namespace s5066::sis
