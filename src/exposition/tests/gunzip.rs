//! The compressed body against several decompressors.

use super::*;
use flate2::read::{GzDecoder, MultiGzDecoder};
use std::{
    io::{Read, Write},
    process::{Command, Stdio},
};

/// The uncompressed body that `gzip` should hold, as far as a publication fixes it, and its ending.
fn assert_is_the_body(decompressed: &[u8], published: &Published) {
    let decompressed = std::str::from_utf8(decompressed).unwrap();
    let fixed = usize::try_from(published.length).unwrap();
    assert_eq!(decompressed[..fixed], fixed_text(published));
    assert!(decompressed[fixed..].starts_with("# HELP translation_exporter_build_info "));
    assert!(decompressed.ends_with("\n# EOF\n"));
}

fn bodies() -> [Arc<Published>; 2] {
    [published(large(), polled()), published(snapshot(Vec::new()), starting())]
}

fn gzip(published: &Published) -> Vec<u8> {
    published.gzip(Format::OpenMetrics, &Instruments::new("/metrics")).concat()
}

#[test]
fn the_body_is_one_gzip_member() {
    for published in bodies() {
        let body = gzip(&published);
        let mut first = Vec::new();
        let mut decoder = GzDecoder::new(&body[..]);
        decoder.read_to_end(&mut first).unwrap();
        assert_is_the_body(&first, &published);
        assert!(decoder.into_inner().is_empty(), "something follows the first member");
        let mut all = Vec::new();
        MultiGzDecoder::new(&body[..]).read_to_end(&mut all).unwrap();
        assert_eq!(all, first);
    }
}

/// Runs `program` with `input` as its input, and returns what it prints.
fn filter(program: &str, arguments: &[&str], input: &[u8]) -> Vec<u8> {
    let mut child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap_or_else(|error| panic!("cannot run {program}: {error}"));
    let mut stdin = child.stdin.take().unwrap();
    let output = std::thread::scope(|scope| {
        scope.spawn(move || stdin.write_all(input).unwrap());
        child.wait_with_output().unwrap()
    });
    assert!(output.status.success(), "{program} failed: {output:?}");
    output.stdout
}

#[test]
fn gnu_gzip_finds_the_body_whole() {
    for published in bodies() {
        let body = gzip(&published);
        filter("gzip", &["--test"], &body);
        assert_is_the_body(&filter("gzip", &["--decompress", "--stdout"], &body), &published);
    }
}

#[test]
fn python_reads_one_member_with_nothing_behind_it() {
    const SCRIPT: &str = "import sys, zlib
d = zlib.decompressobj(wbits=31)
out = d.decompress(sys.stdin.buffer.read())
assert d.eof and not d.unused_data
sys.stdout.buffer.write(out)";
    for published in bodies() {
        assert_is_the_body(&filter("python3", &["-c", SCRIPT], &gzip(&published)), &published);
    }
}

#[test]
fn each_scrape_of_one_publication_tells_the_own_metrics_anew() {
    let published = published(large(), polled());
    let instruments = Instruments::new("/metrics");
    let polls = |instruments: &Instruments| {
        let mut text = String::new();
        let body = published.gzip(Format::Text, instruments).concat();
        GzDecoder::new(&body[..]).read_to_string(&mut text).unwrap();
        samples(&text, "translation_exporter_polls_total")
    };
    assert_eq!(polls(&instruments), ["translation_exporter_polls_total 0"]);
    instruments.poll_ended(true);
    assert_eq!(polls(&instruments), ["translation_exporter_polls_total 1"]);
}

#[test]
fn scrapes_share_what_is_compressed_of_the_publication_and_of_the_events_until_there_is_one_more() {
    let published = published(large(), polled());
    let instruments = Instruments::new("/metrics");
    let places = |format| published.gzip(format, &instruments).map(|part| part.as_ptr());
    let [publication, events, end] = places(Format::Text);
    assert_eq!(places(Format::Text)[..2], [publication, events]);
    assert_ne!(places(Format::OpenMetrics)[1], events, "each format has its own");
    assert_eq!(places(Format::OpenMetrics)[0], publication);
    assert_eq!(places(Format::Text)[1], events, "the other format does not drive it out");
    assert_ne!(end, events);
    instruments.http_request("/metrics", 200);
    assert_eq!(places(Format::Text)[1], events, "a scrape is no event");
    let kept = published.gzip(Format::Text, &instruments);
    instruments.poll_overran();
    assert_ne!(places(Format::Text)[1], kept[1].as_ptr());
    assert_eq!(places(Format::Text)[0], publication);
}

#[test]
fn uncompressed_scrapes_tell_each_event_too() {
    let published = published(large(), polled());
    let instruments = Instruments::new("/metrics");
    let overruns = || {
        let text = published.identity(Format::Text, &instruments).collect::<Vec<_>>().concat();
        samples(std::str::from_utf8(&text).unwrap(), "translation_exporter_poll_overruns_total")
    };
    assert_eq!(overruns(), ["translation_exporter_poll_overruns_total 0"]);
    instruments.poll_overran();
    assert_eq!(overruns(), ["translation_exporter_poll_overruns_total 1"]);
}
