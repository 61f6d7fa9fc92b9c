// SPDX-License-Identifier: Apache-2.0
#include "s5066d/runtime/trace_writer.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>

#include "modem/api/modes.h"
#include "modem/api/port.h"
#include "s5066d/base/assert.h"
#include "s5066d/base/duration_text.h"
#include "s5066d/cas/cpdu.h"
#include "s5066d/cas/link_state.h"
#include "s5066d/pdu/capture.h"
#include "s5066d/pdu/eow.h"
#include "s5066d/sap/hard_links.h"
#include "sis/text.h"

namespace s5066::runtime {

namespace {

// An assert hook is a plain function, so the ring that it prints must be global.
const TraceRing* ring_of_the_process = nullptr;

void print_ring() {
  if (!ring_of_the_process) return;
  std::fprintf(stderr, "last events:\n");
  for (const TraceEvent& event : ring_of_the_process->events()) {
    std::fprintf(stderr, "  %s\n", to_string(event).c_str());
  }
}

Result<void> write_all(int file, const Bytes& octets) {
  std::size_t done = 0;
  while (done < octets.size()) {
    const ssize_t n = ::write(file, octets.data() + done, octets.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return Error{ErrorCode::io, std::strerror(errno)};
    done += static_cast<std::size_t>(n);
  }
  return {};
}

/// True if a regular file of an earlier run has content. Other paths, for example /dev/null, cannot
/// be rotated.
bool holds_octets(const std::string& path) {
  struct stat about {};
  return ::stat(path.c_str(), &about) == 0 && S_ISREG(about.st_mode) && about.st_size > 0;
}

bool is_dpdu(TraceKind kind) {
  return kind == TraceKind::dpdu_sent || kind == TraceKind::dpdu_received;
}

std::string_view word_of(modem::TransmitOutcome outcome) {
  switch (outcome) {
    case modem::TransmitOutcome::sent:
      return "sent";
    case modem::TransmitOutcome::aborted:
      return "aborted";
    case modem::TransmitOutcome::underrun:
      return "underrun";
  }
  return "unknown";
}

std::string_view word_of(modem::CarrierDownReason reason) {
  switch (reason) {
    case modem::CarrierDownReason::end_of_message:
      return "end_of_message";
    case modem::CarrierDownReason::lost:
      return "lost";
    case modem::CarrierDownReason::replaced:
      return "replaced";
  }
  return "unknown";
}

std::string_view word_of(modem::Interleaver interleaver) {
  switch (interleaver) {
    case modem::Interleaver::zero:
      return "zero";
    case modem::Interleaver::ultra_short:
      return "ultra_short";
    case modem::Interleaver::very_short:
      return "very_short";
    case modem::Interleaver::short_:
      return "short";
    case modem::Interleaver::medium:
      return "medium";
    case modem::Interleaver::long_:
      return "long";
    case modem::Interleaver::very_long:
      return "very_long";
  }
  return "unknown";
}

/// Returns the name of a C_PDU type (B.3.1).
std::string_view word_of_cpdu(std::int64_t type) {
  constexpr std::string_view kTypes[] = {"data",          "link_request", "link_accepted",
                                         "link_rejected", "link_break",   "link_break_confirm"};
  const auto i = static_cast<std::size_t>(type);
  return i < std::size(kTypes) ? kTypes[i] : "unknown";
}

/// Returns the name of a WARNING reason (C.3.12).
std::string_view word_of_warning(std::int64_t reason) {
  constexpr std::string_view kReasons[] = {"unrecognised_type", "no_link", "invalid_type",
                                           "invalid_in_state"};
  const auto i = static_cast<std::size_t>(reason);
  return i < std::size(kReasons) ? kReasons[i] : "unknown";
}

/// Returns the name of a number of an event; empty if it is a plain number. `first` selects the
/// first of the event's two numbers.
std::string_view word_for(const TraceEvent& event, bool first) {
  const std::int64_t value = first ? event.a : event.b;
  switch (event.kind) {
    case TraceKind::link_state:
      return cas::to_string(static_cast<cas::LinkState>(value));
    case TraceKind::hard_link_state:
      return sap::to_string(static_cast<sap::HardLinkState>(value));
    case TraceKind::burst_finished:
      return word_of(static_cast<modem::TransmitOutcome>(value));
    case TraceKind::carrier_down:
      return word_of(static_cast<modem::CarrierDownReason>(value));
    case TraceKind::cpdu_sent:
    case TraceKind::cpdu_received:
      return first ? word_of_cpdu(value) : "";
    case TraceKind::invalid_primitive:
      return sis::to_string(static_cast<sis::Type>(value));
    case TraceKind::updu_ended:
      return first ? "" : to_string(static_cast<UpduOutcome>(value));
    case TraceKind::mode_changed:
    case TraceKind::mode_advised:
      return first ? "" : word_of(static_cast<modem::Interleaver>(value));
    case TraceKind::mode_refused:
      return pdu::to_string(static_cast<pdu::DrcReason>(value));
    case TraceKind::warning_sent:
      return first ? "" : word_of_warning(value);
    default:
      return {};
  }
}

/// True if the data is lost to someone. Data for no client here, and repeated data, is no loss.
bool is_loss(const TraceEvent& event) {
  if (event.kind == TraceKind::updu_discarded) return true;
  return event.discarded && event.discarded->reason == DiscardReason::expired;
}

LogLevel level_of(const TraceEvent& event) {
  if (is_dpdu(event.kind)) return LogLevel::debug;
  if (event.kind == TraceKind::clocks_apart) return LogLevel::warning;
  if (event.kind == TraceKind::sent_while_occupied || is_loss(event)) return LogLevel::warning;
  if (event.client && event.client->ended_by_node) return LogLevel::warning;
  return LogLevel::info;
}

}  // namespace

TraceWriter::~TraceWriter() {
  if (ring_of_the_process == &ring_) ring_of_the_process = nullptr;
  close_capture();
}

void TraceWriter::print_at_assert() {
  ring_of_the_process = &ring_;
  set_assert_hook(print_ring);
}

Result<void> TraceWriter::open_capture(const CaptureConfig& config, Duration epoch) {
  close_capture();
  capture_config_ = config;
  capture_epoch_ = epoch;
  const auto begun = holds_octets(config.path) ? rotate() : begin_file();
  if (begun) return {};
  const bool full = errno == ENOSPC || errno == EDQUOT;
  close_capture();
  if (!full) return begun;
  log_capture_ended(begun.error().detail);
  return {};
}

/// Begins a capture file. On failure errno keeps its value.
Result<void> TraceWriter::begin_file() {
  const std::string& path = capture_config_.path;
  capture_ = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0640);
  if (capture_ < 0) {
    return Error{ErrorCode::io, "capture " + path + ": " + std::strerror(errno)};
  }
  file_octets_ = 0;
  Bytes header;
  pdu::append_capture_header(pdu::LinkType::dpdu, header);
  return write(header);
}

Result<void> TraceWriter::rotate() {
  close_capture();
  const auto name = [&](unsigned number) {
    return capture_config_.path + (number == 0 ? "" : "." + std::to_string(number));
  };
  for (unsigned number = capture_config_.files_max - 1; number > 0; --number) {
    if (::rename(name(number - 1).c_str(), name(number).c_str()) != 0 && errno != ENOENT) {
      return Error{ErrorCode::io, name(number) + ": " + std::strerror(errno)};
    }
  }
  return begin_file();
}

void TraceWriter::on_trace(const TraceEvent& event) {
  ring_.on_trace(event);
  log_event(event);
  if (!is_dpdu(event.kind) || capture_ < 0 || event.octets.empty()) return;
  Bytes record;
  pdu::append_capture_record(capture_epoch_ + event.at.time_since_epoch(), event.octets, record);
  capture(record);
}

void TraceWriter::log_event(const TraceEvent& event) {
  traced_at_ = event.at.time_since_epoch();
  LogLine line(limited_, level_of(event), to_string(event.kind));
  line.kv("t", to_seconds(event.at.time_since_epoch()));
  if (event.peer != Address{}) put_station(line, "peer", event.peer, book_);
  const TraceKindInfo& kind = info(event.kind);
  if (const auto& client = event.client) {
    line.kv("client", client->id.value);
    if (!client->origin.empty()) line.kv("origin", client->origin);
    if (client->sap) line.kv("sap", client->sap->value);
  }
  const auto number = [&](std::string_view name, bool first) {
    if (name.empty()) return;
    const std::string_view word = word_for(event, first);
    word.empty() ? line.kv(name, first ? event.a : event.b) : line.kv(name, word);
  };
  number(kind.a, true);
  number(kind.b, false);
  if (event.client && !event.client->reason.empty()) line.kv("reason", event.client->reason);
  if (event.kind == TraceKind::clocks_apart) {
    line.kv("at_least", duration_text(std::chrono::seconds(event.a)));
  }
  if (!event.discarded) return;
  line.kv("reason", to_string(event.discarded->reason));
  line.kv("octets", std::uint64_t{event.discarded->octets});
  if (const auto& clients = event.discarded->clients) {
    line.kv("source_sap", clients->source_sap.value);
    line.kv("destination_sap", clients->destination_sap.value);
    line.kv("priority", clients->priority);
  }
}

Result<void> TraceWriter::write(const Bytes& octets) {
  file_octets_ += octets.size();
  return write_all(capture_, octets);
}

// A full disk ends the capture, but not the service.
void TraceWriter::capture(const Bytes& record) {
  Result<void> written;
  if (file_octets_ + record.size() > capture_config_.file_octets_max) written = rotate();
  if (written) written = write(record);
  if (written) return;
  log_capture_ended(written.error().detail);
  close_capture();
}

void TraceWriter::log_capture_ended(std::string_view reason) {
  LogLine(log_, LogLevel::error, "capture_ended").kv("reason", reason);
}

void TraceWriter::close_capture() {
  if (capture_ >= 0) ::close(capture_);
  capture_ = -1;
}

}  // namespace s5066::runtime
