/* A program over what `tritium build` writes, with a driver that only says what it is told to do. Its one argument is the compute capability. */
#include "tritium_kernels.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int capability;
static uintptr_t modules;
static unsigned unloaded;

static int get_device(int *device)
{
    *device = 0;
    return 0;
}

static int get_attribute(int *value, int attribute, int device)
{
    *value = device != 0 ? -1 : attribute == 75 ? capability / 10 : capability % 10;
    return 0;
}

static int load_data(void **module, const void *image)
{
    /* A cubin is an ELF file. */
    if (memcmp(image, "\177ELF", 4) != 0)
        return 200;
    *module = (void *)++modules;
    return 0;
}

static int unload(void *module)
{
    unloaded += module != NULL;
    return 0;
}

static int get_function(void **function, void *module, const char *name)
{
    printf("module %" PRIuPTR " is %s\n", (uintptr_t)module, name);
    *function = module;
    return 0;
}

static int set_attribute(void *function, int attribute, int value)
{
    printf("module %" PRIuPTR " attribute %d is %d\n", (uintptr_t)function, attribute, value);
    return 0;
}

static int launch_kernel(void *function, unsigned x, unsigned y, unsigned z, unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
                         void *stream, void **parameters, void **extra)
{
    uint64_t first;
    int32_t last;
    memcpy(&first, parameters[0], 8);
    memcpy(&last, parameters[3], 4);
    printf("module %" PRIuPTR " on %u %u %u by %u %u %u, %u bytes, stream %p, first 0x%" PRIx64 ", fourth %" PRId32 "%s\n", (uintptr_t)function, x, y, z,
           block_x, block_y, block_z, shared, stream, first, last, extra ? "!" : "");
    return 0;
}

static int encode_tiled(void *map, int type, uint32_t rank, void *address, const uint64_t *extents, const uint64_t *strides, const uint32_t *box,
                        const uint32_t *steps, int interleave, int swizzle, int promotion, int fill)
{
    printf("map%s of %d at %p, %" PRIu64 " %" PRIu64 ", rows %" PRIu64 " apart, box %u %u, steps %u %u, %d %d %d %d, rank %u\n",
           (uintptr_t)map % 64 == 0 ? "" : " (misaligned)", type, address, extents[0], extents[1], strides[0], box[0], box[1], steps[0], steps[1],
           interleave, swizzle, promotion, fill, rank);
    memset(map, 0, 128);
    return 0;
}

static int allocate(uint64_t *address, size_t bytes)
{
    *address = 0xf000 + bytes - 16;
    return 0;
}

static int fill(uint64_t address, unsigned char value, size_t bytes)
{
    printf("%zu bytes at 0x%" PRIx64 " are %u\n", bytes, address, value);
    return 0;
}

static int release(uint64_t address)
{
    printf("0x%" PRIx64 " is free\n", address);
    return 0;
}

static const char *missing = "";

static void *symbol(void *library, const char *name)
{
    static const struct {
        const char *name;
        void (*function)(void);
    } table[] = {
        {"cuCtxGetDevice", (void (*)(void))get_device},
        {"cuDeviceGetAttribute", (void (*)(void))get_attribute},
        {"cuModuleLoadData", (void (*)(void))load_data},
        {"cuModuleUnload", (void (*)(void))unload},
        {"cuModuleGetFunction", (void (*)(void))get_function},
        {"cuFuncSetAttribute", (void (*)(void))set_attribute},
        {"cuLaunchKernel", (void (*)(void))launch_kernel},
        {"cuTensorMapEncodeTiled", (void (*)(void))encode_tiled},
        {"cuMemAlloc_v2", (void (*)(void))allocate},
        {"cuMemsetD8_v2", (void (*)(void))fill},
        {"cuMemFree_v2", (void (*)(void))release},
    };
    size_t i;
    for (i = 0; i < sizeof table / sizeof *table; i++) {
        void *found = NULL;
        memcpy(&found, &table[i].function, sizeof found);
        if (library == NULL && strcmp(table[i].name, name) == 0 && strcmp(missing, name) != 0)
            return found;
    }
    return NULL;
}

static void tell(const char *what, int status)
{
    printf("%s: %d%s%s\n", what, status, status ? " " : "", status ? tritium_message() : "");
}

int main(int count, char **arguments)
{
    struct tritium_driver driver;
    struct tritium_kernels *kernels;
    void *stream = (void *)(uintptr_t)0x77;
    capability = count > 1 ? atoi(arguments[1]) : 90;
    missing = "cuLaunchKernel";
    tell("without a function", tritium_driver_from(&driver, NULL, symbol));
    missing = "cuTensorMapEncodeTiled";
    tell("without maps", tritium_driver_from(&driver, NULL, symbol));
    tell("loading", tritium_load(&driver, &kernels));
    tritium_unload(kernels);
    missing = "";
    modules = 0;
    tell("the driver", tritium_driver_from(&driver, NULL, symbol));
    tell("loading", tritium_load(&driver, &kernels));
    if (!kernels)
        return 0;
    tell("divisible", tritium_add(kernels, (1000000 + TRITIUM_ADD_BLOCK - 1) / TRITIUM_ADD_BLOCK, 1, 1, stream, 0x1000, 0x2000, 0x3000, 1000000));
    tell("odd", tritium_add(kernels, 977, 1, 1, stream, 0x1000, 0x2000, 0x3000, 1000003));
    tell("none", tritium_add(kernels, 0, 1, 1, stream, 0x1000, 0x2000, 0x3000, 0));
    tell("misaligned", tritium_add(kernels, 1, 1, 1, stream, 0x1004, 0x2000, 0x3000, 5));
    tell("wide", tritium_add(kernels, 1, 1, 1, stream, 0x1000, 0x2000, 0x3000, INT64_C(1) << 40));
    tell("described", tritium_descriptor_kernel(kernels, 4, 3, 1, stream, 0x1000, 200, 128, 128, 0x2000, 136, 128, 128, 0x3000, 200, 136, 136, 128));
    tell("empty", tritium_descriptor_kernel(kernels, 4, 3, 1, stream, 0x1000, 200, 0, 128, 0x2000, 136, 0, 128, 0x3000, 200, 136, 136, 0));
    tell("rows", tritium_descriptor_kernel(kernels, 4, 3, 1, stream, 0x1000, 200, 128, 129, 0x2000, 136, 128, 128, 0x3000, 200, 136, 136, 128));
    tritium_unload(kernels);
    printf("%u of them unloaded\n", unloaded);
    return 0;
}
