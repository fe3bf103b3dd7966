// The verifier on kernels of instances: refuses one small kernel per invariant, by name.
#include "ir/kernel.h"
#include "unit/kernel/verify_error.h"

#include <fuse/error.h>

#include <gtest/gtest.h>

#include <functional>

namespace fuse {
namespace {

/// The error of a kernel of instances after a change.
std::string error_of_instances(const std::function<void(Kernel &)> &change) {
  Kernel k = parse_kernel(
      "kernel @k(%x: f32[n] each, %w: f32[B], %s: f32[] scalar) -> (%y: f32[n] each) "
      "threads 32 cluster 1 index 64 {\n  instances 2 n: 4, B; m: 1, 2\n  dims i: n\n"
      "  layout L: i = grid n . thread 32\n  in L {\n    %a = load %x[i*m]\n"
      "    store %y[i], %a\n  }\n}\n");
  change(k);
  return error_of(k);
}

TEST(KernelVerifyInstances, Tables) {  // 31
  EXPECT_EQ(error_of_instances([](Kernel &) {}), "");
  EXPECT_EQ(error_of_instances([](Kernel &k) { k.table[1].values.pop_back(); }),
            "kernel k: size m: 1 values for 2 instances");
  EXPECT_EQ(error_of_instances([](Kernel &k) { k.table[1].name = "n"; }),
            "kernel k: size: n names two");
  EXPECT_EQ(error_of_instances([](Kernel &k) { k.table[1].name = "i"; }),
            "kernel k: size i: i is also the name of a dim");
  EXPECT_EQ(error_of_instances([](Kernel &k) { k.table[1].values[0] = Index::symbol("n"); }),
            "kernel k: size m: n uses a size of the table; write symbols of the launch");
  EXPECT_EQ(error_of_instances([](Kernel &k) { k.table[1].values[0] = Index::dim(0); }),
            "kernel k: size m: i uses more than symbols");
  EXPECT_EQ(error_of_instances([](Kernel &k) { k.table[1].values[0] = -1; }),
            "kernel k: size m: -1 is negative");
  EXPECT_EQ(error_of_instances([](Kernel &k) { k.instances = 0; }),
            "kernel k: signature: a table of no instances");
  EXPECT_EQ(error_of(parse_kernel("kernel @k(%x: f32[4] each) -> () threads 32 cluster 1 index 64 "
                                  "{\n}\n")),
            "kernel k: buffer x: `each` in a kernel without instances");
  EXPECT_EQ(error_of_instances([](Kernel &k) {
              k.instances = 1200;
              for (InstanceSize &size : k.table) size.values.resize(1200);
            }),
            "kernel k: signature: 1200 instances take 43224 bytes of parameters, and a launch has "
            "32764: split them");
}

TEST(KernelVerifyInstances, WhatInstancesShare) {  // 32
  EXPECT_EQ(error_of_instances([](Kernel &k) { k.buffers[3].each = false; }),
            "kernel k: buffer y: instances cannot share what they store; mark it `each`");
  EXPECT_EQ(error_of_instances([](Kernel &k) { k.buffers[0].each = false; }),
            "kernel k: buffer x: its extent n differs between instances; mark it `each`");
}

}  // namespace
}  // namespace fuse
