use crate::{
    diagnosis,
    domain::{
        Defect, Failure, Operation, PollFailure, Reason, Repository, RepositoryId, Stop,
        TranslationProblem,
        polling::{PollOutcome, PollStatus},
        readiness::rows,
        record::{Languages, Record},
        snapshot::{Condition, Shown, Snapshot},
        targets::{Targets, tests::entry},
    },
    metrics::instruments::Facts,
    support::{clock::Timestamp, escape::is_unprintable},
};
use crate::{
    report::html::{
        data::View,
        grid::{Grid, MOST_LANGUAGES, ROWS},
        query::Query,
    },
    testing,
    web::{
        page::render,
        testing::{Fixture, NOW, body},
    },
};
use axum::response::Response;
use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
        mpsc,
    },
    time::Duration,
};

fn days_ago(days: i64) -> Timestamp {
    Timestamp::from_millis(NOW.as_millis() - days * 86_400_000)
}

/// A language with its completion in per cent and the days since its last progress.
fn record(code: &str, completion: impl Into<Option<f64>>, days: i64) -> Record {
    let name = format!("Name of {code}");
    testing::record_of(code, &name, completion.into(), days_ago(days))
}

fn fresh(records: Vec<Record>) -> Condition {
    Condition::Fresh(Arc::new(Languages {
        read_at: NOW,
        records: records.into(),
    }))
}

fn shown(id: u64, name: &str, condition: Condition) -> Shown {
    let id = RepositoryId::new(id).unwrap();
    let repository = Repository {
        id,
        name: name.into(),
        private: Some(false),
        created_at: None,
    };
    Shown {
        repository: Arc::new(repository),
        condition,
    }
}

fn snapshot(repositories: Vec<Shown>) -> Snapshot {
    Snapshot {
        taken_at: NOW,
        repositories,
        filtered: 0,
        unnamed: 0,
        unconfirmed: 0,
        completion_scale: 100.0,
        ..Snapshot::default()
    }
}

/// Builds a snapshot of names, each with the completion and the days of its one language.
fn snapshot_of(repositories: &[(&str, Option<f64>, i64)]) -> Snapshot {
    let repositories = repositories.iter().zip(1..);
    let shown = repositories.map(|((name, completion, days), id)| {
        shown(id, name, fresh(vec![record("de", *completion, *days)]))
    });
    snapshot(shown.collect())
}

fn grid_of<'a>(snapshot: &'a Snapshot, uri: &'static str) -> Grid<'a> {
    Grid::new(
        rows(snapshot, None),
        &Query::of(uri.split_once('?').map_or("", |(_, text)| text)),
        ROWS,
    )
}

fn names(snapshot: &Snapshot, uri: &'static str) -> Vec<String> {
    let grid = grid_of(snapshot, uri);
    grid.rows
        .iter()
        .map(|row| row.shown.repository.name.to_string())
        .collect()
}

#[test]
fn rows_are_sorted_by_the_query_and_unknown_values_come_last() {
    let snapshot = snapshot_of(&[
        ("a/a", Some(50.0), 1),
        ("a/b", None, 0),
        ("a/c", Some(10.0), 9),
        ("a/d", Some(90.0), 3),
    ]);
    assert_eq!(names(&snapshot, "/"), ["a/c", "a/a", "a/d", "a/b"]);
    assert_eq!(
        names(&snapshot, "/?sort=-completion"),
        ["a/d", "a/a", "a/c", "a/b"]
    );
    assert_eq!(
        names(&snapshot, "/?sort=progress"),
        ["a/c", "a/d", "a/a", "a/b"]
    );
    assert_eq!(
        names(&snapshot, "/?sort=-progress"),
        ["a/a", "a/d", "a/c", "a/b"]
    );
    assert_eq!(
        names(&snapshot, "/?sort=name"),
        ["a/a", "a/b", "a/c", "a/d"]
    );
    assert_eq!(
        names(&snapshot, "/?sort=-name"),
        ["a/d", "a/c", "a/b", "a/a"]
    );
}

#[test]
fn a_repository_with_unknown_translations_comes_before_ready_ones() {
    let known = record("de", 100.0, 0);
    let partly_known = fresh(vec![known.clone(), record("fr", None, 0)]);
    let snapshot = snapshot(vec![
        shown(1, "a/all", fresh(vec![known])),
        shown(2, "a/part", partly_known),
    ]);
    assert_eq!(names(&snapshot, "/"), ["a/part", "a/all"]);
    assert_eq!(names(&snapshot, "/?sort=-behind"), ["a/all", "a/part"]);
}

