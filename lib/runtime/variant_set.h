// The variants of an Executable: found by class and sizes, compiled once each.
#pragma once

#include "runtime/variant.h"

#include <fuse/report.h>

#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace fuse {

/// Thread-safe. Concurrent calls for one class compile once: the others wait and get the result or
/// the exception. Failures are not remembered, and of the variants only the first and the latest
/// kMaxVariants, so that memory is bounded. The lock is not held while compiling.
class VariantSet {
 public:
  static constexpr std::size_t kMaxVariants = 256;

  using Build = std::function<std::shared_ptr<const Variant>(const VariantClass &arguments,
                                                             const Bindings &sizes)>;

  explicit VariantSet(Build build) : build_(std::move(build)) {}

  /// The variant that every Executable starts with; its limits are not checked.
  std::shared_ptr<const Variant> start(const VariantClass &arguments, const Bindings &sizes);

  /// The variant of the class that the sizes want, if it is compiled.
  std::shared_ptr<const Variant> find(const VariantClass &arguments, const Bindings &sizes) const;

  /// The same. Where there is none it is compiled, for the reason given, or refused with
  /// Error{Unsupported} if `may_compile` is false.
  std::shared_ptr<const Variant> get(const VariantClass &arguments, const Bindings &sizes,
                                     const std::string &reason, bool may_compile);

  std::vector<Compilation> compilations() const;

 private:
  /// What a compilation gave. Each waiter throws an Error of its own: the C++ library counts the
  /// users of an exception that threads share where no sanitizer sees it.
  struct Outcome {
    std::shared_ptr<const Variant> variant;
    std::optional<std::pair<ErrorCode, std::string>> error;
    std::exception_ptr other;  // that is no Error

    std::shared_ptr<const Variant> get() const;
  };
  struct Pending {
    VariantClass arguments;
    Bindings sizes;
    std::shared_future<Outcome> outcome;
  };

  std::shared_ptr<const Variant> find(const VariantClass &arguments, const Bindings &sizes,
                                      std::string &why) const;
  const Pending *find_pending(const VariantClass &arguments) const;
  std::shared_ptr<const Variant> compile(std::unique_lock<std::mutex> &lock,
                                         const VariantClass &arguments, const Bindings &sizes,
                                         const std::string &reason, bool check_limits);
  std::shared_ptr<const Variant> timed_build(const VariantClass &arguments, const Bindings &sizes,
                                             const std::string &reason, bool check_limits);

  Build build_;
  mutable std::mutex mutex_;  // of all that follows
  std::vector<std::shared_ptr<const Variant>> ready_;
  std::vector<Pending> pending_;
  std::vector<Compilation> compilations_;
};

}  // namespace fuse
