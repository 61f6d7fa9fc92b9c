// SPDX-License-Identifier: Apache-2.0
#include "modem/audio/file_device.h"

#include <gtest/gtest.h>
#include <sndfile.h>

#include <array>
#include <filesystem>
#include <fstream>

#include "modem/audio/wav_file.h"
#include "tests/support/temporary_folder.h"

namespace s5066::modem {
namespace {

class FileDeviceTest : public testing::Test {
 protected:
  std::string path(const std::string& name) const { return folder_ / name; }

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
  test::TemporaryFolder folder_;
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
  // The device gives 2000 samples and at least 1920 of silence, in whole blocks.
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
}

struct FileRate {
  int rate;
  bool good;
};
constexpr std::array kFileRates = {FileRate{7999, false},  FileRate{8000, true},
                                   FileRate{192000, true}, FileRate{192001, false},
                                   FileRate{1000, false},  FileRate{768000, false}};

TEST_F(FileDeviceTest, a_rate_that_no_file_may_have_is_named_with_the_range) {
  for (const auto& [rate, good] : kFileRates) {
    SCOPED_TRACE(rate);
    write_wav("file.wav", rate, 1, {0.0F});
    FileDevice device({.input_path = path("file.wav")});
    const auto opened = device.open();
    ASSERT_EQ(opened.ok(), good);
    if (good) continue;
    EXPECT_EQ(opened.error().code, ErrorCode::refused);
    EXPECT_EQ(opened.error().detail, path("file.wav") + ": " + std::to_string(rate) +
                                         " samples/s; 8000 to 192000 can be used");
  }
}

TEST_F(FileDeviceTest, the_same_rates_are_read_and_written_in_portions) {
  for (const auto& [rate, good] : kFileRates) {
    SCOPED_TRACE(rate);
    write_wav("file.wav", rate, 1, {0.0F});
    const auto read = WavReader::open(path("file.wav"));
    const auto written = WavWriter::open(path("out.wav"), static_cast<unsigned>(rate));
    const auto raw = WavReader::open_raw(
        path("file.wav"), {.encoding = "f32le", .rate = static_cast<unsigned>(rate)});
    ASSERT_EQ(read.ok(), good);
    ASSERT_EQ(written.ok(), good);
    ASSERT_EQ(raw.ok(), good);
    if (good) continue;
    const std::string why = ": " + std::to_string(rate) + " samples/s; 8000 to 192000 can be used";
    EXPECT_EQ(read.error().detail, path("file.wav") + why);
    EXPECT_EQ(written.error().detail, path("out.wav") + why);
    EXPECT_EQ(raw.error().detail, path("file.wav") + why);
  }
}

TEST_F(FileDeviceTest, a_rate_that_is_stated_counts_instead_of_the_headers) {
  for (const int lie : {1, 7999, 768000}) {
    write_wav("file.wav", lie, 1, {0.0F});
    const auto reader = WavReader::open(path("file.wav"), {.rate = 9600});
    ASSERT_TRUE(reader.ok()) << lie;
    EXPECT_EQ(reader->rate(), 9600U);
  }
  write_wav("file.wav", 9600, 1, {0.0F});
  EXPECT_FALSE(WavReader::open(path("file.wav"), {.rate = 192001}).ok());
  EXPECT_FALSE(WavReader::open(path("file.wav"), {.rate = 0xFFFFFFFF}).ok());
}

}  // namespace
}  // namespace s5066::modem
