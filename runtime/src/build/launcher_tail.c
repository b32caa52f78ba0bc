
struct loaded {
    void *module;
    void *function;
    const struct image *image;
};

struct tritium_kernels {
    struct tritium_driver driver;
    int capability;
    /* What the map of an empty tensor points to: 16 bytes of zeros. */
    uint64_t nothing;
    struct loaded loaded[N_VARIANTS];
};

static TRITIUM_THREAD char message[512] = "";

const char *tritium_message(void)
{
    return message;
}

static int driver_failed(const char *name, const char *function, int result)
{
    snprintf(message, sizeof message, "%s: %s failed with CUresult %d", name, function, result);
    return TRITIUM_DRIVER;
}

int tritium_driver_from(struct tritium_driver *driver, void *library, void *(*symbol)(void *library, const char *name))
{
    static const char *const names[] = {
        "cuCtxGetDevice",     "cuDeviceGetAttribute", "cuModuleLoadData",       "cuModuleUnload", "cuModuleGetFunction", "cuFuncSetAttribute",
        "cuLaunchKernel",     "cuTensorMapEncodeTiled", "cuMemAlloc_v2",        "cuMemsetD8_v2",  "cuMemFree_v2",
    };
    void *found[sizeof names / sizeof *names];
    size_t i;
    for (i = 0; i < sizeof names / sizeof *names; i++) {
        found[i] = symbol(library, names[i]);
        if (!found[i] && strcmp(names[i], "cuTensorMapEncodeTiled") != 0) {
            snprintf(message, sizeof message, "the driver has no %s", names[i]);
            return TRITIUM_NO_FUNCTION;
        }
    }
    /* The table is its functions, in this order. */
    memcpy(driver, found, sizeof *driver);
    return TRITIUM_OK;
}

/* Whether a GPU runs an image. */
static int runs(const struct image *image, int capability)
{
    if (image->is_exact)
        return image->capability == capability;
    return image->capability <= capability && (image->is_ptx || image->capability / 10 == capability / 10);
}

static void unload_one(const struct tritium_driver *driver, struct loaded *loaded)
{
    if (loaded->module)
        driver->cuModuleUnload(loaded->module);
    memset(loaded, 0, sizeof *loaded);
}

static int load_one(const struct tritium_kernels *kernels, const struct variant *variant, struct loaded *loaded)
{
    const struct tritium_driver *driver = &kernels->driver;
    const struct image *best = NULL;
    int result;
    uint16_t i;
    for (i = 0; i < variant->n_images; i++) {
        const struct image *image = &variant->images[i];
        if (runs(image, kernels->capability) && (!best || image->capability > best->capability))
            best = image;
    }
    if (!best)
        return TRITIUM_OK;
    result = driver->cuModuleLoadData(&loaded->module, best->bytes);
    if (result)
        return driver_failed(variant->symbol, "cuModuleLoadData", result);
    result = driver->cuModuleGetFunction(&loaded->function, loaded->module, variant->symbol);
    if (result)
        return driver_failed(variant->symbol, "cuModuleGetFunction", result);
    /* 8: the most dynamic shared memory. A GPU that has less of it than the image needs has no image. */
    if (best->shared_bytes > 48 * 1024 && driver->cuFuncSetAttribute(loaded->function, 8, (int)best->shared_bytes)) {
        unload_one(driver, loaded);
        return TRITIUM_OK;
    }
    loaded->image = best;
    return TRITIUM_OK;
}

