//! runtime

pub mod device;
pub mod random;
pub mod tensor;
