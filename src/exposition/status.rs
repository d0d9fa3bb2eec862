//! How the polling goes and how much is known, as text: the exporter's own gauges that a publication fixes.
//!
//! What is not known is absent: before a first poll has ended there is no `translation_up`, and nothing is counted
//! before anything is known.

use super::{
    families::push_metadata,
    number::{push_f64, push_integer, push_timestamp},
};
use crate::{
    model::Completion,
    snapshot::{PollStatus, Reading, Snapshot},
};

/// Appends the gauges of `snapshot` and `status`.
pub(super) fn push_status(snapshot: &Snapshot, status: &PollStatus, out: &mut Vec<u8>) {
    if let Some(last) = &status.last {
        let push_listed = |out: &mut Vec<u8>| push_integer(out, usize::from(last.listing.is_none()));
        push_gauge(
            out,
            "translation_up",
            "1 if the last poll could list all repositories, 0 if not.",
            None,
            push_listed,
        );
        push_gauge(
            out,
            "translation_exporter_last_poll_timestamp_seconds",
            "When the last poll ended.",
            Some("seconds"),
            |out| push_timestamp(out, last.ended_at),
        );
        push_gauge(
            out,
            "translation_exporter_last_poll_duration_seconds",
            "Time that the last poll took.",
            Some("seconds"),
            |out| push_f64(out, last.duration.as_secs_f64()),
        );
        push_gauge(
            out,
            "translation_exporter_listing_complete",
            "1 if the last listing of the repositories reached its end, 0 if not.",
            None,
            push_listed,
        );
    }
    if let Some(at) = status.last_success_at {
        push_gauge(
            out,
            "translation_exporter_last_success_timestamp_seconds",
            "When a poll last read everything.",
            Some("seconds"),
            |out| push_timestamp(out, at),
        );
    }
    push_gauge(
        out,
        "translation_exporter_poll_interval_seconds",
        "poll.interval: time from the start of a poll to the start of the next.",
        Some("seconds"),
        |out| push_f64(out, status.interval.as_secs_f64()),
    );
    push_gauge(
        out,
        "translation_exporter_completion_scale",
        "api.completion_scale: the reported completion that means finished.",
        None,
        |out| push_f64(out, snapshot.completion_scale),
    );
    if status.has_data || snapshot.filtered > 0 || !snapshot.repositories.is_empty() {
        Totals::of(snapshot).push(out);
    }
}

fn push_gauge(out: &mut Vec<u8>, name: &str, help: &str, unit: Option<&str>, write: impl FnOnce(&mut Vec<u8>)) {
    push_metadata(out, name, help, unit);
    out.extend_from_slice(name.as_bytes());
    out.push(b' ');
    write(out);
    out.push(b'\n');
}

/// What is counted over all repositories.
#[derive(Debug)]
struct Totals {
    /// By the value of the label `state`.
    repositories: [(&'static str, usize); 5],
    languages: usize,
    out_of_scale: usize,
    scale_is_suspect: bool,
}

impl Totals {
    fn of(snapshot: &Snapshot) -> Self {
        let mut repositories =
            [("filtered", snapshot.filtered), ("pending", 0), ("fresh", 0), ("failing", 0), ("stale", 0)];
        for shown in &snapshot.repositories {
            let state = shown.condition.label();
            for (_, count) in repositories.iter_mut().filter(|(name, _)| *name == state) {
                *count += 1;
            }
        }
        let readings = || {
            let languages = snapshot.repositories.iter().filter_map(|shown| shown.condition.languages());
            languages.flat_map(|languages| languages.readings.iter())
        };
        let completions = || readings().filter_map(Reading::completion).map(Completion::get);
        let scale = snapshot.completion_scale;
        let largest = completions().fold(0.0, f64::max);
        Self {
            repositories,
            languages: readings().count(),
            out_of_scale: completions().filter(|value| *value < 0.0 || *value > scale).count(),
            scale_is_suspect: scale > 1.0 && largest > 0.0 && largest <= 1.0,
        }
    }

    fn push(&self, out: &mut Vec<u8>) {
        let name = "translation_exporter_repositories";
        push_metadata(out, name, "Repositories of the listing, each in one state.", None);
        for (state, count) in self.repositories {
            for part in [name, "{state=\"", state, "\"} "] {
                out.extend_from_slice(part.as_bytes());
            }
            push_integer(out, count);
            out.push(b'\n');
        }
        push_gauge(
            out,
            "translation_exporter_languages",
            "Languages that are told, over all repositories.",
            None,
            |out| {
                push_integer(out, self.languages);
            },
        );
        push_gauge(
            out,
            "translation_exporter_completion_out_of_scale",
            "Languages whose reported completion is below 0 or above api.completion_scale.",
            None,
            |out| push_integer(out, self.out_of_scale),
        );
        push_gauge(
            out,
            "translation_exporter_completion_scale_suspect",
            "1 while a reported completion is above 0 and none is above 1, though api.completion_scale is: the API may report 0 to 1.",
            None,
            |out| push_integer(out, usize::from(self.scale_is_suspect)),
        );
    }
}
