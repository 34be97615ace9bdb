//! The workloads of bench/core on tokio's current_thread runtime. See ../README.md for the
//! definitions.
//!
//! Left out: skynet_depth_first.

#[path = "../../../support/tokio/runner.rs"]
mod runner;
#[path = "../../../support/tokio/support.rs"]
mod support;
mod workloads;

use runner::{run_workloads, workload, Workload};
use workloads as w;

const MILLION: usize = 1_000_000;

const WORKLOADS: [Workload; 15] = [
    workload("yield_2", "ns", |quick| w::yield_in_order(2, quick)),
    workload("yield_1k", "ns", |quick| w::yield_in_order(1000, quick)),
    workload("yield_100k", "ns", |quick| w::yield_in_order(100_000, quick)),
    workload("yield_1m", "ns", |quick| w::yield_in_order(MILLION, quick)),
    workload("yield_1m_shuffled", "ns", |quick| w::yield_shuffled(MILLION, quick)),
    workload("spawn_join", "ns", |_| w::spawn_join(MILLION)),
    workload("fanout_1m", "ns", |_| w::fanout(MILLION)),
    workload("nested_call", "ns", |_| w::nested_call(10 * MILLION)),
    workload("ping_pong", "ns", |_| w::ping_pong(MILLION)),
    workload("timers_1m", "ns", |_| w::timers(MILLION)),
    workload("arm_cancel_1m", "ns", |_| w::arm_cancel_many(MILLION)),
    workload("arm_cancel_hot", "ns", |_| w::arm_cancel_hot(MILLION)),
    workload("skynet", "ms", |_| w::skynet_ms(MILLION as u64)),
    workload("rss_task_1m", "B", |_| w::rss_per_task(MILLION)),
    workload("gather_1k", "ns", |_| w::gather(1000, 1000)),
];

fn main() {
    run_workloads(&WORKLOADS);
}
