/* fuse for C: graphs from text, compiled and launched.
 *
 * Every function returns a status; fuse_last_error() has the words of this thread's last failure.
 * Handles may be shared by threads as their C++ counterparts; fuse_*_free(NULL) does nothing.
 * Strings returned belong to the handle they come from, or to the thread for fuse_last_error. */
#ifndef FUSE_C_API_H
#define FUSE_C_API_H

#include <stddef.h>
#include <stdint.h>

#define FUSE_C_API __attribute__((visibility("default")))

#ifdef __cplusplus
extern "C" {
#endif

struct CUstream_st; /* cudaStream_t and CUstream */

typedef enum fuse_status {
  FUSE_OK = 0,
  FUSE_INVALID_ARGUMENT,
  FUSE_SHAPE,
  FUSE_DTYPE,
  FUSE_PARSE,
  FUSE_UNSUPPORTED,
  FUSE_NO_DEVICE,
  FUSE_OUT_OF_MEMORY,
  FUSE_DRIVER_ERROR,
  FUSE_IO,
  FUSE_INTERNAL
} fuse_status;

typedef enum fuse_executor {
  FUSE_EXECUTOR_AUTO = 0,
  FUSE_EXECUTOR_GPU,
  FUSE_EXECUTOR_HOST,
  FUSE_EXECUTOR_NONE
} fuse_executor;

typedef struct fuse_graph fuse_graph;
typedef struct fuse_executable fuse_executable;
typedef struct fuse_launcher fuse_launcher;

/* Zero-initialise; zeros are the defaults. Only the C++ CompileOptions have expected_sizes,
 * overrides, in_place and an allocator. */
typedef struct fuse_compile_options {
  const char *target; /* "h200", ...; NULL: the device, or the host without one */
  fuse_executor executor;
  int device;
  int strict;
  int batch_invariant;
  int no_recompile;
  const char *targets; /* further machines for fuse_serialize: "h100,h200"; NULL: none */
} fuse_compile_options;

/* Zero-initialise; zeros are the defaults. */
typedef struct fuse_deserialize_options {
  fuse_executor executor;
  int device;
  const char *target; /* of the file's, by name; NULL: the device's */
  int no_recompile;   /* refuse what the file has no code for */
} fuse_deserialize_options;

/* An argument of a launch. A scalar has rank -1, and `data` points to a value of its dtype. */
typedef struct fuse_tensor {
  const void *data;
  int rank;
  int64_t shape[8];
  const int64_t *strides; /* in elements; NULL: row-major */
} fuse_tensor;

/* Scratch memory; zeros: the library keeps its own. */
typedef struct fuse_workspace {
  void *data;
  size_t bytes;
  int zeroed; /* it holds zeros, or what a launch with the same sizes left */
} fuse_workspace;

FUSE_C_API const char *fuse_version(void);
FUSE_C_API const char *fuse_status_name(fuse_status status);

/* Words of the last failure of this thread; "" before the first. */
FUSE_C_API const char *fuse_last_error(void);

FUSE_C_API fuse_status fuse_graph_parse(const char *text, fuse_graph **graph);
FUSE_C_API void fuse_graph_free(fuse_graph *graph);

/* The graph with derivatives: its outputs and, behind them, d_<input> for each input, of the output
 * that is named; NULL: of the only one. FUSE_INVALID_ARGUMENT for names that it does not have and
 * extern operations on the way, FUSE_DTYPE for integers. `joint` is freed apart. */
FUSE_C_API fuse_status fuse_graph_grad(const fuse_graph *graph, const char *output,
                                       const char *const *inputs, size_t num_inputs,
                                       fuse_graph **joint);

/* `options` may be NULL. The graph may be freed afterwards. */
FUSE_C_API fuse_status fuse_compile(const fuse_graph *graph, const fuse_compile_options *options,
                                    fuse_executable **executable);
FUSE_C_API void fuse_executable_free(fuse_executable *executable);

/* Arguments in order: inputs, then outputs. `workspace` may be NULL. */
FUSE_C_API fuse_status fuse_launch(const fuse_executable *executable, struct CUstream_st *stream,
                                   const fuse_tensor *arguments, size_t count,
                                   const fuse_workspace *workspace);

/* For fixed sizes: values of the symbols in the order of the graph; contiguous arguments whose
 * addresses divide 16. Each argument of the call is the address of a tensor, or of a scalar. */
FUSE_C_API fuse_status fuse_bind(const fuse_executable *executable, const int64_t *dims,
                                 size_t num_dims, fuse_launcher **launcher);
FUSE_C_API fuse_status fuse_launcher_call(const fuse_launcher *launcher, struct CUstream_st *stream,
                                          const void *const *arguments, size_t count,
                                          const fuse_workspace *workspace);
FUSE_C_API void fuse_launcher_free(fuse_launcher *launcher);

/* Compiles all that launches of these sizes need, on so many threads (0: as many as the machine
 * runs). `dims` has num_dims values for each of num_sizes, one size after another. */
FUSE_C_API fuse_status fuse_prepare(const fuse_executable *executable, const int64_t *dims,
                                    size_t num_dims, size_t num_sizes, unsigned threads);

/* The executable as bytes, with the code of every variant that is compiled. They live until the
 * next call of this function for the same executable, or until that is freed; do not call it from
 * two threads at once. */
FUSE_C_API fuse_status fuse_serialize(fuse_executable *executable, const void **bytes,
                                      size_t *size);

/* The executable that the bytes were made of; no compiler runs. `options` may be NULL. Bytes are
 * trusted as a program is. FUSE_PARSE: they are torn or no such bytes; FUSE_UNSUPPORTED: they are
 * of another version, or have no code for this machine. */
FUSE_C_API fuse_status fuse_deserialize(const void *bytes, size_t size,
                                        const fuse_deserialize_options *options,
                                        fuse_executable **executable);

/* An argument: inputs first, then outputs. The name lives as long as the executable. */
typedef struct fuse_argument {
  const char *name;
  const char *dtype; /* "bf16" */
  int rank;
  int is_scalar;    /* passed by value */
  size_t alignment; /* bytes that the fastest variant wants the address to divide */
} fuse_argument;

/* A kernel. Texts live until the next call of fuse_kernel for the same executable. */
typedef struct fuse_kernel_info {
  const char *name;
  double predicted_us;
  const char *bound; /* the pipe that binds: "hbm", "mufu", ... */
  int64_t bytes;     /* of the buffers it reads and writes */
  uint64_t blocks;
  int threads;   /* per block */
  int registers; /* per thread; -1: not loaded on a device */
  int spills;    /* bytes per thread; -1: not loaded on a device */
  const char *text, *llvm, *ptx;
} fuse_kernel_info;

FUSE_C_API size_t fuse_num_inputs(const fuse_executable *executable);
FUSE_C_API size_t fuse_num_outputs(const fuse_executable *executable);
FUSE_C_API fuse_status fuse_argument_info(const fuse_executable *executable, size_t index,
                                          fuse_argument *argument);

/* Extents of an output for the sizes; `shape` takes eight. */
FUSE_C_API fuse_status fuse_output_shape(const fuse_executable *executable, size_t output,
                                         const int64_t *dims, size_t num_dims, int64_t *shape,
                                         int *rank);

/* Kernels of the variant for these sizes, and kernel `index` of it; FUSE_INVALID_ARGUMENT beyond
 * the last. Code is made for each call. Do not call fuse_kernel from two threads at once. */
FUSE_C_API fuse_status fuse_num_kernels(const fuse_executable *executable, const int64_t *dims,
                                        size_t num_dims, size_t *count);
FUSE_C_API fuse_status fuse_kernel(fuse_executable *executable, size_t index, const int64_t *dims,
                                   size_t num_dims, fuse_kernel_info *kernel);

FUSE_C_API fuse_status fuse_workspace_bytes(const fuse_executable *executable, const int64_t *dims,
                                            size_t num_dims, size_t *bytes);

/* Decisions and predictions as text. It lives until the next call of this function for the same
 * executable, or until that is freed; do not call it from two threads at once. */
FUSE_C_API fuse_status fuse_explain(fuse_executable *executable, const int64_t *dims,
                                    size_t num_dims, const char **text);

#ifdef __cplusplus
}
#endif

#endif
