//! The workloads of bench/io on tokio's current_thread runtime, one in each module. See
//! ../README.md for the definitions.

mod channel;
#[path = "../../../support/tokio/runner.rs"]
mod runner;
#[path = "../../../support/tokio/support.rs"]
mod support;

use runner::{run_workloads, workload, Workload};

const WORKLOADS: [Workload; 1] = [workload("channel", "ns", channel::ns_per_message)];

fn main() {
    run_workloads(&WORKLOADS);
}
