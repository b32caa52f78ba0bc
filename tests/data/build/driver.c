/* A libcuda that only says what it is told to do. The environment variable CAPABILITY is its compute capability. */
#include <inttypes.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uintptr_t modules;

/* At once, so that it stands between what the program says. */
static void say(const char *format, ...)
{
    va_list values;
    va_start(values, format);
    vprintf(format, values);
    va_end(values);
    fflush(stdout);
}

static int capability(void)
{
    const char *given = getenv("CAPABILITY");
    return given ? atoi(given) : 0;
}

int cuCtxGetDevice(int *device)
{
    *device = 0;
    return 0;
}

int cuDeviceGetAttribute(int *value, int attribute, int device)
{
    *value = device != 0 ? -1 : attribute == 75 ? capability() / 10 : capability() % 10;
    return 0;
}

int cuModuleLoadData(void **module, const void *image)
{
    /* A cubin is an ELF file. */
    if (memcmp(image, "\177ELF", 4) != 0)
        return 200;
    *module = (void *)++modules;
    return 0;
}

int cuModuleUnload(void *module)
{
    say("module %" PRIuPTR " is unloaded\n", (uintptr_t)module);
    return 0;
}

int cuModuleGetFunction(void **function, void *module, const char *name)
{
    say("module %" PRIuPTR " is %s\n", (uintptr_t)module, name);
    *function = module;
    return 0;
}

int cuFuncSetAttribute(void *function, int attribute, int value)
{
    say("module %" PRIuPTR " attribute %d is %d\n", (uintptr_t)function, attribute, value);
    return 0;
}

int cuLaunchKernel(void *function, unsigned x, unsigned y, unsigned z, unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
                   void *stream, void **parameters, void **extra)
{
    uint64_t first;
    int32_t last;
    memcpy(&first, parameters[0], 8);
    memcpy(&last, parameters[3], 4);
    say("module %" PRIuPTR " on %u %u %u by %u %u %u, %u bytes, stream %p, first 0x%" PRIx64 ", fourth %" PRId32 "%s\n", (uintptr_t)function, x, y, z,
           block_x, block_y, block_z, shared, stream, first, last, extra ? "!" : "");
    return 0;
}

int cuTensorMapEncodeTiled(void *map, int type, uint32_t rank, void *address, const uint64_t *extents, const uint64_t *strides, const uint32_t *box,
                        const uint32_t *steps, int interleave, int swizzle, int promotion, int fill)
{
    say("map%s of %d at %p, %" PRIu64 " %" PRIu64 ", rows %" PRIu64 " apart, box %u %u, steps %u %u, %d %d %d %d, rank %u\n",
           (uintptr_t)map % 64 == 0 ? "" : " (misaligned)", type, address, extents[0], extents[1], strides[0], box[0], box[1], steps[0], steps[1],
           interleave, swizzle, promotion, fill, rank);
    memset(map, 0, 128);
    return 0;
}

int cuMemAlloc_v2(uint64_t *address, size_t bytes)
{
    *address = 0xf000 + bytes - 16;
    return 0;
}

int cuMemsetD8_v2(uint64_t address, unsigned char value, size_t bytes)
{
    say("%zu bytes at 0x%" PRIx64 " are %u\n", bytes, address, value);
    return 0;
}

int cuMemFree_v2(uint64_t address)
{
    say("0x%" PRIx64 " is free\n", address);
    return 0;
}
