// Messages of the library: it prints nothing by itself.
#pragma once

#include <fuse/config.h>

#include <functional>
#include <string_view>

FUSE_BEGIN_NAMESPACE

enum class LogLevel : unsigned char { Debug, Info, Warning, Error };

FUSE_API std::string_view to_string(LogLevel level) noexcept;

/// Receives every message, from whichever thread has one, one call at a time. It must not call
/// set_log_handler; what it throws is dropped.
using LogHandler = std::function<void(LogLevel level, std::string_view text)>;

/// Replaces the handler; an empty one drops all messages. Until a handler is set, messages of at
/// least the level named by FUSE_LOG go to stderr, and none where that variable is not set.
FUSE_API void set_log_handler(LogHandler handler);

FUSE_END_NAMESPACE
