//! The tests' API as a program, for scripts. It prints its address, reads one JSON command per line
//! from standard input, and answers each command with one line. At first it accepts the key
//! `key-of-the-black-box-tests`. The program ends with its input, so that no test leaves it
//! running.
//!
//! With the arguments FOLDER HOST, the API speaks TLS on port 443 of 127.0.0.1. The certificate for
//! that host and its key are `FOLDER/api.pem` and `FOLDER/api.key`; the root to trust is
//! `FOLDER/ca.pem`.
//!
//! | command | effect |
//! |---|---|
//! | `{"put": [{"id": 1, "name": "a/b", "languages": {"de": 40}}]}` | adds repositories, or replaces those with these ids; a language may have `null` |
//! | `{"put": [{"id": 1, "name": "a/b", "answer": "[]"}]}` | the same, with that text as the answer for its languages |
//! | `{"remove": [1]}` | removes these repositories |
//! | `{"rise": {"id": 1, "code": "de", "by": 0.1}}` | that repository has this language alone, higher at each read |
//! | `{"lose": [1]}` | answers 404 to requests for their languages |
//! | `{"key": "…"}` | the only key that is accepted from now on; `null` refuses every key |
//! | `{"status": 503}` | answers every request with this status; `null` ends that |
//! | `{"fill": [1000, 30]}` | that many repositories of that many languages, whose completions differ at each read |
//! | `{"keys": true}` | answers with the keys that were sent so far, in order |

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has to end")]
#![expect(
    clippy::format_push_string,
    reason = "one more allocation costs a test nothing"
)]
#![expect(dead_code, reason = "scripts use a part of what the tests in Rust use")]

mod api;
mod reply;
mod tls;
mod wait;

use api::{Api, Repo, Target};
use reply::Reply;
use serde::Deserialize;
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    env, fs,
    io::{self, BufRead as _, Write as _},
    path::Path,
    sync::{Arc, Mutex},
};

/// One line of standard input.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Command {
    Put(Vec<Repository>),
    Remove(Vec<u64>),
    Rise { id: u64, code: String, by: f64 },
    Lose(Vec<u64>),
    Key(Option<String>),
    Status(Option<u16>),
    Fill(u64, usize),
    Keys(bool),
}

#[derive(Debug, Deserialize)]
struct Repository {
    id: u64,
    name: String,
    #[serde(default)]
    languages: BTreeMap<String, Option<f64>>,
    answer: Option<String>,
}

impl From<Repository> for Repo {
    fn from(
        Repository {
            id,
            name,
            languages,
            answer,
        }: Repository,
    ) -> Self {
        let entry =
            |(code, completion)| json!({"code": code, "name": code, "completion": completion});
        let languages = || languages.into_iter().map(entry).collect::<Value>();
        Repo::new(id, &name).languages_json(&answer.unwrap_or_else(|| languages().to_string()))
    }
}

fn main() {
    let arguments: Vec<_> = env::args().skip(1).collect();
    let api = match &*arguments {
        [] => Api::start([]),
        [folder, host] => {
            let (identity, [certificate, key]) = tls::identity(tls::Certificate::Good, host);
            for (name, text) in [
                ("ca.pem", &identity.authority),
                ("api.pem", &certificate),
                ("api.key", &key),
            ] {
                fs::write(Path::new(folder).join(name), text).unwrap();
            }
            Api::start_at("127.0.0.1:443", [], Some(identity))
        }
        _ => panic!("usage: fake-api [FOLDER HOST]"),
    };
    let status = Arc::new(Mutex::new(None));
    let everything = status.clone();
    api.script(Target::Everything, move |_| {
        everything.lock().unwrap().map(Reply::status)
    });
    say(&arguments
        .get(1)
        .map_or_else(|| api.base_url(), |host| format!("https://{host}")));
    for line in io::stdin().lock().lines().map_while(Result::ok) {
        match serde_json::from_str(&line) {
            Ok(command) => say(&obey(&api, &status, command)),
            Err(error) => say(&format!("error: {error}")),
        }
    }
}

fn say(line: &str) {
    let mut stdout = io::stdout().lock();
    writeln!(stdout, "{line}")
        .and_then(|()| stdout.flush())
        .unwrap();
}

fn obey(api: &Api, status: &Arc<Mutex<Option<u16>>>, command: Command) -> String {
    match command {
        Command::Put(repositories) => api.put(repositories.into_iter().map(Repo::from)),
        Command::Remove(ids) => api.change(|known| known.retain(|id, _| !ids.contains(id))),
        Command::Rise { id, code, by } => {
            let (completion, status) = (Mutex::new(0.0), status.clone());
            api.script(Target::Languages(id), move |_| {
                let mut completion = completion.lock().unwrap();
                *completion += by;
                let rising = Reply::json(
                    Repo::new(id, "")
                        .languages(&[(&code, *completion)])
                        .languages,
                );
                status.lock().unwrap().is_none().then_some(rising)
            });
        }
        Command::Lose(ids) => ids
            .into_iter()
            .for_each(|id| api.fault(Target::Languages(id), Reply::status(404))),
        Command::Fill(repositories, languages) => fill(api, repositories, languages),
        // No key that is sent is empty.
        Command::Key(key) => api.accept_key(key.as_deref().unwrap_or_default()),
        Command::Status(code) => *status.lock().unwrap() = code,
        Command::Keys(_) => {
            let sent = api
                .requests(Target::Everything)
                .into_iter()
                .filter_map(|request| request.authorization);
            let keys: Vec<_> = sent
                .filter_map(|value| value.strip_prefix("Bearer ").map(str::to_owned))
                .collect();
            return serde_json::to_string(&keys).unwrap();
        }
    }
    "ok".to_owned()
}

/// The responses are encoded before the first request, so that they take little CPU from the
/// clients under test.
fn fill(api: &Api, repositories: u64, languages: usize) {
    let mut random = fastrand::Rng::with_seed(7);
    let codes: Vec<_> = (0..languages).map(|n| format!("l{n:02}")).collect();
    let mut read = || {
        let completions = codes
            .iter()
            .map(|code| (&**code, f64::from(random.u32(0..=1000)) / 10.0));
        Reply::json(
            Repo::new(1, "")
                .languages(&completions.collect::<Vec<_>>())
                .languages,
        )
    };
    let reads: Vec<_> = (0..repositories).map(|_| [read(), read()]).collect();
    let name = |id| format!("organisation-{:02}/project-{id:05}", id % 40);
    api.put((1..=repositories).map(|id| Repo::new(id, &name(id))));
    api.script(Target::AllLanguages, move |request| {
        let id: usize = request.repository()?.parse().ok()?;
        Some(reads.get(id - 1)?[request.nth % 2].clone())
    });
}
