//! What the LLVM text of small kernels looks like. **Text in, text out: no LLVM is needed.**
