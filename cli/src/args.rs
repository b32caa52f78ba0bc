//! The command line's shape: a stable contract that scripts rely on.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use tritium_ide::{batch::Through, emit::Stage, sweep::Sweep};

#[derive(Debug, Parser)]
#[command(name = "tritium", version, about = "Understands Triton GPU kernels while they are typed, compiles and runs them.")]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What every analysing command takes.
#[derive(Debug, Clone, Args)]
pub(crate) struct Analysing {
    /// Board (H100, H200, A100, …) or bare SM (sm_90).
    #[arg(long, value_name = "BOARD|sm_NN")]
    pub(crate) gpu: Option<String>,
    /// Version of the Triton language; else what `[tool.tritium]` says, the version installed in the Python environment or pinned by a lock
    /// file, or 3.6 to 3.9 at once.
    #[arg(long, value_name = "VERSION")]
    pub(crate) triton: Option<String>,
    /// Python environment in which imports are looked up: its folder or its interpreter; else `[tool.tritium]`, $VIRTUAL_ENV, `.venv` or $CONDA_PREFIX.
    #[arg(long, value_name = "PATH")]
    pub(crate) python_env: Option<PathBuf>,
    /// Autotune configuration: a number (a kernel with fewer takes its last), `all` or `first`.
    #[arg(long, value_name = "INDEX|all|first", default_value = "all")]
    pub(crate) config: ConfigChoice,
}

/// What each command that runs launches takes.
#[derive(Debug, Clone, Args)]
pub(crate) struct Launching {
    /// Files, or folders, of which every launch is meant.
    #[arg(required = true)]
    pub(crate) paths: Vec<PathBuf>,
    /// Only this launch, or this row of its tuner (`rows`, `matmul:3`), or the launches of this kernel.
    #[arg(long)]
    pub(crate) launch: Option<String>,
    /// A size, dtype or argument of the function around a launch that is not wholly known: `M=4096`, `x.dtype=f16`, `x=f16[M, N]`, `eps=1e-6`,
    /// `bias=None`. What is not given has a default, and what is printed says which.
    #[arg(long, value_name = "NAME=VALUE")]
    pub(crate) set: Vec<String>,
    /// Also the launches that are not wholly known, each by entering the function around it with defaults.
    #[arg(long)]
    pub(crate) all_launches: bool,
}

/// How far a job may go.
#[derive(Debug, Clone, Args)]
pub(crate) struct Bounds {
    /// Stop after this long; `sanitize` tells what was found until then.
    #[arg(long, value_name = "SECONDS", default_value_t = 300.0)]
    pub(crate) timeout: f64,
    /// Stop a run that takes more memory (`512MiB`, `8GiB`); on a GPU, of the machine. Half of the machine's, if not given.
    #[arg(long, value_name = "SIZE")]
    pub(crate) memory: Option<MemorySize>,
}

/// Where each of them may run them.
#[derive(Debug, Clone, Args)]
pub(crate) struct Elsewhere {
    /// Run on another machine.
    ///
    /// `ssh:box`, `ssh:user@box:/path/to/tritium`, `ssh://user@box:2222`, or a command that starts there what is added to it
    /// (`tritium exec`): `srun --gres=gpu:1`, `kubectl exec -i pod --`, `docker run -i --rm --gpus all image /opt/tritium`. The file goes
    /// there with everything that it imports, and what `--save` saves comes back. A tritium of this version must be there.
    #[arg(long, value_name = "WHERE", verbatim_doc_comment)]
    pub(crate) on: Option<String>,
    /// Copy this program to that machine if it is not there yet, into ~/.cache/tritium/bin.
    #[arg(long, requires = "on")]
    pub(crate) send_program: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ConfigChoice {
    All,
    First,
    Index(u32),
}

impl ConfigChoice {
    /// The row of every tuning that is looked at; `None` for all.
    pub(crate) fn index(self) -> Option<usize> {
        match self {
            ConfigChoice::All => None,
            ConfigChoice::First => Some(0),
            ConfigChoice::Index(index) => Some(index as usize),
        }
    }
}

impl std::str::FromStr for ConfigChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<ConfigChoice, String> {
        match text {
            "all" => Ok(ConfigChoice::All),
            "first" => Ok(ConfigChoice::First),
            _ => text.parse().map(ConfigChoice::Index).map_err(|_| format!("`{text}` is neither a number, `all` nor `first`")),
        }
    }
}

