use crate::support::parsed::Parsed;
use crate::testing::{Condition, Failed, Languages, Shown, Snapshot};
use crate::{
    domain::{
        links::Links,
        polling::PollOutcome,
        record::Record,
        targets::{Targets, tests::entry},
    },
    report::{Query, Report, a_week_ago, html},
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

/// Builds such a snapshot with a second, ready language of the first, so that its page has a map.
fn mapped(repositories: &[(&str, Option<f64>, i64)]) -> Snapshot {
    let mut snapshot = snapshot_of(repositories);
    let first = &repositories[0];
    let records = vec![record("de", first.1, first.2), record("it", 100.0, 1)];
    snapshot.repositories[0] = read(1, first.0, records);
    snapshot
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

/// Returns the names of the rows of the map, or of the list of a page without one.
fn names(page: &str) -> Vec<String> {
    let page = page.replace("<wbr>", "");
    let list = || {
        page.split_once("id=\"act\"")
            .filter(|_| !page.contains("id=\"heading\""))
    };
    let (_, rows) = page
        .split_once("id=\"map\"")
        .or_else(list)
        .unwrap_or_default();
    let rows = rows.split("<th scope=\"row\">").skip(1);
    let names = rows.map(|row| row.split("</bdi>").next().unwrap());
    let names = names.map(|row| row.rsplit('>').next().unwrap().to_owned());
    names.collect()
}

#[tokio::test(start_paused = true)]
async fn the_answer_names_its_reason_and_its_mark_the_worst_news() {
    let due = |days: i64| {
        let due = format!("{:.10}", days_ago(-days).to_string());
        Targets(vec![entry(&[], &[], 1.0, &due)])
    };
    let one = |completion| snapshot_of(&[("a/a", completion, 1)]);
    let mut overdue = one(Some(50.0));
    overdue.settings.targets = due(-2);
    let mut unread = one(Some(100.0));
    let failure = Failed::new("no", "wait", NOW);
    let condition = Condition::Pending(Some(failure));
    unread.repositories.push(shown(2, "a/b", condition));
    let nothing_read = snapshot(unread.repositories[1..].to_vec());
    let no_languages = snapshot(vec![read(1, "a/a", Vec::new())]);
    let mut filtered = snapshot(Vec::new());
    filtered.leave_out(3);
    for (snapshot, answer) in [
        (
            one(Some(100.0)),
            "✓ Ready to ship: 1 of 1 translations ready",
        ),
        (
            one(Some(50.0)),
            "○ Not ready to ship: 0 of 1 translations ready",
        ),
        (
            one(None),
            "! Not known: ? of 1 translations ready, 1 translation without a known completion",
        ),
        (
            one(Some(0.5)),
            "! Not known: ? of 1 translations ready, the scale of 1 translation is in doubt",
        ),
        (
            overdue,
            "✗ Not ready to ship: 0 of 1 translations ready, 1 overdue",
        ),
        (
            unread,
            "! Not known: 1 of 1 translations ready, 1 repository not read",
        ),
        (nothing_read, "! Not known: 1 repository not read"),
        (no_languages, "○ Not known: no translation known"),
        (filtered, "! Not known: no translation known"),
    ] {
        let page = page_of(&snapshot, "/").await;
        let is_unknown = answer.contains('?');
        assert!(!page.contains("0/1 ready") || !is_unknown, "{page:.600}");
        assert!(page.contains(&format!("<title>{answer}")), "{page:.600}");
        let words = words(&page);
        assert!(words.starts_with(answer), "{words:.200}");
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
    let mut snapshot = snapshot(vec![
        read(
            1,
            "acme/a",
            vec![record("de", 100.0, 1), record("fr", 20.0, 1)],
        ),
        read(2, "acme/b", vec![record("de", 40.0, 9)]),
        read(3, "b/c", vec![record("it", 30.0, 9)]),
    ]);
    snapshot.settings.targets = Targets(vec![entry(&[], &["fr"], 1.0, "2026-12-24T08:00:00Z")]);
    for (uri, title, answer, rows) in [
        ("/?repo=acme/a", "acme/a", "1 of 2", &["Name of fr"][..]),
        ("/?repo=acme/*", "acme/*", "1 of 3", &["a", "b"]),
        ("/?language=de", "Name of de (de)", "1 of 2", &["acme/b"]),
        (
            "/?repo=*/b&language=d*",
            "*/b, d*",
            "0 of 1",
            &["Name of de"],
        ),
        (
            "/?language=it&language=f*&due=none",
            "Name of it (it), f*, no date",
            "0 of 1",
            &["Name of it"],
        ),
        (
            "/?language={it,fr}&due=2026-12-24",
            "{it,fr}, due 2026-12-24",
            "0 of 1",
            &["Name of fr"],
        ),
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
async fn search_and_filter_are_of_rows_alone() {
    let snapshot = mapped(&[
        ("a/c", Some(10.0), 9),
        ("a/a", Some(50.0), 1),
        ("a/b", None, 0),
        ("b/d", Some(90.0), 3),
    ]);
    for (uri, rows, languages) in [
        ("/", &["a/a", "a/c", "b/d", "a/b"][..], 2),
        ("/?q=A/", &["a/a", "a/c", "a/b"], 0),
        ("/?only=stalled", &["a/c"], 2),
        ("/?only=unknown", &["a/b"], 2),
        ("/?q=nowhere", &[], 0),
        ("/?q=IT", &[], 1),
        ("/?q=OF+DE", &[], 1),
    ] {
        let page = page_of(&snapshot, uri).await;
        assert_eq!(names(&page), rows, "{uri}");
        let (_, cards) = page.split_once("id=\"languages\"").unwrap_or_default();
        assert_eq!(
            cards.matches("href=\"?language=").count(),
            languages,
            "{uri}"
        );
        let words = words(&page);
        assert!(
            words.contains("Not ready to ship: 1 of 5 translations ready"),
            "{words}"
        );
        let says_so = words.contains("; the figures above count all");
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
    let snapshot = mapped(&all);
    for (uri, first, count) in [("/", "001", 200), ("/?page=9", "401", 50)] {
        let rows = self::names(&page_of(&snapshot, uri).await);
        assert_eq!((rows[0].as_str(), rows.len()), (first, count));
    }
    let file = html::file(&Report {
        document: Arc::new(snapshot.judge(testing::status(), None)),
        findings: Vec::new(),
        api: "api.example.com".into(),
        since: a_week_ago(NOW),
        max_size: 0,
    });
    assert_eq!(self::names(&file).len(), 450);
    assert!(!file.contains("<form") && !file.contains("href=\"?") && !file.contains("href=\"-/"));
}

#[tokio::test(start_paused = true)]
async fn the_first_of_each_date_share_20_places_and_links_lead_to_the_others() {
    let of = |n: u8| record(&format!("l{n:02}"), f64::from(99 - n), 1);
    let one = || (0..25).map(of).collect();
    let mut snapshot = snapshot(vec![read(1, "a/a", one()), read(2, "a/b", one())]);
    snapshot.settings.targets = Targets(vec![
        entry(&["a/b"], &["l0*"], 0.995, "2020-01-02"),
        entry(&["a/b"], &[], 1.0, ""),
        entry(&[], &["l0*"], 0.995, "2020-01-01"),
        entry(&[], &[], 0.995, "2020-01-03"),
    ]);
    let act = async |uri| {
        let page = page_of(&snapshot, uri).await;
        let (_, act) = page.split_once("id=\"act\"").unwrap();
        act.split_once("</section>").unwrap().0.to_owned()
    };
    let first = act("/").await;
    assert_eq!(first.matches("<th scope=\"row\">").count(), 18, "{first}");
    let places = [
        "Due 1 January 2020, 2518 days ago",
        "90% of 99.5%",
        "94% of 99.5%",
        "?due=2020-01-02\">and 4 more",
        "Due 3 January 2020",
        "?due=2020-01-03\">and 9 more",
        "75% of 99.5%",
    ];
    let places = places.map(|part| first.find(part));
    assert!(places.is_sorted() && places[0].is_some(), "{first}");
    let others = act("/?due=2020-01-03").await;
    assert_eq!(others.matches("<th scope=\"row\">").count(), 15);
}

#[tokio::test(start_paused = true)]
async fn each_date_has_its_figures_each_of_which_leads_to_its_rows() {
    let days = |days: i64| format!("{:.10}", days_ago(-days).to_string());
    let mut fell = record("fr", 90.0, 2);
    testing::observe(&mut fell, Some(10.0), days_ago(1));
    let mut moving = record("es", 1.0, 9);
    testing::observe(&mut moving, Some(7.0), days_ago(1));
    let mut snapshot = snapshot(vec![
        read(1, "a/a", vec![record("de", 50.0, 9), moving, fell]),
        read(
            2,
            "a/b",
            vec![record("it", 50.0, 9), record("ja", 100.0, 9)],
        ),
    ]);
    snapshot.settings.targets = Targets(vec![
        entry(&[], &["de"], 1.0, &days(-2)),
        entry(&[], &["it"], 1.0, &days(2)),
        entry(&[], &["ja"], 1.0, &days(-20)),
    ]);
    let page = page_of(&snapshot, "/").await;
    let words = words(&page);
    let figures = "By date Translated Ready at risk overdue behind Expected \
                   21 November, 2 days ago 50% 0 of 1 1 1 without a forecast ; furthest behind: Name of de \
                   25 November, in 2 days 50% 0 of 1 1 1 without a forecast ; furthest behind: Name of it \
                   no date 8% 0 of 2 2 the last on 11 April 2027, 1 without a forecast ; furthest behind: Name of es \
                   others 1 of 1";
    assert!(words.contains(figures), "{words:.900}");
    let filters = "1 regressed 2 stalled";
    assert!(words.contains(filters), "{words}");
    for (link, rows) in [
        ("?due=2026-11-21&only=overdue", &["Name of de"][..]),
        ("?due=2026-11-25&only=at_risk", &["Name of it"]),
        // A translation without a forecast holds its date back longest, however small its gap.
        ("?due=none&only=behind", &["Name of fr", "Name of es"]),
        ("?due=none&only=ready", &[]),
    ] {
        let escaped = link.replace('&', "&#38;");
        assert!(page.contains(&format!("href=\"{escaped}#act\"")), "{page}");
        assert_eq!(
            names(&page_of(&snapshot, &format!("/{link}")).await),
            rows,
            "{link}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn first_sights_are_no_progress_and_nothing_unknown_counts_as_none() {
    let too_early = "1 not judged: the pace is not known yet.";
    for (days, is_known) in [(0, false), (9, true)] {
        let snapshot = snapshot_of(&[("a/a", Some(50.0), days)]);
        let page = page_of(&snapshot, "/?language=de").await;
        assert_eq!(
            page.contains(&format!("no progress for {days} days<")),
            is_known
        );
        let words = words(&page);
        assert_eq!(words.contains(too_early), !is_known, "{words}");
        assert_eq!(words.contains("1 stalled"), is_known, "{words}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_repository_of_resting_translations_rests_even_after_their_date() {
    let mut snapshot = mapped(&[("a/a", Some(50.0), 9), ("a/b", Some(60.0), 9)]);
    snapshot.settings.targets = Targets(vec![entry(&[], &[], 0.0, "2020-01-01")]);
    let page = page_of(&snapshot, "/").await;
    let words = words(&page);
    assert!(words.contains("Nothing to ship: 3 paused"), "{words:.900}");
    assert!(
        page.contains("#r1\">50</a>") && !words.contains("2020"),
        "{words}"
    );
}

#[tokio::test(start_paused = true)]
async fn figures_lead_to_the_work_and_names_to_their_part_of_the_page() {
    let mut snapshot = mapped(&[("a/[b]", Some(50.0), 9), ("a/c", Some(40.0), 9)]);
    snapshot.settings.links = Links {
        repository: Parsed(None),
        language: Parsed::parse_bounded("https://t.example/{name}/{language}").unwrap(),
    };
    let page = page_of(&snapshot, "/").await;
    for link in [
        "href=\"https://t.example/c/de\">40% of 100%<",
        "<td class=\"gap3\"><a href=\"?language=de#r1\">50=</a>",
        "href=\"?language=de\"",
        "href=\"?repo=a%2F%5B%5B%5Db%5B%5D%5D\"",
        "href=\"?only=stalled#act\"",
    ] {
        assert!(page.contains(link), "{link}: {page}");
    }
    let one = page_of(&snapshot, "/?repo=a%2F%5B%5B%5Db%5B%5D%5D").await;
    assert_eq!(names(&one), ["Name of de"]);
    let one = page_of(&snapshot, "/?language=de").await;
    assert!(one.contains("<tr id=\"r1\">"), "{one}");
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
    assert_eq!(names(&page), ["b"]);
    assert!(
        words(&page).contains("1 repository ready in everything: a "),
        "{page}"
    );
    let cell = "41=</a><td>✓</tr>";
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
        failure: Some(Failed::new("no", "wait", NOW)),
    };
    snapshot.repositories.push(shown(2, "a/b", condition));
    let page = page_of(&snapshot, "/").await;
    let words = words(&page);
    for part in [
        "Not known: 1 of 1 translations ready",
        "Read earlier, or not yet: a/b. Not counted: 1 not read.",
        "Grey: as of 2026-11-22 22:00 UTC, 2 h ago; cannot be checked now.",
    ] {
        assert!(words.contains(part), "{words:.900}");
    }
    assert!(
        page.contains("<tr class=\"old\">") && words.contains("60="),
        "{page}"
    );
    let of_german = page_of(&snapshot, "/?language=de").await;
    let row = "<tr id=\"r2\" class=\"old\">";
    assert!(of_german.contains(row), "{of_german}");
    let only_stale = page_of(&snapshot, "/?language=fr").await;
    let words = self::words(&only_stale);
    let answer = "\u{25cb} Not known now. As of 2026-11-22 22:00 UTC: 0 of 1 translations ready";
    assert!(words.starts_with(answer), "{words}");
    for part in [" class=\"old\">", "2022%3A00%20UTC\">mail the answer"] {
        assert!(only_stale.contains(part), "{only_stale}");
    }
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
    let line = "Since Monday, 16 November: 1 fell &middot; 1 became overdue &middot; 1 became ready since Monday 7 days ago 14 days ago";
    assert!(words(&page).contains(line), "{:.1500}", words(&page));
    assert!(page.contains("href=\"?since=2026-11-23\">Monday"), "{page}");
    let chosen = "href=\"?since=2026-11-16\" aria-current=\"true\">7 days ago";
    assert!(page.contains(chosen), "{page}");
    let fell = page_of(&snapshot, "/?only=fell&since=2026-11-17").await;
    assert_eq!(names(&fell), ["Name of fr"]);
    assert!(page.contains("47% of 100% <small> +7</small>"), "{page}");
}

#[tokio::test]
async fn no_page_is_made_for_a_client_that_has_left_the_queue() {
    let (go, wait) = mpsc::channel::<()>();
    let wait = Arc::new(Mutex::new(wait));
    // All threads are busy.
    let busy = [(); 2].map(|()| {
        let wait = Arc::clone(&wait);
        tokio::spawn(render(Query::default(), NOW, move |_, _, _| {
            wait.lock().unwrap().recv()
        }))
    });
    let made = Arc::new(AtomicBool::new(false));
    let client = {
        let made = Arc::clone(&made);
        tokio::spawn(render(Query::default(), NOW, move |_, _, _| {
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
    render(Query::default(), NOW, |_, _, _| ()).await.unwrap();
    assert!(!made.load(Ordering::Relaxed));
}