#[test]
fn a_search_finds_parts_of_names_in_any_case() {
    let snapshot = snapshot_of(&[
        ("Acme/Docs", Some(1.0), 0),
        ("acme/web", Some(2.0), 0),
        ("other/docs", Some(3.0), 0),
    ]);
    assert_eq!(names(&snapshot, "/?q=DOCS"), ["Acme/Docs", "other/docs"]);
    assert_eq!(names(&snapshot, "/?q=+acme%2F+"), ["Acme/Docs", "acme/web"]);
    assert!(names(&snapshot, "/?q=.*").is_empty());
}

#[test]
fn a_page_has_200_rows_and_one_beyond_the_last_is_the_last() {
    let names_of_rows: Vec<String> = (0..401).map(|number| format!("a/{number:03}")).collect();
    let rows: Vec<_> = names_of_rows
        .iter()
        .map(|name| (name.as_str(), Some(1.0), 0))
        .collect();
    let snapshot = snapshot_of(&rows);
    assert_eq!(names(&snapshot, "/?sort=name").len(), 200);
    assert_eq!(names(&snapshot, "/?sort=name&page=2")[0], "a/200");
    for beyond in [
        "/?sort=name&page=3",
        "/?sort=name&page=4",
        "/?sort=name&page=18446744073709551615",
    ] {
        assert_eq!(names(&snapshot, beyond), ["a/400"]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_page_of_100_000_repositories_is_as_large_as_one_of_1000() {
    let size = async |repositories| {
        let shown = |id| shown(id, &format!("a/{id:06}"), fresh(vec![record("de", 1.0, 0)]));
        let snapshot = snapshot((1..=repositories).map(shown).collect());
        body(get_after(snapshot, outcome(), "/", &[]).await)
            .await
            .len()
    };
    let (small, large) = (size(1000).await, size(100_000).await);
    assert!(large < small + small / 100, "{small} and {large} bytes");
}

#[test]
fn the_rarest_languages_are_left_out_where_there_are_too_many() {
    let codes: Vec<String> = (0..=MOST_LANGUAGES)
        .map(|number| format!("l{number:02}"))
        .collect();
    let all = codes.iter().map(|code| record(code, 1.0, 0)).collect();
    let most = codes
        .iter()
        .skip(1)
        .map(|code| record(code, 3.0, 0))
        .collect();
    let few = vec![shown(1, "a/a", fresh(all)), shown(2, "a/b", fresh(most))];
    let empty = |id| shown(id, &format!("b/{id}"), fresh(Vec::new()));
    let snapshot = snapshot(few.into_iter().chain((3..30).map(empty)).collect());
    let searched = grid_of(&snapshot, "/?q=a/");
    assert_eq!(
        (searched.left_out, searched.languages.len()),
        (0, MOST_LANGUAGES + 1)
    );
    let grid = grid_of(&snapshot, "/");
    assert_eq!((grid.left_out, grid.languages.len()), (1, MOST_LANGUAGES));
    assert_eq!(
        (grid.languages[0].0, grid.languages[0].1.mean.get()),
        ("l01", Some(0.02))
    );
}

#[test]
fn an_incomplete_translation_without_progress_for_7_days_is_stalled() {
    let records = vec![
        record("a", 99.9, 7),
        record("b", 99.9, 6),
        record("c", 100.0, 30),
        record("d", None, 0),
    ];
    let snapshot = snapshot(vec![shown(1, "a/a", fresh(records))]);
    assert_eq!(
        grid_of(&snapshot, "/").rows[0]
            .totals
            .count(TranslationProblem::Stalled),
        1
    );
}

fn failure(what: &str, days: i64) -> Failure {
    Failure::new(what, "fix it", days_ago(days))
}

fn read_failure(failure: Failure, reason: Reason) -> Failure {
    Failure {
        reason: Some(reason),
        ..failure
    }
}

fn outcome() -> PollOutcome {
    PollOutcome {
        ended_at: NOW,
        duration: Duration::from_secs(2),
        listing_failure: None,
        stop: None,
        read: 1,
        failed: 0,
        unreached: 0,
        postponed: 0,
    }
}

fn failing(id: u64, what: &str, days: i64) -> Shown {
    let languages = Arc::new(Languages {
        read_at: NOW,
        records: Arc::new([]),
    });
    let failure = failure(what, days);
    let failure = read_failure(failure, Reason::ServerError);
    shown(
        id,
        &format!("a/{id}"),
        Condition::Failing(languages, failure),
    )
}

/// Returns the items that need attention: one text per item, one line per paragraph.
async fn attention(snapshot: Snapshot, outcome: PollOutcome) -> Vec<String> {
    let page = body(get_after(snapshot, outcome, "/", &[]).await).await;
    let (_, list) = page.split_once("<ul class=\"attention\">").unwrap();
    let list = list.replace("<summary>Details, for whoever runs it</summary>", "");
    let items = list
        .split_once("</ul>")
        .unwrap()
        .0
        .split("<li class=")
        .skip(1);
    let text = |part: &str| {
        let tags = part.split('<').filter_map(|tag| tag.split_once('>'));
        let text: String = tags.map(|(_, text)| text).collect();
        text.trim().to_owned()
    };
    items
        .map(|item| {
            item.split_inclusive("</p>")
                .map(text)
                .collect::<Vec<String>>()
                .join("\n")
                .trim()
                .to_owned()
        })
        .collect()
}

#[tokio::test(start_paused = true)]
async fn repositories_that_fail_for_one_reason_are_one_item_with_the_oldest() {
    let snapshot = snapshot(
        (1..=7)
            .map(|id| failing(id, &format!("GET {id}"), i64::try_from(id).unwrap()))
            .collect(),
    );
    assert_eq!(
        attention(snapshot, outcome()).await,
        ["7 of 7 repositories cannot be read (for 7 d)\n\
             a/1, a/2, a/3, a/4, a/5 and 2 more (for 7 d)\nSuch as: GET 7\nfix it"]
    );
}

#[tokio::test(start_paused = true)]
async fn an_outage_is_one_item_for_any_number_of_repositories() {
    let snapshot = snapshot(
        (1..=10)
            .map(|id| {
                let failure = failure(&format!("GET {id}: 503"), 1);
                let failure = read_failure(failure, Reason::ServerError);
                let languages = fresh(Vec::new()).languages().cloned().unwrap();
                shown(
                    id,
                    &format!("a/{id}"),
                    Condition::Failing(languages, failure),
                )
            })
            .collect(),
    );
    let failure = failure("GET /v1/repositories: 503", 1);
    let outcome = PollOutcome {
        listing_failure: Some(failure.clone()),
        stop: Some(Stop {
            reason: PollFailure::Unavailable,
            failure,
        }),
        read: 0,
        ..outcome()
    };
    assert_eq!(
        attention(snapshot, outcome).await,
        [
            "The API is unavailable; the data shown are from earlier polls (for 1 d)\n\
          GET /v1/repositories: 503\nfix it"
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn an_outage_of_days_says_of_each_row_that_its_data_are_too_old() {
    let stale = |id| {
        let condition = testing::stale(days_ago(2), None);
        shown(id, &format!("a/{id}"), condition)
    };
    let failure = failure("GET /v1/repositories: Connection refused", 2);
    let outage = PollOutcome {
        stop: Some(Stop {
            reason: PollFailure::Unavailable,
            failure,
        }),
        read: 0,
        ..outcome()
    };
    let snapshot = snapshot((1..=5).map(stale).collect());
    let page = body(get_after(snapshot, outage, "/", &[]).await).await;
    let words = text(&page);
    for expected in [
        "\u{2717} Unknown: the last data are too old to show",
        "0 with data 5 too old to show",
        "If this lasts, ask whoever runs this page. The API is unavailable",
    ] {
        assert!(words.contains(expected), "{expected}: {words}");
    }
    assert_eq!(words.matches("no data: last read 2 d ago").count(), 5);
    let (_, folded) = page.split_once("<details>").unwrap();
    assert!(folded.contains("Connection refused"), "{folded}");
}

#[tokio::test(start_paused = true)]
async fn a_page_reloads_every_minute_on_request_only() {
    for (uri, refresh) in [
        ("/", None),
        ("/?refresh=60", None),
        ("/?refresh=1", Some("60")),
        ("/?sort=name&q=a&refresh=1", Some("60")),
    ] {
        let response = get(snapshot_of(&[("a/a", Some(50.0), 0)]), uri, &[]).await;
        let header = response.headers().get("refresh");
        assert_eq!(
            header.map(|value| value.to_str().unwrap()),
            refresh,
            "{uri}"
        );
        let page = body(response).await;
        assert!(!page.contains("http-equiv"));
        assert!(!page.contains("refresh=1"), "no link carries it on: {page}");
    }
}

/// One repository with a language at 100, another with nine at 0, and one that was never read.
fn uneven() -> Snapshot {
    let nine = ["b", "c", "d", "e", "f", "g", "h", "i", "j"].map(|code| record(code, 0.0, 0));
    snapshot(vec![
        shown(1, "a/one", fresh(vec![record("a", 100.0, 0)])),
        shown(2, "a/nine", fresh(nine.into())),
        shown(3, "a/unread", Condition::Pending(None)),
    ])
}

#[tokio::test(start_paused = true)]
async fn each_mean_is_over_languages_and_states_its_repositories() {
    let page = page_of(uneven(), "/").await;
    assert!(page.contains("10 % translated on average"), "{page}");
    let mean = "Mean of the 2 read 1/10 10";
    assert!(text(&page).contains(mean), "{page}");
}

#[tokio::test]
async fn no_page_is_made_for_a_client_that_has_left_the_queue() {
    let (go, wait) = mpsc::channel::<()>();
    let wait = Arc::new(Mutex::new(wait));
    // All threads are busy.
    let busy = [(); 2].map(|()| {
        let wait = Arc::clone(&wait);
        tokio::spawn(render(move || wait.lock().unwrap().recv()))
    });
    let made = Arc::new(AtomicBool::new(false));
    let client = {
        let made = Arc::clone(&made);
        tokio::spawn(render(move || made.store(true, Ordering::Relaxed)))
    };
    tokio::task::yield_now().await;
    client.abort();
    assert!(client.await.unwrap_err().is_cancelled());
    drop(go);
    for one in busy {
        assert!(one.await.unwrap().unwrap().is_err());
    }
    render(|| ()).await.unwrap();
    assert!(!made.load(Ordering::Relaxed));
}

/// Returns the response after a poll that read everything published `snapshot`.
async fn get(snapshot: Snapshot, uri: &'static str, headers: &[(&str, &str)]) -> Response {
    get_after(snapshot, outcome(), uri, headers).await
}

async fn get_after(
    snapshot: Snapshot,
    outcome: PollOutcome,
    uri: &'static str,
    headers: &[(&str, &str)],
) -> Response {
    let mut fixture = Fixture::new();
    fixture.snapshot = snapshot;
    fixture.publish(|status| status.last = Some(outcome));
    let response = fixture.ask_with(&format!("GET {uri}"), headers).await;
    assert_eq!(response.status(), 200);
    response
}

async fn page_of(snapshot: Snapshot, uri: &'static str) -> String {
    body(get(snapshot, uri, &[]).await).await
}

#[tokio::test(start_paused = true)]
async fn a_search_is_shown_as_text_and_the_policy_admits_nothing_else() {
    let response = get(snapshot_of(&[("a/a", None, 0)]), "/?q=%22%3E%3Cb%3E", &[]).await;
    let policy = response.headers()["content-security-policy"]
        .to_str()
        .unwrap()
        .to_owned();
    let page = body(response).await;
    assert!(page.contains("value=\"&#34;&#62;&#60;b&#62;\""));
    assert!(!page.contains("\"><b>") && !page.contains("style=") && !page.contains("<script"));
    assert!(
        policy.starts_with("default-src 'none'; style-src 'sha256-") && !policy.contains("unsafe"),
        "{policy}"
    );
}

#[tokio::test(start_paused = true)]
async fn names_of_repositories_and_languages_cannot_break_out() {
    let evil = "\"><img src=x onerror=alert(1)><script>";
    let record = testing::record_of(evil, evil, Some(50.0), NOW);
    let page = page_of(snapshot(vec![shown(1, evil, fresh(vec![record]))]), "/").await;
    assert!(page.contains("&#34;&#62;&#60;img src=x onerror=alert(1)&#62;&#60;script&#62;"));
    assert!(!page.contains("<img") && !page.contains("<script"));
}

#[tokio::test(start_paused = true)]
async fn a_cell_is_rounded_down_and_stays_short() {
    let cells = [
        (29.0, "29"),
        (57.99, "57"),
        (99.99, "99"),
        (100.0, "100"),
        (150.0, "150"),
        (1e308, "&#62;999"),
        (-5.0, "&#60;0"),
        (0.0, "0"),
        (-0.0, "0"),
    ];
    for (completion, text) in cells {
        let page = page_of(snapshot_of(&[("a/a", Some(completion), 0)]), "/").await;
        let row = page
            .split("<bdi class=\"name\">")
            .nth(1)
            .unwrap()
            .split("</tr>")
            .next()
            .unwrap();
        assert!(
            row.contains(&format!("tabindex=\"-1\">{text}</a>")),
            "{completion}: {row}"
        );
    }
}

/// Two repositories with three languages and dates: one missed, one near, one met.
fn with_targets() -> Snapshot {
    let shop = vec![
        record("de", 95.0, 0),
        record("fr", 71.25, 8),
        record("ja", 80.0, 0),
    ];
    let docs = vec![record("de", 40.0, 0), record("fr", None, 0)];
    let day = |days: i64| days_ago(-days).to_string();
    Snapshot {
        targets: Arc::new(Targets(vec![
            entry(&["acme/shop"], &["de"], 0.95, &day(30)),
            entry(&["acme/shop"], &["fr"], 0.9, &day(-3)),
            entry(&["acme/shop"], &["ja"], 0.9, &day(5)),
            entry(&["acme/docs"], &["fr"], 0.0, ""),
        ])),
        ..snapshot(vec![
            shown(1, "acme/shop", fresh(shop)),
            shown(2, "acme/docs", fresh(docs)),
        ])
    }
}

#[tokio::test(start_paused = true)]
async fn the_page_leads_with_what_is_ready_and_what_is_due() {
    let page = page_of(with_targets(), "/").await;
    let text = text(&page);
    for words in [
        "\u{2717} Not ready to ship: 1 of 5 translations is overdue",
        "2 of 5 ready",
        "1 overdue",
        "1 due next by 2026-11-28 00:00 UTC , 5 days left",
        "1 stalled",
        "3 days overdue 0 of 1 ready acme/ shop fr 71",
        "5 days left, at risk 0 of 1 ready acme/ shop ja 80",
        "1 at risk",
        "ready, 30 days left 1 of 1 ready",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
    for tile in [
        "class=\"h10 ready\" data-code=\"de\"",
        "class=\"h8 stalled missed\" data-code=\"fr\"",
        "class=\"h9 risk\" data-code=\"ja\"",
        "class=\"rests resting\" data-code=\"fr\"",
    ] {
        assert!(page.contains(tile), "{tile}: {page}");
    }
    let (lead, rest) = page.split_once("What is due").unwrap();
    assert!(!lead.contains("id=\"state\"") && rest.contains("id=\"state\""));
    assert_eq!(page.matches("class=\"card due\"").count(), 1);
    let without = page_of(uneven(), "/").await;
    assert!(
        !without.contains("What is due"),
        "without dates there is no list of them"
    );
}

#[tokio::test(start_paused = true)]
async fn a_repository_without_languages_delays_no_answer() {
    let page = page_of(
        snapshot(vec![
            shown(1, "acme/shop", fresh(vec![record("de", 100.0, 0)])),
            shown(2, "acme/empty", fresh(Vec::new())),
        ]),
        "/",
    );
    let text = text(&page.await);
    assert!(
        text.contains("Ready to ship: 1 of 1 translation ready"),
        "{text}"
    );
}

#[tokio::test(start_paused = true)]
async fn one_language_is_shown_in_all_repositories_furthest_behind_first() {
    let page = page_of(with_targets(), "/?language=de").await;
    let (_, table) = page.split_once("<tbody>").unwrap();
    let table = text(table.split_once("</tbody>").unwrap().0);
    assert_eq!(
        table,
        "acme/ docs 40 100 % just now \
         acme/ shop 95 ready 95 % 2026-12-23 00:00 UTC ready, 30 days left just now"
    );
    assert!(text(&page).contains("1 of 2 translations ready"));
    assert!(!page.contains("data-code=\"fr\"") && !page.contains("71 %"));
    assert!(page.contains("<h1>Name of de (de)</h1>"));
    assert!(page.contains("<a href=\"?\">All languages</a>"));
    let nothing = text(&page_of(with_targets(), "/?language=%3Cb%3E").await);
    assert!(
        nothing.contains("No repository has the language \u{201c} &#60;b&#62; \u{201d}"),
        "{nothing}"
    );
}

#[tokio::test(start_paused = true)]
async fn every_code_leads_to_its_language() {
    let page = page_of(with_targets(), "/").await;
    let links = |code: &str| {
        let link = format!("\"?language={code}\"");
        page.matches(&link).count()
    };
    // The heading, the mean and each tile link to a language; so do the dates of fr and ja and the
    // stalled tile of fr.
    assert_eq!((links("de"), links("fr"), links("ja")), (4, 6, 4));
}

/// Returns the readable text of a page.
fn text(html: &str) -> String {
    let html = html.split_once("<body>").map_or(html, |(_, body)| body);
    let parts = html.split('<').filter_map(|tag| tag.split_once('>'));
    let words: Vec<_> = parts
        .flat_map(|(_, text)| text.split_whitespace())
        .collect();
    words.join(" ").replace(" :", ":").replace("&nbsp;", " ")
}

#[tokio::test(start_paused = true)]
async fn the_page_is_compressed_for_clients_that_accept_it() {
    let response = get(snapshot_of(&[]), "/", &[("accept-encoding", "gzip")]).await;
    assert_eq!(response.headers()["content-encoding"], "gzip");
    let bytes = axum::body::to_bytes(response.into_body(), usize::MAX)
        .await
        .unwrap();
    let mut page = String::new();
    std::io::Read::read_to_string(&mut flate2::read::GzDecoder::new(&bytes[..]), &mut page)
        .unwrap();
    assert!(page.starts_with("<!DOCTYPE html>"));
}

#[tokio::test(start_paused = true)]
async fn invisible_characters_of_names_are_escaped() {
    let mut snapshot = snapshot_of(&[("own/\u{202e}gnp\u{1b}[31m", Some(50.0), 0)]);
    snapshot
        .repositories
        .push(shown(2, "own/b", fresh(vec![record("x\u{9b}y", 1.0, 0)])));
    for uri in ["/", "/?language=x%C2%9By"] {
        let page = page_of(snapshot.clone(), uri).await;
        let raw = page.chars().find(|c| *c != '\n' && is_unprintable(*c));
        assert_eq!(raw, None, "{uri}");
        assert!(page.contains("x\\u009by"), "{uri}: {page}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_target_is_shown_as_configured_and_a_date_once() {
    let records = ["a", "b", "c", "d", "e"].map(|code| record(code, 99.4, 1));
    let snapshot = Snapshot {
        targets: Arc::new(Targets(vec![entry(&[], &[], 0.995, "2999-12-31")])),
        ..snapshot(vec![shown(1, "acme/shop", fresh(records.into()))])
    };
    let page = page_of(snapshot, "/").await;
    let text = text(&page);
    assert_eq!(
        page.matches("target 99.5 %, last progress 1 d ago\"")
            .count(),
        5
    );
    assert_eq!(
        text.matches("2999-12-31").count(),
        2,
        "in the figures and the list: {text}"
    );
    assert!(
        text.contains("0 of 5 ready acme/ shop a 99 b 99 c 99 d 99 e 99"),
        "{text}"
    );
}

/// Returns a snapshot of two repositories, one of them behind and three days overdue.
fn overdue() -> Snapshot {
    let mut snapshot = snapshot_of(&[("a/a", Some(50.0), 1), ("a/b", Some(100.0), 1)]);
    let due = days_ago(3).to_string();
    snapshot.targets = Arc::new(Targets(vec![entry(&[], &[], 1.0, &due)]));
    snapshot
}

/// Returns the outcome of a poll whose key was refused.
fn refused() -> PollOutcome {
    PollOutcome {
        stop: Some(Stop {
            reason: PollFailure::Unauthorized,
            failure: failure("401", 1),
        }),
        ..outcome()
    }
}

/// Returns data and polls, each with the mark and the first sentence of its page.
fn answers() -> [(Snapshot, PollOutcome, char, &'static str); 9] {
    let ready = || snapshot_of(&[("a/a", Some(100.0), 1)]);
    let unknown = snapshot_of(&[("a/a", None, 1)]);
    let stalled = snapshot_of(&[("a/a", Some(50.0), 9)]);
    let empty = snapshot(Vec::new());
    let mut unread = ready();
    let other = shown(2, "a/b", Condition::Pending(None));
    unread.repositories.push(other);
    let mut filtered = snapshot(Vec::new());
    filtered.filtered = 2;
    let sentences = [
        "Ready to ship: 1 of 1 translation ready",
        "Not known now: when last read, 1 of 1 translation was ready",
        "Not ready to ship: 1 of 2 translations is overdue",
        "Unknown: the API reports no completion",
        "Not known yet: 1 of 1 translation ready, 1 repository not read",
        "Not ready to ship yet: 0 of 1 translation ready",
        "Nothing to ship: the account has no repositories",
        "Nothing to ship: the filters leave out every repository",
        "Unknown: the API refuses the key",
    ];
    let [
        well,
        last,
        late,
        none,
        partial,
        behind,
        nothing,
        left_out,
        unlisted,
    ] = sentences;
    [
        (ready(), outcome(), '\u{2713}', well),
        (ready(), refused(), '\u{2717}', last),
        (overdue(), outcome(), '\u{2717}', late),
        (unknown, outcome(), '!', none),
        (unread, outcome(), '\u{25cb}', partial),
        (stalled, outcome(), '!', behind),
        (empty.clone(), outcome(), '!', nothing),
        (filtered, outcome(), '!', left_out),
        (empty, refused(), '\u{2717}', unlisted),
    ]
}

#[tokio::test(start_paused = true)]
async fn the_first_sentence_answers_and_its_mark_is_the_worse_of_both() {
    for (snapshot, outcome, mark, sentence) in answers() {
        let page = body(get_after(snapshot, outcome, "/", &[]).await).await;
        assert!(
            page.contains(&format!("<title>{mark} ")),
            "{mark}: {sentence}"
        );
        let words = text(page.split_once("</header>").unwrap().1);
        assert!(
            words.starts_with(&format!("{mark} {sentence}")),
            "{words:.200}"
        );
    }
}

/// Returns the words of a page after its header.
async fn words_of(fixture: &Fixture, uri: &str) -> String {
    let page = body(fixture.ask(&format!("GET {uri}")).await).await;
    text(page.split_once("</header>").unwrap().1)
}

#[test]
fn problems_that_cost_no_completion_leave_the_headline_alone() {
    let snapshot = snapshot_of(&[("a/a", Some(100.0), 1)]);
    let status = PollStatus {
        last: Some(outcome()),
        defects: [(Operation::ListRepositories, Defect::CreatedAt)].into(),
        ..testing::status()
    };
    let view = View {
        now: NOW,
        started_at: None,
        telemetry_path: Some("/metrics"),
        snapshot: &snapshot,
        status: &status,
        findings: &diagnosis::findings(&snapshot, &status, &Facts::default(), NOW),
    };
    let page = view.render(&Query::default()).unwrap();
    let words = text(page.split_once("</header>").unwrap().1);
    let answer = "\u{2713} Ready to ship: 1 of 1 translation ready Everything was read just now";
    assert!(words.starts_with(answer), "{words:.300}");
    assert!(
        words.contains("but no completion is missing Details, for whoever runs it created_at ("),
        "{words}"
    );
}

#[tokio::test(start_paused = true)]
async fn nothing_is_claimed_before_the_end_of_the_first_poll() {
    let mut fixture = Fixture::new();
    fixture.publish(|_| {});
    let words = words_of(&fixture, "/").await;
    let answer = "\u{25cb} Not known yet: nothing has been read so far";
    assert!(words.starts_with(answer), "{words:.300}");
    let ready = fresh(vec![record("de", 100.0, 1)]).languages().cloned();
    let restored = shown(1, "a/a", Condition::Restored(ready.unwrap()));
    fixture.show(snapshot(vec![restored]));
    let words = words_of(&fixture, "/").await;
    let answer = "\u{25cb} Not known now: when last read, 1 of 1 translation was ready";
    assert!(words.starts_with(answer), "{words:.300}");
}

#[tokio::test(start_paused = true)]
async fn a_restart_within_an_outage_stands_beside_the_last_full_poll() {
    for (read_at, expected) in [
        (None, "Last full poll not yet the exporter started just now"),
        (
            Some(1),
            "Last full poll 1 d ago the exporter started just now",
        ),
        (Some(0), "Last full poll just now Repositories"),
    ] {
        let mut fixture = Fixture::new();
        fixture.publish(|status| status.last_success_at = read_at.map(days_ago));
        let words = words_of(&fixture, "/").await;
        assert!(words.contains(expected), "{expected}: {words}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_mean_beside_unknown_completions_says_of_how_many_it_is() {
    let records = vec![record("de", 50.0, 6), record("fr", None, 0)];
    let page = page_of(snapshot(vec![shown(1, "a/a", fresh(records))]), "/").await;
    let mean = "0 of 2 ready 50 % translated on average among the 1 known";
    assert!(text(&page).contains(mean), "{}", text(&page));
}

#[tokio::test(start_paused = true)]
async fn an_outage_shows_its_cause_before_dates_and_stalls() {
    for (outcome, is_first) in [(refused(), true), (outcome(), false)] {
        let stalled = snapshot_of(&[("a/a", Some(50.0), 9)]);
        let page = body(get_after(stalled, outcome, "/", &[]).await).await;
        let position = |id| page.find(&format!("<h2 id=\"{id}\"")).unwrap();
        assert_eq!(position("state") < position("stalled"), is_first);
    }
}

#[tokio::test(start_paused = true)]
async fn a_language_that_nobody_has_is_not_nothing_to_ship() {
    let read = snapshot_of(&[("a/a", Some(100.0), 1)]);
    let words = text(&page_of(read.clone(), "/?language=xx").await);
    assert!(
        words.contains("No repository has the language “xx” Everything was read"),
        "{words}"
    );
    let mut unread = read;
    unread
        .repositories
        .push(shown(2, "a/b", Condition::Pending(None)));
    let words = text(&page_of(unread, "/?language=xx").await);
    let unknown = "Not known yet: no repository read so far has the language “xx”";
    assert!(words.contains(unknown), "{words}");
}

#[tokio::test(start_paused = true)]
async fn unknown_figures_say_so_and_a_note_is_nothing_wrong() {
    let mut fixture = Fixture::new();
    fixture.snapshot = snapshot_of(&[("a/a", Some(50.0), 2)]);
    fixture.publish(|status| {
        status.last = Some(outcome());
        status.last_success_at = Some(NOW);
        status.slowed_to = Some(1.0);
    });
    let page = text(&body(fixture.ask("GET /").await).await);
    for words in [
        "0 due no dates are set",
        "? stalled too early to tell, known in 5 days",
        "Worth knowing The API limits the rate",
    ] {
        assert!(page.contains(words), "{words}: {page}");
    }
}

#[tokio::test(start_paused = true)]
async fn stalled_is_unknown_until_a_clock_is_old_enough() {
    let young = || vec![record("de", 50.0, 6), record("fr", None, 0)];
    let page = page_of(snapshot(vec![shown(1, "a/a", fresh(young()))]), "/").await;
    let words = text(&page);
    assert!(
        words.contains("? stalled too early to tell, known in 1 day"),
        "{words}"
    );
    let mut records = young();
    records.push(record("it", 100.0, 7));
    let page = page_of(snapshot(vec![shown(1, "a/a", fresh(records))]), "/").await;
    let words = text(&page);
    assert!(
        words.contains("0 stalled of those with a completion"),
        "{words}"
    );
    let old = vec![record("de", 50.0, 6), record("it", 100.0, 7)];
    let words = text(&page_of(snapshot(vec![shown(1, "a/a", fresh(old))]), "/").await);
    let every = "0 stalled every unfinished translation moved within 7 days";
    assert!(words.contains(every), "{words}");
}

#[tokio::test(start_paused = true)]
async fn a_mean_beside_unknown_completions_is_not_coloured_as_ready() {
    let records = vec![record("de", 100.0, 1), record("fr", None, 0)];
    let page = page_of(snapshot(vec![shown(1, "a/a", fresh(records))]), "/").await;
    let mean = "class=\"unknown\" data-code=\"Mean\"";
    assert!(page.contains(mean), "{page}");
}

#[tokio::test(start_paused = true)]
async fn a_long_table_folds_ready_and_near_tiles_in_narrow_windows() {
    let records = || (0..14).map(|n| record(&format!("l{n:02}"), f64::from(n) * 8.0, 1));
    let of = |id| shown(id, &format!("a/{id}"), fresh(records().collect()));
    let page = page_of(snapshot((1..=30).map(of).collect()), "/").await;
    let (_, row) = page
        .split_once("<bdi class=\"name\">a/<wbr>1</bdi>")
        .unwrap();
    let (row, _) = row.split_once("</tr>").unwrap();
    assert_eq!(row.matches(" folded\"").count(), 4, "{row}");
    assert!(
        row.contains("href=\"?q=a%2F1#repositories\" tabindex=\"-1\">+4</a>"),
        "{row}"
    );
    let few = page_of(snapshot((1..=3).map(of).collect()), "/").await;
    assert!(!few.contains(" folded\"") && !few.contains("class=\"rest\""));
}

#[tokio::test(start_paused = true)]
async fn stalled_translations_are_listed_and_can_be_selected() {
    let slow = snapshot_of(&[("a/slow", Some(50.0), 9), ("a/quick", Some(50.0), 1)]);
    let page = page_of(slow.clone(), "/").await;
    assert!(
        !page.contains("Show all 1 stalled"),
        "it is the one that is listed"
    );
    let only = page_of(slow, "/?stalled=1").await;
    let (_, table) = only.split_once("<tbody>").unwrap();
    assert!(table.contains("slow") && !table.contains("quick"));
    for (count, more) in [(12, None), (14, Some("and 2"))] {
        let codes: Vec<_> = (10..10 + count)
            .map(|number| format!("l{number}"))
            .collect();
        let records = codes.iter().map(|code| record(code, 50.0, 9)).collect();
        let page = page_of(snapshot(vec![shown(1, "a/many", fresh(records))]), "/").await;
        let details = page.split("<span class=\"detail\">");
        let mut details = details.filter_map(|text| text.split_once(" more</span>"));
        assert_eq!(details.next().map(|(text, _)| text), more);
        let link = "href=\"?stalled=1#repositories\">Show all 14 stalled translations</a>";
        assert_eq!(page.contains(link), more.is_some());
    }
}

#[test]
fn a_file_has_all_rows_and_nothing_that_needs_a_server() {
    use crate::report::html::page;
    let names: Vec<_> = (0..300).map(|number| format!("a/{number:03}")).collect();
    let repositories: Vec<_> = names.iter().map(|name| (&**name, Some(50.0), 9)).collect();
    let mut snapshot = snapshot_of(&repositories);
    let status = PollStatus {
        last: Some(outcome()),
        last_success_at: Some(NOW),
        ..testing::status()
    };
    let file = page(&snapshot, &status, &[]).unwrap();
    assert_eq!(
        file.matches("<th scope=\"row\">").count(),
        301,
        "with the means"
    );
    assert!(!file.contains("<form") && !file.contains("href=\"?") && !file.contains("href=\"-/"));
    snapshot.links = Arc::new(crate::domain::links::Links {
        repository: None,
        language: crate::domain::links::Template::of_language(
            "https://t.example/{name}/{language}",
        )
        .ok(),
    });
    let linked = page(&snapshot, &status, &[]).unwrap();
    assert!(linked.contains("href=\"https://t.example/007/de\" rel=\"noopener noreferrer\""));
}

mod situations;
