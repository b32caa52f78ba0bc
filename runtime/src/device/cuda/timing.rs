//! Times of a kernel by events of the device.
//!
//! **Invariant:** what is timed is queued while the device still works on something else, so the time between two events is the device's,
//! not the host's.

use std::time::{Duration, Instant};

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

/// Measures launches of one device.
pub struct Stopwatch<'a> {
    device: &'a Cuda,
    flushed: Buffer,
}

/// A launch that can be made again and again.
pub struct Prepared<'a> {
    pub kernel: &'a Kernel,
    pub geometry: Geometry,
    pub buffers: &'a [Buffer],
    pub args: &'a [LaunchValue],
    pub maps: &'a Maps,
}

impl<'a> Stopwatch<'a> {
    pub fn new(device: &'a Cuda) -> Result<Stopwatch<'a>, DeviceError> {
        Ok(Stopwatch { device, flushed: device.upload(&vec![0; FLUSHED_BYTES])? })
    }

    fn launch(&self, launch: &Prepared<'_>) -> Result<(), DeviceError> {
        self.device.enqueue(launch.kernel, launch.geometry, launch.buffers, launch.args, launch.maps)
    }

    fn wait() -> Result<(), DeviceError> {
        result::ctx::synchronize().map_err(|e| failed("running the kernel", e))
    }

    /// Overwrites what L2 holds.
    fn flush(&self) -> Result<(), DeviceError> {
        // SAFETY: the memory is as long as it says, and lives until the context was synchronised.
        unsafe { result::memset_d8_async(self.flushed.address, 0, self.flushed.bytes, result::stream::null()) }
            .map_err(|e| failed("clearing the L2", e))
    }

    /// Milliseconds of so many launches, which wait until all of them are queued, as far as the queue is long.
    fn together(&self, launch: &Prepared<'_>, count: usize) -> Result<f64, DeviceError> {
        let (begin, end) = (Event::new()?, Event::new()?);
        (0..8).try_for_each(|_| self.flush())?;
        self.launch(launch)?;
        begin.record()?;
        (0..count).try_for_each(|_| self.launch(launch))?;
        end.record()?;
        Self::wait()?;
        begin.until(&end)
    }

    /// Keeps the device busy until its clocks have risen; what one launch takes then, in milliseconds.
    pub fn warm_up(&self, launch: &Prepared<'_>, time: Duration) -> Result<f64, DeviceError> {
        let once = self.together(launch, 3)? / 3.0;
        let count = ((time.as_secs_f64() * 1e3 / once.max(1e-3)).ceil() as usize).clamp(1, MAX_BATCH);
        let start = Instant::now();
        let mut each = self.together(launch, count)? / count as f64;
        while start.elapsed() < time {
            each = self.together(launch, count)? / count as f64;
        }
        Ok(each)
    }

    /// Microseconds of launches with nothing of them in L2, each launch so many times in turn with the others, so that a change of the clock
    /// is everybody's.
    pub fn cold(&self, launches: &[Prepared<'_>], samples: usize) -> Result<Vec<Vec<f64>>, DeviceError> {
        let mut events = Vec::new();
        for _ in 0..samples {
            for launch in launches {
                self.flush()?;
                let (begin, end) = (Event::new()?, Event::new()?);
                begin.record()?;
                self.launch(launch)?;
                end.record()?;
                events.push((begin, end));
            }
        }
        Self::wait()?;
        let of = |launch: usize| {
            let events = events.iter().skip(launch).step_by(launches.len());
            events.map(|(begin, end)| Ok(begin.until(end)? * 1e3)).collect()
        };
        (0..launches.len()).map(of).collect()
    }

    /// Times launches on the same memory, one after the other.
    pub fn time(&self, launch: Prepared<'_>) -> Result<Timing, DeviceError> {
        let each = self.warm_up(&launch, WARM_UP)?;
        let batch = ((BATCH_MS / each.max(1e-4)).ceil() as usize).clamp(1, MAX_BATCH);
        let warm: Result<Vec<f64>, DeviceError> =
            (0..WARM_SAMPLES).map(|_| Ok(self.together(&launch, batch)? * 1e3 / batch as f64)).collect();
        let cold = self.cold(&[launch], COLD_SAMPLES)?.into_iter().next().unwrap_or_default();
        Ok(Timing { warm: Spread::of(warm?), cold: Some(Spread::of(cold)) })
    }
}
