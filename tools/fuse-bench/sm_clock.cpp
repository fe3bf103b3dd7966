// The timer ticks about once a microsecond, so both ends are taken at a tick.
#include "sm_clock.h"

#include "runtime/device.h"
#include "runtime/module.h"
#include "text.h"

#include <cstdint>

namespace fuse::bench {

using namespace cuda;

namespace {

constexpr int kNanoseconds = 300000;

}  // namespace

std::string clock_ptx() {
  return formatted(R"(.version 7.1
.target sm_80
.address_size 64
.visible .entry sm_clock(.param .u64 result)
{{
  .reg .u64 %address, %start, %now, %begin, %end, %passed;
  .reg .pred %more;
  ld.param.u64 %address, [result];
  mov.u64 %now, %globaltimer;
tick:
  mov.u64 %start, %globaltimer;
  setp.eq.u64 %more, %start, %now;
  @%more bra tick;
  mov.u64 %begin, %clock64;
count:
  mov.u64 %now, %globaltimer;
  sub.u64 %passed, %now, %start;
  setp.lt.u64 %more, %passed, {};
  @%more bra count;
  mov.u64 %end, %clock64;
  sub.u64 %end, %end, %begin;
  st.global.u64 [%address], %end;
  st.global.u64 [%address+8], %passed;
  ret;
}}
)",
                   kNanoseconds);
}

SmClock::SmClock() : result_(DeviceBuffer::device(2 * sizeof(std::uint64_t))) {
  Context context = context_of(nullptr, 0);
  function_ = load_function(context, assemble(clock_ptx()), {"sm_clock", 1});
}

double SmClock::hertz() const {
  void *address = result_.data(), *arguments[] = {&address};
  FUSE_CUDA(cuLaunchKernel, function_, 1, 1, 1, 1, 1, 1, 0, nullptr, arguments, nullptr);
  std::uint64_t counted[2] = {};
  result_.copy_to_host(counted, sizeof counted);
  return counted[1] > 0 ? 1e9 * static_cast<double>(counted[0]) / static_cast<double>(counted[1])
                        : 0;
}

}  // namespace fuse::bench
