//! GPUs that time rows, each with a thread and a copy of the tensors of its own.

use std::{
    collections::HashMap,
    path::Path,
    sync::mpsc::{self, Receiver, Sender},
    thread,
    time::Duration,
};

use tritium_semantics::launch;

use super::Row;
use crate::{
    bundle::{Beside, FileSource},
    device::{DeviceError, cuda},
    tensor::Tensor,
};

/// How long a GPU works before its first measurement, and before those of later launches: clocks rise slowly, and which row is the best
/// hangs on them.
const FIRST_WARM_UP: Duration = Duration::from_millis(300);
const WARM_UP: Duration = Duration::from_millis(50);
/// Elements after which what is made on a GPU comes again: times hang on what numbers are, not on whether they come twice.
const REPEATED: u64 = 1 << 22;

/// What a memory holds before the launches that are timed.
pub(in crate::run) enum Source {
    Held(Tensor),
    /// A row of elements that are made as the tensor says.
    Made(launch::Tensor),
}

impl Source {
    /// So many elements like those of a tensor.
    pub(in crate::run) fn made(like: &launch::Tensor, count: u64) -> Source {
        Source::Made(launch::Tensor { shape: vec![count], strides: vec![1], ..like.clone() })
    }

    fn on(&self, device: &cuda::Cuda) -> Result<cuda::Buffer, DeviceError> {
        let spec = match self {
            Source::Held(tensor) => return device.upload(&tensor.bytes),
            Source::Made(spec) => spec,
        };
        let count: u64 = spec.shape.iter().product();
        let block = launch::Tensor { shape: vec![count.min(REPEATED)], strides: vec![1], ..spec.clone() };
        let made = Tensor::make(&block, Beside { folder: Path::new("."), files: &FileSource::Disk });
        let made = made.map_err(|error| DeviceError::Fault { origin: None, message: error.to_string() })?;
        device.upload_repeated(&made.bytes, count as usize * spec.dtype.bytes() as usize)
    }
}

/// Why nothing more can be timed, and the row that is to blame.
type Broken = (Option<usize>, String);

/// Microseconds of rows, by their places.
type Times = Vec<(usize, Vec<f64>)>;

enum Work {
    /// Each by itself, once.
    Alone(Vec<usize>),
    /// In turn, so many times.
    Together(Vec<usize>, u32),
}

/// What a GPU's thread is asked, and what it answers.
type Station = (Sender<Work>, Receiver<Result<Times, Broken>>);

/// The GPUs of one tuning.
pub(super) struct Stations {
    all: Vec<Station>,
}

impl Stations {
    /// Opens the GPUs for as long as `run` takes.
    pub(super) fn with<T>(
        ordinals: &[u32],
        rows: &[Option<Row>],
        memories: &[Source],
        is_first: bool,
        run: impl FnOnce(&Stations) -> Result<T, Broken>,
    ) -> Result<T, Broken> {
        thread::scope(|scope| {
            let open = |&ordinal: &u32| {
                let (work, inbox) = mpsc::channel();
                let (outbox, results) = mpsc::channel();
                scope.spawn(move || {
                    let failed = |error: DeviceError| (None, error.to_string());
                    if let Err(broken) = serve(ordinal, rows, memories, is_first, &inbox, &outbox).map_err(failed) {
                        // Nobody waits any more where the tuning has ended.
                        let _ = outbox.send(Err(broken));
                    }
                });
                (work, results)
            };
            let stations = Stations { all: ordinals.iter().map(open).collect() };
            run(&stations)
        })
    }

    /// The first launch of each row.
    pub(super) fn alone(&self, rows: &[usize]) -> Result<Vec<(usize, f64)>, Broken> {
        let times = self.dealt(rows, self.all.len(), Work::Alone)?;
        Ok(times.into_iter().filter_map(|(at, us)| Some((at, *us.first()?))).collect())
    }

    /// `on_one`: all of them on the first GPU.
    pub(super) fn together(&self, rows: &[usize], samples: u32, on_one: bool) -> Result<Times, Broken> {
        self.dealt(rows, if on_one { 1 } else { self.all.len() }, |rows| Work::Together(rows, samples))
    }

    fn dealt(&self, rows: &[usize], gpus: usize, work: impl Fn(Vec<usize>) -> Work) -> Result<Times, Broken> {
        let ended = || (None, "the GPU's thread has ended".to_owned());
        for (number, (inbox, _)) in self.all.iter().take(gpus).enumerate() {
            let own = rows.iter().copied().skip(number).step_by(gpus).collect();
            inbox.send(work(own)).map_err(|_| ended())?;
        }
        let mut times = Vec::new();
        for (_, results) in self.all.iter().take(gpus) {
            times.extend(results.recv().map_err(|_| ended())??);
        }
        Ok(times)
    }
}

fn serve(
    ordinal: u32,
    rows: &[Option<Row>],
    memories: &[Source],
    is_first: bool,
    inbox: &Receiver<Work>,
    outbox: &Sender<Result<Times, Broken>>,
) -> Result<(), DeviceError> {
    let device = cuda::Cuda::open(ordinal)?;
    let buffers = memories.iter().map(|memory| memory.on(&device)).collect::<Result<Vec<_>, _>>()?;
    let watch = cuda::Stopwatch::new(&device)?;
    let mut loaded: HashMap<usize, (cuda::Kernel, cuda::Maps)> = HashMap::new();
    let mut is_warm = false;
    while let Ok(work) = inbox.recv() {
        let result = match work {
            Work::Alone(all) => {
                let mut once = |at: usize| -> Result<(usize, Vec<f64>), DeviceError> {
                    let row = rows[at].as_ref();
                    let (Some(row), Some(compiled)) = (row, row.and_then(|row| row.compiled.as_deref())) else {
                        return Ok((at, vec![f64::INFINITY]));
                    };
                    let kernel = device.load(&compiled.image, &compiled.kernel, compiled.shared_bytes)?;
                    let maps = device.maps(compiled.behind(), row.geometry, &buffers, &row.values)?;
                    let (kernel, maps) = &*loaded.entry(at).or_insert((kernel, maps));
                    let launch = cuda::Prepared { kernel, geometry: row.geometry, buffers: &buffers, args: &row.values, maps };
                    if !is_warm {
                        watch.warm_up(&launch, if is_first { FIRST_WARM_UP } else { WARM_UP })?;
                        is_warm = true;
                    }
                    // The driver loads a kernel when it is launched first.
                    device.launch(kernel, row.geometry, &buffers, &row.values, maps)?;
                    Ok((at, watch.cold(&[launch], 1)?.into_iter().flatten().collect()))
                };
                all.into_iter().map(|at| once(at).map_err(|error| (Some(at), error.to_string()))).collect()
            }
            Work::Together(all, samples) => {
                let prepared = |at: &usize| {
                    let (row, (kernel, maps)) = (rows[*at].as_ref()?, loaded.get(at)?);
                    Some(cuda::Prepared { kernel, geometry: row.geometry, buffers: &buffers, args: &row.values, maps })
                };
                let launches: Vec<cuda::Prepared<'_>> = all.iter().filter_map(prepared).collect();
                let times = watch.cold(&launches, samples as usize);
                times.map(|times| all.into_iter().zip(times).collect()).map_err(|error| (None, error.to_string()))
            }
        };
        if outbox.send(result).is_err() {
            break;
        }
    }
    Ok(())
}
