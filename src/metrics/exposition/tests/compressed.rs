//! Tests of the compressed text and of its inflation.

use super::*;
use flate2::read::{GzDecoder, MultiGzDecoder};
use std::io::{Read, Write};

/// Asserts that this is the body of an OpenMetrics scrape, apart from the values of the
/// instruments.
fn assert_is_the_body(decompressed: &[u8], publication: &Exposition) {
    let decompressed = std::str::from_utf8(decompressed).unwrap();
    assert_eq!(fixed(decompressed), fixed_text(publication));
    assert!(decompressed.ends_with("\n# EOF\n"));
}

fn bodies() -> [Arc<Exposition>; 2] {
    [
        publication(large(), polled()),
        publication(snapshot(Vec::new()), starting()),
    ]
}

fn gzip(publication: &Exposition) -> Vec<u8> {
    publication
        .gzip(
            ExpositionFormat::OpenMetrics,
            &Instruments::new(Some("/metrics")),
        )
        .concat()
}

#[test]
fn the_body_is_one_gzip_member() {
    for publication in bodies() {
        let body = gzip(&publication);
        let mut first = Vec::new();
        let mut decoder = GzDecoder::new(&body[..]);
        decoder.read_to_end(&mut first).unwrap();
        assert_is_the_body(&first, &publication);
        assert!(
            decoder.into_inner().is_empty(),
            "something follows the first member"
        );
        let mut all = Vec::new();
        MultiGzDecoder::new(&body[..])
            .read_to_end(&mut all)
            .unwrap();
        assert_eq!(all, first);
    }
}

#[test]
fn scrapes_share_the_bytes_of_a_publication() {
    let publication = publication(large(), polled());
    let instruments = Instruments::new(Some("/metrics"));
    let first = publication.gzip(ExpositionFormat::Text, &instruments);
    let second = publication.gzip(ExpositionFormat::OpenMetrics, &instruments);
    assert_eq!(first[0].as_ptr(), second[0].as_ptr());
}

#[test]
fn an_uncompressed_body_has_chunks_and_a_known_length() {
    for (publication, at_least) in bodies().into_iter().zip([10, 2]) {
        let instruments = Instruments::new(Some("/metrics"));
        let (length, parts) = publication.uncompressed(ExpositionFormat::OpenMetrics, &instruments);
        let chunks: Vec<Bytes> = parts.collect();
        assert!(chunks.len() >= at_least, "{} chunks", chunks.len());
        assert!(
            chunks
                .iter()
                .all(|chunk| (1..=64 * 1024).contains(&chunk.len()))
        );
        assert_eq!(chunks.concat().len() as u64, length);
        assert_is_the_body(&chunks.concat(), &publication);
    }
}

#[test]
fn bodies_of_any_length_are_complete() {
    let mut random = fastrand::Rng::with_seed(1);
    let text: String = std::iter::repeat_with(|| random.alphanumeric())
        .take(60_000)
        .collect();
    for length in (40_000..60_000).step_by(50) {
        let publication =
            Exposition::compress(|out| out.0.write_all(&text.as_bytes()[..length]).unwrap());
        let body = gzip(&publication);
        let mut decompressed = String::new();
        GzDecoder::new(&body[..])
            .read_to_string(&mut decompressed)
            .unwrap_or_else(|error| panic!("{length}: {error}"));
        assert!(decompressed.ends_with("# EOF\n"), "{length}");
    }
}