/// An amount of memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct MemorySize {
    pub(crate) bytes: u64,
}

impl std::str::FromStr for MemorySize {
    type Err = String;

    fn from_str(text: &str) -> Result<MemorySize, String> {
        let unit_at = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
        let (number, unit) = text.split_at(unit_at);
        let shift = match unit.trim_end_matches("iB").trim_end_matches('B') {
            "" if unit.is_empty() || unit == "B" => Some(0),
            "K" => Some(10),
            "M" => Some(20),
            "G" => Some(30),
            "T" => Some(40),
            _ => None,
        };
        let number = number.trim().parse::<f64>().ok().filter(|number| number.is_finite() && *number > 0.0);
        match (number, shift) {
            (Some(number), Some(shift)) => Ok(MemorySize { bytes: (number * (1u64 << shift) as f64) as u64 }),
            _ => Err(format!("`{text}` is no amount of memory; `512MiB` and `8GiB` are")),
        }
    }
}

/// `5` or `5%`.
fn percent(text: &str) -> Result<f64, String> {
    let number = text.trim_end_matches('%').trim().parse::<f64>().ok().filter(|number| number.is_finite() && *number >= 0.0);
    number.ok_or_else(|| format!("`{text}` is no share; `5%` is"))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum CheckFormat {
    /// Source excerpts with the message, its origins and its fixes.
    Full,
    /// One line each: `file:line:col: CODE message`.
    Concise,
    Json,
    Sarif,
    Github,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum TableFormat {
    Table,
    Json,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum BenchFormat {
    Table,
    Json,
    Csv,
}

/// What a sweep's picture shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum BenchDraw {
    Time,
    Bandwidth,
    Flops,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum TextFormat {
    Text,
    Json,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Find mistakes in kernels and in the host code that launches them.
    Check {
        #[arg(required = true)]
        paths: Vec<PathBuf>,
        #[arg(long, value_enum, default_value_t = CheckFormat::Full)]
        output_format: CheckFormat,
        /// Only these codes or families (`SHP001`, `MSK`).
        #[arg(long, value_delimiter = ',')]
        select: Vec<String>,
        /// Not these codes or families.
        #[arg(long, value_delimiter = ',')]
        ignore: Vec<String>,
        /// Make the fixes that change what no correct kernel does.
        #[arg(long)]
        fix: bool,
        /// Preview another version of Triton: hints where types or diagnostics differ. With --fix also write what that version lacks in its
        /// words: block pointers as tiles of pointers, names that have moved.
        #[arg(long, value_name = "VERSION")]
        upgrade: Option<String>,
        /// Hide the findings that this file names.
        #[arg(long, value_name = "FILE", conflicts_with = "write_baseline")]
        baseline: Option<PathBuf>,
        /// Write the findings into this file, to be hidden from now on.
        #[arg(long, value_name = "FILE")]
        write_baseline: Option<PathBuf>,
        #[command(flatten)]
        analysing: Analysing,
    },
    /// Print one stage of a kernel: tree, items, types, tile IR, layouts, LLVM IR, PTX or SASS.
    Emit {
        file: PathBuf,
        #[arg(long)]
        kernel: Option<String>,
        #[arg(long, value_enum, default_value_t = Stage::Tile)]
        stage: Stage,
        /// A run-time argument's type: `X=*f16:16`, `n=i32`, `n=i32:1`, `n=i32=4096`.
        #[arg(long = "arg", value_name = "NAME=TYPE")]
        args: Vec<String>,
        /// A compile-time value: `BLOCK=1024`.
        #[arg(long = "set", value_name = "NAME=VALUE")]
        sets: Vec<String>,
        #[arg(long)]
        num_warps: Option<u32>,
        #[arg(long)]
        num_stages: Option<u32>,
        /// The arguments of this launch, or of a row of its tuner (`rows`, `matmul:3`).
        #[arg(long)]
        launch: Option<String>,
        /// Write here instead of standard output.
        #[arg(short, long)]
        output: Option<PathBuf>,
        #[command(flatten)]
        analysing: Analysing,
    },
    /// Every autotune configuration and launch of a kernel as a column: what fits, what spills, what it takes.
    Configs {
        #[arg(required = true)]
        paths: Vec<PathBuf>,
        #[arg(long)]
        kernel: Option<String>,
        #[arg(long, value_enum, default_value_t = TableFormat::Table)]
        output_format: TableFormat,
        #[command(flatten)]
        analysing: Analysing,
    },
    /// The occupancy of a kernel, and what other warps, registers or shared memory would make of it.
    Occupancy {
        file: PathBuf,
        #[arg(long)]
        kernel: Option<String>,
        /// This launch or configuration (`rows`, `matmul:3`).
        #[arg(long)]
        launch: Option<String>,
        /// Write here instead of standard output; a file called `*.svg` gets the picture.
        #[arg(short, long)]
        output: Option<PathBuf>,
        #[command(flatten)]
        analysing: Analysing,
    },
    /// What a kernel's launches were measured at on this machine, run after run: times, registers, errors.
    History {
        file: PathBuf,
        #[arg(long)]
        kernel: Option<String>,
        /// Write here instead of standard output; a file called `*.svg` gets the picture.
        #[arg(short, long)]
        output: Option<PathBuf>,
        #[command(flatten)]
        analysing: Analysing,
    },
    /// Answer one request a line (JSON): types, diagnostics, resources.
    Batch {
        /// A file of requests, or `-` for standard input.
        requests: PathBuf,
        #[arg(long, value_enum, default_value_t = Through::Types)]
        through: Through,
        #[command(flatten)]
        analysing: Analysing,
    },
    /// Registers, shared memory, occupancy, traffic and roofline of every kernel, launch and configuration.
    Report {
        #[arg(required = true)]
        paths: Vec<PathBuf>,
        #[arg(long, value_enum, default_value_t = TableFormat::Table)]
        output_format: TableFormat,
        #[command(flatten)]
        analysing: Analysing,
    },
    /// Every launch and configuration of a file under the roofs of a board: a chart.
    Roofline {
        file: PathBuf,
        /// Only of this kernel.
        #[arg(long)]
        kernel: Option<String>,
        /// Write the chart here, as SVG; else it is drawn in the terminal.
        #[arg(short, long)]
        output: Option<PathBuf>,
        #[arg(long, value_enum, default_value_t = TextFormat::Text)]
        output_format: TextFormat,
        #[command(flatten)]
        analysing: Analysing,
    },
    /// Compile the kernels of files ahead of time, for programs in C and Rust and for `run` without a compiler.
    ///
    /// Into --out go a cubin for each specialisation that a launch or a row of its tuner needs and each architecture (PTX where there is no
    /// ptxas), `manifest.json`, which tells all of them, `tritium_kernels.h` and `.c`, which hold and launch them through a driver that is opened at
    /// run time, `tritium_kernels.rs`, the same over cudarc, and `store`: with TRITIUM_STORE=DIR `tritium run` compiles nothing. Prints
    /// what is not in it: launches whose values are not known and kernels that nothing launches. Ends with 1 if a launch does not compile or
    /// there is none.
    #[command(verbatim_doc_comment)]
    Build {
        /// Files, or folders.
        #[arg(required = true)]
        paths: Vec<PathBuf>,
        /// The folder to write to.
        #[arg(long, value_name = "DIR")]
        out: PathBuf,
        /// Architectures or boards: `sm_90a,sm_80`, `A100`. If not given, that of the project's GPU.
        #[arg(long, value_name = "ARCH", value_delimiter = ',')]
        arch: Vec<String>,
        /// Only this kernel.
        #[arg(long)]
        kernel: Option<String>,
        /// Also variants that no launch needs as it is written: of each launch those with one integer that is 1, divisible by 16 or neither, one without a
        /// promise about any integer, and one without a promise about addresses either, which takes all arguments but integers of more bits. At
        /// most 3 n + 2 for n integers, not the 3^n that there are; parameters of `do_not_specialize` are not varied.
        #[arg(long, verbatim_doc_comment)]
        all_variants: bool,
        #[arg(long, value_enum, default_value_t = TextFormat::Text)]
        output_format: TextFormat,
        #[command(flatten)]
        analysing: Analysing,
    },
    /// Measure what a GPU of this machine reaches, for the roofs of its board.
    Calibrate {
        /// `cuda:N`
        #[arg(long, default_value = "cuda:0")]
        device: String,
        /// Write here instead of into the user's configuration folder.
        #[arg(short, long)]
        output: Option<PathBuf>,
    },
    /// Run a file's launches and verify what they wrote.
    Run {
        #[command(flatten)]
        launching: Launching,
        /// `cpu`, `sim` or `cuda:N`.
        ///
        /// `cpu` runs what the kernel says, one program after another on each core. It finds accesses outside of a tensor or misaligned ones
        /// and assertions that fail. `sim` runs what the compiler has decided (layouts, shared memory, barriers), lane by lane; beyond that it
        /// finds races in shared memory, lanes that disagree about an element they share, and the use of what nothing has defined. Neither
        /// finds races in global memory, between programs or within one. `cuda:N` finds what the driver reports.
        #[arg(long, default_value = "cpu", verbatim_doc_comment)]
        device: String,
        /// Compare with `expect`, and on other devices than `cpu` also with the CPU device. A reference that is NaN, or that reads what the
        /// launch has not initialised, verifies nothing.
        #[arg(long)]
        verify: bool,
        /// A reference for files that carry none: `Y=softmax(X, axis=1)`.
        #[arg(long, value_name = "NAME=EXPRESSION")]
        expect: Vec<String>,
        /// Save every tensor argument as `NAME.npy` after the launch and `NAME.in.npy` before it.
        #[arg(long, value_name = "DIR")]
        save: Option<PathBuf>,
        #[command(flatten)]
        bounds: Bounds,
        #[command(flatten)]
        elsewhere: Elsewhere,
        #[arg(long, value_enum, default_value_t = TextFormat::Text)]
        output_format: TextFormat,
        #[command(flatten)]
        analysing: Analysing,
    },
    /// Run a file's launches under checks and say what is wrong although they run.
    ///
    /// Finds, by element and at its place in the source: accesses outside of a tensor or of its view and misaligned ones; values that a mask left
    /// undefined, or that nobody has written, where they decide what is stored, an address, a mask or a condition; races in global memory, between
    /// programs and within a store; outputs that are written in part; integers that wrap on the way to an address; where a NaN or an infinity that
    /// is stored begins; integer divisions by 0; assertions that fail. A finding does not stop the run. Each is told once for its place, with
    /// how many programs and elements have it; `tritium explain SAN001` and so on tell more. `# tritium: ignore[SAN006] why` silences a line.
    /// Ends with 1 if something is found or a launch could not be checked.
    #[command(verbatim_doc_comment)]
    Sanitize {
        #[command(flatten)]
        launching: Launching,
        /// `cpu`; `sim`, which runs the compiled program lane by lane: slower, and with warps and shared memory; or `cuda:N`, under compute-sanitizer.
        #[arg(long, default_value = "cpu")]
        device: String,
        /// Only these codes or families (`SAN004`, `SAN`).
        #[arg(long, value_delimiter = ',')]
        select: Vec<String>,
        /// Not these codes or families.
        #[arg(long, value_delimiter = ',')]
        ignore: Vec<String>,
        #[command(flatten)]
        bounds: Bounds,
        #[command(flatten)]
        elsewhere: Elsewhere,
        #[arg(long, value_enum, default_value_t = CheckFormat::Full)]
        output_format: CheckFormat,
        #[command(flatten)]
        analysing: Analysing,
    },
    /// Time a file's launches, and hold the times against the model's and against earlier ones.
    Bench {
        #[command(flatten)]
        launching: Launching,
        /// `cuda:N`, or `cpu`, whose interpreter says nothing about a GPU.
        #[arg(long, default_value = "cuda:0")]
        device: String,
        /// Hold each launch against the same one of another file, of this file at a revision (`git:main`), both timed in turn, against `triton`, or
        /// against `torch`: the expression that the program holds the launch's result against. The last two run in the Python of `--python-env`.
        #[arg(long, value_name = "FILE|git:REV|triton|torch", value_delimiter = ',')]
        against: Vec<String>,
        /// How often both sides of `--against` are timed.
        #[arg(long, value_name = "TIMES", default_value_t = 3, requires = "against")]
        rounds: u32,
        /// Time the launches over a size: `N=1024..65536:*2`, `N=64..1024:+64` or `N=1000,1024`. It is one of a launch block's `sizes`, or a free
        /// name of the function that launches.
        #[arg(long, value_name = "NAME=VALUES", value_parser = Sweep::parse)]
        sweep: Option<Sweep>,
        /// What `--output` draws over the size; if not given, the rate that comes nearest to its roof, and the time where no rate is known.
        #[arg(long, value_enum, requires = "output")]
        draw: Option<BenchDraw>,
        /// Write what was timed into this file, too: `.csv`, `.json`, or a sweep as a picture, `.svg`.
        #[arg(long, short, value_name = "FILE")]
        output: Option<PathBuf>,
        /// Print where a launch takes longer than in this file (`--write-baseline`), on the same device.
        #[arg(long, value_name = "FILE")]
        baseline: Option<PathBuf>,
        /// Write the times into this file.
        #[arg(long, value_name = "FILE")]
        write_baseline: Option<PathBuf>,
        /// Exit with status 1 if a launch takes longer than in the baseline by more than this, and by more than the times spread.
        #[arg(long, value_name = "PERCENT", requires = "baseline", value_parser = percent)]
        fail_if_slower: Option<f64>,
        #[command(flatten)]
        bounds: Bounds,
        #[command(flatten)]
        elsewhere: Elsewhere,
        #[arg(long, value_enum, default_value_t = BenchFormat::Table)]
        output_format: BenchFormat,
        #[command(flatten)]
        analysing: Analysing,
    },
    /// Find the fastest row of the tuner of each launch, with few measurements.
    ///
    /// Rows that cannot be launched, that spill, or that the model expects to be far slower than the best are put aside; the others are compiled side by
    /// side and race: a row drops out once it is clearly slower, so those that are close are timed most. On `cpu` nothing is timed: the order is the
    /// model's.
    #[command(verbatim_doc_comment)]
    Tune {
        #[command(flatten)]
        launching: Launching,
        /// `cuda:N`, `cuda:all` for every GPU of the machine, or `cpu`.
        #[arg(long, default_value = "cuda:0")]
        device: String,
        /// Try rows that the tuner does not have as well: those, at most so many, that the model thinks best of.
        #[arg(long, value_name = "ROWS", num_args = 0..=1, default_missing_value = "8")]
        propose: Option<u32>,
        /// Time every row that can be launched in full.
        #[arg(long)]
        exhaustive: bool,
        /// Hold the results of the best row against the file's references, and those of a GPU against the CPU device.
        #[arg(long)]
        verify: bool,
        /// Write the best rows into the file, in place of its tuners' lists.
        #[arg(long)]
        write: bool,
        /// Write functions here that pick the best rows by size under Triton, for `prune_configs_by={"early_config_prune": …}`.
        #[arg(long, value_name = "FILE")]
        prune: Option<PathBuf>,
        /// Have Triton keep what was measured, in its own cache: the Python of `--python-env` runs the program for it. With `TRITON_CACHE_AUTOTUNING=1`, or
        /// `cache_results=True` in the program, its tuners then take the best rows without timing any. Needs a GPU.
        #[arg(long)]
        write_triton_cache: bool,
        #[command(flatten)]
        bounds: Bounds,
        #[command(flatten)]
        elsewhere: Elsewhere,
        #[arg(long, value_enum, default_value_t = BenchFormat::Table)]
        output_format: BenchFormat,
        #[command(flatten)]
        analysing: Analysing,
    },
    /// Measure how much of a body of code is understood.
    Stats {
        #[arg(required = true)]
        paths: Vec<PathBuf>,
        #[arg(long, value_enum, default_value_t = Through::Types)]
        through: Through,
        #[arg(long, value_enum, default_value_t = TextFormat::Text)]
        output_format: TextFormat,
        #[command(flatten)]
        analysing: Analysing,
    },
    /// Explain a diagnostic: what it means, why, a wrong and a right example.
    Explain { code: String },
    /// The GPUs Tritium knows.
    Gpus {
        #[arg(long, value_enum, default_value_t = TableFormat::Table)]
        output_format: TableFormat,
    },
    /// Shell completions.
    Completions { shell: clap_complete::Shell },
    /// The language server, on standard input and output.
    Lsp,
    /// Runs one job from standard input: the far end of `run`.
    #[command(hide = true)]
    Exec,
    /// Compiles requests from standard input: the far end of the compiler.
    #[command(hide = true)]
    Worker,
}
