//! tile
