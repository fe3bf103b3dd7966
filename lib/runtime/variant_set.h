// The variants of an Executable: found by class and sizes, compiled once each.
#pragma once

#include "runtime/variant.h"

#include <fuse/report.h>

#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace fuse {

/// Thread-safe. Concurrent calls for one class compile once: the others wait and get the result or
/// the exception. Failures are not remembered, and of the variants that launches asked for only the
/// latest kMaxVariants, so that memory is bounded. The lock is not held while compiling.
class VariantSet {
 public:
  static constexpr std::size_t kMaxVariants = 256;

  /// Plans a variant; its code is made afterwards. Called from several threads at once.
  using Build = std::function<std::shared_ptr<const Variant>(const VariantClass &arguments,
                                                             const Bindings &sizes)>;
  using Use = std::function<void(const Variant &variant, unsigned threads)>;

  /// Sizes that a variant is wanted for.
  struct Request {
    VariantClass arguments;
    Bindings sizes;
    std::string reason;
  };

  explicit VariantSet(Build build) : build_(std::move(build)) {}

  /// The variant that every Executable starts with; its limits are not checked.
  std::shared_ptr<const Variant> start(const VariantClass &arguments, const Bindings &sizes);

  /// Keeps a variant that was compiled before.
  void add(std::shared_ptr<const Variant> variant, Compilation how);

  /// The variant of the class that the sizes want, if it is compiled.
  std::shared_ptr<const Variant> find(const VariantClass &arguments, const Bindings &sizes) const;

  /// The same. Where there is none it is compiled, for the reason given, or refused with
  /// Error{Unsupported} if `may_compile` is false.
  std::shared_ptr<const Variant> get(const VariantClass &arguments, const Bindings &sizes,
                                     const std::string &reason, bool may_compile);

  /// Compiles the fewest variants, in the order of the requests, that serve all of them, on so many
  /// threads (0: as the machine has), and keeps them. `use` is called with each of them, and with
  /// those that were there and serve one. Returns what was compiled. An error is thrown after the
  /// others are done: that of the first request which has one.
  std::vector<Compilation> prepare(std::span<const Request> requests, unsigned threads,
                                   const Use &use);

  /// Those that are kept, in the order in which they were asked for.
  std::vector<std::shared_ptr<const Variant>> variants() const;

  std::vector<Compilation> compilations() const;

 private:
  /// What a compilation gave; without a variant and an error, one has to look again. Each waiter
  /// throws an Error of its own: the C++ library counts the users of an exception that threads
  /// share where no sanitizer sees it.
  struct Outcome {
    std::shared_ptr<const Variant> variant;
    std::optional<std::pair<ErrorCode, std::string>> error;
    std::exception_ptr other;  // that is no Error

    bool is_known() const { return variant || error || other; }
    std::shared_ptr<const Variant> get() const;
  };
  struct Pending {
    std::uint64_t id;
    VariantClass arguments;
    Bindings sizes;
    std::shared_ptr<const Variant> planned;  // null: not yet
    std::shared_future<Outcome> outcome;
  };
  /// In the order in which they were begun: that in which they are done is a matter of luck.
  struct Ready {
    std::uint64_t id;
    std::shared_ptr<const Variant> variant;
    bool is_lasting = true;
  };
  struct Done {
    std::uint64_t id;
    Compilation compilation;
  };
  /// A variant in the making.
  struct Job {
    Request request;
    bool check_limits = true, is_lasting = true;
    std::shared_ptr<const Variant> planned = nullptr;
    double milliseconds = 0;
    Outcome outcome = {};
    std::exception_ptr thrown = nullptr;
    std::uint64_t id = 0;  // of its Pending; 0: none
    std::promise<Outcome> promise = {};
  };
  class Preparation;

  std::shared_ptr<const Variant> find(const VariantClass &arguments, const Bindings &sizes,
                                      std::string &why) const;
  const Pending *find_pending(const VariantClass &arguments, const Bindings &sizes) const;
  void announce(Job &job);
  Compilation finish(Job &job);
  void keep(Ready ready, Compilation compilation);
  std::shared_ptr<const Variant> compile(std::unique_lock<std::mutex> &lock, Job job);
  void plan(Job &job) const;

  Build build_;
  mutable std::mutex mutex_;  // of all that follows
  std::vector<Ready> ready_;
  std::vector<Pending> pending_;
  std::uint64_t next_id_ = 0;
  std::vector<Done> done_;
};

}  // namespace fuse
