//! The same as `main.c`, in Rust: after loading it says the same.

mod tritium_kernels;

use tritium_kernels::{ADD_BLOCK, Error, Kernels};

fn tell(what: &str, done: Result<(), Error>) {
    match done {
        Ok(()) => println!("{what}: 0"),
        Err(error) => {
            let status = match error {
                Error::NoVariant(_) => 1,
                Error::NoImage(_) => 2,
                Error::Driver { .. } => 3,
            };
            println!("{what}: {status} {error}");
        }
    }
}

fn main() {
    let kernels = match Kernels::load() {
        Ok(kernels) => kernels,
        Err(error) => return tell("loading", Err(error)),
    };
    tell("loading", Ok(()));
    let stream = 0x77 as cudarc::driver::sys::CUstream;
    // SAFETY: the driver launches nothing.
    unsafe {
        tell("divisible", kernels.launch_add((((1_000_000 + ADD_BLOCK - 1) / ADD_BLOCK) as u32, 1, 1), stream, 0x1000, 0x2000, 0x3000, 1000000));
        tell("odd", kernels.launch_add((977, 1, 1), stream, 0x1000, 0x2000, 0x3000, 1000003));
        tell("none", kernels.launch_add((0, 1, 1), stream, 0x1000, 0x2000, 0x3000, 0));
        tell("misaligned", kernels.launch_add((1, 1, 1), stream, 0x1004, 0x2000, 0x3000, 5));
        tell("wide", kernels.launch_add((1, 1, 1), stream, 0x1000, 0x2000, 0x3000, 1 << 40));
        tell("described", kernels.launch_descriptor_kernel((4, 3, 1), stream, 0x1000, 200, 128, 128, 0x2000, 136, 128, 128, 0x3000, 200, 136, 136, 128));
        tell("empty", kernels.launch_descriptor_kernel((4, 3, 1), stream, 0x1000, 200, 0, 128, 0x2000, 136, 0, 128, 0x3000, 200, 136, 136, 0));
        tell("rows", kernels.launch_descriptor_kernel((4, 3, 1), stream, 0x1000, 200, 128, 129, 0x2000, 136, 128, 128, 0x3000, 200, 136, 136, 128));
    }
}
