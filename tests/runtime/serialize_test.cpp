// Executables as files, on the fake GPU: its modules hold the PTX that they were assembled from.
#include "expect_error.h"
#include "fake_cuda.h"
#include "programs.h"
#include "runtime/package.h"

#include <fuse/compile.h>

using namespace fuse;
using ::testing::AllOf;
using ::testing::Each;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::StartsWith;

namespace {

CompileOptions for_targets(const std::vector<std::string> &names) {
  CompileOptions options;
  options.executor = Executor::None;
  for (const std::string &name : names) options.targets.push_back(Target::named(name));
  return options;
}

/// The bytes with another package in them.
template <class Change>
std::string changed(const std::string &bytes, Change change) {
  Package package = decode_package(bytes);
  change(package);
  return encode(package);
}

/// The same with other variants of the first section.
template <class Change>
std::string changed_variants(const std::string &bytes, Change change) {
  return changed(bytes, [&](Package &package) {
    Section &section = package.sections[0];
    std::vector<StoredVariant> variants = decode_variants(section.variants, package.interface);
    for (StoredVariant &v : variants) change(v);
    section.variants = encode(variants);
  });
}

class SerializeTest : public ::testing::Test {
 protected:
  SerializeTest() { fake_cuda().reset(); }
  ~SerializeTest() override { fake_cuda().reset(); }

  void on_a100() {
    fake_cuda().device_name = "NVIDIA A100-SXM4-80GB";
    fake_cuda().major = 8;
  }

  std::vector<std::uint16_t> x = std::vector<std::uint16_t>(4 * 4096), y = x;
  void launch(const Executable &exe, std::int64_t columns) {
    exe.launch(nullptr, {tensor(x.data(), {4, columns}), tensor(y.data(), {4, columns})});
  }
};

}  // namespace

TEST_F(SerializeTest, WhatIsReadLaunchesWithoutCompiling) {
  Executable exe = compile(softmax());
  launch(exe, 4096);
  launch(exe, 1000);
  std::string bytes = exe.serialize();
  fake_cuda().reset();
  Executable same = deserialize(bytes);
  launch(same, 4096);
  launch(same, 1000);
  EXPECT_THAT(reasons(same.compilations()), Each("deserialized"));
  EXPECT_EQ(same.compilations().size(), exe.compilations().size());
  EXPECT_EQ(fake_cuda().count("cuLinkAddData"), 0) << "cubins are in the file";
  EXPECT_EQ(fake_cuda().count("cuLaunchKernelEx"), 2);
  EXPECT_EQ(same.executor(), "gpu");
}

TEST_F(SerializeTest, WhatIsReadTellsTheSame) {
  Executable exe = compile(softmax()), same = deserialize(exe.serialize());
  EXPECT_EQ(same.symbols(), exe.symbols());
  EXPECT_EQ(same.inputs()[0].name, "x");
  EXPECT_EQ(same.inputs()[0].alignment, exe.inputs()[0].alignment);
  EXPECT_EQ(same.output_shapes({3, 7}), exe.output_shapes({3, 7}));
  EXPECT_EQ(same.kernels({8, 4096})[0].ptx, exe.kernels({8, 4096})[0].ptx);
  EXPECT_EQ(same.decisions().size(), exe.decisions().size());
  EXPECT_EQ(same.overview().fused.bytes, exe.overview().fused.bytes);
  EXPECT_EQ(same.overview().fused.moved_bytes, exe.overview().fused.moved_bytes);
  EXPECT_EQ(same.serialize(), exe.serialize());
}

TEST_F(SerializeTest, FurtherSizesAreCompiledFromTheGraph) {
  Executable exe = compile(softmax());
  Executable same = deserialize(exe.serialize());
  launch(exe, 1001);
  launch(same, 1001);
  EXPECT_EQ(same.compilations().back().reason, exe.compilations().back().reason);
  EXPECT_EQ(same.serialize(), exe.serialize());
}

TEST_F(SerializeTest, FurtherSizesAreRefusedWhereAsked) {
  DeserializeOptions options;
  options.no_recompile = true;
  Executable same = deserialize(compile(softmax()).serialize(), options);
  launch(same, 4096);
  EXPECT_EQ(error_of(ErrorCode::Unsupported, [&] { launch(same, 1000); }),
            "softmax: C = 1000 is outside 3073 to 4096: no compiled variant serves it and "
            "no_recompile is set");
}

TEST_F(SerializeTest, TheVariantForAllSizesIsKept) {
  CompileOptions options;
  options.no_recompile = true;
  options.expected_sizes = {{"C", 4096}};
  Executable exe = compile(softmax(), options), same = deserialize(exe.serialize());
  for (std::int64_t columns : {4096, 1000, 1001}) launch(same, columns);
  EXPECT_THAT(reasons(same.compilations()), AllOf(::testing::SizeIs(2), Each("deserialized")));
}