int tritium_load(const struct tritium_driver *driver, struct tritium_kernels **out)
{
    struct tritium_kernels *kernels;
    int device = 0, major = 0, minor = 0, result, status = TRITIUM_OK, any = 0;
    size_t i;
    *out = NULL;
    if (!driver->cuCtxGetDevice || !driver->cuDeviceGetAttribute || !driver->cuModuleLoadData || !driver->cuModuleUnload ||
        !driver->cuModuleGetFunction || !driver->cuFuncSetAttribute || !driver->cuLaunchKernel) {
        snprintf(message, sizeof message, "the table of the driver lacks a function that is not for tensor maps");
        return TRITIUM_NO_FUNCTION;
    }
    result = driver->cuCtxGetDevice(&device);
    if (result)
        return driver_failed("tritium_load", "cuCtxGetDevice", result);
    /* 75, 76: compute capability. */
    result = driver->cuDeviceGetAttribute(&major, 75, device);
    if (!result)
        result = driver->cuDeviceGetAttribute(&minor, 76, device);
    if (result)
        return driver_failed("tritium_load", "cuDeviceGetAttribute", result);
    kernels = (struct tritium_kernels *)calloc(1, sizeof *kernels);
    if (!kernels) {
        snprintf(message, sizeof message, "out of memory");
        return TRITIUM_NO_MEMORY;
    }
    kernels->driver = *driver;
    kernels->capability = 10 * major + minor;
    for (i = 0; i < N_VARIANTS && status == TRITIUM_OK; i++) {
        status = load_one(kernels, &variants[i], &kernels->loaded[i]);
        any = any || kernels->loaded[i].image;
        if (status == TRITIUM_OK && kernels->loaded[i].image && kernels->loaded[i].image->n_maps > 0 && !kernels->nothing) {
            if (!driver->cuTensorMapEncodeTiled || !driver->cuMemAlloc_v2 || !driver->cuMemsetD8_v2 || !driver->cuMemFree_v2) {
                snprintf(message, sizeof message, "%s needs tensor maps, and the table of the driver lacks a function for them", variants[i].symbol);
                status = TRITIUM_NO_FUNCTION;
            } else if ((result = driver->cuMemAlloc_v2(&kernels->nothing, 16)) != 0) {
                kernels->nothing = 0;
                status = driver_failed("tritium_load", "cuMemAlloc", result);
            } else if ((result = driver->cuMemsetD8_v2(kernels->nothing, 0, 16)) != 0) {
                status = driver_failed("tritium_load", "cuMemsetD8", result);
            }
        }
    }
    if (status == TRITIUM_OK && !any) {
        snprintf(message, sizeof message, "nothing was compiled for a GPU of compute capability %d.%d", major, minor);
        status = TRITIUM_NO_IMAGE;
    }
    if (status != TRITIUM_OK) {
        tritium_unload(kernels);
        return status;
    }
    *out = kernels;
    return TRITIUM_OK;
}

void tritium_unload(struct tritium_kernels *kernels)
{
    size_t i;
    if (!kernels)
        return;
    for (i = 0; i < N_VARIANTS; i++)
        unload_one(&kernels->driver, &kernels->loaded[i]);
    if (kernels->nothing)
        kernels->driver.cuMemFree_v2(kernels->nothing);
    free(kernels);
}

enum wrong { NOTHING_WRONG, NOT_ONE, TOO_WIDE, INDIVISIBLE };

/* What is wrong with an argument for a variant. */
static enum wrong unmet(const struct need *need, uint64_t value)
{
    int64_t number = (int64_t)value;
    if (need->is_one)
        return number == 1 ? NOTHING_WRONG : NOT_ONE;
    if (need->is_narrow && (number < INT32_MIN || number > INT32_MAX))
        return TOO_WIDE;
    return value % need->divisible_by == 0 ? NOTHING_WRONG : INDIVISIBLE;
}

static int no_variant(const struct function *function, const uint64_t *values)
{
    uint32_t v, fewest = UINT32_MAX;
    const struct need *nearest = NULL;
    size_t length;
    uint16_t i;
    for (v = 0; v < function->n_variants; v++) {
        const struct need *needs = variants[function->first_variant + v].needs;
        uint32_t wrong = 0;
        for (i = 0; i < function->n_arguments; i++)
            wrong += unmet(&needs[i], values[i]) != NOTHING_WRONG;
        if (wrong < fewest) {
            fewest = wrong;
            nearest = needs;
        }
    }
    snprintf(message, sizeof message, "%s: no compiled variant takes these arguments:", function->name);
    for (i = 0; nearest && i < function->n_arguments; i++) {
        const char *name = function->arguments[i];
        enum wrong what = unmet(&nearest[i], values[i]);
        if (what == NOTHING_WRONG)
            continue;
        length = strlen(message);
        if (function->are_addresses[i])
            snprintf(message + length, sizeof message - length, " the address %s = 0x%llx", name, (unsigned long long)values[i]);
        else
            snprintf(message + length, sizeof message - length, " %s = %lld", name, (long long)values[i]);
        length = strlen(message);
        if (what == INDIVISIBLE)
            snprintf(message + length, sizeof message - length, " is no multiple of %u;", (unsigned)nearest[i].divisible_by);
        else
            snprintf(message + length, sizeof message - length, what == NOT_ONE ? " is not 1;" : " has more than 32 bits;");
    }
    length = strlen(message);
    snprintf(message + length, sizeof message - length, " build with a launch that has such values, or with --all-variants");
    return TRITIUM_NO_VARIANT;
}

