// SPDX-License-Identifier: Apache-2.0
#include "modem/audio/sound_server_watch.h"

#include <pulse/pulseaudio.h>
#include <unistd.h>

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <set>
#include <utility>

namespace s5066::modem {
namespace {

/// Returns true if the properties are those of a stream of this process.
bool is_ours(const pa_proplist* properties) {
  const char* const process = pa_proplist_gets(properties, PA_PROP_APPLICATION_PROCESS_ID);
  return process != nullptr && process == std::to_string(::getpid());
}

void forget(pa_operation* operation) {
  if (operation != nullptr) pa_operation_unref(operation);
}

}  // namespace

struct SoundServerWatch::State {
  /// This struct describes the streams of one direction: sink inputs or source outputs.
  struct Way {
    const char* word;
    std::set<std::uint32_t> others;       // streams that existed before ours
    std::optional<std::uint32_t> stream;  // the one that is watched
    std::optional<std::uint32_t> place;   // sink or source of the stream
    std::string first_name;               // name of the first place
    std::string name;                     // name of the present place
  };

  ~State() { disconnect(); }

  bool connect() {
    if (context != nullptr) return true;
    loop = pa_threaded_mainloop_new();
    if (loop == nullptr) return false;
    context = pa_context_new(pa_threaded_mainloop_get_api(loop), "s5066 sound server watch");
    if (context == nullptr) return false;
    pa_context_set_state_callback(context, on_state, this);
    pa_context_set_subscribe_callback(context, on_news, this);
    return pa_context_connect(context, nullptr, PA_CONTEXT_NOAUTOSPAWN, nullptr) >= 0 &&
           pa_threaded_mainloop_start(loop) >= 0;
  }
  void disconnect() {
    if (loop != nullptr) pa_threaded_mainloop_stop(loop);
    if (context != nullptr) {
      pa_context_set_state_callback(context, nullptr, nullptr);
      pa_context_disconnect(context);
      pa_context_unref(std::exchange(context, nullptr));
    }
    if (loop != nullptr) pa_threaded_mainloop_free(std::exchange(loop, nullptr));
    listed = 0;
    failed = false;
    // A server that has begun anew numbers its streams from the beginning.
    in.others.clear();
    out.others.clear();
  }

  // --- On libpulse's thread ---

  static void on_state(pa_context* context, void* self) {
    State& state = *static_cast<State*>(self);
    const pa_context_state_t now = pa_context_get_state(context);
    if (now == PA_CONTEXT_READY) {
      const auto kinds = static_cast<pa_subscription_mask_t>(PA_SUBSCRIPTION_MASK_SINK_INPUT |
                                                             PA_SUBSCRIPTION_MASK_SOURCE_OUTPUT);
      forget(pa_context_subscribe(context, kinds, nullptr, nullptr));
      forget(pa_context_get_sink_input_info_list(context, on_input, self));
      forget(pa_context_get_source_output_info_list(context, on_output, self));
    } else if (!PA_CONTEXT_IS_GOOD(now)) {
      const std::lock_guard lock(state.mutex);
      state.failed = true;
      state.changed.notify_all();
    }
  }
  static void on_news(pa_context* context, pa_subscription_event_type_t type, std::uint32_t index,
                      void* self) {
    State& state = *static_cast<State*>(self);
    const bool input =
        (type & PA_SUBSCRIPTION_EVENT_FACILITY_MASK) == PA_SUBSCRIPTION_EVENT_SINK_INPUT;
    if ((type & PA_SUBSCRIPTION_EVENT_TYPE_MASK) == PA_SUBSCRIPTION_EVENT_REMOVE) {
      return state.on_removed(input ? state.out : state.in, index);
    }
    if (input) {
      forget(pa_context_get_sink_input_info(context, index, on_input, self));
    } else {
      forget(pa_context_get_source_output_info(context, index, on_output, self));
    }
  }
  static void on_input(pa_context* context, const pa_sink_input_info* info, int end, void* self) {
    State& state = *static_cast<State*>(self);
    if (info == nullptr) return state.on_listed(end);
    if (!is_ours(info->proplist) || !state.note(state.out, info->index, info->sink)) return;
    forget(pa_context_get_sink_info_by_index(context, info->sink, on_sink, self));
  }
  static void on_output(pa_context* context, const pa_source_output_info* info, int end,
                        void* self) {
    State& state = *static_cast<State*>(self);
    if (info == nullptr) return state.on_listed(end);
    if (!is_ours(info->proplist) || !state.note(state.in, info->index, info->source)) return;
    forget(pa_context_get_source_info_by_index(context, info->source, on_source, self));
  }
  static void on_sink(pa_context*, const pa_sink_info* info, int, void* self) {
    State& state = *static_cast<State*>(self);
    if (info != nullptr) state.name_place(state.out, info->index, info->name);
  }
  static void on_source(pa_context*, const pa_source_info* info, int, void* self) {
    State& state = *static_cast<State*>(self);
    if (info != nullptr) state.name_place(state.in, info->index, info->name);
  }

