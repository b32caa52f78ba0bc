//! What a kernel takes and costs before anybody runs it: registers, shared memory, occupancy, traffic, time, and what Triton would take.
//!
//! Our own figures are counted on the module that is compiled ([`cost`], [`access`], [`banks`], [`registers`], [`products`]); Triton's by a
//! model of its passes ([`triton`]). The queries are [`report`], [`triton_footprint`] and [`resource_lints`].
//! **Invariant:** the model of Triton names none of our passes, so a change of a pass changes none of Triton's figures.

pub mod access;
pub mod analyses;
pub mod banks;
pub mod cost;
mod fitted;
pub mod lints;
pub mod occupancy;
pub mod products;
mod queries;
pub mod registers;
pub mod resources;
pub mod spills;
pub mod triton;

pub use queries::{ReportKey, launch_values, report, resource_lints, triton_footprint, triton_places};
