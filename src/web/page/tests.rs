use super::{
    super::testing::{Fixture, body},
    overview::{Level, Overview},
    query::Query,
    table::{MOST_LANGUAGES, Table, rows},
};
use crate::{
    exposition::Published,
    model::{Completion, Failure, Language, Repository, RepositoryId, Timestamp, Visibility},
    progress::Progress,
    snapshot::{Condition, Languages, PollOutcome, PollStatus, Reading, Reported, Shown, Snapshot},
};
use axum::http::Uri;
use std::{sync::Arc, time::Duration};

const NOW: Timestamp = Timestamp::from_millis(100 * 86_400_000);

fn days_ago(days: i64) -> Timestamp {
    Timestamp::from_millis(NOW.as_millis() - days * 86_400_000)
}

/// A language with its completion in per cent and the days since its last progress.
fn reading(code: &str, completion: impl Into<Option<f64>>, days: i64) -> Reading {
    let completion = completion.into().and_then(Completion::new);
    let now = |completion| Reported::Now(Progress { completion, at: days_ago(days) });
    Reading {
        language: Arc::new(Language { code: code.into(), name: format!("Name of {code}").into() }),
        reported: completion.map_or(Reported::Never, now),
    }
}

fn fresh(readings: Vec<Reading>) -> Condition {
    Condition::Fresh(Arc::new(Languages { read_at: NOW, readings: readings.into() }))
}

fn shown(id: u64, name: &str, condition: Condition) -> Shown {
    let id = RepositoryId::new(id).unwrap();
    let repository = Repository { id, name: name.into(), visibility: Visibility::Public, created_at: None };
    Shown::new(repository, condition)
}

fn snapshot(repositories: Vec<Shown>) -> Snapshot {
    Snapshot { taken_at: NOW, repositories, filtered: 0, completion_scale: 100.0 }
}

/// Of names, each with the completion of its one language.
fn snapshot_of(repositories: &[(&str, Option<f64>, i64)]) -> Snapshot {
    let repositories = repositories.iter().zip(1..);
    let shown = repositories
        .map(|((name, completion, days), id)| shown(id, name, fresh(vec![reading("de", *completion, *days)])));
    snapshot(shown.collect())
}

fn table_of<'a>(snapshot: &'a Snapshot, uri: &'static str) -> Table<'a> {
    Table::new(rows(snapshot, NOW), snapshot.completion_scale, &Query::of(&Uri::from_static(uri)))
}

fn names(snapshot: &Snapshot, uri: &'static str) -> Vec<String> {
    let table = table_of(snapshot, uri);
    table.rows.iter().map(|row| row.shown.repository.name.to_string()).collect()
}

#[test]
fn rows_are_sorted_as_asked_and_what_is_unknown_stands_last() {
    let snapshot =
        snapshot_of(&[("a/a", Some(50.0), 1), ("a/b", None, 0), ("a/c", Some(10.0), 9), ("a/d", Some(90.0), 3)]);
    assert_eq!(names(&snapshot, "/"), ["a/c", "a/a", "a/d", "a/b"]);
    assert_eq!(names(&snapshot, "/?sort=-completion"), ["a/d", "a/a", "a/c", "a/b"]);
    assert_eq!(names(&snapshot, "/?sort=progress"), ["a/c", "a/d", "a/a", "a/b"]);
    assert_eq!(names(&snapshot, "/?sort=-progress"), ["a/a", "a/d", "a/c", "a/b"]);
    assert_eq!(names(&snapshot, "/?sort=name"), ["a/a", "a/b", "a/c", "a/d"]);
    assert_eq!(names(&snapshot, "/?sort=-name"), ["a/d", "a/c", "a/b", "a/a"]);
}

#[test]
fn a_search_finds_parts_of_names_whatever_their_case() {
    let snapshot =
        snapshot_of(&[("Acme/Docs", Some(1.0), 0), ("acme/web", Some(2.0), 0), ("other/docs", Some(3.0), 0)]);
    assert_eq!(names(&snapshot, "/?q=DOCS"), ["Acme/Docs", "other/docs"]);
    assert_eq!(names(&snapshot, "/?q=+acme%2F+"), ["Acme/Docs", "acme/web"]);
    assert!(names(&snapshot, "/?q=.*").is_empty());
}

