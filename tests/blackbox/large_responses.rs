//! Responses as large as they may be, made of whatever takes most memory.

use crate::support::{Api, Reply, Setup, Target};
use std::fmt::Write as _;

/// `api.max_response_size`: a sixteenth of its default, as the test runs a program that is not
/// optimised.
const LARGEST: usize = 1 << 20;

/// Returns an array of as many of these entries as fit into a response.
fn full_of(entry: impl Fn(usize) -> String) -> String {
    let mut body = String::with_capacity(LARGEST);
    body.push('[');
    for number in 1.. {
        let entry = entry(number);
        if body.len() + entry.len() + 2 > LARGEST {
            break;
        }
        if number > 1 {
            body.push(',');
        }
        body.push_str(&entry);
    }
    body.push(']');
    body
}

#[test]
fn the_largest_responses_take_a_bounded_multiple_of_their_size() {
    let api = Api::of(3);
    let exporter = Setup::for_api(&api)
        .set("api.max_response_size", "1MiB")
        .set("api.timeout", "60s")
        .set("api.max_attempts", "1")
        .start();
    exporter.wait_until_fresh(3);
    let before = exporter.memory("VmHWM");
    let long = "n".repeat(990);
    let half = LARGEST / 2 - 1;
    let mut described = format!("before: {before} KiB; ");
    for (what, target, body) in [
        ("bad entries", Target::AllLanguages, full_of(|_| "0".into())),
        (
            "languages",
            Target::AllLanguages,
            full_of(|number| format!(r#"{{"code":"{number}","completion":1}}"#)),
        ),
        (
            "long names",
            Target::AllLanguages,
            full_of(|number| format!(r#"{{"code":"{number}{long}","name":"{number}{long}"}}"#)),
        ),
        (
            "deep nesting",
            Target::AllLanguages,
            "[".repeat(half) + &"]".repeat(half),
        ),
        (
            "repositories",
            Target::Listing,
            full_of(|number| format!(r#"{{"id":{number},"name":"{long}/{number}"}}"#)),
        ),
    ] {
        api.heal();
        api.fault(target, Reply::json(body));
        let polls = exporter.metrics().polls();
        exporter.wait_for("a whole poll with it has ended", |metrics| {
            metrics.polls() >= polls + 2.0
        });
        write!(described, "{what}: {} KiB; ", exporter.memory("VmHWM")).unwrap();
    }
    // Three at a time, at 7 times their size: so eight of 1 MiB fit into the 128 MiB of the
    // manifests.
    let grown = exporter.memory("VmHWM") - before;
    assert!(grown < 21 * 1024, "{grown} KiB more; {described}");
}
