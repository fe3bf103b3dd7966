// Executables as files, on the host executor.
#include "expect_error.h"
#include "programs.h"
#include "runtime/package.h"

#include <numeric>

using namespace fuse;

namespace {

constexpr const char *kNorm = R"(graph @norm(%x: f32[B, C], %s: f32 scalar) {
  symbol B min=1
  symbol C min=1
  %n = layer_norm %x axes=[1]
  %y = mul %n, %s
  return %y as y
})";

CompileOptions host() {
  CompileOptions options;
  options.executor = Executor::Host;
  return options;
}

DeserializeOptions on_host() {
  DeserializeOptions options;
  options.executor = Executor::Host;
  return options;
}

std::vector<float> run(const Executable &exe, std::int64_t columns) {
  std::vector<float> x(static_cast<std::size_t>(3 * columns)), y(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i * i % 101) * 0.25f;
  exe.launch(nullptr, {tensor(x.data(), {3, columns}), 2.0f, tensor(y.data(), {3, columns})});
  return y;
}

}  // namespace

TEST(SerializeHost, ComputesTheSameBits) {
  Executable exe = compile(parse(kNorm), host());
  for (std::int64_t columns : {100, 4096}) run(exe, columns);
  Executable same = deserialize(exe.serialize(), on_host());
  for (std::int64_t columns : {77, 100, 4095, 4096})
    EXPECT_EQ(run(same, columns), run(exe, columns));
  ASSERT_EQ(same.compilations().size(), exe.compilations().size());
  EXPECT_EQ(same.compilations()[0].reason, "deserialized");
  EXPECT_EQ(same.compilations()[1].reason, "deserialized");
  EXPECT_EQ(same.compilations()[2].reason, exe.compilations()[2].reason);
}

TEST(SerializeHost, KernelsShareAWorkspace) {
  Executable exe = make_executable(staged_interface(), staged_program, host());
  Executable same = deserialize(exe.serialize(), on_host());
  std::vector<float> x(300), y(300);
  std::iota(x.begin(), x.end(), 0.0f);
  same.launch(nullptr, {tensor(x.data(), {300}), tensor(y.data(), {300})});
  for (std::size_t i = 0; i < y.size(); ++i) EXPECT_EQ(y[i], x[i] + 1);
}

TEST(SerializeHost, ExternOperationsAreCalled) {
  Executable exe = make_executable(staged_interface(), extern_program, host());
  Executable same = deserialize(exe.serialize(), on_host());
  alignas(16) float x[2] = {1, 2}, y[2] = {};
  LaunchOptions options;
  options.run_extern = [&](const ExternCall &call) {
    EXPECT_EQ(call.name, "twice");
    y[0] = 7;
  };
  same.launch(nullptr, {tensor(x, {2}), tensor(y, {2})}, options);
  EXPECT_EQ(y[0], 7);
}

TEST(SerializeHost, CodeOfAnotherCpuIsRefused) {
  Package package = decode_package(compile(parse(kNorm), host()).serialize());
  package.sections[0].cpu = "abacus +beads";
  EXPECT_THAT(error_of(ErrorCode::Unsupported, [&] { deserialize(encode(package), on_host()); }),
              ::testing::HasSubstr("norm: the file has code for the host's abacus and none for the "
                                   "host's "));
}

TEST(SerializeHost, ADamagedKernelIsFoundWhenItIsLinked) {
  Package package = decode_package(compile(parse(kNorm), host()).serialize());
  Section &section = package.sections[0];
  std::vector<StoredVariant> variants = decode_variants(section.variants, package.interface);
  variants[0].code.host[0].resize(20);
  section.variants = encode(variants);
  Executable same = deserialize(encode(package), on_host());
  EXPECT_EQ(error_of(ErrorCode::Parse, [&] { run(same, 4096); }),
            "the bytes are no compiled host kernel");
}

TEST(SerializeHost, AHostMayBeOneOfSeveralTargets) {
  CompileOptions options;
  options.executor = Executor::None;
  options.targets = {Target::named("h200"), Target::named("host")};
  Executable exe = compile(parse(kNorm), options), same = deserialize(exe.serialize(), on_host());
  EXPECT_EQ(same.targets(), std::vector<std::string>{"host"});
  EXPECT_EQ(run(same, 4096), run(compile(parse(kNorm), host()), 4096));
  EXPECT_EQ(same.compilations().size(), 1u);
}
