/* The C API from C99. */
#include <fuse/c_api.h>

#include <stdio.h>
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

int main(void) {
  fuse_graph *graph = NULL;
  if (fuse_graph_parse("graph @broken(", &graph) != FUSE_PARSE) return fail("broken text");
  if (strlen(fuse_last_error()) == 0) return fail("no words");
  if (fuse_graph_parse(NULL, &graph) != FUSE_INVALID_ARGUMENT) return fail("null text");
  if (fuse_graph_parse(program, &graph) != FUSE_OK) return fail("parse");

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

  const int64_t dims[] = {3};
  const char *text = NULL;
  if (fuse_explain(executable, dims, 1, &text) != FUSE_OK) return fail("explain");
  if (!strstr(text, "scale")) return fail("text");
  fuse_executable_free(executable);
  return 0;
}
