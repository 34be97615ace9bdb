//! Runs the workloads that were asked for, each run in a process of its own, so that none finds the
//! heap of another.

use crate::support::{pin_to_one_core, run_in_child, Options};

pub struct Workload {
    name: &'static str,
    unit: &'static str,
    run: fn(bool) -> f64,
}

/// `run` is told whether the run is a quick one.
pub const fn workload(name: &'static str, unit: &'static str, run: fn(bool) -> f64) -> Workload {
    Workload { name, unit, run }
}

pub fn run_workloads(workloads: &[Workload]) {
    let options = Options::parse();
    if let Some(child) = &options.child {
        for work in workloads.iter().filter(|work| work.name == child) {
            println!("{}", (work.run)(options.quick));
        }
        return;
    }
    pin_to_one_core();
    for work in workloads.iter().filter(|work| options.wants(work.name)) {
        report(work, &options);
    }
}

fn report(work: &Workload, options: &Options) {
    let mut best = f64::INFINITY;
    for _ in 0..options.runs {
        match run_in_child(work.name, options.quick) {
            Some(value) => best = best.min(value),
            None => {
                eprintln!("bench: {} died and is left out", work.name);
                return;
            }
        }
    }
    println!(r#"{{"name":"{}","unit":"{}","value":{:.2}}}"#, work.name, work.unit, best);
}