  void on_listed(int end) {
    if (end == 0) return;
    const std::lock_guard lock(mutex);
    ++listed;
    changed.notify_all();
  }
  /// Returns true if the watched stream has a new place.
  bool note(Way& way, std::uint32_t stream, std::uint32_t place) {
    const std::lock_guard lock(mutex);
    if (!expecting) {
      way.others.insert(stream);
      return false;
    }
    if (way.others.contains(stream)) return false;
    if (!way.stream) way.stream = stream;
    if (way.stream != stream || way.place == place) return false;
    way.place = place;
    return true;
  }
  /// The stream may end while the device goes on, because the ALSA plugin makes a new stream after
  /// an overrun.
  void on_removed(Way& way, std::uint32_t stream) {
    const std::lock_guard lock(mutex);
    way.others.erase(stream);
    if (way.stream != stream) return;
    way.stream.reset();
    way.place.reset();
  }
  void name_place(Way& way, std::uint32_t place, const char* name) {
    const std::lock_guard lock(mutex);
    if (way.place != place) return;
    way.name = name;
    if (way.first_name.empty()) way.first_name = name;
  }

  pa_threaded_mainloop* loop = nullptr;
  pa_context* context = nullptr;
  std::mutex mutex;  // guards all below
  std::condition_variable changed;
  unsigned listed = 0;  // complete lists of streams: one for each direction
  bool failed = false;
  bool expecting = false;
  Way in{.word = "receives from"};
  Way out{.word = "sends to"};
};

SoundServerWatch::SoundServerWatch() : state_(std::make_unique<State>()) {}
SoundServerWatch::~SoundServerWatch() = default;

void SoundServerWatch::expect_streams(Duration patience) {
  State& state = *state_;
  bool failed = false;
  {
    const std::lock_guard lock(state.mutex);
    failed = state.failed;
    state.expecting = false;
    for (State::Way* way : {&state.in, &state.out}) {
      if (way->stream) way->others.insert(*way->stream);
      way->stream.reset();
      way->place.reset();
      way->name.clear();
    }
  }
  if (failed) state.disconnect();
  if (!state.connect()) return state.disconnect();
  std::unique_lock lock(state.mutex);
  state.changed.wait_for(lock, patience, [&] { return state.listed >= 2 || state.failed; });
  state.expecting = true;
}

std::optional<std::string> SoundServerWatch::misplaced() const {
  const std::lock_guard lock(state_->mutex);
  for (const State::Way* way : {&state_->in, &state_->out}) {
    if (way->name.empty() || way->name == way->first_name) continue;
    return std::string("the sound server moved the stream: the modem ") + way->word + " " +
           way->name + " in place of " + way->first_name;
  }
  return std::nullopt;
}

}  // namespace s5066::modem
