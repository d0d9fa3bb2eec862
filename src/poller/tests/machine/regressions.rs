//! Sequences that the search found.

use super::{
    Event::{Completion, Pass, Restart, Trouble},
    *,
};

#[test]
fn a_repository_that_got_429_slows_down_no_later_poll() {
    run(&[Trouble(Who::Digit(0), How::Status(429)), Pass(3)]);
}

#[test]
fn a_fall_in_the_first_poll_of_another_scale_is_noticed() {
    run(&[
        Pass(INTERVAL),
        Restart(Filters::default(), 200),
        Completion(0, 0, Some(3)),
        Pass(INTERVAL),
    ]);
}

#[test]
fn data_are_stale_after_an_hour_of_holds_in_a_row() {
    let hold = How::Hold(429, 290);
    run(&[Pass(1), Trouble(Who::Digit(1), hold), Pass(4358)]);
}

#[test]
fn a_first_poll_that_a_hold_ends_claims_no_older_data() {
    run(&[Trouble(Who::Digit(5), How::Hold(503, 310)), Pass(20)]);
}
