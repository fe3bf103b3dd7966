// Look-up and deduplicated compilation of variants.
#include "runtime/variant_set.h"

#include "ir/env.h"
#include "ir/format.h"
#include "ir/log.h"
#include "runtime/worker.h"

#include <algorithm>
#include <chrono>
#include <deque>
#include <optional>

namespace fuse {

namespace {

void require_limits(const Variant &variant, const Bindings &sizes) {
  if (const Limit *limit = variant.broken_limit(sizes))
    fail(ErrorCode::Unsupported, "{} does not support these sizes: {}", variant.program().name,
         limit->why);
}

bool serves(const Variant &variant, const VariantClass &arguments, const Bindings &sizes) {
  return variant.arguments() == arguments && variant.objection(sizes).empty();
}

Compilation compilation_of(const Variant &variant, std::string reason, double milliseconds) {
  std::string origin = variant.origin();
  if (!origin.empty()) reason += " (" + origin + ")";
  const Program &program = variant.program();
  int kernels = static_cast<int>(program.kernels.size());
  if (environment().time)
    log_asked(LogLevel::Info, fmt::format("compiled {} in {:.2f} ms: {} kernels: {}", program.name,
                                          milliseconds, kernels, reason));
  return {std::move(reason), kernels, milliseconds};
}

template <class Element>
void insert_in_order(std::vector<Element> &elements, Element element) {
  auto at = std::upper_bound(elements.begin(), elements.end(), element,
                             [](const Element &a, const Element &b) { return a.id < b.id; });
  elements.insert(at, std::move(element));
}

/// Does a part of the job. What it throws is the outcome.
template <class Job, class Part>
void attempt(Job &job, Part part) {
  if (job.thrown) return;
  auto begin = std::chrono::steady_clock::now();
  try {
    part();
  } catch (const Error &e) {
    job.outcome.error.emplace(e.code(), e.what());
    job.thrown = std::current_exception();
  } catch (...) {
    job.outcome.other = job.thrown = std::current_exception();
  }
  std::chrono::duration<double, std::milli> time = std::chrono::steady_clock::now() - begin;
  job.milliseconds += time.count();
}

}  // namespace

std::shared_ptr<const Variant> VariantSet::find(const VariantClass &arguments,
                                                const Bindings &sizes, std::string &why) const {
  for (const Ready &ready : ready_) {
    if (ready.variant->arguments() != arguments) continue;
    why = ready.variant->objection(sizes);
    if (why.empty()) return ready.variant;
  }
  return nullptr;
}

std::shared_ptr<const Variant> VariantSet::find(const VariantClass &arguments,
                                                const Bindings &sizes) const {
  std::lock_guard lock(mutex_);
  std::string why;
  return find(arguments, sizes, why);
}

/// One that may serve the sizes when it is done.
const VariantSet::Pending *VariantSet::find_pending(const VariantClass &arguments,
                                                    const Bindings &sizes) const {
  for (const Pending &p : pending_)
    if (p.arguments == arguments && (!p.planned || p.planned->objection(sizes).empty())) return &p;
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
  return compile(lock, {{arguments, sizes, "first compilation"}, false, true});
}

void VariantSet::add(std::shared_ptr<const Variant> variant, Compilation how) {
  std::lock_guard lock(mutex_);
  keep({++next_id_, std::move(variant)}, std::move(how));
}

std::shared_ptr<const Variant> VariantSet::get(const VariantClass &arguments, const Bindings &sizes,
                                               const std::string &reason, bool may_compile) {
  std::unique_lock lock(mutex_);
  std::string why = reason;
  for (;;) {
    if (auto variant = find(arguments, sizes, why)) return variant;
    const Pending *pending = find_pending(arguments, sizes);
    if (!pending) break;
    Pending other = *pending;
    lock.unlock();
    const Outcome &outcome = other.outcome.get();
    if (outcome.is_known() && other.sizes == sizes) return outcome.get();
    lock.lock();
  }
  if (!may_compile)
    fail(ErrorCode::Unsupported, "{}: no compiled variant serves it and no_recompile is set", why);
  return compile(lock, {{arguments, sizes, why}, true, false});
}

/// With mutex_ held: others wait for the job from here on.
void VariantSet::announce(Job &job) {
  job.id = ++next_id_;
  pending_.push_back({job.id, job.request.arguments, job.request.sizes, job.planned,
                      job.promise.get_future().share()});
}

/// With mutex_ held: others get what the job gave.
Compilation VariantSet::finish(Job &job) {
  std::uint64_t id = std::exchange(job.id, 0);
  std::erase_if(pending_, [&](const Pending &p) { return p.id == id; });
  Compilation done;
  if (job.outcome.variant) {
    done = compilation_of(*job.outcome.variant, job.request.reason, job.milliseconds);
    keep({id, job.outcome.variant, job.is_lasting}, done);
  }
  job.promise.set_value(job.outcome);
  return done;
}

/// With mutex_ held.
void VariantSet::keep(Ready ready, Compilation compilation) {
  insert_in_order(done_, {ready.id, std::move(compilation)});
  insert_in_order(ready_, std::move(ready));
  // Launches that are bound to a variant share it.
  auto passes = [](const Ready &r) { return !r.is_lasting; };
  if (std::count_if(ready_.begin(), ready_.end(), passes) > std::ptrdiff_t{kMaxVariants})
    ready_.erase(std::find_if(ready_.begin(), ready_.end(), passes));
}

std::shared_ptr<const Variant> VariantSet::compile(std::unique_lock<std::mutex> &lock, Job job) {
  announce(job);
  lock.unlock();
  attempt(job, [&] {
    run_on_worker([&] {
      plan(job);
      job.planned->prepare();
    });
    job.outcome.variant = job.planned;
  });
  lock.lock();
  finish(job);
  if (job.thrown) std::rethrow_exception(job.thrown);
  return job.outcome.variant;
}

/// On a worker.
void VariantSet::plan(Job &job) const {
  job.planned = build_(job.request.arguments, job.request.sizes);
  // Checked here, so that waiters get the error too and the variant is not kept.
  if (job.check_limits) require_limits(*job.planned, job.request.sizes);
}

/// A call of prepare(). What launches ask for meanwhile waits for the plans, then for the code of
/// the variant that serves it.
class VariantSet::Preparation {
 public:
  Preparation(VariantSet &set, std::span<const Request> requests, unsigned threads)
      : set_(set), requests_(requests), threads_(threads) {
    close();
  }