TEST_F(SerializeTest, AMachineWithoutAGpuMakesFilesForSeveral) {
  Executable exe = compile(softmax(), for_targets({"h100", "h200", "h100", "a100"}));
  EXPECT_EQ(exe.targets(), (std::vector<std::string>{"h100", "h200", "a100"}));
  std::string bytes = exe.serialize();
  EXPECT_EQ(fake_cuda().calls, std::vector<std::string>{}) << "no driver is asked";
  Executable on_h200 = deserialize(bytes);
  EXPECT_EQ(on_h200.targets(), std::vector<std::string>{"h200"});
  EXPECT_EQ(fake_cuda().count("cuLinkAddData"), 1) << "PTX is assembled where it is loaded";
  launch(on_h200, 4096);
  on_a100();
  EXPECT_EQ(deserialize(bytes).targets(), std::vector<std::string>{"a100"});
}

TEST_F(SerializeTest, CodeForTheSameCapabilityServes) {
  std::string bytes = compile(softmax(), for_targets({"a100", "h100"})).serialize();
  EXPECT_EQ(deserialize(bytes).targets(), std::vector<std::string>{"h100"});
  DeserializeOptions options;
  options.target = "h200";
  EXPECT_EQ(error_of(ErrorCode::Unsupported, [&] { deserialize(bytes, options); }),
            "softmax: the file has code for a100 (sm_80), h100 (sm_90) and none for 'h200' on "
            "h200 (sm_90): name it in CompileOptions::targets and serialize again");
}

TEST_F(SerializeTest, CodeThatNeedsMoreThanTheDeviceHasDoesNot) {
  std::string bytes = changed(compile(softmax(), for_targets({"h100"})).serialize(),
                              [](Package &p) { p.sections[0].target.shared_per_block += 1024; });
  EXPECT_THAT(error_of(ErrorCode::Unsupported, [&] { deserialize(bytes); }),
              HasSubstr("has code for h100 (sm_90) and none for h200 (sm_90)"));
}

TEST_F(SerializeTest, AnAbsentTargetIsNamed) {
  std::string bytes = compile(softmax(), for_targets({"h100", "h200"})).serialize();
  on_a100();
  EXPECT_EQ(error_of(ErrorCode::Unsupported, [&] { deserialize(bytes); }),
            "softmax: the file has code for h100 (sm_90), h200 (sm_90) and none for a100 (sm_80): "
            "name it in CompileOptions::targets and serialize again");
  DeserializeOptions options;
  options.executor = Executor::Host;
  EXPECT_THAT(error_of(ErrorCode::Unsupported, [&] { deserialize(bytes, options); }),
              AllOf(HasSubstr("has code for h100 (sm_90), h200 (sm_90) and none for the host's"),
                    HasSubstr("Target::named(\"host\")")));
}

TEST_F(SerializeTest, AnyFileMayBeStudied) {
  std::string bytes = compile(softmax(), for_targets({"h100", "b200"})).serialize();
  DeserializeOptions options;
  options.executor = Executor::None;
  EXPECT_EQ(deserialize(bytes, options).targets()[0], "h100");
  options.target = "b200";
  EXPECT_THAT(deserialize(bytes, options).kernels({8, 4096})[0].ptx, HasSubstr(".target sm_100a"));
  options.target = "b100";
  EXPECT_THAT(error_of(ErrorCode::Unsupported, [&] { deserialize(bytes, options); }),
              HasSubstr("none for 'b100': name one that is there"));
}

TEST_F(SerializeTest, PtxOfALaterDriverNeedsWhatWasAssembledOfIt) {
  Executable exe = compile(softmax());
  std::string bytes = changed(exe.serialize(), [](Package &p) { p.sections[0].target.ptx = 99; });
  launch(deserialize(bytes), 4096);
  EXPECT_EQ(fake_cuda().count("cuLinkAddData"), 1) << "by compile() alone";
  bytes = changed_variants(bytes, [](StoredVariant &v) { v.code.gpu.at(0).cubins.clear(); });
  EXPECT_EQ(error_of(ErrorCode::Unsupported, [&] { deserialize(bytes); }),
            "the code for h200 is PTX 9.9 and this driver takes 9.0: update the driver, or "
            "serialize for Target::named(\"h200\")");
}

TEST_F(SerializeTest, CubinsOfALaterDriverAreMadeAgain) {
  std::string bytes = changed_variants(compile(softmax()).serialize(), [](StoredVariant &v) {
    v.code.gpu.at(0).cubins.at(0).driver = 99990;
  });
  fake_cuda().reset();
  launch(deserialize(bytes), 4096);
  EXPECT_EQ(fake_cuda().count("cuLinkAddData"), 1);
}

TEST_F(SerializeTest, ProgramsWithoutAGraphServeTheirSizes) {
  Executable same = deserialize(make_executable(scale_interface(), scale_program, {}).serialize());
  float in[8] = {}, out[8] = {};
  same.launch(nullptr, {tensor(in, {8}), 2.0f, tensor(out, {8})});
  EXPECT_EQ(fake_cuda().count("cuLaunchKernelEx(scale)"), 1);
  EXPECT_EQ(error_of(ErrorCode::Unsupported,
                     [&] { same.launch(nullptr, {tensor(in, {4}, {2}), 2.0f, tensor(out, {4})}); }),
            "scale: the file has no code for these sizes and no graph");
}

