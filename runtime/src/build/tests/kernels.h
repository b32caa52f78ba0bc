/* Written by `tritium build` ; a new build writes it anew. */
#ifndef TRITIUM_KERNELS_H
#define TRITIUM_KERNELS_H

…

/* k.py:34 `scale`, BLOCK = 128, WORD = "a* /b", 4 warps.
   scale-7cea1b38: X % 16 == 0, restrict % 16 == 0, step == 1; launch even has a grid of 32, 1, 1
   scale-ea5e5bb2: X % 16 == 0, step % 16 == 0; launch odd has a grid of 3, 2, 1
   Compile-time values are part of the function: what they promise of the arguments is for the caller to keep. */
#define TRITIUM_SCALE_EVEN_BLOCK 128
int tritium_scale_even(const struct tritium_kernels *kernels, uint32_t grid_x, uint32_t grid_y, uint32_t grid_z, void *stream, uint64_t X, int64_t restrict_, int64_t step, float alpha, uint8_t flag);

/* k.py:34 `scale`, BLOCK = 256, WORD = "a* /b", 8 warps.
   scale-ed3a4937: X % 16 == 0, restrict % 16 == 0, step == 1; launch wide has a grid of 3, 1, 1
   Compile-time values are part of the function: what they promise of the arguments is for the caller to keep. */
#define TRITIUM_SCALE_WIDE_BLOCK 256
int tritium_scale_wide(const struct tritium_kernels *kernels, uint32_t grid_x, uint32_t grid_y, uint32_t grid_z, void *stream, uint64_t X, int64_t restrict_, int64_t step, float alpha, uint8_t flag);

/* k.py:40 `rows`, D.block = [16, 32], 4 warps.
   rows-cee3b044: D % 16 == 0, D_stride_0 % 8 == 0, pair_1 % 16 == 0; launch rows has a grid of 1, 1, 1
   Compile-time values are part of the function: what they promise of the arguments is for the caller to keep. */
int tritium_rows(const struct tritium_kernels *kernels, uint32_t grid_x, uint32_t grid_y, uint32_t grid_z, void *stream, uint64_t D, int64_t D_shape_0, int64_t D_shape_1, int64_t D_stride_0, int64_t pair_0, uint64_t pair_1);

#ifdef __cplusplus
}
#endif

#endif
