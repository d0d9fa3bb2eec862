use crate::support::parsed::Parsed;
use crate::testing::{Condition, Shown, Snapshot};
use crate::{
    domain::{
        Failure,
        links::Links,
        polling::PollOutcome,
        record::{Languages, Record},
        targets::{Targets, tests::entry},
    },
    report::{Report, a_week_ago, html},
    support::clock::Timestamp,
    testing,
    web::{
        page::render,
        testing::{Fixture, NOW, body},
    },
};
use std::sync::{
    Arc, Mutex,
    atomic::{AtomicBool, Ordering},
    mpsc,
};

fn days_ago(days: i64) -> Timestamp {
    Timestamp::from_millis(NOW.as_millis() - days * 86_400_000)
}

/// A language with its completion in per cent and the days since its last progress.
fn record(code: &str, completion: impl Into<Option<f64>>, days: i64) -> Record {
    let name = format!("Name of {code}");
    testing::record_of(code, &name, completion.into(), days_ago(days))
}

fn languages(records: Vec<Record>) -> Languages {
    Languages {
        read_at: NOW,
        records: records.into(),
    }
}

fn shown(id: u64, name: &str, condition: Condition) -> Shown {
    testing::in_condition(testing::repository(id, name), condition)
}

fn read(id: u64, name: &str, records: Vec<Record>) -> Shown {
    shown(id, name, Condition::Fresh(languages(records)))
}

fn snapshot(repositories: Vec<Shown>) -> Snapshot {
    Snapshot {
        taken_at: NOW,
        ..testing::snapshot(repositories)
    }
}

/// Builds a snapshot of names, each with the completion and the days of its one language.
fn snapshot_of(repositories: &[(&str, Option<f64>, i64)]) -> Snapshot {
    let repositories = repositories.iter().zip(1..);
    let read = repositories.map(|((name, completion, days), id)| {
        read(id, name, vec![record("de", *completion, *days)])
    });
    snapshot(read.collect())
}

fn outcome() -> PollOutcome {
    PollOutcome {
        ended_at: NOW,
        ..testing::poll(0)
    }
}

/// Returns the page after a poll that read everything published the snapshot.
async fn page_of(snapshot: &Snapshot, uri: &str) -> String {
    let mut fixture = Fixture::new();
    fixture.snapshot = snapshot.clone();
    fixture.publish(|status| status.last = Some(outcome()));
    let response = fixture.ask(&format!("GET {uri}")).await;
    assert_eq!(response.status(), 200);
    body(response).await
}

