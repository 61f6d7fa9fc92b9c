#include "modem/waveforms/ms110a/burst_receiver.h"

namespace s5066::modem::ms110a {

class BurstReceiver::Impl {
 public:
  explicit Impl(const Config& config) : config_(config) {}
  Config config_;
  Stats stats_;
};

BurstReceiver::BurstReceiver() : BurstReceiver(Config{}) {}
BurstReceiver::BurstReceiver(const Config& config) : impl_(std::make_unique<Impl>(config)) {}
BurstReceiver::~BurstReceiver() = default;
BurstReceiver::BurstReceiver(BurstReceiver&&) noexcept = default;
BurstReceiver& BurstReceiver::operator=(BurstReceiver&&) noexcept = default;

void BurstReceiver::set_modes(std::vector<Mode> modes) {
  impl_->config_.modes = std::move(modes);
}
void BurstReceiver::process(std::span<const float> samples) {
  impl_->stats_.samples += samples.size();
}
std::optional<BurstEvent> BurstReceiver::poll_event() {
  return std::nullopt;
}
bool BurstReceiver::busy() const {
  return false;
}
const BurstReceiver::Stats& BurstReceiver::stats() const {
  return impl_->stats_;
}

}  // namespace s5066::modem::ms110a
