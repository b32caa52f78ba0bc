#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What every function here returns but tritium_message: TRITIUM_OK, or what went wrong. */
enum tritium_status {
    TRITIUM_OK = 0,
    /* No compiled variant fits these arguments; the message says what they would have to be. */
    TRITIUM_NO_VARIANT = 1,
    /* Nothing was compiled for this GPU. */
    TRITIUM_NO_IMAGE = 2,
    /* A function of the driver failed; the message names it and its CUresult. */
    TRITIUM_DRIVER = 3,
    TRITIUM_NO_MEMORY = 4,
    /* The table of the driver lacks a function. */
    TRITIUM_NO_FUNCTION = 5
};

/* The functions of the CUDA driver that are used, with handles as pointers, addresses as numbers and results as int. Nothing here links
   libcuda: tritium_driver_from fills the table from an open library, or fill it yourself. */
struct tritium_driver {
    int (*cuCtxGetDevice)(int *device);
    int (*cuDeviceGetAttribute)(int *value, int attribute, int device);
    int (*cuModuleLoadData)(void **module, const void *image);
    int (*cuModuleUnload)(void *module);
    int (*cuModuleGetFunction)(void **function, void *module, const char *name);
    int (*cuFuncSetAttribute)(void *function, int attribute, int value);
    int (*cuLaunchKernel)(void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y,
                          unsigned block_z, unsigned shared_bytes, void *stream, void **parameters, void **extra);
    /* These may be NULL where no kernel reads tensors by tensor maps. */
    int (*cuTensorMapEncodeTiled)(void *map, int type, uint32_t rank, void *address, const uint64_t *extents, const uint64_t *strides,
                                  const uint32_t *box, const uint32_t *steps, int interleave, int swizzle, int promotion, int fill);
    int (*cuMemAlloc_v2)(uint64_t *address, size_t bytes);
    int (*cuMemsetD8_v2)(uint64_t address, unsigned char value, size_t bytes);
    int (*cuMemFree_v2)(uint64_t address);
};

/* Kernels loaded into the context that was current. */
struct tritium_kernels;

/* Fills the table from libcuda.so.1 as dlopen gives it; `symbol` is dlsym. */
int tritium_driver_from(struct tritium_driver *driver, void *library, void *(*symbol)(void *library, const char *name));

/* Loads the kernels into the current context. `driver` is copied. */
int tritium_load(const struct tritium_driver *driver, struct tritium_kernels **kernels);

/* With the same context current. NULL is nothing. */
void tritium_unload(struct tritium_kernels *kernels);

/* What went wrong last in this thread. */
const char *tritium_message(void);

/* Below, a function for each kernel with its compile-time values: the grid, the stream (NULL is the default one) and the run-time arguments in
   order, addresses in device memory as numbers. Integers are passed in 64 bits; that a variant takes 32 alone is an error where it matters. Of
   the variants the first one that fits is launched. All of them may be called from several threads. */
