// SPDX-License-Identifier: Apache-2.0
#include "s5066d/sap/sap_table.h"

#include "s5066d/base/assert.h"

namespace s5066::sap {
namespace {

constexpr std::uint8_t kManagementSap = 0;  // Table F-1
constexpr std::uint8_t kReservedSapFirst = 10;
constexpr std::uint8_t kReservedSapLast = 11;
constexpr std::uint8_t kRankOfManagers = 15;

}  // namespace

bool is_legal_service(const sis::DeliveryMode& service) {
  if (service.mode < sis::TransmissionMode::arq) return false;
  if (service.mode > sis::TransmissionMode::nonarq_with_errors) return false;
  if (service.extended || service.confirmation == sis::Confirmation::undefined) return false;
  return service.mode == sis::TransmissionMode::arq ||
         service.confirmation == sis::Confirmation::none;
}

// STANDARD: no reason fits an illegal service type or a rank that is not allowed; 1 is the closest.
sis::BindRejectReason reject_reason_of(BindRefusal refusal) {
  using Reason = sis::BindRejectReason;
  switch (refusal) {
    case BindRefusal::bound_already:
    case BindRefusal::sap_taken:
      return Reason::sap_already_allocated;
    case BindRefusal::sap_not_allowed:
    case BindRefusal::sap_reserved:
    case BindRefusal::sap_shut:
      return Reason::invalid_sap;
    case BindRefusal::no_arq:
      return Reason::arq_unsupportable_in_broadcast;
    case BindRefusal::no_room:
    case BindRefusal::illegal_service:
    case BindRefusal::rank_not_allowed:
    case BindRefusal::count:
      break;
  }
  return Reason::not_enough_resources;
}

std::optional<BindRefusal> SapTable::refusal(ClientId client,
                                             const sis::BindRequest& request) const {
  if (binding(client) != nullptr) return BindRefusal::bound_already;
  if (const auto refused = refusal_of(client, request.sap)) return refused;
  if (client_at(request.sap)) return BindRefusal::sap_taken;
  if (!arq_allowed_ && request.service.mode == sis::TransmissionMode::arq) {
    return BindRefusal::no_arq;
  }
  if (!policy_.lenient && !is_legal_service(request.service)) return BindRefusal::illegal_service;
  if (request.rank > access_of(client).rank_max) return BindRefusal::rank_not_allowed;
  return std::nullopt;
}

// Among those with the lowest rank, the youngest has least to lose.
std::optional<ClientId> SapTable::victim_of(ClientId client,
                                            const sis::BindRequest& request) const {
  if (bindings_.size() < bound_max_ || refusal(client, request)) return std::nullopt;
  std::optional<ClientId> victim;
  std::uint8_t lowest = request.rank;
  for (const auto& [other, binding] : bindings_) {
    if (binding.rank > lowest || (binding.rank == request.rank)) continue;
    lowest = binding.rank;
    victim = other;
  }
  return victim;
}

std::optional<BindRefusal> SapTable::bind(ClientId client, const sis::BindRequest& request) {
  if (const auto reason = refusal(client, request)) return reason;
  if (bindings_.size() >= bound_max_) return BindRefusal::no_room;
  bindings_.emplace(client, Binding{request.sap, request.rank, request.service});
  return std::nullopt;
}

void SapTable::open(SapId sap, bool open) {
  S5066_ASSERT(sap.value <= SapId::kMax);
  const auto bit = static_cast<std::uint16_t>(1U << sap.value);
  shut_ = static_cast<std::uint16_t>(open ? shut_ & ~bit : shut_ | bit);
}

void SapTable::unbind(ClientId client) {
  bindings_.erase(client);
}

const Binding* SapTable::binding(ClientId client) const {
  const auto it = bindings_.find(client);
  return it == bindings_.end() ? nullptr : &it->second;
}

std::optional<ClientId> SapTable::client_at(SapId sap) const {
  for (const auto& [client, binding] : bindings_) {
    if (binding.sap == sap) return client;
  }
  return std::nullopt;
}

std::optional<BindRefusal> SapTable::refusal_of(ClientId client, SapId sap) const {
  if (sap.value > SapId::kMax || (access_of(client).saps >> sap.value & 1) == 0) {
    return BindRefusal::sap_not_allowed;
  }
  if ((shut_ >> sap.value & 1U) != 0) return BindRefusal::sap_shut;
  const bool reserved = sap.value >= kReservedSapFirst && sap.value <= kReservedSapLast;
  if (reserved && !policy_.allow_reserved_saps) return BindRefusal::sap_reserved;
  return std::nullopt;
}

ClientAccess SapTable::access_of(ClientId client) const {
  const auto granted = access_.find(client);
  if (granted != access_.end()) return granted->second;
  ClientAccess access;
  if (policy_.allow_management_sap) access.saps |= 1u << kManagementSap;
  if (policy_.allow_rank_15) access.rank_max = kRankOfManagers;
  return access;
}

}  // namespace s5066::sap
