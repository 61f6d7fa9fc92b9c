// SPDX-License-Identifier: Apache-2.0
// Requests of clients by S_UNIDATA_REQUEST (A.2.1.6, type 20) and S_EXPEDITED_UNIDATA_REQUEST
// (A.2.1.10, type 24), the checks for both, and the reports on each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "s5066d/base/bytes.h"
#include "s5066d/base/ids.h"
#include "sis/primitives.h"

namespace s5066::sap {

struct Submission {
  bool expedited = false;
  std::uint8_t priority = 0;  // 0 for expedited data
  SapId destination_sap;
  Address destination;
  sis::DeliveryMode delivery;
  std::uint32_t time_to_live = 0;
  Bytes updu;
};
Submission submission_of(sis::UnidataRequest&& request);
Submission submission_of(sis::ExpeditedUnidataRequest&& request);

/// Configuration and state of the node that affect a submission.
struct SubmissionRules {
  std::size_t mtu = 0;
  Address own;
  bool loopback = true;
  bool arq_allowed = true;  // false in a broadcast session
};

struct SubmissionVerdict {
  bool accepted = false;
  bool invalid = false;                     // counts as an invalid primitive
  std::optional<sis::RejectReason> report;  // reason to tell the client
  sis::DeliveryMode delivery;               // service of the accepted U_PDU
};
/// `bound` is the service type of the client's bind.
SubmissionVerdict judge(const Submission& submission, const sis::DeliveryMode& bound,
                        const SubmissionRules& rules);

/// The U_PDU that a report is about.
struct ReportSubject {
  bool expedited = false;
  SapId destination_sap;
  Address destination;
  Bytes updu_part;
};
/// Returns a primitive of type 22 or 26.
sis::Primitive confirm_of(ReportSubject subject);
/// Returns a primitive of type 23 or 27.
sis::Primitive rejection_of(ReportSubject subject, sis::RejectReason reason);

}  // namespace s5066::sap
