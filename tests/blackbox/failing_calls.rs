//! The state survives a failure of any system call of its saving.

use crate::support::{Api, Exposition, Reply, Repo, Setup, Target, repo};
use std::{fs, path::Path};
use tempfile::TempDir;

/// The names as strace knows them; the last one stands for rename and its kin.
const CALLS: [&str; 4] = ["openat", "write", "fsync", "/^rename"];
const WRITE_FAILURES: &str = "translation_exporter_state_write_failures_total";
/// As many as make a state that takes several writes.
const REPOSITORIES: u64 = 40;

fn repositories(completion: f64) -> impl Iterator<Item = Repo> {
    let name = "long".repeat(200);
    let language = format!(r#"{{"code":"fr","name":"{name}","completion":1}}"#);
    (1..=REPOSITORIES).map(move |id| {
        let german = format!(r#"{{"code":"de","name":"German","completion":{completion}}}"#);
        repo(id).languages_json(&format!("[{german},{language}]"))
    })
}

fn once(api: &Api, state: &Path) -> Setup {
    Setup::for_api(api)
        .set("state.file", state.to_str().unwrap())
        .arguments(&["once", "--output=openmetrics"])
}

/// Returns a command that makes calls of this name fail that concern files of the state's folder.
fn with_failing(call: &str, when: &str, log: &Path, state: &Path) -> String {
    let state = state.display();
    let folder = state.to_string().replace("/state.json", "");
    let paths = [
        state.to_string(),
        format!("{state}.tmp"),
        format!("{state}.lock"),
        format!("{folder}/"),
        folder,
    ];
    let paths = paths.map(|path| format!("-P {path}")).join(" ");
    let log = log.display();
    format!(
        "exec strace -f -qq -o {log} {paths} -e trace={call} \
         -e inject={call}:error=EIO:when={when} \"$0\" \"$@\""
    )
}

/// Returns what a process shows that can read nothing of the API, and so only its state.
fn saved(api: &Api, state: &Path) -> Exposition {
    api.fault(Target::Everything, Reply::status(503));
    let output = once(api, state).set("poll.stale_after", "1h").run();
    api.heal();
    Exposition::parse(&output.stdout)
}

/// Returns the clocks of a language that never changes.
fn clocks(metrics: &Exposition) -> Vec<f64> {
    let clock = |id| metrics.clock(&format!("owner/repo-{id}"), "fr");
    (1..=REPOSITORIES)
        .map(|id| clock(id).unwrap_or_else(|| panic!("the clock of repository {id} is lost")))
        .collect()
}

#[test]
#[ignore = "slow: needs strace"]
fn any_call_of_a_save_may_fail_and_nothing_that_was_saved_is_lost() {
    let api = Api::start(repositories(40.0));
    let folder = TempDir::new().unwrap();
    let (state, log) = (folder.path().join("state.json"), folder.path().join("log"));
    assert_eq!(once(&api, &state).run().code, Some(0));
    let before = fs::read(&state).unwrap();
    let clocks_before = clocks(&saved(&api, &state));
    api.put(repositories(50.0));

    for call in CALLS {
        // Each thread counts its own calls. From the last one on, none fails.
        let last = (1..100).find(|nth| {
            let failed = [format!("{nth}"), format!("{nth}+")].map(|when| {
                fs::write(&state, &before).unwrap();
                let output = once(&api, &state)
                    .after(&with_failing(call, &when, &log, &state))
                    .run();
                let place = format!("{call} {when}: {}", output.stderr);
                let injected = fs::read_to_string(&log).unwrap().contains("(INJECTED)");
                if output.code == Some(2) {
                    // A state that cannot be locked or read is left alone.
                    let named = folder.path().to_str().unwrap();
                    assert!(injected && output.stderr.contains(named), "{place}");
                    assert_eq!(fs::read(&state).unwrap(), before, "{place}");
                } else {
                    let metrics = Exposition::parse(&output.stdout);
                    let counted = metrics.value(WRITE_FAILURES, &[]).unwrap();
                    assert_eq!(counted > 0.0, injected, "{counted} failures, {place}");
                    assert_eq!(metrics.ratio("owner/repo-1", "de"), Some(0.5), "{place}");
                }
                let kept = saved(&api, &state);
                let ratio = kept.ratio("owner/repo-1", "de");
                assert!(matches!(ratio, Some(0.4 | 0.5)), "{ratio:?}, {place}");
                assert_eq!(clocks(&kept), clocks_before, "{place}");
                injected
            });
            failed == [false, false]
        });
        assert!(last > Some(1), "no {call} failed");
    }
}
