//! Times of a kernel by events of the device.
//!
//! **Invariant:** what is timed is queued while the device still works on something else, so the time between two events is the device's,
//! not the host's.

use std::time::Duration;

use cudarc::driver::{result, sys};

use super::{Buffer, Cuda, Geometry, Kernel, Maps, failed};
use crate::{
    device::{DeviceError, LaunchValue},
    timing::{Spread, Timing},
};

/// Overwritten before every cold launch: more than any L2 holds.
const FLUSHED_BYTES: usize = 256 << 20;
/// How long the kernel runs before it is timed, so that clocks have risen.
const WARM_UP: Duration = Duration::from_millis(50);
/// Launches that are timed with a cold L2, and batches with a warm one.
const COLD_SAMPLES: usize = 60;
const WARM_SAMPLES: usize = 20;
/// What a batch of launches takes at least, in milliseconds, and how many it has at most.
const BATCH_MS: f64 = 2.0;
const MAX_BATCH: usize = 2000;

/// An event of the device, destroyed when dropped.
struct Event(sys::CUevent);

impl Event {
    fn new() -> Result<Event, DeviceError> {
        let event = result::event::create(sys::CUevent_flags::CU_EVENT_DEFAULT).map_err(|e| failed("making an event", e))?;
        Ok(Event(event))
    }

    fn record(&self) -> Result<(), DeviceError> {
        // SAFETY: the event lives, and belongs to the current context.
        unsafe { result::event::record(self.0, result::stream::null()) }.map_err(|e| failed("recording an event", e))
    }

    /// Milliseconds from one to the other, both of which are over.
    fn until(&self, end: &Event) -> Result<f64, DeviceError> {
        // SAFETY: both were recorded, and the context was synchronised since.
        let ms = unsafe { result::event::elapsed(self.0, end.0) }.map_err(|e| failed("reading an event", e))?;
        Ok(f64::from(ms))
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        // SAFETY: created once in `new`.
        let _ = unsafe { result::event::destroy(self.0) };
    }
}

impl Cuda {
    /// Times launches on the same memory, one after the other.
    pub fn time(
        &self,
        kernel: &Kernel,
        geometry: Geometry,
        buffers: &[Buffer],
        args: &[LaunchValue],
        maps: &Maps,
    ) -> Result<Timing, DeviceError> {
        let launch = || self.enqueue(kernel, geometry, buffers, args, maps);
        let wait = || result::ctx::synchronize().map_err(|e| failed("running the kernel", e));
        let flushed = self.upload(&vec![0; FLUSHED_BYTES])?;
        let flush = || {
            // SAFETY: the memory is as long as it says, and lives until the context was synchronised.
            unsafe { result::memset_d8_async(flushed.address, 0, flushed.bytes, result::stream::null()) }
                .map_err(|e| failed("clearing the L2", e))
        };
        // Milliseconds of so many launches, which wait until all of them are queued, as far as the queue is long.
        let together = |count: usize| -> Result<f64, DeviceError> {
            let (begin, end) = (Event::new()?, Event::new()?);
            (0..8).try_for_each(|_| flush())?;
            launch()?;
            begin.record()?;
            (0..count).try_for_each(|_| launch())?;
            end.record()?;
            wait()?;
            begin.until(&end)
        };
        let once = together(3)? / 3.0;
        let count = (WARM_UP.as_secs_f64() * 1e3 / once.max(1e-3)).ceil() as usize;
        let each = together(count.clamp(1, MAX_BATCH))? / count.clamp(1, MAX_BATCH) as f64;

        let batch = ((BATCH_MS / each.max(1e-4)).ceil() as usize).clamp(1, MAX_BATCH);
        let warm: Result<Vec<f64>, DeviceError> = (0..WARM_SAMPLES).map(|_| Ok(together(batch)? * 1e3 / batch as f64)).collect();

        let mut events = Vec::new();
        for _ in 0..COLD_SAMPLES {
            flush()?;
            let (begin, end) = (Event::new()?, Event::new()?);
            begin.record()?;
            launch()?;
            end.record()?;
            events.push((begin, end));
        }
        wait()?;
        let cold: Result<Vec<f64>, DeviceError> = events.iter().map(|(begin, end)| Ok(begin.until(end)? * 1e3)).collect();
        Ok(Timing { warm: Spread::of(warm?), cold: Some(Spread::of(cold?)) })
    }
}
