//! Launches what `tritium build bench/build/kernels.py` made, as `main.c` does. See `bench/build.py`, which makes a crate of both.

mod tritium_kernels;

use std::{fs, path::Path, ptr};

use cudarc::driver::{result, sys::CUdeviceptr};
use tritium_kernels::{ADD_BLOCK, Kernels, MATMUL_BLOCK};

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

/// Memory of the device with these bytes; the program ends before it would be missed.
fn upload(bytes: &[u8]) -> Outcome<CUdeviceptr> {
    // SAFETY: a fresh allocation of as many bytes.
    unsafe {
        let address = result::malloc_sync(bytes.len())?;
        result::memcpy_htod_sync(address, bytes)?;
        Ok(address)
    }
}

fn blocks(extent: i64, block: i64) -> u32 {
    ((extent + block - 1) / block) as u32
}

fn main() -> Outcome<()> {
    let folder = std::env::args().nth(1).ok_or("name a folder")?;
    let folder = Path::new(&folder);
    result::init()?;
    let device = result::device::get(0)?;
    // SAFETY: the device is there; its context lives until the program ends.
    unsafe { result::ctx::set_current(result::primary_ctx::retain(device)?)? };
    let kernels = Kernels::load()?;
    let cases = fs::read_to_string(folder.join("cases.txt"))?;
    for (number, line) in cases.lines().enumerate() {
        let (name, numbers) = line.split_once(' ').ok_or("a case has a name")?;
        let numbers = numbers.split(' ').map(str::parse).collect::<Result<Vec<i64>, _>>()?;
        let &[m, n, k] = numbers.as_slice() else { return Err("a case has three numbers".into()) };
        let input = |what: &str| upload(&fs::read(folder.join(format!("{number}.{what}")))?);
        let bytes = match name {
            "add" => n * 4,
            "softmax" => m * k * 4,
            _ => m * n * 2,
        };
        // What is not written stays a NaN.
        let mut host = vec![0xff; bytes as usize];
        let (a, out, stream) = (input("a")?, upload(&host)?, ptr::null_mut());
        // SAFETY: tensors are as large as their sizes say, and nobody frees them.
        unsafe {
            match name {
                "add" => kernels.launch_add((blocks(n, ADD_BLOCK), 1, 1), stream, a, input("b")?, out, n)?,
                "softmax" => kernels.launch_softmax((m as u32, 1, 1), stream, out, a, k, n)?,
                _ => {
                    let grid = (blocks(m, MATMUL_BLOCK), blocks(n, MATMUL_BLOCK), 1);
                    kernels.launch_matmul(grid, stream, a, m, k, k, input("b")?, k, n, n, out, m, n, k)?;
                }
            }
            result::ctx::synchronize()?;
            result::memcpy_dtoh_sync(&mut host, out)?;
        }
        fs::write(folder.join(format!("{number}.out")), &host)?;
    }
    println!("{} cases in Rust", cases.lines().count());
    // SAFETY: nothing is launched, as nothing is compiled for this.
    let refused = unsafe { kernels.launch_add((1, 1, 1), ptr::null_mut(), 16, 16, 16, 1 << 40) };
    println!("refused: {}", refused.err().ok_or("it was launched")?);
    Ok(())
}