  /// However it ends, nobody waits for ever.
  ~Preparation() {
    std::lock_guard lock(set_.mutex_);
    for (std::deque<Job> *all : {&gates_, &jobs_})
      for (Job &job : *all)
        if (job.id != 0) set_.finish(job);
  }

  void plan() {
    std::vector<const Request *> open;
    for (const Request &r : requests_) open.push_back(&r);
    for (;;) {
      std::erase_if(open, [&](const Request *r) { return is_served(*r); });
      if (open.empty()) break;
      auto wave = open.begin() + worker_threads(open.size(), threads_);
      plan_wave(std::vector<const Request *>(open.begin(), wave));
      open.erase(open.begin(), wave);
    }
    std::lock_guard lock(set_.mutex_);
    for (Job &job : jobs_) set_.announce(job);
    for (Job &job : gates_) set_.finish(job);
    gates_.clear();
  }

  std::vector<Compilation> generate(const Use &use) {
    std::vector<Compilation> done(jobs_.size());
    std::size_t count = jobs_.size() + used_.size();
    unsigned all = worker_threads(SIZE_MAX, threads_);
    unsigned each = std::max(1u, all / std::max(1u, worker_threads(count, threads_)));
    run_on_workers(count, threads_, [&](std::size_t i) {
      if (i < jobs_.size())
        done[i] = generate(jobs_[i], use, each);
      else
        use(*used_[i - jobs_.size()], each);
    });
    for (const Job &job : jobs_)
      if (job.thrown) std::rethrow_exception(job.thrown);
    return done;
  }

 private:
  /// Waits for what is in the making, then keeps others from it.
  void close() {
    std::unique_lock lock(set_.mutex_);
    while (const Pending *pending = find_pending()) {
      Pending other = *pending;
      lock.unlock();
      other.outcome.wait();
      lock.lock();
    }
    for (const Request &r : requests_)
      if (!has_gate(r.arguments)) set_.announce(gates_.emplace_back(Job{{r.arguments, {}, ""}}));
  }

  const Pending *find_pending() const {
    for (const Request &r : requests_)
      if (const Pending *p = set_.find_pending(r.arguments, r.sizes)) return p;
    return nullptr;
  }

  bool has_gate(const VariantClass &arguments) const {
    return std::any_of(gates_.begin(), gates_.end(),
                       [&](const Job &gate) { return gate.request.arguments == arguments; });
  }

  bool is_served(const Request &r) {
    for (const Job &job : jobs_)
      if (!job.thrown && serves(*job.planned, r.arguments, r.sizes)) return true;
    auto variant = set_.find(r.arguments, r.sizes);
    if (variant && std::find(used_.begin(), used_.end(), variant) == used_.end())
      used_.push_back(variant);
    return variant != nullptr;
  }

  /// Plans all at once; of those, what plans before them serve is dropped again.
  void plan_wave(std::vector<const Request *> wave) {
    std::vector<Job> planned(wave.size());
    for (std::size_t i = 0; i < wave.size(); ++i) planned[i].request = *wave[i];
    run_on_workers(wave.size(), threads_,
                   [&](std::size_t i) { attempt(planned[i], [&] { set_.plan(planned[i]); }); });
    for (Job &job : planned)
      if (!is_served(job.request)) jobs_.push_back(std::move(job));
  }

  Compilation generate(Job &job, const Use &use, unsigned threads) {
    attempt(job, [&] {
      job.planned->prepare(threads);
      use(*job.planned, threads);
      job.outcome.variant = job.planned;
    });
    std::lock_guard lock(set_.mutex_);
    return set_.finish(job);
  }

  VariantSet &set_;
  std::span<const Request> requests_;
  unsigned threads_;
  std::deque<Job> gates_;  // one for each class of arguments, until all is planned
  std::deque<Job> jobs_;
  std::vector<std::shared_ptr<const Variant>> used_;  // that were there
};

std::vector<Compilation> VariantSet::prepare(std::span<const Request> requests, unsigned threads,
                                             const Use &use) {
  Preparation preparation(*this, requests, threads);
  preparation.plan();
  return preparation.generate(use);
}

std::vector<std::shared_ptr<const Variant>> VariantSet::variants() const {
  std::lock_guard lock(mutex_);
  std::vector<std::shared_ptr<const Variant>> all;
  for (const Ready &r : ready_) all.push_back(r.variant);
  return all;
}

std::vector<Compilation> VariantSet::compilations() const {
  std::lock_guard lock(mutex_);
  std::vector<Compilation> all;
  for (const Done &d : done_) all.push_back(d.compilation);
  return all;
}

}  // namespace fuse
