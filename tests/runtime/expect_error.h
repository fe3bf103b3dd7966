// Expectations on errors: their code and their words.
#pragma once

#include <fuse/error.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

/// Runs the function, which must throw Error with the code; gives its message.
template <class Function>
std::string error_of(fuse::ErrorCode code, Function &&function) {
  try {
    function();
  } catch (const fuse::Error &error) {
    EXPECT_EQ(fuse::to_string(error.code()), fuse::to_string(code)) << error.what();
    return error.what();
  }
  ADD_FAILURE() << "no error was thrown";
  return {};
}
