// The FUSE_* variables.
#include "ir/env.h"

#include <gtest/gtest.h>

#include <map>

namespace {

fuse::Environment read(const std::map<std::string, std::string> &variables) {
  return fuse::read_environment([&](const char *name) -> const char * {
    auto it = variables.find(name);
    return it == variables.end() ? nullptr : it->second.c_str();
  });
}

}  // namespace

TEST(Environment, IsQuietByDefault) {
  fuse::Environment env = read({});
  EXPECT_TRUE(env.dump.empty());
  EXPECT_TRUE(env.disable.empty());
  EXPECT_FALSE(env.time);
  EXPECT_FALSE(env.verify);
  EXPECT_FALSE(env.cache_dir);
  EXPECT_FALSE(env.log);
  EXPECT_EQ(env.libcuda, "");
}

TEST(Environment, ReadsEveryVariable) {
  fuse::Environment env = read({{"FUSE_DUMP", "graph,,ptx"},
                                {"FUSE_DUMP_DIR", "/tmp/d"},
                                {"FUSE_TIME", "1"},
                                {"FUSE_VERIFY", "yes"},
                                {"FUSE_DISABLE", "widen"},
                                {"FUSE_CACHE_DIR", ""},
                                {"FUSE_LIBCUDA", "/opt/libcuda.so"},
                                {"FUSE_LOG", "warning"}});
  EXPECT_EQ(env.dump, (std::set<std::string, std::less<>>{"graph", "ptx"}));
  EXPECT_EQ(env.dump_dir, "/tmp/d");
  EXPECT_TRUE(env.time);
  EXPECT_TRUE(env.verify);
  EXPECT_TRUE(env.disable.contains("widen"));
  EXPECT_EQ(env.cache_dir, "");
  EXPECT_EQ(env.libcuda, "/opt/libcuda.so");
  EXPECT_EQ(env.log, fuse::LogLevel::Warning);
}

TEST(Environment, ZeroAndNonsenseAreOff) {
  fuse::Environment env = read({{"FUSE_TIME", "0"}, {"FUSE_VERIFY", ""}, {"FUSE_LOG", "loud"}});
  EXPECT_FALSE(env.time);
  EXPECT_FALSE(env.verify);
  EXPECT_FALSE(env.log);
}

TEST(Environment, ListsUnknownWords) {
  fuse::Environment env = read({{"FUSE_DUMP", "plan,kernels"}, {"FUSE_LOG", "loud"}});
  EXPECT_EQ(env.unknown,
            (std::vector<std::string>{
                "FUSE_DUMP: 'kernels' is none of graph, plan, kernel, llvm, ptx, and ignored; did "
                "you mean kernel?",
                "FUSE_LOG: 'loud' is none of debug, info, warning, error, and ignored"}));
}

TEST(Environment, TheTableNamesWhatIsRead) {
  std::set<std::string> asked;
  fuse::read_environment([&](const char *name) -> const char * {
    asked.insert(name);
    return nullptr;
  });
  std::set<std::string> listed;
  for (const fuse::EnvVariable &v : fuse::environment_variables()) listed.insert(v.name);
  EXPECT_EQ(asked, listed);
  EXPECT_EQ(listed.size(), 8u);
}