/// Returns the words of a page after its header.
fn words(page: &str) -> String {
    let page = page.replace("<wbr>", "");
    let (_, main) = page.split_once("</header>").unwrap();
    let mut text = String::new();
    for part in main.split('<').skip(1) {
        text.push_str(part.split_once('>').unwrap().1);
        text.push(' ');
    }
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns the names of the rows of the map.
fn names(page: &str) -> Vec<String> {
    let page = page.replace("<wbr>", "");
    let (_, map) = page.split_once("id=\"map\"").unwrap_or_default();
    let rows = map.split("<th scope=\"row\">").skip(1);
    let names = rows.map(|row| row.split("</bdi>").next().unwrap());
    let names = names.map(|row| row.rsplit('>').next().unwrap().to_owned());
    names.collect()
}

#[tokio::test(start_paused = true)]
#[expect(clippy::too_many_lines, reason = "one table of cases")]
async fn the_answer_names_its_reason_and_its_mark_the_worst_news() {
    let due = |days: i64| {
        let due = format!("{:.10}", days_ago(-days).to_string());
        Targets(vec![entry(&[], &[], 1.0, &due)])
    };
    let one = |completion| snapshot_of(&[("a/a", completion, 1)]);
    let mut overdue = one(Some(50.0));
    overdue.settings.targets = due(-2);
    let mut unread = one(Some(100.0));
    let failure = Failure::new("no", "wait", NOW);
    let condition = Condition::Pending(Some(failure));
    unread.repositories.push(shown(2, "a/b", condition));
    let nothing_read = snapshot(unread.repositories[1..].to_vec());
    let no_languages = snapshot(vec![read(1, "a/a", Vec::new())]);
    let mut filtered = snapshot(Vec::new());
    filtered.leave_out(3);
    for (snapshot, mark, answer) in [
        (
            one(Some(100.0)),
            '\u{2713}',
            "Ready to ship: 1 of 1 translations ready",
        ),
        (
            one(Some(50.0)),
            '\u{25cb}',
            "Not ready to ship: 0 of 1 translations ready",
        ),
        (
            one(None),
            '!',
            "Not known: ? of 1 translations ready, 1 translation without a known completion",
        ),
        (
            one(Some(0.5)),
            '!',
            "Not known: ? of 1 translations ready, the scale of 1 translation is in doubt",
        ),
        (
            overdue,
            '\u{2717}',
            "Not ready to ship: 0 of 1 translations ready, 1 overdue",
        ),
        (
            unread,
            '!',
            "Not known: 1 of 1 translations ready, 1 repository not read",
        ),
        (nothing_read, '!', "Not known: 1 repository not read"),
        (no_languages, '\u{25cb}', "Not known: no translation known"),
        (filtered, '!', "Not known: no translation known"),
    ] {
        let page = page_of(&snapshot, "/").await;
        let is_unknown = answer.starts_with("Not known: ?");
        assert!(!page.contains("0/1 ready") || !is_unknown, "{page:.600}");
        assert!(
            page.contains(&format!("<title>{mark} ")),
            "{answer}: {page:.600}"
        );
        let words = words(&page);
        assert!(
            words.starts_with(&format!("{mark} {answer}")),
            "{words:.200}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn nothing_is_claimed_before_the_end_of_the_first_poll() {
    let mut fixture = Fixture::new();
    fixture.publish(|_| {});
    let words_of = async |fixture: &Fixture| words(&body(fixture.ask("GET /").await).await);
    let answer =
        "\u{25cb} Not known: the first poll has not ended yet Load this page again in a minute";
    assert!(words_of(&fixture).await.starts_with(answer));
    let restored = Condition::Restored(languages(vec![record("de", 100.0, 1)]));
    fixture.show(snapshot(vec![shown(1, "a/a", restored)]));
    let answer = "\u{25cb} Not known: 1 of 1 translations ready, the first poll has not ended yet";
    let restored = words_of(&fixture).await;
    assert!(restored.starts_with(answer), "{restored}");
    assert!(restored.contains("1 repository, 1 language. ") && !restored.contains("Not counted"));
    let none = words(&body(fixture.ask("GET /?language=sv").await).await);
    assert!(none.contains("No known repository and language matches"));
}

#[tokio::test(start_paused = true)]
async fn a_selection_is_what_the_whole_page_is_about() {
    let snapshot = snapshot(vec![
        read(
            1,
            "acme/a",
            vec![record("de", 100.0, 1), record("fr", 20.0, 1)],
        ),
        read(2, "acme/b", vec![record("de", 40.0, 9)]),
        read(3, "b/c", vec![record("it", 30.0, 9)]),
    ]);
    for (uri, title, answer, rows) in [
        ("/?repo=acme/a", "acme/a", "1 of 2", &["acme/a"][..]),
        ("/?repo=acme/*", "acme/*", "1 of 3", &["acme/b", "acme/a"]),
        ("/?language=de", "Name of de (de)", "1 of 2", &["acme/b"]),
        ("/?repo=*/b&language=d*", "d* of */b", "0 of 1", &["acme/b"]),
    ] {
        let page = page_of(&snapshot, uri).await;
        assert!(
            page.contains(&format!("<h1><bdi>{title}</bdi></h1>")),
            "{page:.9000}"
        );
        let answer = format!("Not ready to ship: {answer} ");
        assert!(words(&page).contains(&answer), "{uri}: {page}");
        assert_eq!(names(&page), rows, "{uri}");
    }
    let none = page_of(&snapshot, "/?language=sv").await;
    assert!(words(&none).contains("No known repository and language matches"));
}

#[tokio::test(start_paused = true)]
async fn search_filter_and_order_are_of_rows_alone() {
    let snapshot = snapshot_of(&[
        ("a/a", Some(50.0), 1),
        ("a/b", None, 0),
        ("a/c", Some(10.0), 9),
        ("b/d", Some(90.0), 3),
    ]);
    for (uri, rows) in [
        ("/", &["a/b", "a/c", "a/a", "b/d"][..]),
        ("/?sort=name", &["a/a", "a/b", "a/c", "b/d"]),
        ("/?q=A/&sort=name", &["a/a", "a/b", "a/c"]),
        ("/?only=stalled", &["a/c"]),
        ("/?q=nowhere", &[]),
    ] {
        let page = page_of(&snapshot, uri).await;
        assert_eq!(names(&page), rows, "{uri}");
        let words = words(&page);
        assert!(
            words.contains("Not ready to ship: 0 of 4 translations ready"),
            "{words}"
        );
        let says_so = words.contains("; the figures above are of all");
        assert_eq!(
            says_so,
            uri.contains("q=") || uri.contains("only="),
            "{words}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_page_has_200_rows_and_one_beyond_the_last_is_the_last() {
    let names: Vec<_> = (0..450).map(|number| format!("a/{number:03}")).collect();
    let all: Vec<_> = names.iter().map(|name| (&**name, Some(50.0), 9)).collect();
    let snapshot = snapshot_of(&all);
    for (uri, first, count) in [("/", "a/000", 200), ("/?page=9", "a/400", 50)] {
        let rows = self::names(&page_of(&snapshot, uri).await);
        assert_eq!((rows[0].as_str(), rows.len()), (first, count));
    }
    let document = snapshot.judge(testing::status(), None);
    let file = html::page(&Report {
        view: document.whole(),
        findings: &[],
        api: "api.example.com",
        since: a_week_ago(NOW),
        max_size: 0,
    });
    assert_eq!(self::names(&file).len(), 450);
    assert!(!file.contains("<form") && !file.contains("href=\"?") && !file.contains("href=\"-/"));
}

#[tokio::test(start_paused = true)]
async fn the_last_value_of_a_parameter_wins_and_an_empty_one_is_absent() {
    let snapshot = snapshot_of(&[("a/a", Some(50.0), 1), ("a/b", Some(50.0), 1)]);
    for (uri, rows) in [
        ("/?repo=a/a&repo=a/b", &["a/b"][..]),
        (
            "/?language=fr&language=d*&sort=worst&sort=name",
            &["a/a", "a/b"],
        ),
        ("/?page=two&only=", &["a/a", "a/b"]),
    ] {
        assert_eq!(names(&page_of(&snapshot, uri).await), rows, "{uri}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_first_20_to_act_on_come_by_date_then_by_gap_and_a_filter_shows_all() {
    let of = |n: u8| record(&format!("l{n:02}"), f64::from(99 - n), 1);
    let mut snapshot = snapshot(vec![read(1, "a/a", (0..50).map(of).collect())]);
    snapshot.settings.targets = Targets(vec![
        entry(&[], &["l0*"], 0.995, "2020-01-01"),
        entry(&[], &[], 0.995, "2020-01-02"),
    ]);
    for (uri, count, more) in [("/", 20, true), ("/?only=any", 50, false)] {
        let page = page_of(&snapshot, uri).await;
        let (act, _) = page
            .split_once("</section>")
            .unwrap()
            .1
            .split_once("</section>")
            .unwrap();
        assert_eq!(act.matches("<th scope=\"row\">").count(), count, "{act}");
        assert_eq!(act.contains("\"?only=any#act\">and 30 more</a>"), more);
        let places =
            ["l09", "l00", "l49"].map(|code| act.find(&format!("Name of {code}")).unwrap());
        assert!(places.is_sorted(), "{act}");
        assert!(act.contains("50 of 99.5"), "{act}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_worst_problems_come_first() {
    let days = |days: i64| format!("{:.10}", days_ago(-days).to_string());
    let mut fell = record("fr", 90.0, 2);
    testing::observe(&mut fell, Some(10.0), days_ago(1));
    let mut snapshot = snapshot(vec![
        read(1, "a/a", vec![record("de", 50.0, 9), fell]),
        read(2, "a/b", vec![record("it", 50.0, 9)]),
    ]);
    snapshot.settings.targets = Targets(vec![
        entry(&[], &["de"], 1.0, &days(-2)),
        entry(&[], &["it"], 1.0, &days(2)),
    ]);
    let page = page_of(&snapshot, "/").await;
    let words = words(&page);
    let figures = "1 overdue 1 at risk 1 regressed 2 stalled";
    assert!(words.contains(figures), "{words:.900}");
    let filters = "all overdue at risk regressed stalled";
    assert!(words.contains(filters), "{words}");
    assert!(words.contains("2 days overdue"), "{words}");
}

#[tokio::test(start_paused = true)]
async fn first_sights_are_no_progress_and_nothing_unknown_counts_as_none() {
    let too_early = "1 not judged: the pace is not known yet.";
    for (days, is_known) in [(0, false), (9, true)] {
        let snapshot = snapshot_of(&[("a/a", Some(50.0), days)]);
        let page = page_of(&snapshot, "/?language=de").await;
        assert_eq!(page.contains(&format!(">{days} days<")), is_known);
        let words = words(&page);
        assert_eq!(words.contains(too_early), !is_known, "{words}");
        assert_eq!(words.contains("1 stalled"), is_known, "{words}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_repository_that_was_not_read_is_named_beside_the_figures() {
    let mut snapshot = snapshot_of(&[("a/a", Some(50.0), 1)]);
    // A clock behind shows times that lie ahead.
    for (id, name, days) in [(2, "a/b", 1), (3, "a/c", -1)] {
        let old = Languages {
            read_at: days_ago(days),
            records: vec![record("de", 50.0, 2)].into(),
        };
        let condition = Condition::Failing(old, Failure::new("no", "wait", days_ago(1)));
        snapshot.repositories.push(shown(id, name, condition));
    }
    let words = words(&page_of(&snapshot, "/").await);
    assert!(
        words.contains("Read 2026-11-24 00:00 UTC except 2 repositories"),
        "{words}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_repository_of_resting_translations_rests_even_after_their_date() {
    let mut snapshot = snapshot_of(&[("a/a", Some(50.0), 9)]);
    snapshot.settings.targets = Targets(vec![entry(&[], &[], 0.0, "2020-01-01")]);
    let page = page_of(&snapshot, "/").await;
    let words = words(&page);
    assert!(words.contains("Nothing to ship: 1 paused"), "{words:.900}");
    assert!(
        page.contains("<td class=\"paused\">50</td>") && !words.contains("days overdue"),
        "{words}"
    );
}

#[tokio::test(start_paused = true)]
async fn figures_lead_to_the_work_and_names_to_their_part_of_the_page() {
    let mut snapshot = snapshot_of(&[("a/[b]", Some(50.0), 9), ("a/c", Some(40.0), 9)]);
    snapshot.settings.links = Links {
        repository: Parsed(None),
        language: Parsed::parse_bounded("https://t.example/{name}/{language}").unwrap(),
    };
    let page = page_of(&snapshot, "/").await;
    for link in [
        "href=\"https://t.example/c/de\" aria-label=\"Translate a/c into Name of de\">",
        "href=\"?language=de\"",
        "href=\"?repo=a%2F%5B%5B%5Db%5B%5D%5D\"",
        "href=\"?only=stalled#act\"",
    ] {
        assert!(page.contains(link), "{link}: {page}");
    }
    let one = page_of(&snapshot, "/?repo=a%2F%5B%5B%5Db%5B%5D%5D").await;
    assert_eq!(names(&one), ["a/[b]"]);
}

#[tokio::test(start_paused = true)]
async fn rows_that_are_ready_are_folded() {
    let snapshot = snapshot(vec![
        read(
            1,
            "a/a",
            vec![record("de", 100.0, 1), record("fr", 100.0, 1)],
        ),
        read(
            2,
            "a/b",
            vec![record("de", 41.0, 9), record("fr", 100.0, 1)],
        ),
    ]);
    let page = page_of(&snapshot, "/").await;
    assert_eq!(names(&page), ["a/b"]);
    assert!(
        words(&page).contains("1 repository ready in everything: a/a"),
        "{page}"
    );
    let cell = "<td class=\"gap4\" title=\"stalled\">41=</td><td>✓</td>";
    assert!(page.contains(cell), "{page}");
}

#[tokio::test(start_paused = true)]
async fn stale_data_are_grey_dated_and_in_no_count() {
    let mut snapshot = snapshot_of(&[("a/a", Some(100.0), 9)]);
    let old = Languages {
        read_at: Timestamp::from_millis(NOW.as_millis() - 7_200_000),
        records: vec![record("de", 50.0, 9), record("fr", 60.0, 9)].into(),
    };
    let condition = Condition::Stale {
        languages: old,
        failure: Some(Failure::new("no", "wait", NOW)),
    };
    snapshot.repositories.push(shown(2, "a/b", condition));
    let page = page_of(&snapshot, "/").await;
    let words = words(&page);
    assert!(
        words.contains("Not known: 1 of 1 translations ready"),
        "{words:.900}"
    );
    assert!(
        words.contains("Read earlier, or not yet: a/b. Not counted: 1 not read."),
        "{words:.900}"
    );
    let since = "Grey: as of 2026-11-22 22:00 UTC, 2 h ago; cannot be checked now.";
    assert!(words.contains(since), "{words}");
    assert!(
        page.contains("<tr class=\"old\">") && words.contains("60="),
        "{page}"
    );
}

#[tokio::test(start_paused = true)]
async fn the_changes_since_last_week_come_from_the_days_that_records_keep() {
    let changed = |code, before: f64, after: f64| {
        let mut record = record(code, before, 9);
        testing::observe(&mut record, Some(after), days_ago(1));
        record
    };
    let mut snapshot = snapshot(vec![read(
        1,
        "a/a",
        vec![
            changed("de", 90.0, 100.0),
            changed("fr", 96.0, 58.0),
            changed("it", 40.0, 47.2),
        ],
    )]);
    snapshot.settings.targets = Targets(vec![entry(&[], &["it"], 1.0, "2026-11-22")]);
    let page = page_of(&snapshot, "/").await;
    let line = "Since 16 November: 1 fell, 1 became overdue, 1 became ready.";
    assert!(words(&page).contains(line), "{:.1500}", words(&page));
    assert!(page.contains("47 of 100 <small> +7</small>"), "{page}");
    let language = words(&page_of(&snapshot, "/?language=it").await);
    let sum = "1 more ready by 27 January 2027, 0 do not move";
    assert!(language.contains(sum), "{language}");
}

#[tokio::test]
async fn no_page_is_made_for_a_client_that_has_left_the_queue() {
    let (go, wait) = mpsc::channel::<()>();
    let wait = Arc::new(Mutex::new(wait));
    // All threads are busy.
    let busy = [(); 2].map(|()| {
        let wait = Arc::clone(&wait);
        tokio::spawn(render(Vec::new(), move |_| wait.lock().unwrap().recv()))
    });
    let made = Arc::new(AtomicBool::new(false));
    let client = {
        let made = Arc::clone(&made);
        tokio::spawn(render(Vec::new(), move |_| {
            made.store(true, Ordering::Relaxed);
        }))
    };
    tokio::task::yield_now().await;
    client.abort();
    assert!(client.await.unwrap_err().is_cancelled());
    drop(go);
    for one in busy {
        assert!(one.await.unwrap().unwrap().is_err());
    }
    render(Vec::new(), |_| ()).await.unwrap();
    assert!(!made.load(Ordering::Relaxed));
}
