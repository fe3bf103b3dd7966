// PTX from LLVM IR text: target strings, the text itself, and errors that must not end the process.
#include "codegen/codegen.h"

#include <fuse/error.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

namespace {

using fuse::Error;
using fuse::ErrorCode;
using fuse::ptx_from_llvm;
using fuse::Target;
using ::testing::HasSubstr;
using ::testing::Not;

Target target_of(int sm, int ptx = 0) {
  Target target;
  target.name = "test";
  target.sm = sm;
  target.ptx = ptx;
  return target;
}

/// A kernel that applies `body`, which turns float %x into float %r, to each element.
std::string unary(const std::string &body, const std::string &declarations = "") {
  return R"(
define ptx_kernel void @k(ptr addrspace(1) noalias readonly %in, ptr addrspace(1) noalias %out) #0 {
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %i = zext nneg i32 %t to i64
  %p = getelementptr inbounds float, ptr addrspace(1) %in, i64 %i
  %x = load float, ptr addrspace(1) %p
)" + body +
         R"(
  %q = getelementptr inbounds float, ptr addrspace(1) %out, i64 %i
  store float %r, ptr addrspace(1) %q
  ret void
}
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
attributes #0 = { "nvvm.maxntid"="128" }
)" + declarations;
}

std::string message_of(const std::string &ir, ErrorCode code) {
  try {
    ptx_from_llvm(ir, target_of(90));
  } catch (const Error &error) {
    EXPECT_EQ(error.code(), code);
    return error.what();
  }
  return "no error";
}

TEST(Ptx, RefusesMoreParametersThanTheTargetTakes) {
  fuse::Kernel kernel = fuse::parse_kernel(
      "kernel @k(%x: f32[4] each) -> (%y: f32[4] each) threads 32 cluster 1 index 32 {\n"
      "  instances 300\n}\n");
  Target old = target_of(90, 80);
  old.parameter_bytes = 4096;
  try {
    fuse::emit_ptx({&kernel}, old);
    FAIL() << "no error";
  } catch (const Error &error) {
    EXPECT_EQ(error.code(), ErrorCode::Unsupported);
    EXPECT_STREQ(error.what(), "kernel k: 4800 bytes of parameters, and target test takes 4096");
  }
  old.parameter_bytes = 32764;
  EXPECT_THAT(fuse::emit_ptx({&kernel}, old), HasSubstr(".param .align 8 .b8 k_param_0[4800]"));
}

TEST(Ptx, OneInstructionForEachOperation) {
  std::string ptx = ptx_from_llvm(
      unary("%r = call float @llvm.exp2.f32(float %x)", "declare float @llvm.exp2.f32(float)"),
      target_of(90));
  EXPECT_THAT(ptx, HasSubstr(".visible .entry k("));
  EXPECT_THAT(ptx, HasSubstr(".maxntid 128"));
  EXPECT_THAT(ptx, HasSubstr("ld.global.nc.b32"));
  EXPECT_THAT(ptx, HasSubstr("ex2.approx.f32"));
}

TEST(Ptx, TargetString) {
  std::string ir = unary("%r = fadd float %x, 1.0");
  EXPECT_THAT(ptx_from_llvm(ir, target_of(90)), HasSubstr(".version 8.0\n.target sm_90a"));
  EXPECT_THAT(ptx_from_llvm(ir, target_of(80)), HasSubstr(".version 7.0\n.target sm_80\n"));
  EXPECT_THAT(ptx_from_llvm(ir, target_of(100, 88)), HasSubstr(".version 8.8\n.target sm_100a"));
}

TEST(Ptx, VersionIsRaisedToWhatTheDeviceNeedsAndCappedAtWhatLlvmWrites) {
  std::string ir = unary("%r = fadd float %x, 1.0");
  EXPECT_THAT(ptx_from_llvm(ir, target_of(90, 70)), HasSubstr(".version 8.0"));
  EXPECT_THAT(ptx_from_llvm(ir, target_of(90, 99)), HasSubstr(".version 9.0"));
}

TEST(Ptx, MultiplyAndAddStayApart) {
  std::string ptx =
      ptx_from_llvm(unary("%m = fmul float %x, %x\n %r = fadd float %m, 1.0"), target_of(90));
  EXPECT_THAT(ptx, HasSubstr("mul.rn.f32"));
  EXPECT_THAT(ptx, Not(HasSubstr("fma")));
}

TEST(Ptx, UnknownDevice) {
  EXPECT_THROW(ptx_from_llvm(unary("%r = fneg float %x"), target_of(61)), Error);
}

TEST(Ptx, EveryThreadGivesTheSameText) {
  std::string ir = unary("%r = fdiv float 1.0, %x");
  std::string here = ptx_from_llvm(ir, target_of(90));
  std::string there;
  std::thread([&] { there = ptx_from_llvm(ir, target_of(90)); }).join();
  EXPECT_EQ(here, there);
  EXPECT_EQ(here, ptx_from_llvm(ir, target_of(90)));
}

TEST(Ptx, UnselectableIntrinsicIsNamed) {
  std::string message = message_of(
      unary("%r = call float @llvm.log2.f32(float %x)", "declare float @llvm.log2.f32(float)"),
      ErrorCode::Internal);
  EXPECT_THAT(message, HasSubstr("kernel k: no PTX for a call of llvm.log2.f32"));
}

TEST(Ptx, TanhOnlyAsAnApproximation) {
  const std::string declaration = "declare float @llvm.tanh.f32(float)";
  EXPECT_THAT(message_of(unary("%r = call float @llvm.tanh.f32(float %x)", declaration),
                         ErrorCode::Internal),
              HasSubstr("llvm.tanh.f32"));
  EXPECT_THAT(ptx_from_llvm(unary("%r = call afn float @llvm.tanh.f32(float %x)", declaration),
                            target_of(90)),
              HasSubstr("tanh.approx.f32"));
}

TEST(Ptx, UnknownFunctionIsNamed) {
  EXPECT_THAT(message_of(unary("%r = call float @expf(float %x)", "declare float @expf(float)"),
                         ErrorCode::Internal),
              HasSubstr("expf"));
}

TEST(Ptx, MalformedText) {
  EXPECT_THAT(message_of("define void @k( {", ErrorCode::Parse), HasSubstr("<llvm>:1:"));
}

}  // namespace
