// The roofline of a machine with its kernels (S. Williams, A. Waterman and D. Patterson,
// "Roofline", 2009), with a roof for each pipe.
#include "drawing.h"
#include "html.h"
#include "report_parts.h"
#include "text.h"

#include <algorithm>
#include <cmath>
#include <map>

using namespace fuse;

namespace {

constexpr double kWidth = 760, kHeight = 420, kLeft = 70, kBottom = 40, kTop = 16, kRight = 110;

/// Results, of issue slots instructions of threads, that a pipe gives in a second; 0: no such pipe.
double rate_of(const Target &t, const std::string &pipe) {
  constexpr double kWarp = 32;
  const std::map<std::string, double> per_clock = {{"fma", t.fma_per_clock},
                                                   {"f64", t.f64_per_clock},
                                                   {"int", t.int_per_clock},
                                                   {"mufu", t.mufu_per_clock},
                                                   {"issue", t.issue_per_clock * kWarp}};
  auto it = per_clock.find(pipe);
  return it == per_clock.end() ? 0 : it->second * t.num_sms * t.clock_hz;
}

/// A kernel by its busiest pipe beside the memory.
struct Point {
  const PlannedKernel *kernel;
  std::string pipe;
  double intensity, throughput;  // operations a byte, and a second
};

std::vector<Point> points_of(const Reported &r) {
  std::vector<Point> points;
  for (const PlannedKernel &k : r.plan().kernels) {
    const PipeTime *busiest = nullptr;
    for (const PipeTime &p : k.pipes)
      if (rate_of(r.target, p.pipe) > 0 && p.us > 0 && (!busiest || p.us > busiest->us))
        busiest = &p;
    if (!busiest || k.bytes <= 0 || k.seconds <= 0) continue;
    double operations = 1e-6 * busiest->us * rate_of(r.target, busiest->pipe);
    points.push_back({&k, busiest->pipe, operations / k.bytes, operations / k.seconds});
  }
  return points;
}

std::vector<std::string> pipes_of(const std::vector<Point> &points) {
  std::vector<std::string> pipes;
  for (const Point &p : points)
    if (std::find(pipes.begin(), pipes.end(), p.pipe) == pipes.end()) pipes.push_back(p.pipe);
  return pipes;
}

/// Whole decades that hold all values.
struct Decades {
  int lo = INT_MAX, hi = INT_MIN;

  void add(double value) {
    double power = std::log10(value);
    lo = std::min(lo, static_cast<int>(std::floor(power)));
    hi = std::max(hi, static_cast<int>(std::ceil(power)));
  }
  /// 0 to 1.
  double place(double value) const { return (std::log10(value) - lo) / std::max(1, hi - lo); }
};

class Chart {
 public:
  Chart(const Reported &r, std::vector<Point> points)
      : r_(r), points_(std::move(points)), pipes_(pipes_of(points_)) {
    for (const Point &p : points_) {
      x_.add(p.intensity);
      y_.add(p.throughput);
    }
    for (const std::string &pipe : pipes_) {
      x_.add(knee(pipe));
      y_.add(rate_of(r_.target, pipe));
    }
    y_.add(std::pow(10.0, x_.lo) * r_.target.hbm_bytes);
  }

  std::string draw() const {
    std::string text = formatted(
        "<svg class=\"roofline\" xmlns=\"http://www.w3.org/2000/svg\" width=\"{:.0f}\" "
        "height=\"{:.0f}\">\n",
        kWidth, kHeight);
    text += axes() + memory_roof();
    for (const std::string &pipe : pipes_) text += roof(pipe);
    for (const Point &p : points_) text += dot(p);
    return text + "</svg>\n";
  }

 private:
  double knee(const std::string &pipe) const {
    return rate_of(r_.target, pipe) / r_.target.hbm_bytes;
  }
  double x_of(double intensity) const {
    return kLeft + x_.place(intensity) * (kWidth - kLeft - kRight);
  }
  double y_of(double throughput) const {
    return kHeight - kBottom - y_.place(throughput) * (kHeight - kBottom - kTop);
  }

