//! Devices, and everything that leaves the process: workers, the store on disk, the CPU device, CUDA.
//! **The only crate that touches a device, the disk cache or a subprocess; all of it builds and runs without a GPU.**

pub mod build;
pub mod bundle;
pub mod calibrate;
pub mod child;
pub mod device;
pub mod exact;
pub mod exec;
pub mod expect;
pub mod files;
pub mod git;
pub mod history;
mod kept;
pub mod peer;
pub mod program;
pub mod random;
pub mod recorded;
pub mod run;
pub mod store;
pub mod tensor;
pub mod timing;
pub mod tune;
pub mod watch;
pub mod worker;
