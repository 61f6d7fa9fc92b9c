// SPDX-License-Identifier: Apache-2.0
#include "s5066d/sap/submission.h"

#include <utility>

namespace s5066::sap {

Submission submission_of(sis::UnidataRequest&& request) {
  return {.expedited = false,
          .priority = request.priority,
          .destination_sap = request.destination_sap,
          .destination = request.destination,
          .delivery = request.delivery,
          .time_to_live = request.time_to_live,
          .updu = std::move(request.updu)};
}

Submission submission_of(sis::ExpeditedUnidataRequest&& request) {
  return {.expedited = true,
          .priority = 0,  // A.3.1.1(9)
          .destination_sap = request.destination_sap,
          .destination = request.destination,
          .delivery = request.delivery,
          .time_to_live = request.time_to_live,
          .updu = std::move(request.updu)};
}

// The checks of A.2.1.6, A.2.1.10 and A.2.2.28, in the order in which they tell the client most.
SubmissionVerdict judge(const Submission& submission, const sis::DeliveryMode& bound,
                        const SubmissionRules& rules) {
  using sis::Confirmation;
  using sis::RejectReason;
  using sis::TransmissionMode;
  if (submission.updu.size() > rules.mtu) return {.report = RejectReason::larger_than_mtu};
  const bool as_bound = submission.delivery.mode == TransmissionMode::unspecified;
  sis::DeliveryMode delivery = as_bound ? bound : submission.delivery;
  if (!as_bound && (delivery.extended || delivery.confirmation == Confirmation::undefined)) {
    return {.invalid = true};
  }
  if (delivery.mode < TransmissionMode::arq ||
      delivery.mode > TransmissionMode::nonarq_with_errors) {
    return {.report = RejectReason::mode_not_specified};
  }
  const bool arq = delivery.mode == TransmissionMode::arq;
  if (!arq) delivery.confirmation = Confirmation::none;  // A.2.2.3(9)
  const auto if_asked = [&](RejectReason reason) {
    return delivery.confirmation == Confirmation::none ? std::nullopt : std::optional(reason);
  };
  if (arq && submission.destination.group) {
    return {.invalid = true, .report = if_asked(RejectReason::destination_not_responding)};
  }
  if (arq && !rules.arq_allowed) return {.report = if_asked(RejectReason::mode_not_specified)};
  if (submission.destination == rules.own && !rules.loopback) {
    return {.report = if_asked(RejectReason::destination_not_responding)};
  }
  return {.accepted = true, .delivery = delivery};
}

sis::Primitive confirm_of(ReportSubject subject) {
  if (subject.expedited) {
    return sis::ExpeditedUnidataRequestConfirm{subject.destination_sap, subject.destination,
                                               std::move(subject.updu_part)};
  }
  return sis::UnidataRequestConfirm{subject.destination_sap, subject.destination,
                                    std::move(subject.updu_part)};
}

sis::Primitive rejection_of(ReportSubject subject, sis::RejectReason reason) {
  if (subject.expedited) {
    return sis::ExpeditedUnidataRequestRejected{reason, subject.destination_sap,
                                                subject.destination, std::move(subject.updu_part)};
  }
  return sis::UnidataRequestRejected{reason, subject.destination_sap, subject.destination,
                                     std::move(subject.updu_part)};
}

}  // namespace s5066::sap