  static std::string line(const char *kind, double x0, double y0, double x1, double y1,
                          const std::string &colour = "") {
    return formatted(
        "<line class=\"{}\"{} x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" />\n", kind,
        colour.empty() ? "" : formatted(" stroke=\"{}\"", colour), x0, y0, x1, y1);
  }

  std::string axes() const {
    std::string text;
    for (int power = x_.lo; power <= x_.hi; ++power) {
      double x = x_of(std::pow(10.0, power));
      text += line("grid", x, kTop, x, kHeight - kBottom);
      text +=
          svg_text(x, kHeight - kBottom + 15, formatted("{:g}", std::pow(10.0, power)), "middle");
    }
    for (int power = y_.lo; power <= y_.hi; ++power) {
      double y = y_of(std::pow(10.0, power));
      text += line("grid", kLeft, y, kWidth - kRight, y);
      text += svg_text(kLeft - 6, y + 4, formatted("{:g} T", std::pow(10.0, power - 12)), "end");
    }
    text += svg_text((kLeft + kWidth - kRight) / 2, kHeight - 6,
                     "operations of the busiest pipe a byte of device memory", "middle");
    return text + svg_text(kLeft + 4, kTop - 5, "operations a second") + "\n";
  }

  std::string memory_roof() const {
    double from = std::pow(10.0, x_.lo), to = from;
    for (const std::string &pipe : pipes_) to = std::max(to, knee(pipe));
    double copy = r_.target.hbm_bytes;
    return line("roof", x_of(from), y_of(from * copy), x_of(to), y_of(to * copy),
                colour_of("hbm")) +
           svg_text(x_of(from) + 6, y_of(from * copy) + 16,
                    formatted("copy {:.2f} TB/s", 1e-12 * copy)) +
           "\n";
  }

  std::string roof(const std::string &pipe) const {
    double y = y_of(rate_of(r_.target, pipe)), end = kWidth - kRight;
    return line("roof", x_of(knee(pipe)), y, end, y, colour_of(pipe)) +
           svg_text(end + 6, y + 4, pipe) + "\n";
  }

  /// As large as the kernel's share of the time.
  std::string dot(const Point &p) const {
    double share = 1e6 * p.kernel->seconds / std::max(1e-9, r_.total_us());
    std::string title =
        formatted("{}: {}, bound by {}; {:.2f} {} operations a byte, {:.2f} TB/s of {:.2f}",
                  p.kernel->name, time_text(1e6 * p.kernel->seconds), p.kernel->bound, p.intensity,
                  p.pipe, 1e-12 * p.kernel->bytes / p.kernel->seconds, 1e-12 * r_.target.hbm_bytes);
    return formatted(
        "<a href=\"#{}\"><circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{:.1f}\" fill=\"{}\" "
        "fill-opacity=\"0.75\"><title>{}</title></circle></a>\n",
        escaped(p.kernel->name), x_of(p.intensity), y_of(p.throughput), 4 + 8 * std::sqrt(share),
        colour_of(p.pipe), escaped(title));
  }

  const Reported &r_;
  std::vector<Point> points_;
  std::vector<std::string> pipes_;
  Decades x_, y_;
};

}  // namespace

std::string colour_of(const std::string &pipe) {
  const std::map<std::string, std::string> colours = {
      {"hbm", "#0969da"},  {"fma", "#1a7f37"},   {"f64", "#116329"}, {"int", "#9a6700"},
      {"mufu", "#8250df"}, {"issue", "#bf3989"}, {"l2", "#218bff"},  {"latency", "#cf222e"}};
  auto it = colours.find(pipe);
  return it == colours.end() ? "#57606a" : it->second;
}

std::string roofline(const Reported &r) {
  std::vector<Point> points = points_of(r);
  std::size_t missing = r.plan().kernels.size() - points.size();
  std::string text = points.empty() ? "" : Chart(r, std::move(points)).draw();
  text +=
      "<p class=\"note\">A kernel is a circle, as large as its share of the time, in the colour of "
      "the pipe beside the memory that it keeps busiest. One on the slope moves bytes as fast as a "
      "copy; one on the roof of its colour is bound by that pipe; below both it waits.</p>\n";
  if (missing > 0)
    text += formatted("<p class=\"note\">{} kernels that do nothing are not shown.</p>\n", missing);
  return text;
}
