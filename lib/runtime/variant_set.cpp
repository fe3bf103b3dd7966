// Look-up and deduplicated compilation of variants.
#include "runtime/variant_set.h"

#include "ir/env.h"
#include "ir/format.h"
#include "ir/log.h"
#include "runtime/worker.h"

#include <algorithm>
#include <chrono>
#include <optional>

namespace fuse {

std::shared_ptr<const Variant> VariantSet::find(const VariantClass &arguments,
                                                const Bindings &sizes, std::string &why) const {
  for (const auto &variant : ready_) {
    if (variant->arguments() != arguments) continue;
    why = variant->objection(sizes);
    if (why.empty()) return variant;
  }
  return nullptr;
}

std::shared_ptr<const Variant> VariantSet::find(const VariantClass &arguments,
                                                const Bindings &sizes) const {
  std::lock_guard lock(mutex_);
  std::string why;
  return find(arguments, sizes, why);
}

const VariantSet::Pending *VariantSet::find_pending(const VariantClass &arguments) const {
  for (const Pending &p : pending_)
    if (p.arguments == arguments) return &p;
  return nullptr;
}

std::shared_ptr<const Variant> VariantSet::Outcome::get() const {
  if (error) throw Error(error->first, error->second);
  if (other) std::rethrow_exception(other);
  return variant;
}

std::shared_ptr<const Variant> VariantSet::start(const VariantClass &arguments,
                                                 const Bindings &sizes) {
  std::unique_lock lock(mutex_);
  return compile(lock, arguments, sizes, "first compilation", false);
}

std::shared_ptr<const Variant> VariantSet::get(const VariantClass &arguments, const Bindings &sizes,
                                               const std::string &reason, bool may_compile) {
  std::unique_lock lock(mutex_);
  std::string why = reason;
  for (;;) {
    if (auto variant = find(arguments, sizes, why)) return variant;
    const Pending *pending = find_pending(arguments);
    if (!pending) break;
    Pending other = *pending;
    lock.unlock();
    const Outcome &outcome = other.outcome.get();
    if (other.sizes == sizes) return outcome.get();
    lock.lock();
  }
  if (!may_compile)
    fail(ErrorCode::Unsupported, "{}: no compiled variant serves it and no_recompile is set", why);
  return compile(lock, arguments, sizes, why, true);
}

std::shared_ptr<const Variant> VariantSet::compile(std::unique_lock<std::mutex> &lock,
                                                   const VariantClass &arguments,
                                                   const Bindings &sizes, const std::string &reason,
                                                   bool check_limits) {
  std::promise<Outcome> promise;
  pending_.push_back({arguments, sizes, promise.get_future().share()});
  lock.unlock();
  Outcome outcome;
  std::exception_ptr thrown;
  try {
    outcome.variant = timed_build(arguments, sizes, reason, check_limits);
  } catch (const Error &e) {
    outcome.error.emplace(e.code(), e.what());
    thrown = std::current_exception();
  } catch (...) {
    outcome.other = thrown = std::current_exception();
  }
  lock.lock();
  if (outcome.variant) ready_.push_back(outcome.variant);
  // Launches that are bound to the variant share it.
  if (ready_.size() > 1 + kMaxVariants) ready_.erase(ready_.begin() + 1);
  std::erase_if(pending_, [&](const Pending &p) { return p.arguments == arguments; });
  promise.set_value(outcome);
  if (thrown) std::rethrow_exception(thrown);
  return outcome.variant;
}

std::shared_ptr<const Variant> VariantSet::timed_build(const VariantClass &arguments,
                                                       const Bindings &sizes,
                                                       const std::string &reason,
                                                       bool check_limits) {
  auto begin = std::chrono::steady_clock::now();
  std::shared_ptr<const Variant> variant;
  run_on_worker([&] { variant = build_(arguments, sizes); });
  // Checked here, so that waiters get the error too and the variant is not kept.
  if (const Limit *limit = check_limits ? variant->broken_limit(sizes) : nullptr)
    fail(ErrorCode::Unsupported, "{} does not support these sizes: {}", variant->program().name,
         limit->why);
  std::chrono::duration<double, std::milli> time = std::chrono::steady_clock::now() - begin;
  std::string why = reason, origin = variant->origin();
  if (!origin.empty()) why += " (" + origin + ")";
  int kernels = static_cast<int>(variant->program().kernels.size());
  if (environment().time)
    log_asked(LogLevel::Info, fmt::format("compiled {} in {:.2f} ms: {} kernels: {}",
                                          variant->program().name, time.count(), kernels, why));
  std::lock_guard lock(mutex_);
  compilations_.push_back({std::move(why), kernels, time.count()});
  return variant;
}

std::vector<Compilation> VariantSet::compilations() const {
  std::lock_guard lock(mutex_);
  return compilations_;
}

}  // namespace fuse
