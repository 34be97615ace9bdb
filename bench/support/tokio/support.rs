//! Options, clocks, memory, pinning: what the tokio programs of all suites share.
#![allow(dead_code)] // no suite needs all of it

use std::process::{exit, Command, Stdio};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::{env, fs, mem};

pub struct Options {
    pub quick: bool,
    pub runs: usize,
    pub child: Option<String>, // internal: run this workload once, in this process
    only: Vec<String>,
}

impl Options {
    pub fn parse() -> Options {
        let mut runs = None;
        let mut options = Options { quick: false, runs: 0, child: None, only: Vec::new() };
        let mut args = env::args().skip(1);
        while let Some(arg) = args.next() {
            match (arg.as_str(), if arg == "--quick" { None } else { args.next() }) {
                ("--quick", _) => options.quick = true,
                ("--runs", Some(text)) => runs = Some(text.parse().unwrap_or_else(|_| usage())),
                ("--only", Some(names)) => {
                    options.only = names.split(',').map(String::from).collect();
                }
                ("--child", Some(name)) => options.child = Some(name),
                _ => usage(),
            }
        }
        options.runs = runs.unwrap_or(if options.quick { 1 } else { 3 });
        if options.runs == 0 {
            usage();
        }
        options
    }

    pub fn wants(&self, name: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|wanted| wanted == name)
    }
}

fn usage() -> ! {
    eprintln!("usage: peer_tokio [--quick] [--runs N] [--only name[,name...]]");
    exit(2);
}

pub fn run_in_child(name: &str, quick: bool) -> Option<f64> {
    let mut child = Command::new(env::current_exe().ok()?);
    child.args(["--child", name]).stderr(Stdio::inherit());
    if quick {
        child.arg("--quick");
    }
    let output = child.output().ok().filter(|output| output.status.success())?;
    String::from_utf8(output.stdout).ok()?.trim().parse().ok()
}

/// Pins to the last core we are allowed on; children inherit it.
pub fn pin_to_one_core() {
    // SAFETY: cpu_set_t is a plain bit mask, for which all zeros is a value, and every index is
    // under CPU_SETSIZE.
    unsafe {
        let mut mask: libc::cpu_set_t = mem::zeroed();
        if libc::sched_getaffinity(0, mem::size_of_val(&mask), &mut mask) != 0 {
            return;
        }
        let cores = 0..libc::CPU_SETSIZE as usize;
        let last = cores.rev().find(|&core| libc::CPU_ISSET(core, &mask)).unwrap_or(0);
        libc::CPU_ZERO(&mut mask);
        libc::CPU_SET(last, &mut mask);
        libc::sched_setaffinity(0, mem::size_of_val(&mask), &mask);
    }
}

/// CPU time of the whole process.
pub fn cpu_ns() -> f64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `now` is valid for writing.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut now) };
    now.tv_sec as f64 * 1e9 + now.tv_nsec as f64
}

pub fn rss_bytes() -> f64 {
    let statm = fs::read_to_string("/proc/self/statm").expect("/proc/self/statm");
    let pages: f64 = statm.split(' ').nth(1).and_then(|n| n.parse().ok()).expect("pages");
    // SAFETY: sysconf has no preconditions.
    pages * unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as f64
}

/// A small generator (splitmix64): the standard library has none.
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (z ^ (z >> 31)) % bound
    }

    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            items.swap(i, self.below(i as u64 + 1) as usize);
        }
    }
}

/// Runs from the moment the last task has started until the first one ends. Atomics, because tasks
/// must be Send; they lie outside the loop that is measured.
pub struct YieldClock {
    pub rounds: usize,
    yields: usize,
    unstarted: AtomicUsize,
    start_ns: AtomicU64,
    stop_ns: AtomicU64,
}

impl YieldClock {
    pub fn new(tasks: usize, quick: bool) -> YieldClock {
        let (total, least) = if quick { (2_000_000, 2) } else { (10_000_000, 16) };
        let rounds = usize::max(total / tasks, least) + 1;
        YieldClock {
            rounds,
            yields: tasks * (rounds - 1) + 1,
            unstarted: AtomicUsize::new(tasks),
            start_ns: AtomicU64::new(0),
            stop_ns: AtomicU64::new(0),
        }
    }

    pub fn task_started(&self) {
        if self.unstarted.fetch_sub(1, Relaxed) == 1 {
            self.start_ns.store(cpu_ns() as u64, Relaxed);
        }
    }

    pub fn task_ended(&self) {
        if self.stop_ns.load(Relaxed) == 0 {
            self.stop_ns.store(cpu_ns() as u64, Relaxed);
        }
    }

    pub fn ns_per_yield(&self) -> f64 {
        assert_eq!(self.unstarted.load(Relaxed), 0, "every task has started");
        let ns = self.stop_ns.load(Relaxed) - self.start_ns.load(Relaxed);
        ns as f64 / self.yields as f64
    }
}
