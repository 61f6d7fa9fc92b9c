// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/sis/vectors.h"

namespace s5066::sis {

namespace {

constexpr Address kA{0x01020304};
constexpr Address kB{0x01020305};
const Bytes kHello{'H', 'E', 'L', 'L', 'O'};
constexpr DeliveryMode kArqNode{.mode = TransmissionMode::arq, .confirmation = Confirmation::node};
constexpr DeliveryMode kArqClient{.mode = TransmissionMode::arq,
                                  .confirmation = Confirmation::client};

constexpr HardLink kLinkToB{
    .type = HardLinkType::full_bandwidth, .priority = 1, .remote_sap = {3}, .remote = kB};
constexpr HardLink kLinkFromA{
    .type = HardLinkType::full_bandwidth, .priority = 1, .remote_sap = {3}, .remote = kA};

const std::vector<Vector> kVectors = {
    {"V01", "90EB00 0004 01 37 14 00", Type::bind_request,
     BindRequest{.sap = {3}, .rank = 7, .service = kArqNode}},
    {"V02", "90EB00 0004 01 D0 22 20", Type::bind_request,
     BindRequest{.sap = {13},
                 .rank = 0,
                 .service = {.mode = TransmissionMode::nonarq,
                             .as_they_arrive = true,
                             .retransmissions = 2}}},
    {"V03", "90EB00 0001 02", Type::unbind_request, UnbindRequest{}},
    {"V04", "90EB00 0004 03 30 0800", Type::bind_accepted, BindAccepted{.sap = {3}, .mtu = 2048}},
    {"V05", "90EB00 0002 04 03", Type::bind_rejected,
     BindRejected{BindRejectReason::sap_already_allocated}},
    {"V06", "90EB00 0002 05 04", Type::unbind_indication,
     UnbindIndication{UnbindReason::too_many_expedited_requests}},
    {"V07", "90EB00 0006 06 93 E1020305", Type::hard_link_establish, HardLinkEstablish{kLinkToB}},
    {"V08", "90EB00 0005 07 E1020305", Type::hard_link_terminate, HardLinkTerminate{kB}},
    {"V09", "90EB00 0007 08 01 93 E1020305", Type::hard_link_established,
     HardLinkEstablished{.status = 1, .link = kLinkToB}},
    {"V10", "90EB00 0007 09 03 93 E1020305", Type::hard_link_rejected,
     HardLinkRejected{HardLinkRejectReason::remote_not_responding, kLinkToB}},
    {"V11", "90EB00 0007 0A 05 93 E1020305", Type::hard_link_terminated,
     HardLinkTerminated{HardLinkEndReason::physical_link_broken, kLinkToB}},
    {"V12", "90EB00 0007 0B 01 93 E1020304", Type::hard_link_indication,
     HardLinkIndication{.status = 1, .link = kLinkFromA}},
    {"V13", "90EB00 0006 0C 93 E1020304", Type::hard_link_accept, HardLinkAccept{kLinkFromA}},
    {"V14", "90EB00 0007 0D 01 93 E1020304", Type::hard_link_reject,
     HardLinkReject{.reason = 1, .link = kLinkFromA}},
    {"V15", "90EB00 0003 0E 02 01", Type::subnet_availability,
     SubnetAvailability{NodeStatus::receive_only, AvailabilityReason::emcon}},
    {"V16", "90EB00 0001 0F", Type::data_flow_on, DataFlowOn{}},
    {"V17", "90EB00 0001 10", Type::data_flow_off, DataFlowOff{}},
    {"V18", "90EB00 0001 11", Type::keep_alive, KeepAlive{}},
    {"V19", "90EB00 0005 12 01 414243", Type::management_request,
     ManagementRequest{.message_type = 1, .body = {0x41, 0x42, 0x43}}},
    {"V20", "90EB00 0005 13 01 414243", Type::management_indication,
     ManagementIndication{.message_type = 1, .body = {0x41, 0x42, 0x43}}},
    {"V21", "90EB00 0011 14 53 E1020305 18 00003C 0005 48454C4C4F", Type::unidata_request,
     UnidataRequest{.priority = 5,
                    .destination_sap = {3},
                    .destination = kB,
                    .delivery = kArqClient,
                    .time_to_live = 60,
                    .updu = kHello}},
    {"V22", "90EB00 000E 14 0D FFFFFFFF 20 39E340 0002 4869", Type::unidata_request,
     UnidataRequest{.priority = 0,
                    .destination_sap = {13},
                    .destination = Address::all_stations(),
                    .delivery = {.mode = TransmissionMode::nonarq, .retransmissions = 3},
                    .time_to_live = kTimeToLiveMax,
                    .updu = {'H', 'i'}}},
    {"V23", "90EB00 000C 14 0D E1020305 00 000000 0000", Type::unidata_request,
     UnidataRequest{.destination_sap = {13}, .destination = kB, .delivery = {}, .updu = {}}},
    {"V24", "90EB00 0012 15 53 E1020305 13 E1020304 0005 48454C4C4F", Type::unidata_indication,
     UnidataIndication{.priority = 5,
                       .destination_sap = {3},
                       .destination = kB,
                       .mode = TransmissionMode::arq,
                       .source_sap = {3},
                       .source = kA,
                       .updu = kHello}},
    {"V25",
     "90EB00 002D 15 5D FFFFFFFF 3D E1020304 0014 0001 0004 0003 0001 000C 0004"
     "30313233585858373839414200000000 47484950",
     Type::unidata_indication,
     UnidataIndication{.priority = 5,
                       .destination_sap = {13},
                       .destination = Address::all_stations(),
                       .mode = TransmissionMode::nonarq_with_errors,
                       .source_sap = {13},
                       .source = kA,
                       .updu = *from_hex("30313233585858373839414200000000 47484950"),
                       .errored = {{4, 3}},
                       .missing = {{12, 4}}}},
    {"V26", "90EB00 0016 15 5D FFFFFFFF 3D E1020304 0005 0000 0000 48454C4C4F",
     Type::unidata_indication,
     UnidataIndication{.priority = 5,
                       .destination_sap = {13},
                       .destination = Address::all_stations(),
                       .mode = TransmissionMode::nonarq_with_errors,
                       .source_sap = {13},
                       .source = kA,
                       .updu = kHello}},
    {"V27", "90EB00 000D 16 03 E1020305 0005 48454C4C4F", Type::unidata_request_confirm,
     UnidataRequestConfirm{.destination_sap = {3}, .destination = kB, .updu_part = kHello}},
    {"V28", "90EB00 000D 17 13 E1020305 0005 48454C4C4F", Type::unidata_request_rejected,
     UnidataRequestRejected{.reason = RejectReason::ttl_expired,
                            .destination_sap = {3},
                            .destination = kB,
                            .updu_part = kHello}},
    {"V29", "90EB00 000E 18 05 E1020305 14 00001E 0002 4142", Type::expedited_request,
     ExpeditedUnidataRequest{.destination_sap = {5},
                             .destination = kB,
                             .delivery = kArqNode,
                             .time_to_live = 30,
                             .updu = {0x41, 0x42}}},
    {"V30", "90EB00 000F 19 05 E1020305 15 E1020304 0002 4142", Type::expedited_indication,
     ExpeditedUnidataIndication{.destination_sap = {5},
                                .destination = kB,
                                .mode = TransmissionMode::arq,
                                .source_sap = {5},
                                .source = kA,
                                .updu = {0x41, 0x42}}},
    {"V31", "90EB00 000A 1A 05 E1020305 0002 4142", Type::expedited_request_confirm,
     ExpeditedUnidataRequestConfirm{
         .destination_sap = {5}, .destination = kB, .updu_part = {0x41, 0x42}}},
    {"V32", "90EB00 000A 1B 35 E1020305 0002 4142", Type::expedited_request_rejected,
     ExpeditedUnidataRequestRejected{.reason = RejectReason::destination_not_responding,
                                     .destination_sap = {5},
                                     .destination = kB,
                                     .updu_part = {0x41, 0x42}}},
    {"V33", "90EB00 0015 14 56 E1020305 18 00003C 0009 10 01 0000 1002 AABBCC",
     Type::unidata_request,
     UnidataRequest{.priority = 5,
                    .destination_sap = {6},
                    .destination = kB,
                    .delivery = kArqClient,
                    .time_to_live = 60,
                    .updu = {0x10, 0x01, 0x00, 0x00, 0x10, 0x02, 0xAA, 0xBB, 0xCC}}},
};

}  // namespace

const std::vector<Vector>& vectors() {
  return kVectors;
}

}  // namespace s5066::sis
