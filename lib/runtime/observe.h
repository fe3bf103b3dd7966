// Launches that tell of their steps while they enqueue them, for what takes the time of each.
#pragma once

#include "ir/program.h"

#include <fuse/executable.h>

#include <functional>
#include <span>

FUSE_BEGIN_NAMESPACE

/// Called ahead of and behind each step: what they enqueue on the stream stands around its work.
struct StepObserver {
  std::function<void(const Step &step)> before, after;
};

/// Who may look into a Launcher.
class ObservedLaunch {
 public:
  /// As a call of the launcher, with the observer's functions around the steps.
  static void run(const Launcher &launcher, CUstream_st *stream,
                  std::span<const void *const> arguments, const LaunchOptions &options,
                  const StepObserver &observer);
};

FUSE_END_NAMESPACE
