/* The C API from C11. */
#include <fuse/c_api.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const program =
    "graph @scale(%x: f32[B, 8], %s: f32 scalar) {\n"
    "  %0 = mul %x, %s : f32[B, 8]\n"
    "  return %0 as y\n"
    "}\n";

static int fail(const char *what) {
  fprintf(stderr, "%s: %s\n", what, fuse_last_error());
  return 1;
}

/* Arguments, shapes and kernels can be asked for. */
static int inspect(fuse_executable *executable) {
  const int64_t dims[] = {3};
  fuse_argument argument;
  if (fuse_argument_info(executable, 1, &argument) != FUSE_OK) return fail("argument");
  if (strcmp(argument.name, "s") || strcmp(argument.dtype, "f32") || !argument.is_scalar)
    return fail("not the scalar");
  if (fuse_argument_info(executable, 2, &argument) != FUSE_OK) return fail("output");
  if (strcmp(argument.name, "y") || argument.rank != 2 || argument.alignment != 16)
    return fail("not the output");
  if (fuse_argument_info(executable, 3, &argument) != FUSE_INVALID_ARGUMENT)
    return fail("an argument too many");
  int64_t shape[8];
  int rank;
  if (fuse_output_shape(executable, 0, dims, 1, shape, &rank) != FUSE_OK) return fail("shape of y");
  if (rank != 2 || shape[0] != 3 || shape[1] != 8) return fail("wrong shape of y");
  fuse_kernel_info kernel;
  size_t count = 0;
  if (fuse_num_kernels(executable, dims, 1, &count) != FUSE_OK || count != 1)
    return fail("number of kernels");
  if (fuse_num_kernels(executable, NULL, 1, &count) != FUSE_INVALID_ARGUMENT)
    return fail("kernels of no dims");
  if (fuse_kernel(executable, 0, dims, 1, &kernel) != FUSE_OK) return fail("kernel");
  if (kernel.bytes != 2 * 24 * 4 || kernel.registers != -1) return fail("bytes of the kernel");
  if (!strstr(kernel.text, kernel.name) || !strstr(kernel.ptx, ".entry")) return fail("code");
  if (fuse_kernel(executable, 1, dims, 1, &kernel) != FUSE_INVALID_ARGUMENT)
    return fail("a kernel too many");
  return 0;
}

/* The hot path: sizes first, then calls with addresses alone. */
static int bind_and_call(fuse_executable *executable) {
  const int64_t dims[] = {3};
  size_t bytes;
  if (fuse_workspace_bytes(executable, dims, 1, &bytes) != FUSE_OK || bytes != 0)
    return fail("workspace");
  fuse_launcher *launcher = NULL;
  if (fuse_bind(executable, NULL, 1, &launcher) != FUSE_INVALID_ARGUMENT) return fail("no dims");
  if (fuse_bind(executable, dims, (size_t)-1, &launcher) != FUSE_INVALID_ARGUMENT)
    return fail("more sizes than symbols");
  if (fuse_bind(executable, dims, 1, &launcher) != FUSE_OK) return fail("bind");
  float *memory = aligned_alloc(16, 2 * 24 * sizeof(float));
  for (int i = 0; i < 24; ++i) memory[i] = (float)i;
  const float s = 3.0f;
  const void *arguments[] = {memory, &s, memory + 24};
  if (fuse_launcher_call(launcher, NULL, arguments, 2, NULL) != FUSE_INVALID_ARGUMENT)
    return fail("too few arguments");
  if (fuse_launcher_call(launcher, NULL, arguments, 3, NULL) != FUSE_OK) return fail("call");
  fuse_launcher_free(launcher);
  int wrong = 0;
  for (int i = 0; i < 24; ++i) wrong += memory[24 + i] != 3.0f * memory[i];
  free(memory);
  return wrong ? fail("wrong result of the call") : 0;
}