TEST_F(SerializeTest, OptionsAreKept) {
  Graph graph = parse(R"(graph @add(%x: f32[B], %z: f32[B]) {
  symbol B divisor=8
  %y = add %x, %z
  return %y as y
})");
  CompileOptions options;
  options.strict = options.batch_invariant = true;
  options.expected_sizes = {{"B", 512}};
  options.in_place = {{"z", "y"}};
  Executable same = deserialize(compile(graph, options).serialize());
  EXPECT_EQ(same.overview().sizes, (Bindings{{"B", 512}}));
  float in[8] = {}, out[8] = {};
  same.launch(nullptr, {tensor(in, {8}), tensor(out, {8}), tensor(out, {8})});
  Package package = decode_package(same.serialize());
  EXPECT_TRUE(package.options.strict && package.options.batch_invariant);
  EXPECT_EQ(package.options.in_place.at(0).input, "z");
}

TEST_F(SerializeTest, SizesThatNoExtentTakesAreStillRefused) {
  Graph graph = parse(R"(graph @peak(%x: f32[B, C]) {
  symbol C min=0
  %y = max %x axes=[1]
  return %y as y
})");
  Executable exe = compile(graph), same = deserialize(exe.serialize());
  std::string text = error_of(ErrorCode::Shape, [&] { exe.bind({8, 0}); });
  EXPECT_EQ(error_of(ErrorCode::Shape, [&] { same.bind({8, 0}); }), text);
}

TEST_F(SerializeTest, RefusesWhatIsNoFileOfItsOwn) {
  std::string bytes = compile(softmax(), for_targets({"h200"})).serialize();
  auto refusal = [](ErrorCode code, const std::string &given) {
    return error_of(code, [&] { deserialize(given); });
  };
  EXPECT_EQ(refusal(ErrorCode::Parse, ""),
            "0 bytes are no serialized executable: they do not begin with 'fusejit'");
  EXPECT_THAT(refusal(ErrorCode::Parse,
                      "\x7f"
                      "ELF..."),
              StartsWith("7 bytes are no serialized"));
  EXPECT_THAT(refusal(ErrorCode::Parse, bytes.substr(0, bytes.size() - 1)),
              AllOf(HasSubstr("is torn"), HasSubstr(" bytes are there of ")));
  EXPECT_THAT(refusal(ErrorCode::Parse, bytes.substr(0, 30)),
              HasSubstr("no serialized executable"));
  std::string damaged = bytes;
  damaged[bytes.size() / 2] ^= 1;
  EXPECT_THAT(refusal(ErrorCode::Parse, damaged), HasSubstr("is damaged"));
  std::string older = bytes;
  older[8] = 0;
  older.replace(older.find("0.1.0"), 5, "0.0.9");
  EXPECT_EQ(refusal(ErrorCode::Unsupported, older),
            "the serialized executable is of fuse 0.0.9 (format 0): fuse 0.1.0 reads its own "
            "(format 2); compile and serialize again");
}

TEST_F(SerializeTest, AnyByteThatChangesIsFound) {
  std::string bytes = make_executable(scale_interface(), scale_program, {}).serialize();
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    std::string damaged = bytes;
    damaged[i] ^= 0x10;
    EXPECT_THROW(deserialize(damaged), Error) << "byte " << i;
  }
}

/// Bytes with a right checksum are read like any others: they are refused, or harmless.
TEST_F(SerializeTest, AnyByteBehindTheChecksumMayChange) {
  std::string bytes = make_executable(scale_interface(), scale_program, {}).serialize();
  std::string body = bytes.substr(bytes.find("program @scale") - 8);
  DeserializeOptions options;
  options.executor = Executor::None;
  int read = 0;
  for (std::size_t i = 0; i < body.size(); ++i)
    for (char mask : {'\x01', '\x80', '\xff'}) {
      std::string other = body;
      other[i] ^= mask;
      try {
        make_executable(decode_body(other), options).serialize();
        ++read;
      } catch (const Error &e) {
        EXPECT_NE(e.code(), ErrorCode::Internal) << "byte " << i << ": " << e.what();
      }
    }
  EXPECT_GT(read, 0) << "a letter of a reason may differ";
}

TEST_F(SerializeTest, CodeThatIsNotThereIsFoundBeforeALaunch) {
  std::string bytes = changed_variants(compile(softmax()).serialize(),
                                       [](StoredVariant &v) { v.code.gpu.at(0).ptx.clear(); });
  EXPECT_EQ(error_of(ErrorCode::Parse, [&] { deserialize(bytes); }),
            "the serialized executable lacks code of its kernels");
}

TEST_F(SerializeTest, ATargetThatNoMachineHasIsRefused) {
  CompileOptions options = for_targets({"h200"});
  options.targets[0].max_cluster = 3;
  EXPECT_THAT(
      error_of(ErrorCode::InvalidArgument, [&] { compile(softmax(), options).serialize(); }),
      HasSubstr("softmax: a target cannot be serialized: h200: error: max_cluster"));
}
