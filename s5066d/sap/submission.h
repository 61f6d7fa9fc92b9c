// What a client asks for with S_UNIDATA_REQUEST (A.2.1.6, type 20) and S_EXPEDITED_UNIDATA_REQUEST
// (A.2.1.10, type 24), the checks that both have to pass, and the reports that each is owed.
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
  std::uint8_t priority = 0;  // of expedited data: 0
  SapId destination_sap;
  Address destination;
  sis::DeliveryMode delivery;
  std::uint32_t time_to_live = 0;
  Bytes updu;
};
Submission submission_of(sis::UnidataRequest&& request);
Submission submission_of(sis::ExpeditedUnidataRequest&& request);

/// What of the node's configuration and state bears on a submission.
struct SubmissionRules {
  std::size_t mtu = 0;
  Address own;
  bool loopback = true;
  bool arq_allowed = true;  // not in a broadcast session
};

struct SubmissionVerdict {
  bool accepted = false;
  bool invalid = false;                     // to be counted as an invalid primitive
  std::optional<sis::RejectReason> report;  // the client is to be told
  sis::DeliveryMode delivery;               // in force for the U_PDU, where it was accepted
};
/// `bound` is the service type of the client's bind.
SubmissionVerdict judge(const Submission& submission, const sis::DeliveryMode& bound,
                        const SubmissionRules& rules);

/// Which U_PDU a report is about.
struct ReportSubject {
  bool expedited = false;
  SapId destination_sap;
  Address destination;
  Bytes updu_part;
};
/// Type 22 or 26.
sis::Primitive confirm_of(ReportSubject subject);
/// Type 23 or 27.
sis::Primitive rejection_of(ReportSubject subject, sis::RejectReason reason);

}  // namespace s5066::sap
