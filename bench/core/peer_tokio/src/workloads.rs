//! The workloads, each a function from its size to its figure.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::runtime::{Builder, Runtime};
use tokio::sync::{mpsc, oneshot, Notify};
use tokio::task::{spawn, yield_now, JoinHandle};
use tokio::time::{sleep_until, Instant, Sleep};

use crate::support::{cpu_ns, rss_bytes, Random, YieldClock};

fn runtime() -> Runtime {
    Builder::new_current_thread().enable_time().build().expect("runtime")
}

/// Runs the future to its end and returns the CPU nanoseconds per `count` that it took.
fn ns_per(count: usize, work: impl Future<Output = ()>) -> f64 {
    let runtime = runtime();
    let start = cpu_ns();
    runtime.block_on(work);
    (cpu_ns() - start) / count as f64
}

async fn join_all<T>(tasks: Vec<JoinHandle<T>>) {
    for task in tasks {
        task.await.expect("join");
    }
}

// ---- yield

async fn yield_often(clock: Arc<YieldClock>) {
    clock.task_started();
    for _ in 0..clock.rounds {
        yield_now().await;
    }
    clock.task_ended();
}

pub fn yield_in_order(count: usize, quick: bool) -> f64 {
    let clock = Arc::new(YieldClock::new(count, quick));
    runtime().block_on(async {
        join_all((0..count).map(|_| spawn(yield_often(clock.clone()))).collect()).await;
    });
    clock.ns_per_yield()
}

/// The tasks are made in order and woken in random order.
pub fn yield_shuffled(count: usize, quick: bool) -> f64 {
    let clock = Arc::new(YieldClock::new(count, quick));
    runtime().block_on(async {
        let mut starts = Vec::with_capacity(count);
        let mut tasks = Vec::with_capacity(count);
        for _ in 0..count {
            let (start, started) = oneshot::channel();
            let clock = clock.clone();
            starts.push(start);
            tasks.push(spawn(async move {
                started.await.expect("start");
                yield_often(clock).await;
            }));
        }
        // Tasks run in order, so that when the last one has run all of them wait.
        spawn(async {}).await.expect("join");
        Random(42).shuffle(&mut starts);
        for start in starts {
            start.send(()).expect("send");
        }
        join_all(tasks).await;
    });
    clock.ns_per_yield()
}

// ---- spawn, join, call

async fn spawn_and_join_each(count: usize) {
    for _ in 0..count {
        spawn(async {}).await.expect("join");
    }
}

pub fn spawn_join(count: usize) -> f64 {
    ns_per(1000, spawn_and_join_each(1000));
    ns_per(count, spawn_and_join_each(count))
}

pub fn fanout(count: usize) -> f64 {
    ns_per(count, async {
        join_all((0..count).map(|_| spawn(async {})).collect()).await;
    })
}

async fn gather_often(times: usize, width: usize) {
    for _ in 0..times {
        let tasks: Vec<_> = (0..width).map(|_| spawn(async { 1 })).collect();
        let mut sum = 0;
        for task in tasks {
            sum += task.await.expect("join");
        }
        assert_eq!(sum, width);
    }
}

pub fn gather(times: usize, width: usize) -> f64 {
    ns_per(10, gather_often(10, width));
    ns_per(times, gather_often(times, width))
}

/// Boxed, as recursive calls are: an unboxed future is no call at all, since its
/// state lies in the caller's and its code is inlined.
#[inline(never)]
fn add_one(value: usize) -> Pin<Box<impl Future<Output = usize>>> {
    Box::pin(async move { value + 1 })
}

pub fn nested_call(count: usize) -> f64 {
    ns_per(count, async {
        let mut value = 0;
        for _ in 0..count {
            value = add_one(value).await;
        }
        assert_eq!(value, count);
    })
}

// ---- ping-pong

pub fn ping_pong(rounds: usize) -> f64 {
    ns_per(rounds, async {
        let (ping, mut pinged) = mpsc::channel::<usize>(1);
        let (pong, mut ponged) = mpsc::channel::<usize>(1);
        let server = spawn(async move {
            for i in 0..rounds {
                ping.send(i).await.expect("send");
                ponged.recv().await.expect("receive");
            }
        });
        let returner = spawn(async move {
            while let Some(ball) = pinged.recv().await {
                pong.send(ball).await.expect("send");
            }
        });
        server.await.expect("join");
        returner.await.expect("join");
    })
}

// ---- timers

/// Delays of timers, uniform over one microsecond per timer.
fn random_delays(count: usize) -> Vec<Duration> {
    let mut random = Random(7);
    (0..count).map(|_| Duration::from_nanos(random.below(count as u64 * 1000))).collect()
}

/// The first deadline is far enough ahead for all the tasks to be asleep by then.
pub fn timers(count: usize) -> f64 {
    const LEAD: Duration = Duration::from_secs(4);
    let delays = random_delays(count);
    ns_per(count, async {
        let base = Instant::now() + LEAD;
        let tasks = delays.iter().map(|&delay| spawn(sleep_until(base + delay))).collect();
        spawn(async {}).await.expect("join");
        if Instant::now() > base {
            eprintln!("bench: timers_1m: fired while inserting");
        }
        join_all(tasks).await;
    })
}

/// A `Sleep` enters the timer wheel when it is first polled and leaves it when dropped. Awaiting
/// this polls it once.
struct Arm<'a>(&'a mut Pin<Box<Sleep>>);

impl Future for Arm<'_> {
    type Output = ();
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        assert!(self.0.as_mut().poll(context).is_pending());
        Poll::Ready(())
    }
}

pub fn arm_cancel_many(count: usize) -> f64 {
    let delays = random_delays(count);
    let mut sleeps = Vec::with_capacity(count);
    ns_per(count, async {
        let base = Instant::now() + Duration::from_secs(3600);
        for delay in delays {
            let mut sleep = Box::pin(sleep_until(base + delay));
            Arm(&mut sleep).await;
            sleeps.push(sleep);
        }
        for sleep in sleeps {
            drop(sleep);
        }
    })
}

pub fn arm_cancel_hot(count: usize) -> f64 {
    ns_per(count, async {
        let base = Instant::now() + Duration::from_secs(3600);
        for _ in 0..count {
            let mut sleep = Box::pin(sleep_until(base));
            Arm(&mut sleep).await;
            drop(sleep);
        }
    })
}

// ---- skynet

fn skynet_node(first: u64, leaves: u64) -> Pin<Box<dyn Future<Output = u64> + Send>> {
    Box::pin(async move {
        if leaves == 1 {
            return first;
        }
        let child = |i| spawn(skynet_node(first + i * (leaves / 10), leaves / 10));
        let children: Vec<_> = (0..10).map(child).collect();
        let mut sum = 0;
        for child in children {
            sum += child.await.expect("join");
        }
        sum
    })
}

pub fn skynet_ms(leaves: u64) -> f64 {
    let ns = ns_per(1, async {
        let sum = spawn(skynet_node(0, leaves)).await.expect("join");
        assert_eq!(sum, leaves * (leaves - 1) / 2);
    });
    ns / 1e6
}

// ---- memory

pub fn rss_per_task(count: usize) -> f64 {
    runtime().block_on(async {
        let event = Arc::new(Notify::new());
        let mut tasks = Vec::with_capacity(count);
        let before = rss_bytes();
        for _ in 0..count {
            let event = event.clone();
            tasks.push(spawn(async move { event.notified().await }));
        }
        spawn(async {}).await.expect("join");
        let after = rss_bytes();
        event.notify_waiters();
        join_all(tasks).await;
        (after - before) / count as f64
    })
}
