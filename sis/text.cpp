#include "sis/text.h"

namespace s5066::sis {

std::string_view to_string(Type type) {
  switch (type) {
    case Type::bind_request:
      return "S_BIND_REQUEST";
    case Type::unbind_request:
      return "S_UNBIND_REQUEST";
    case Type::bind_accepted:
      return "S_BIND_ACCEPTED";
    case Type::bind_rejected:
      return "S_BIND_REJECTED";
    case Type::unbind_indication:
      return "S_UNBIND_INDICATION";
    case Type::hard_link_establish:
      return "S_HARD_LINK_ESTABLISH";
    case Type::hard_link_terminate:
      return "S_HARD_LINK_TERMINATE";
    case Type::hard_link_established:
      return "S_HARD_LINK_ESTABLISHED";
    case Type::hard_link_rejected:
      return "S_HARD_LINK_REJECTED";
    case Type::hard_link_terminated:
      return "S_HARD_LINK_TERMINATED";
    case Type::hard_link_indication:
      return "S_HARD_LINK_INDICATION";
    case Type::hard_link_accept:
      return "S_HARD_LINK_ACCEPT";
    case Type::hard_link_reject:
      return "S_HARD_LINK_REJECT";
    case Type::subnet_availability:
      return "S_SUBNET_AVAILABILITY";
    case Type::data_flow_on:
      return "S_DATA_FLOW_ON";
    case Type::data_flow_off:
      return "S_DATA_FLOW_OFF";
    case Type::keep_alive:
      return "S_KEEP_ALIVE";
    case Type::management_request:
      return "S_MANAGEMENT_MSG_REQUEST";
    case Type::management_indication:
      return "S_MANAGEMENT_MSG_INDICATION";
    case Type::unidata_request:
      return "S_UNIDATA_REQUEST";
    case Type::unidata_indication:
      return "S_UNIDATA_INDICATION";
    case Type::unidata_request_confirm:
      return "S_UNIDATA_REQUEST_CONFIRM";
    case Type::unidata_request_rejected:
      return "S_UNIDATA_REQUEST_REJECTED";
    case Type::expedited_request:
      return "S_EXPEDITED_UNIDATA_REQUEST";
    case Type::expedited_indication:
      return "S_EXPEDITED_UNIDATA_INDICATION";
    case Type::expedited_request_confirm:
      return "S_EXPEDITED_UNIDATA_REQUEST_CONFIRM";
    case Type::expedited_request_rejected:
      return "S_EXPEDITED_UNIDATA_REQUEST_REJECTED";
  }
  return "unknown";
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
