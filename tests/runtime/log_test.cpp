// The log handler.
#include "ir/log.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

namespace {

class LogTest : public ::testing::Test {
 protected:
  ~LogTest() override { fuse::set_log_handler({}); }
};

}  // namespace

TEST_F(LogTest, TheHandlerGetsEveryMessage) {
  std::string seen;
  fuse::set_log_handler([&](fuse::LogLevel level, std::string_view text) {
    seen += std::string(to_string(level)) + ":" + std::string(text) + ";";
  });
  fuse::log(fuse::LogLevel::Debug, "a");
  fuse::log(fuse::LogLevel::Error, "{} and {}", 1, "b");
  EXPECT_EQ(seen, "debug:a;error:1 and b;");
}

TEST_F(LogTest, NothingIsPrintedWithoutAHandler) {
  fuse::set_log_handler({});
  EXPECT_FALSE(fuse::log_enabled(fuse::LogLevel::Error));
  ::testing::internal::CaptureStderr();
  fuse::log(fuse::LogLevel::Error, "lost");
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
}

TEST_F(LogTest, WhatAHandlerThrowsIsDropped) {
  fuse::set_log_handler([](fuse::LogLevel, std::string_view) { throw std::runtime_error("x"); });
  EXPECT_NO_THROW(fuse::log(fuse::LogLevel::Error, "text"));
}
