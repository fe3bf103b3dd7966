// Trains a small model that writes numbers in words, letter by letter: gradients, AdamW for all
// parameters as one program, bf16 values with f32 reductions and state. On the GPU if there is one,
// else on the host.
//
// Exit codes: 0 it converged, 1 it did not, or an error, 2 usage.
#include "trainer/trainer.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>

namespace {

constexpr double kTolerance = 0.05;  // nats that the loss may lie above the entropy of the text
constexpr int kCharacters = 150;     // of each text that it writes in the end

struct Options {
  int steps = 600;
  int seed = 1;
  std::string on = "auto";
};

Options parse(CLI::App &app, int argc, char **argv) {
  Options options;
  app.add_option("--on", options.on, "what runs it: auto, gpu or host")
      ->check(CLI::IsMember({"auto", "gpu", "host"}))
      ->capture_default_str();
  app.add_option("--steps", options.steps, "steps of the optimiser")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  app.add_option("--seed", options.seed, "of the text, the first parameters and the batches")
      ->check(CLI::Range(0, 1'000'000))
      ->capture_default_str();
  app.parse(argc, argv);
  return options;
}

fuse::Executor executor_named(const std::string &word) {
  if (word == "gpu") return fuse::Executor::Gpu;
  return word == "host" ? fuse::Executor::Host : fuse::Executor::Auto;
}

/// Prints the loss as it falls. Returns the seconds of a step.
double train(Trainer &trainer, int steps) {
  using Clock = std::chrono::steady_clock;
  std::chrono::duration<double> elapsed{};
  std::printf("%6s %8s %8s\n", "step", "loss", "unseen");
  for (int done = 0; done < steps;) {
    int some = std::min(std::max(1, steps / 10), steps - done);
    Clock::time_point start = Clock::now();
    float loss = trainer.train(some);
    elapsed += Clock::now() - start;
    done += some;
    std::printf("%6d %8.3f %8.3f\n", done, loss, trainer.unseen_loss());
    std::fflush(stdout);
  }
  return elapsed.count() / steps;
}

std::vector<std::string> lines_of(const std::string &text) {
  std::vector<std::string> lines;
  std::size_t begin = 0;
  for (std::size_t end; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1)
    lines.push_back(text.substr(begin, end - begin));
  return lines;  // the last one has no end
}

void print_what_it_writes(Trainer &trainer) {
  std::vector<std::string> lines;
  for (const std::string &text : trainer.write(kCharacters))
    for (std::string &line : lines_of(text)) lines.push_back(std::move(line));
  auto right = std::count_if(lines.begin(), lines.end(), is_number);
  std::printf("\nIt writes %zu lines, %td of them numbers below 1,000:\n", lines.size(), right);
  for (std::size_t i = 0; i < std::min<std::size_t>(5, lines.size()); ++i)
    std::printf("  %s\n", lines[i].c_str());
}

fuse::PlanTotals sum(const fuse::PlanTotals &a, const fuse::PlanTotals &b) {
  fuse::PlanTotals both;
  both.kernels = a.kernels + b.kernels;
  both.moved_bytes = a.moved_bytes + b.moved_bytes;
  return both;
}

void print_plan(const char *what, const fuse::PlanTotals &unfused, const fuse::PlanTotals &fused) {
  std::printf("  %-24s %8zu %8zu %12.2f %8.2f\n", what, unfused.kernels, fused.kernels,
              1e-6 * unfused.moved_bytes, 1e-6 * fused.moved_bytes);
}

/// Unfused is a kernel for each operation, as a framework without fusion runs it.
void print_step(const Trainer &trainer, double seconds) {
  fuse::PlanOverview training = trainer.training().overview(), update = trainer.update().overview();
  std::printf("\n%-26s %17s %21s\n", "A step, as planned", "kernels", "MB read and written");
  std::printf("  %-24s %8s %8s %12s %8s\n", "", "unfused", "fused", "unfused", "fused");
  print_plan("forward and backward", training.unfused, training.fused);
  print_plan("AdamW", update.unfused, update.fused);
  print_plan("together", sum(training.unfused, update.unfused), sum(training.fused, update.fused));
  std::printf("  and %d products of matrices, extern operations, either way\n",
              trainer.products_in_a_step());
  std::printf("Measured on the %s: %.0f us a step\n",
              std::string(trainer.training().executor()).c_str(), 1e6 * seconds);
}

int run(const Options &options) {
  Trainer trainer(executor_named(options.on), options.steps,
                  static_cast<std::uint64_t>(options.seed));
  double seconds = train(trainer, options.steps);
  print_what_it_writes(trainer);
  print_step(trainer, seconds);
  double loss = trainer.unseen_loss(), entropy = trainer.text().entropy;
  std::printf("\nThe loss is %.3f nats a character, where the entropy of such texts is %.3f.\n",
              loss, entropy);
  if (loss < entropy + kTolerance) return 0;  // not so of a loss that is no number
  std::fprintf(stderr,
               "trainer: not converged: the loss is %.3f, not below %.3f; try more --steps\n", loss,
               entropy + kTolerance);
  return 1;
}

}  // namespace

int main(int argc, char **argv) {
  CLI::App app("Trains a small model that writes numbers in words, letter by letter.", "trainer");
  try {
    return run(parse(app, argc, argv));
  } catch (const CLI::CallForHelp &help) {
    return app.exit(help);
  } catch (const CLI::ParseError &e) {
    std::fprintf(stderr, "trainer: %s\n", e.what());
    return 2;
  } catch (const std::exception &e) {
    std::fprintf(stderr, "trainer: %s\n", e.what());
    return 1;
  }
}
