//! The tests' API as a program, for scripts: it prints its address, then takes one JSON command a line on standard input
//! and answers each with one line. It accepts the key `key-of-the-black-box-tests` at first. It ends when its input does, so that no test leaves it behind.
//!
//! | command | effect |
//! |---|---|
//! | `{"put": [{"id": 1, "name": "a/b", "languages": {"de": 40}}]}` | adds repositories, or replaces those with these ids |
//! | `{"remove": [1]}` | removes repositories |
//! | `{"rise": {"id": 1, "code": "de", "by": 0.1}}` | that language alone, and higher at each read |
//! | `{"key": "…"}` | the only key that is accepted from now on; `null` refuses every key |
//! | `{"status": 503}` | answers everything so; `null` ends that |
//! | `{"requests": true}` | answers with the targets of the requests so far |

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has to end")]
#![expect(clippy::format_push_string, reason = "an allocation more costs a test nothing")]
#![expect(dead_code, reason = "scripts use a part of what the tests in Rust use")]

mod api;
mod reply;
mod tls;
mod wait;

use api::{Api, Repo, Target};
use reply::Reply;
use serde::Deserialize;
use std::{
    collections::BTreeMap,
    io::{self, BufRead as _, Write as _},
    sync::Mutex,
};
use wait::eventually;

/// One line of standard input.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Command {
    Put(Vec<Repository>),
    Remove(Vec<u64>),
    Rise { id: u64, code: String, by: f64 },
    Key(Option<String>),
    Status(Option<u16>),
    Requests(bool),
}

#[derive(Debug, Deserialize)]
struct Repository {
    id: u64,
    name: String,
    languages: BTreeMap<String, f64>,
}

impl From<Repository> for Repo {
    fn from(Repository { id, name, languages }: Repository) -> Self {
        let languages: Vec<_> = languages.iter().map(|(code, completion)| (&**code, *completion)).collect();
        Repo::new(id, &name).languages(&languages)
    }
}

fn main() {
    let api = Api::start([]);
    say(&api.base_url());
    for line in io::stdin().lock().lines().map_while(Result::ok) {
        match serde_json::from_str(&line) {
            Ok(command) => say(&obey(&api, command)),
            Err(error) => say(&format!("error: {error}")),
        }
    }
}

fn say(line: &str) {
    let mut stdout = io::stdout().lock();
    writeln!(stdout, "{line}").and_then(|()| stdout.flush()).unwrap();
}

fn obey(api: &Api, command: Command) -> String {
    match command {
        Command::Put(repositories) => api.put(repositories.into_iter().map(Repo::from)),
        Command::Remove(ids) => ids.into_iter().for_each(|id| api.remove(id)),
        Command::Rise { id, code, by } => {
            let completion = Mutex::new(0.0);
            api.script(Target::Languages(id), move |_| {
                let mut completion = completion.lock().unwrap();
                *completion += by;
                Some(Reply::json(Repo::new(id, "").languages(&[(&code, *completion)]).languages))
            });
        }
        // No key that is sent is empty.
        Command::Key(key) => api.accept_key(key.as_deref().unwrap_or_default()),
        Command::Status(Some(status)) => api.fault(Target::Everything, Reply::status(status)),
        Command::Status(None) => api.heal(),
        Command::Requests(_) => {
            let targets: Vec<_> = api.requests(Target::Everything).into_iter().map(|request| request.target).collect();
            return serde_json::to_string(&targets).unwrap();
        }
    }
    "ok".to_owned()
}
