//! tokio's current_thread runtime in the server rows: a task per connection. See ../../server.hpp.

use std::io::Read;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

const HELLO: &[u8] =
    b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 5\r\n\r\nhello";

async fn serve<S: AsyncRead + AsyncWrite + Unpin, const ROOM: usize>(mut client: S, http: bool) {
    let mut room = [0u8; ROOM];
    loop {
        let n = match client.read(&mut room).await {
            Ok(0) | Err(_) => return,
            Ok(n) => n,
        };
        if !http {
            if client.write_all(&room[..n]).await.is_err() {
                return;
            }
            continue;
        }
        let requests = room[..n].windows(4).filter(|end| end == b"\r\n\r\n").count();
        for _ in 0..requests {
            if client.write_all(HELLO).await.is_err() {
                return;
            }
        }
    }
}

async fn tcp(mode: String) {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    println!("{}", listener.local_addr().unwrap().port());
    loop {
        if let Ok((client, _)) = listener.accept().await {
            client.set_nodelay(true).unwrap();
            match mode.as_str() {
                "tcp-large" => tokio::spawn(serve::<_, 16384>(client, false)),
                "http" => tokio::spawn(serve::<_, 2048>(client, true)),
                _ => tokio::spawn(serve::<_, 128>(client, false)),
            };
        }
    }
}

async fn unix() {
    let path = std::env::temp_dir().join(format!("tiffany-bench-tokio-{}", std::process::id()));
    let listener = tokio::net::UnixListener::bind(&path).unwrap();
    println!("{}", path.display());
    loop {
        if let Ok((client, _)) = listener.accept().await {
            tokio::spawn(serve::<_, 128>(client, false));
        }
    }
}

fn main() {
    let mode = std::env::args().nth(1).unwrap_or_else(|| "tcp".to_string());
    std::thread::spawn(|| {
        let _ = std::io::stdin().read(&mut [0u8; 1]);
        let path = std::env::temp_dir().join(format!("tiffany-bench-tokio-{}", std::process::id()));
        let _ = std::fs::remove_file(path);
        std::process::exit(0);
    });
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build().unwrap();
    if mode == "unix" {
        runtime.block_on(unix());
    } else {
        runtime.block_on(tcp(mode));
    }
}
