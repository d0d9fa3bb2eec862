//! The client of the measurements of `compare.sh`, and the other side of its comparison:
//!
//!     bench-tool load URL SECONDS [gzip]         scrape URL again and again over one connection
//!     bench-tool poll ROOT CONCURRENCY           poll an API with bare reqwest calls, once
//!
//! `load` and `poll` print their figures as JSON.

mod load;
mod poll;

use std::{env, error::Error, process::ExitCode};

type Outcome = Result<(), Box<dyn Error>>;

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let outcome = match arguments[..] {
        ["load", url, seconds] => load::run(url, seconds, false),
        ["load", url, seconds, "gzip"] => load::run(url, seconds, true),
        ["poll", root, concurrency] => poll::run(root, concurrency),
        _ => Err("usage: see the head of tests/bench/tool/main.rs".into()),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("bench-tool: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Runs `task` on one thread, the cheapest way that tokio has.
fn block_on(task: impl Future<Output = Outcome>) -> Outcome {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?
        .block_on(task)
}
