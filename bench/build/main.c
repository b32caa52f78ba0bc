/* Launches what `tritium build bench/build/kernels.py` made: cases and inputs are files of a folder, which results go to. See bench/build.py. */
#include "tritium_kernels.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What a program needs of the driver beside launches. */
static struct {
    int (*cuInit)(unsigned flags);
    int (*cuDevicePrimaryCtxRetain)(void **context, int device);
    int (*cuCtxSetCurrent)(void *context);
    int (*cuCtxSynchronize)(void);
    int (*cuMemAlloc_v2)(uint64_t *address, size_t bytes);
    int (*cuMemFree_v2)(uint64_t address);
    int (*cuMemcpyHtoD_v2)(uint64_t to, const void *from, size_t bytes);
    int (*cuMemcpyDtoH_v2)(void *to, uint64_t from, size_t bytes);
} cuda;

static void must(int result, const char *what)
{
    if (result) {
        fprintf(stderr, "%s: %d %s\n", what, result, tritium_message());
        exit(1);
    }
}

static void find(void *library, const char *name, void *function)
{
    void *found = dlsym(library, name);
    must(found == NULL, name);
    memcpy(function, &found, sizeof found);
}

static const char *folder;

static FILE *open_file(int number, const char *what, const char *mode)
{
    char path[4096];
    FILE *file;
    snprintf(path, sizeof path, "%s/%d.%s", folder, number, what);
    file = fopen(path, mode);
    must(file == NULL, path);
    return file;
}

static void *room(size_t bytes)
{
    void *out = malloc(bytes);
    must(out == NULL, "malloc");
    return out;
}

static uint64_t input(int number, const char *what, size_t bytes)
{
    FILE *file = open_file(number, what, "rb");
    void *host = room(bytes);
    uint64_t address;
    must(fread(host, 1, bytes, file) != bytes, "fread");
    fclose(file);
    must(cuda.cuMemAlloc_v2(&address, bytes), "cuMemAlloc");
    must(cuda.cuMemcpyHtoD_v2(address, host, bytes), "cuMemcpyHtoD");
    free(host);
    return address;
}

/* What is not written stays a NaN. */
static uint64_t output(size_t bytes)
{
    void *host = memset(room(bytes), 0xff, bytes);
    uint64_t address;
    must(cuda.cuMemAlloc_v2(&address, bytes), "cuMemAlloc");
    must(cuda.cuMemcpyHtoD_v2(address, host, bytes), "cuMemcpyHtoD");
    free(host);
    return address;
}

static void save(int number, uint64_t address, size_t bytes)
{
    FILE *file = open_file(number, "out", "wb");
    void *host = room(bytes);
    must(cuda.cuCtxSynchronize(), "cuCtxSynchronize");
    must(cuda.cuMemcpyDtoH_v2(host, address, bytes), "cuMemcpyDtoH");
    must(fwrite(host, 1, bytes, file) != bytes, "fwrite");
    must(fclose(file), "fclose");
    free(host);
    must(cuda.cuMemFree_v2(address), "cuMemFree");
}

int main(int count, char **arguments)
{
    struct tritium_driver driver;
    struct tritium_kernels *kernels;
    void *context, *library = dlopen("libcuda.so.1", RTLD_NOW);
    char path[4096], name[16];
    FILE *cases;
    int number;
    long long m, n, k;
    must(count != 2, "name a folder");
    must(library == NULL, "libcuda.so.1");
    folder = arguments[1];
    find(library, "cuInit", &cuda.cuInit);
    find(library, "cuDevicePrimaryCtxRetain", &cuda.cuDevicePrimaryCtxRetain);
    find(library, "cuCtxSetCurrent", &cuda.cuCtxSetCurrent);
    find(library, "cuCtxSynchronize", &cuda.cuCtxSynchronize);
    find(library, "cuMemAlloc_v2", &cuda.cuMemAlloc_v2);
    find(library, "cuMemFree_v2", &cuda.cuMemFree_v2);
    find(library, "cuMemcpyHtoD_v2", &cuda.cuMemcpyHtoD_v2);
    find(library, "cuMemcpyDtoH_v2", &cuda.cuMemcpyDtoH_v2);
    must(cuda.cuInit(0), "cuInit");
    must(cuda.cuDevicePrimaryCtxRetain(&context, 0), "cuDevicePrimaryCtxRetain");
    must(cuda.cuCtxSetCurrent(context), "cuCtxSetCurrent");
    must(tritium_driver_from(&driver, library, dlsym), "tritium_driver_from");
    must(tritium_load(&driver, &kernels), "tritium_load");
    snprintf(path, sizeof path, "%s/cases.txt", folder);
    cases = fopen(path, "r");
    must(cases == NULL, path);
    for (number = 0; fscanf(cases, "%15s %lld %lld %lld", name, &m, &n, &k) == 4; number++) {
        if (strcmp(name, "add") == 0) {
            size_t bytes = (size_t)n * 4;
            uint64_t x = input(number, "a", bytes), y = input(number, "b", bytes), out = output(bytes);
            uint32_t grid = (uint32_t)((n + TRITIUM_ADD_BLOCK - 1) / TRITIUM_ADD_BLOCK);
            must(tritium_add(kernels, grid, 1, 1, NULL, x, y, out, n), "add");
            save(number, out, bytes);
        } else if (strcmp(name, "softmax") == 0) {
            size_t bytes = (size_t)m * (size_t)k * 4;
            uint64_t x = input(number, "a", bytes), y = output(bytes);
            must(tritium_softmax(kernels, (uint32_t)m, 1, 1, NULL, y, x, k, n), "softmax");
            save(number, y, bytes);
        } else if (strcmp(name, "matmul") == 0) {
            uint64_t a = input(number, "a", (size_t)(m * k) * 2), b = input(number, "b", (size_t)(k * n) * 2), c = output((size_t)(m * n) * 2);
            uint32_t x = (uint32_t)((m + TRITIUM_MATMUL_BLOCK - 1) / TRITIUM_MATMUL_BLOCK), y = (uint32_t)((n + TRITIUM_MATMUL_BLOCK - 1) / TRITIUM_MATMUL_BLOCK);
            must(tritium_matmul(kernels, x, y, 1, NULL, a, m, k, k, b, k, n, n, c, m, n, k), "matmul");
            save(number, c, (size_t)(m * n) * 2);
        }
    }
    printf("%d cases in C\n", number);
    /* Nothing is compiled for this. */
    printf("refused with %d: ", tritium_add(kernels, 1, 1, 1, NULL, 16, 16, 16, INT64_C(1) << 40));
    printf("%s\n", tritium_message());
    fclose(cases);
    tritium_unload(kernels);
    return 0;
}