#[test]
fn a_page_has_200_rows_and_one_beyond_the_last_is_the_last() {
    let names_of_rows: Vec<String> = (0..401).map(|number| format!("a/{number:03}")).collect();
    let rows: Vec<_> = names_of_rows.iter().map(|name| (name.as_str(), Some(1.0), 0)).collect();
    let snapshot = snapshot_of(&rows);
    assert_eq!(names(&snapshot, "/?sort=name").len(), 200);
    assert_eq!(names(&snapshot, "/?sort=name&page=2")[0], "a/200");
    for beyond in ["/?sort=name&page=3", "/?sort=name&page=4", "/?sort=name&page=18446744073709551615"] {
        assert_eq!(names(&snapshot, beyond), ["a/400"]);
    }
}

#[test]
fn the_rarest_languages_are_left_out_where_there_are_too_many() {
    let codes: Vec<String> = (0..=MOST_LANGUAGES).map(|number| format!("l{number:02}")).collect();
    let all = codes.iter().map(|code| reading(code, 1.0, 0)).collect();
    let most = codes.iter().skip(1).map(|code| reading(code, 3.0, 0)).collect();
    let snapshot = snapshot(vec![shown(1, "a/a", fresh(all)), shown(2, "a/b", fresh(most))]);
    let table = table_of(&snapshot, "/");
    assert_eq!((table.left_out, table.languages.len()), (1, MOST_LANGUAGES));
    assert_eq!((table.languages[0].code, table.languages[0].completion), ("l01", Some(0.02)));
}

#[test]
fn what_is_incomplete_and_without_progress_for_7_days_is_stalled() {
    let readings = vec![reading("a", 99.9, 7), reading("b", 99.9, 6), reading("c", 100.0, 30), reading("d", None, 0)];
    let snapshot = snapshot(vec![shown(1, "a/a", fresh(readings))]);
    assert_eq!(table_of(&snapshot, "/").rows[0].stalled, 1);
}

fn failure(what: &str, days: i64) -> Failure {
    Failure { since: days_ago(days), what: what.into(), hint: "fix it".into() }
}

fn outcome() -> PollOutcome {
    PollOutcome {
        ended_at: NOW,
        duration: Duration::from_secs(2),
        listing: None,
        ended_early: None,
        read: 1,
        failed: 0,
        unreached: 0,
    }
}

fn status(last: Option<PollOutcome>) -> PollStatus {
    PollStatus {
        interval: Duration::from_secs(300),
        running_since: None,
        next_poll_at: Some(NOW),
        last,
        last_success_at: None,
        held_until: None,
        has_data: true,
        state_is_kept: true,
    }
}

fn judged(snapshot: Snapshot, last: Option<PollOutcome>) -> (Level, String) {
    let published = Published::new(Arc::new(snapshot), status(last));
    let overview = Overview::new(&published, &rows(&published.snapshot, NOW), NOW);
    (overview.level, overview.headline)
}

#[test]
fn the_headline_says_how_it_is() {
    let one = || snapshot_of(&[("a/a", Some(50.0), 0)]);
    let listing = Some(failure("GET /v1/repositories: 401", 0));
    let stale = Condition::Stale { read_at: days_ago(1), failure: None };
    let cases = [
        (one(), Some(outcome()), Level::Well, "All is well: every repository was read"),
        (one(), None, Level::Waiting, "These are the data from before the restart; the first poll is yet to end"),
        (
            one(),
            Some(PollOutcome { listing: listing.clone(), ..outcome() }),
            Level::Failing,
            "The repositories cannot be listed; those known are still read",
        ),
        (
            one(),
            Some(PollOutcome { ended_early: listing, ..outcome() }),
            Level::Failing,
            "The last poll was ended before it had read everything",
        ),
        (
            one(),
            Some(PollOutcome { failed: 1, unreached: 1233, ..outcome() }),
            Level::Degraded,
            "1,234 repositories could not be read by the last poll",
        ),
        (
            snapshot(vec![shown(1, "a/a", stale)]),
            Some(outcome()),
            Level::Failing,
            "1 repository cannot be read, and the last data are too old to be shown",
        ),
        (
            snapshot(Vec::new()),
            Some(outcome()),
            Level::Degraded,
            "The account of the key has no repository: connect some to it",
        ),
    ];
    for (snapshot, last, level, headline) in cases {
        assert_eq!(judged(snapshot, last), (level, headline.to_owned()));
    }
}

