// SPDX-License-Identifier: Apache-2.0
#include "modem/audio/sound_server_list.h"

#include <pulse/pulseaudio.h>

#include <algorithm>
#include <cctype>
#include <memory>

#include "s5066d/posix/socket.h"

namespace s5066::modem {
namespace {

constexpr std::size_t kNameOctetsMax = 200;
/// More devices than this are not listed.
constexpr std::size_t kDevicesMax = 256;

struct Listing {
  std::vector<ServerDevice> devices;
  unsigned lists_ended = 0;
};

template <typename Info>
void take(const Info* info, int last, void* self, bool input) {
  auto& listing = *static_cast<Listing*>(self);
  if (last != 0 || info == nullptr) {
    ++listing.lists_ended;
    return;
  }
  if (listing.devices.size() == kDevicesMax) return;
  listing.devices.push_back({.name = info->name,
                             .description = info->description == nullptr ? "" : info->description,
                             .input = input});
}

void on_source(pa_context*, const pa_source_info* info, int last, void* self) {
  take(info, last, self, true);
}

void on_sink(pa_context*, const pa_sink_info* info, int last, void* self) {
  take(info, last, self, false);
}

/// Lets the library work until `done`, or until the time is over.
template <typename Done>
bool turn_until(pa_mainloop* loop, Duration until, Done done) {
  while (!done()) {
    const Duration left = until - posix::monotonic_now();
    if (left <= Duration::zero()) return false;
    const auto us = std::chrono::duration_cast<std::chrono::microseconds>(left).count();
    if (pa_mainloop_prepare(loop, static_cast<int>(us)) < 0) return false;
    if (pa_mainloop_poll(loop) < 0 || pa_mainloop_dispatch(loop) < 0) return false;
  }
  return true;
}

void forget(pa_operation* operation) {
  if (operation != nullptr) pa_operation_unref(operation);
}

}  // namespace

Result<std::vector<ServerDevice>> list_server_devices(Duration patience) {
  const Error none{ErrorCode::not_found, "no PulseAudio or PipeWire server answers"};
  const Duration until = posix::monotonic_now() + patience;
  const std::unique_ptr<pa_mainloop, decltype(&pa_mainloop_free)> loop(pa_mainloop_new(),
                                                                       pa_mainloop_free);
  if (!loop) return none;
  const std::unique_ptr<pa_context, decltype(&pa_context_unref)> context(
      pa_context_new(pa_mainloop_get_api(loop.get()), "s5066 setup"), pa_context_unref);
  if (!context) return none;
  if (pa_context_connect(context.get(), nullptr, PA_CONTEXT_NOAUTOSPAWN, nullptr) < 0) return none;
  const auto state = [&] { return pa_context_get_state(context.get()); };
  const bool answered = turn_until(loop.get(), until, [&] {
    return state() == PA_CONTEXT_READY || !PA_CONTEXT_IS_GOOD(state());
  });
  if (!answered || state() != PA_CONTEXT_READY) return none;
  Listing listing;
  forget(pa_context_get_source_info_list(context.get(), on_source, &listing));
  forget(pa_context_get_sink_info_list(context.get(), on_sink, &listing));
  const bool listed = turn_until(
      loop.get(), until, [&] { return listing.lists_ended >= 2 || !PA_CONTEXT_IS_GOOD(state()); });
  pa_context_disconnect(context.get());
  if (!listed || listing.lists_ended < 2) return none;
  return std::move(listing.devices);
}

bool is_server_device_name(std::string_view name) {
  constexpr std::string_view kOthers = ".-_:+";
  return !name.empty() && name.size() <= kNameOctetsMax &&
         std::all_of(name.begin(), name.end(), [&](unsigned char c) {
           return c < 128 && (std::isalnum(c) != 0 ||
                              kOthers.find(static_cast<char>(c)) != std::string_view::npos);
         });
}

}  // namespace s5066::modem
