#include "modem/audio/file_device.h"

#include <gtest/gtest.h>
#include <sndfile.h>

#include <filesystem>
#include <fstream>

namespace s5066::modem {
namespace {

class FileDeviceTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = "/tmp/s5066-wav-XXXXXX";
    directory_ = ::mkdtemp(pattern.data());
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  std::string path(const std::string& name) const { return directory_ + "/" + name; }

  void write_wav(const std::string& name, int rate, int channels,
                 const std::vector<float>& frames) const {
    SF_INFO format{};
    format.samplerate = rate;
    format.channels = channels;
    format.format = SF_FORMAT_WAV | SF_FORMAT_FLOAT;
    SNDFILE* file = sf_open(path(name).c_str(), SFM_WRITE, &format);
    sf_writef_float(file, frames.data(), static_cast<sf_count_t>(frames.size()) / channels);
    sf_close(file);
  }
  std::vector<float> read_wav(const std::string& name) const {
    SF_INFO format{};
    SNDFILE* file = sf_open(path(name).c_str(), SFM_READ, &format);
    if (file == nullptr) return {};
    std::vector<float> samples(static_cast<std::size_t>(format.frames));
    sf_readf_float(file, samples.data(), format.frames);
    sf_close(file);
    return samples;
  }

 private:
  std::string directory_;
};

TEST_F(FileDeviceTest, a_recording_goes_in_and_what_is_sent_comes_out) {
  std::vector<float> stereo;
  for (int i = 0; i < 2000; ++i) {
    stereo.push_back(static_cast<float>(i) / 4096);
    stereo.push_back(-1);
  }
  write_wav("in.wav", 48000, 2, stereo);
  FileDevice device({.input_path = path("in.wav"),
                     .output_path = path("out.wav"),
                     .silence_after = std::chrono::milliseconds(40)});
  ASSERT_TRUE(device.open().ok());
  EXPECT_EQ(device.info().rate_hz, 48000U);
  EXPECT_EQ(device.info().block_samples, 960U);
  EXPECT_TRUE(device.info().lockstep);
  std::vector<float> heard;
  std::vector<float> block(960);
  Result<Device::Received> received = device.receive(block);
  for (; received; received = device.receive(block)) {
    heard.insert(heard.end(), block.begin(), block.end());
    ASSERT_TRUE(device.transmit(true, block).ok());
  }
  EXPECT_EQ(received.error().code, ErrorCode::link_down);
  device.close();
  // 2000 samples and at least 1920 of silence, in whole blocks.
  ASSERT_EQ(heard.size(), 5U * 960);
  for (std::size_t i = 0; i < 2000; ++i) EXPECT_EQ(heard[i], static_cast<float>(i) / 4096);
  EXPECT_EQ(heard[2000], 0.0F);
  EXPECT_EQ(read_wav("out.wav"), heard);
  EXPECT_EQ(device.open().error().code, ErrorCode::refused);
}

TEST_F(FileDeviceTest, what_is_no_recording_is_refused) {
  FileDevice missing({.input_path = path("none.wav")});
  EXPECT_EQ(missing.open().error().code, ErrorCode::refused);
  std::ofstream(path("text.wav")) << "this is no sound at all, but it is long enough to look";
  FileDevice text({.input_path = path("text.wav")});
  EXPECT_FALSE(text.open().ok());
  write_wav("slow.wav", 7999, 1, {0.0F});
  FileDevice slow({.input_path = path("slow.wav")});
  EXPECT_FALSE(slow.open().ok());
  write_wav("fine.wav", 8000, 1, {0.0F});
  FileDevice fine({.input_path = path("fine.wav")});
  EXPECT_TRUE(fine.open().ok());
}

}  // namespace
}  // namespace s5066::modem
