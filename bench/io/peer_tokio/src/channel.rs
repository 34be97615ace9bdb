//! `tokio::sync::mpsc`.

use tokio::runtime::Builder;
use tokio::sync::mpsc;
use tokio::task::spawn;

use crate::support::cpu_ns;

async fn send_and_receive(count: u64) {
    let (sender, mut receiver) = mpsc::channel::<u64>(64);
    let producer = spawn(async move {
        for i in 0..count {
            sender.send(i).await.expect("send");
        }
    });
    let consumer = spawn(async move {
        let mut sum = 0;
        while let Some(value) = receiver.recv().await {
            sum += value;
        }
        sum
    });
    producer.await.expect("join");
    assert_eq!(consumer.await.expect("join"), count * (count - 1) / 2, "nothing is lost");
}

pub fn ns_per_message(quick: bool) -> f64 {
    let count = if quick { 2_000_000 } else { 10_000_000 };
    let runtime = Builder::new_current_thread().build().expect("runtime");
    let start = cpu_ns();
    runtime.block_on(send_and_receive(count));
    (cpu_ns() - start) / count as f64
}
