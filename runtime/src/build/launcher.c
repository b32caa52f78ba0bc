#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(__cplusplus)
#define TRITIUM_THREAD thread_local
#elif defined(_MSC_VER)
#define TRITIUM_THREAD __declspec(thread)
#elif defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L && !defined(__STDC_NO_THREADS__)
#define TRITIUM_THREAD _Thread_local
#elif defined(__GNUC__)
#define TRITIUM_THREAD __thread
#else
#define TRITIUM_THREAD
#endif

/* What a variant takes for granted of an argument. */
struct need {
    uint8_t is_one;
    uint8_t divisible_by;
    uint8_t is_narrow; /* fits a signed number of 32 bits */
};

/* An argument by its place, or a number where that is negative. */
struct part {
    int16_t argument;
    int64_t constant;
};

struct map {
    uint16_t base;
    uint8_t rank;
    uint8_t element_bytes;
    uint8_t swizzle;
    struct part extents[5];
    struct part strides[4];
    uint32_t box[5];
};

struct image {
    uint16_t capability;
    uint8_t is_exact; /* runs on this capability alone */
    uint8_t is_ptx;
    uint32_t shared_bytes;
    const uint64_t *bytes;
    uint16_t n_maps;
    const struct map *maps;
};

struct variant {
    const char *symbol;
    const struct need *needs;
    uint16_t n_images;
    const struct image *images;
};

struct function {
    const char *name;
    uint32_t threads;
    uint16_t n_arguments;
    const char *const *arguments;
    const uint8_t *are_addresses;
    uint32_t first_variant;
    uint32_t n_variants;
};