#[test]
fn repositories_with_one_mend_are_told_together_with_the_longest_trouble() {
    let failing = |id: u64, days| {
        let languages = Arc::new(Languages { read_at: NOW, readings: Arc::new([]) });
        shown(id, &format!("a/{id}"), Condition::Failing(languages, failure(&format!("GET {id}"), days)))
    };
    let snapshot = snapshot((1..=7).map(|id| failing(id, i64::try_from(id).unwrap())).collect());
    let published = Published::new(Arc::new(snapshot), status(Some(outcome())));
    let overview = Overview::new(&published, &rows(&published.snapshot, NOW), NOW);
    let [attention] = &overview.attention[..] else { panic!("{:?}", overview.attention) };
    assert_eq!(attention.subjects, ["a/1", "a/2", "a/3", "a/4", "a/5"]);
    assert_eq!((attention.more, &attention.failure), (2, &failure("GET 7", 7)));
}

#[test]
fn completions_that_look_like_0_to_1_raise_the_question_of_the_scale() {
    let suspects = |completions: &[(&str, Option<f64>, i64)]| {
        let published = Published::new(Arc::new(snapshot_of(completions)), status(Some(outcome())));
        Overview::new(&published, &rows(&published.snapshot, NOW), NOW)
            .attention
            .iter()
            .any(|attention| attention.subjects == ["The scale"])
    };
    assert!(suspects(&[("a/a", Some(0.4), 0), ("a/b", Some(1.0), 0)]));
    assert!(!suspects(&[("a/a", Some(0.4), 0), ("a/b", Some(1.1), 0)]));
    assert!(!suspects(&[("a/a", Some(0.0), 0)]));
    assert!(!suspects(&[("a/a", None, 0)]));
}

async fn page_of(snapshot: Snapshot, request: &str) -> (String, String) {
    let mut fixture = Fixture::new();
    fixture.publish_snapshot(snapshot);
    let response = fixture.ask(request).await;
    assert_eq!(response.status(), 200);
    let policy = response.headers()["content-security-policy"].to_str().unwrap().to_owned();
    (body(response).await, policy)
}

#[tokio::test]
async fn a_search_is_shown_as_text_and_the_policy_lets_nothing_else_in() {
    let (page, policy) = page_of(snapshot_of(&[]), "GET /?q=%22%3E%3Cb%3E").await;
    assert!(page.contains("value=\"&quot;&gt;&lt;b&gt;\""));
    assert!(!page.contains("<b>") && !page.contains("style=") && !page.contains("<script"));
    assert!(policy.starts_with("default-src 'none'; style-src 'sha256-") && !policy.contains("unsafe"), "{policy}");
}

#[tokio::test]
async fn names_of_repositories_and_languages_cannot_break_out() {
    let evil = "\"><img src=x onerror=alert(1)><script>";
    let mut evil_reading = reading(evil, 50.0, 0);
    evil_reading.language = Arc::new(Language { code: evil.into(), name: evil.into() });
    let (page, _) = page_of(snapshot(vec![shown(1, evil, fresh(vec![evil_reading]))]), "GET /").await;
    assert!(page.contains("&quot;&gt;&lt;img src=x onerror=alert(1)&gt;&lt;script&gt;"));
    assert!(!page.contains("<img") && !page.contains("<script"));
}

#[tokio::test]
async fn a_cell_is_rounded_down_and_stays_short() {
    let cells = [
        (29.0, "29"),
        (57.99, "57"),
        (99.99, "99"),
        (100.0, "100"),
        (150.0, "150"),
        (1e308, "\u{2265}999"),
        (-5.0, "-5"),
        (-1e308, "\u{2264}-999"),
        (0.0, "0"),
        (-0.0, "0"),
    ];
    for (completion, told) in cells {
        let (page, _) = page_of(snapshot_of(&[("a/a", Some(completion), 0)]), "GET /").await;
        let row = page.split("<bdi class=\"name\">").nth(1).unwrap().split("</tr>").next().unwrap();
        assert!(row.contains(&format!(">{told}<")), "{completion}: {row}");
    }
}

#[tokio::test]
async fn before_anything_is_known_the_page_says_so() {
    let mut fixture = Fixture::new();
    fixture.unpublish();
    let response = fixture.ask("GET /").await;
    assert!(body(response).await.contains("The exporter has just started"));
}

#[tokio::test]
async fn the_page_is_compressed_where_that_is_accepted() {
    let response = Fixture::new().ask_with("GET /", &[("accept-encoding", "gzip")]).await;
    assert_eq!(response.headers()["content-encoding"], "gzip");
    let bytes = axum::body::to_bytes(response.into_body(), usize::MAX).await.unwrap();
    let mut page = String::new();
    std::io::Read::read_to_string(&mut flate2::read::GzDecoder::new(&bytes[..]), &mut page).unwrap();
    assert!(page.starts_with("<!DOCTYPE html>"));
}
