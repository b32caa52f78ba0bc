/* A program over what `tritium build` writes, with the libcuda that its argument names. */
#include "tritium_kernels.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

static const char *missing = "";

/* dlsym of a library that lacks a function. */
static void *symbol(void *library, const char *name)
{
    return strcmp(missing, name) == 0 ? NULL : dlsym(library, name);
}

static void tell(const char *what, int status)
{
    printf("%s: %d%s%s\n", what, status, status ? " " : "", status ? tritium_message() : "");
    fflush(stdout);
}

int main(int count, char **arguments)
{
    struct tritium_driver driver;
    struct tritium_kernels *kernels;
    void *stream = (void *)(uintptr_t)0x77;
    void *library = count > 1 ? dlopen(arguments[1], RTLD_NOW) : NULL;
    missing = "cuLaunchKernel";
    tell("without a function", tritium_driver_from(&driver, library, symbol));
    missing = "cuTensorMapEncodeTiled";
    tell("without maps", tritium_driver_from(&driver, library, symbol));
    tell("loading", tritium_load(&driver, &kernels));
    tritium_unload(kernels);
    printf("-\n");
    missing = "";
    tell("the driver", tritium_driver_from(&driver, library, symbol));
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
    return 0;
}