static int64_t number_of(const struct part *part, const uint64_t *values)
{
    return part->argument < 0 ? part->constant : (int64_t)values[part->argument];
}

static int encode(const struct tritium_kernels *kernels, const struct function *function, const struct map *map, const uint64_t *values, void *out)
{
    uint64_t extents[5], strides[4], address = values[map->base];
    uint32_t steps[5];
    int result, is_empty = 0, type = map->element_bytes == 1 ? 0 : map->element_bytes == 2 ? 1 : 2;
    int swizzle = map->swizzle == 0 ? 0 : map->swizzle == 32 ? 1 : map->swizzle == 64 ? 2 : 3;
    uint8_t axis;
    for (axis = 0; axis < map->rank; axis++) {
        int64_t extent = number_of(&map->extents[axis], values);
        is_empty = is_empty || extent <= 0;
        extents[axis] = (uint64_t)extent;
        steps[axis] = 1;
    }
    for (axis = 0; axis + 1 < map->rank; axis++)
        strides[axis] = (uint64_t)number_of(&map->strides[axis], values) * map->element_bytes;
    if (is_empty) {
        /* An empty tensor has no map; one zero reads as what is outside of it. */
        for (axis = 0; axis < map->rank; axis++)
            extents[axis] = 1;
        address = kernels->nothing;
    }
    /* No interleave; 2: L2 reads 128 bytes; what is outside is 0. */
    result = kernels->driver.cuTensorMapEncodeTiled(out, type, map->rank, (void *)(uintptr_t)address, extents, strides, map->box, steps, 0,
                                                    swizzle, 2, 0);
    if (result) {
        driver_failed(function->name, "cuTensorMapEncodeTiled", result);
        return TRITIUM_DRIVER;
    }
    return TRITIUM_OK;
}

static int launch(const struct tritium_kernels *kernels, const struct function *function, uint32_t grid_x, uint32_t grid_y, uint32_t grid_z,
                  void *stream, uint64_t *values)
{
    uint64_t room[16 * MAX_MAPS + 8];
    unsigned char *maps = (unsigned char *)(((uintptr_t)room + 63) / 64 * 64);
    void *parameters[MAX_ARGUMENTS + MAX_MAPS];
    uint32_t v, n = 0, seen = 0;
    uint16_t i;
    int result;
    for (v = function->first_variant; v < function->first_variant + function->n_variants; v++) {
        const struct loaded *loaded = &kernels->loaded[v];
        const struct need *needs = variants[v].needs;
        if (!loaded->image)
            continue;
        seen = 1;
        for (i = 0; i < function->n_arguments && unmet(&needs[i], values[i]) == NOTHING_WRONG; i++)
            ;
        if (i < function->n_arguments)
            continue;
        /* No program is none to run. */
        if (grid_x == 0 || grid_y == 0 || grid_z == 0)
            return TRITIUM_OK;
        /* Numbers are little-endian, so the first bytes of a word are the parameter. */
        for (i = 0; i < function->n_arguments; i++)
            if (!needs[i].is_one)
                parameters[n++] = &values[i];
        for (i = 0; i < loaded->image->n_maps; i++) {
            result = encode(kernels, function, &loaded->image->maps[i], values, maps + 128 * i);
            if (result)
                return result;
            parameters[n++] = maps + 128 * i;
        }
        result = kernels->driver.cuLaunchKernel(loaded->function, grid_x, grid_y, grid_z, function->threads, 1, 1, loaded->image->shared_bytes,
                                                stream, parameters, NULL);
        return result ? driver_failed(function->name, "cuLaunchKernel", result) : TRITIUM_OK;
    }
    if (!seen) {
        snprintf(message, sizeof message, "%s: nothing was compiled for a GPU of compute capability %d.%d", function->name,
                 kernels->capability / 10, kernels->capability % 10);
        return TRITIUM_NO_IMAGE;
    }
    return no_variant(function, values);
}