/* A file, and what is not one. */
static int serialize(fuse_executable *executable) {
  const int64_t dims[] = {1, 2, 300};
  if (fuse_prepare(executable, dims, 1, 3, 2) != FUSE_OK) return fail("prepare");
  if (fuse_prepare(executable, NULL, 1, 1, 0) != FUSE_INVALID_ARGUMENT) return fail("no sizes");
  const void *bytes = NULL;
  size_t size = 0;
  if (fuse_serialize(executable, &bytes, &size) != FUSE_OK || size == 0) return fail("serialize");
  fuse_deserialize_options options;
  memset(&options, 0, sizeof options);
  options.executor = FUSE_EXECUTOR_HOST;
  options.no_recompile = 1;
  fuse_executable *same = NULL;
  if (fuse_deserialize(bytes, size - 1, &options, &same) != FUSE_PARSE) return fail("torn bytes");
  options.target = "h200";
  if (fuse_deserialize(bytes, size, &options, &same) != FUSE_UNSUPPORTED)
    return fail("a target that is not there");
  options.target = NULL;
  if (fuse_deserialize(bytes, size, &options, &same) != FUSE_OK) return fail("deserialize");
  int failed = bind_and_call(same);
  fuse_executable_free(same);
  return failed;
}

static int differentiate(const fuse_graph *graph) {
  const char *names[] = {"x", "none"};
  fuse_graph *joint = NULL;
  if (fuse_graph_grad(graph, NULL, names, 2, &joint) != FUSE_INVALID_ARGUMENT)
    return fail("gradient of nothing");
  if (fuse_graph_grad(graph, NULL, names, 1, NULL) != FUSE_INVALID_ARGUMENT)
    return fail("null joint graph");
  if (fuse_graph_grad(graph, NULL, names, 1, &joint) != FUSE_OK) return fail("gradient");
  fuse_compile_options options;
  memset(&options, 0, sizeof options);
  options.executor = FUSE_EXECUTOR_HOST;
  fuse_executable *executable = NULL;
  if (fuse_compile(joint, &options, &executable) != FUSE_OK) return fail("compile gradient");
  fuse_argument derivative;
  size_t outputs = fuse_num_outputs(executable);
  if (outputs != 2 || fuse_argument_info(executable, 3, &derivative) != FUSE_OK ||
      strcmp(derivative.name, "d_x") != 0)
    return fail("derivative");
  fuse_executable_free(executable);
  fuse_graph_free(joint);
  return 0;
}

int main(void) {
  fuse_graph *graph = NULL;
  if (fuse_graph_parse("graph @broken(", &graph) != FUSE_PARSE) return fail("broken text");
  if (strlen(fuse_last_error()) == 0) return fail("no words");
  if (fuse_graph_parse(NULL, &graph) != FUSE_INVALID_ARGUMENT) return fail("null text");
  if (fuse_graph_parse(program, &graph) != FUSE_OK) return fail("parse");

  if (differentiate(graph)) return 1;
  fuse_compile_options options;
  memset(&options, 0, sizeof options);
  options.executor = FUSE_EXECUTOR_HOST;
  fuse_executable *executable = NULL;
  if (fuse_compile(graph, &options, &executable) != FUSE_OK) return fail("compile");
  fuse_graph_free(graph);
  if (fuse_num_inputs(executable) != 2 || fuse_num_outputs(executable) != 1) return fail("counts");

  float x[24], y[24], s = 2.0f;
  for (int i = 0; i < 24; ++i) x[i] = (float)i;
  fuse_tensor arguments[3];
  memset(arguments, 0, sizeof arguments);
  arguments[0].data = x;
  arguments[1].data = &s;
  arguments[1].rank = -1;
  arguments[2].data = y;
  arguments[0].rank = arguments[2].rank = 2;
  arguments[0].shape[0] = arguments[2].shape[0] = 3;
  arguments[0].shape[1] = arguments[2].shape[1] = 8;
  if (fuse_launch(executable, NULL, arguments, 3, NULL) != FUSE_OK) return fail("launch");
  for (int i = 0; i < 24; ++i)
    if (y[i] != 2.0f * x[i]) return fail("wrong result");

  arguments[2].shape[0] = 4;
  if (fuse_launch(executable, NULL, arguments, 3, NULL) != FUSE_SHAPE) return fail("shape");

  if (inspect(executable)) return 1;
  if (bind_and_call(executable)) return 1;
  if (serialize(executable)) return 1;
  const int64_t dims[] = {3};
  const char *text = NULL;
  if (fuse_explain(executable, dims, 1, &text) != FUSE_OK) return fail("explain");
  if (!strstr(text, "scale")) return fail("text");
  fuse_executable_free(executable);
  return 0;
}
