//! The reloader, with files in a folder and a paused clock.

use super::*;
use crate::{
    api::{Api as _, RequestFailure},
    server::testing::Certificates,
    web::testing::Fixture,
};
use reqwest::StatusCode;
use std::{fs, process::Command};
use tempfile::TempDir;
use tokio::{
    signal::unix::{SignalKind, signal},
    sync::oneshot,
    time::advance,
};

const BROKEN: &str = "rate_limit: {";

/// Returns a web configuration file.
fn limit(burst: u32) -> String {
    format!("rate_limit: {{interval: 1ms, burst: {burst}}}\n")
}

fn write(folder: &TempDir, name: &str, text: &str) {
    fs::write(folder.path().join(name), text).unwrap();
}

/// Writes the configuration file; `api` has a key of that section, `more` other sections.
fn configure(folder: &TempDir, api: &str, more: &str) {
    let web = folder.path().join("web.yml");
    let text = format!(
        "api: {{base_url: 'https://api.example.com', key: secret{api}}}\n\
         web: {{config_file: '{}'}}\n{more}\n",
        web.display()
    );
    write(folder, "config.yaml", &text);
}

/// A reloader that runs, and all that it changes.
struct Bench {
    folder: TempDir,
    server: Server,
    state: Arc<AppState>,
    polling: watch::Receiver<Arc<Settings<Client>>>,
}

impl Bench {
    /// Starts with a limit of 1000.
    fn start() -> Self {
        let Fixture {
            server,
            state,
            reloads,
            ..
        } = Fixture::new();
        let folder = TempDir::new().unwrap();
        write(&folder, "web.yml", &limit(1000));
        configure(&folder, "", "");
        let options = Options {
            config_file: Some(folder.path().join("config.yaml")),
            ..Options::default()
        };
        let (config, web_file) = load(&options, Uses::WebConfig).unwrap();
        server.replace(web_file, |file| web::router(&state, file));
        let client = Client::new(&config.api, Arc::clone(&state.instruments)).unwrap();
        let settings = poller_settings(&config, client.clone(), GlobSet::empty());
        let polling = watch::Sender::new(settings);
        let bench = Self {
            folder,
            server: server.clone(),
            state: Arc::clone(&state),
            polling: polling.subscribe(),
        };
        let reloader = Reloader {
            options,
            config,
            client,
            polling,
            seen: server.file().digest.clone(),
            server,
            state,
            requests: reloads.unwrap(),
            refused: None,
        };
        tokio::spawn(reloader.run(signal(SignalKind::hangup()).unwrap()));
        bench
    }

    fn write(&self, name: &str, text: &str) {
        write(&self.folder, name, text);
    }

    async fn reload(&self) -> Result<(), String> {
        let (reply, outcome) = oneshot::channel();
        self.state.reload.send(reply).await.unwrap();
        outcome.await.unwrap()
    }

    /// Waits until a web configuration file that is written now has been read twice.
    async fn settle(&self) {
        sleep(2 * CHECK_EVERY + Duration::from_secs(1)).await;
    }

    /// Returns the message and the hint of a refused reload.
    fn refused(&self) -> Option<String> {
        let Failure { what, hint, .. } = self.state.instruments.facts().reload_refused?;
        Some(format!("{what}; {hint}"))
    }

    fn description(&self) -> String {
        self.server.file().description.clone()
    }
}

#[tokio::test(start_paused = true)]
async fn a_refused_reload_is_repeated_once_its_web_configuration_is_valid() {
    let bench = Bench::start();
    for (interval, is_asked) in [(7, true), (8, false)] {
        let poll = format!("poll: {{interval: {interval}m}}");
        configure(&bench.folder, "", &poll);
        bench.write("web.yml", BROKEN);
        if is_asked {
            assert!(bench.reload().await.is_err());
        } else {
            bench.settle().await;
        }
        assert!(bench.refused().is_some());
        bench.settle().await;
        assert!(bench.refused().is_some(), "nothing has changed");
        let interval = Duration::from_secs(interval * 60);
        assert_ne!(bench.polling.borrow().interval, interval);
        bench.write("web.yml", &limit(2000));
        bench.settle().await;
        assert_eq!(bench.refused(), None);
        assert!(bench.description().contains("2000"));
        let active = bench.polling.borrow().interval;
        assert_eq!(active, interval, "everything is read");
    }
}

#[tokio::test(start_paused = true)]
async fn a_refused_reload_does_not_delay_a_web_configuration_change() {
    let bench = Bench::start();
    for (bad, burst) in [("poll: {intervall: 5s}", 2000), ("state: {file: a}", 3000)] {
        configure(&bench.folder, "", bad);
        assert!(bench.reload().await.is_err(), "{bad}");
        bench.write("web.yml", &limit(burst));
        bench.settle().await;
        assert!(bench.description().contains(&burst.to_string()), "{bad}");
        let refused = bench.refused().unwrap();
        assert!(refused.contains("then reload"), "{bad}: {refused}");
    }
    bench.write("web.yml", "rate_limit: {bust: 1}\n");
    bench.settle().await;
    let refused = bench.refused().unwrap();
    assert!(refused.contains("there is no key bust"), "{refused}");
}

#[tokio::test(start_paused = true)]
async fn a_web_configuration_file_counts_once_two_reads_agree_and_never_if_it_is_empty() {
    let bench = Bench::start();
    // No file is written at the moment of a read.
    sleep(Duration::from_secs(1)).await;
    for burst in [2000, 3000, 4000] {
        bench.write("web.yml", &limit(burst));
        sleep(CHECK_EVERY).await;
        assert!(bench.description().contains("1000"), "{burst}");
    }
    sleep(CHECK_EVERY).await;
    assert!(bench.description().contains("4000"));
    bench.write("web.yml", "");
    bench.settle().await;
    assert!(bench.refused().unwrap().contains("the file is empty"));
    assert!(bench.description().contains("4000"));
    bench.write("web.yml", &limit(4000));
    bench.settle().await;
    assert_eq!(bench.refused(), None);
}

#[tokio::test(start_paused = true)]
async fn a_renewed_certificate_and_authority_take_effect_without_being_asked() {
    let bench = Bench::start();
    let authority = Certificates::new();
    let renew = |authority: &Certificates| {
        let issued = authority.issue(&["localhost"]);
        bench.write("server.pem", &issued.pem);
        bench.write("server.key", &issued.key);
    };
    renew(&authority);
    bench.write("ca.pem", &authority.pem);
    bench.write(
        "web.yml",
        "tls_server_config: {cert_file: server.pem, key_file: server.key, \
         client_auth_type: RequireAndVerifyClientCert, client_ca_file: ca.pem}",
    );
    bench.settle().await;
    let mut active = bench.server.file().digest.clone();
    for file in ["server", "ca"] {
        match file {
            "server" => renew(&authority),
            _ => bench.write("ca.pem", &Certificates::new().pem),
        }
        bench.settle().await;
        let renewed = bench.server.file().digest.clone();
        assert!(renewed != active, "{file}");
        active = renewed;
    }
    assert_eq!(bench.refused(), None);
}

#[tokio::test(start_paused = true)]
async fn a_change_of_the_web_configuration_file_needs_nothing_of_the_api() {
    let bench = Bench::start();
    bench.write("ca.pem", &Certificates::new().pem);
    let ca = bench.folder.path().join("ca.pem");
    configure(&bench.folder, &format!(", ca_file: '{}'", ca.display()), "");
    assert_eq!(bench.reload().await, Ok(()));
    fs::remove_file(&ca).unwrap();
    bench.write("web.yml", &limit(2000));
    bench.settle().await;
    assert!(bench.description().contains("2000"));
    assert_eq!(bench.refused(), None);
}

#[tokio::test(start_paused = true)]
async fn a_reload_does_not_lift_the_hold_of_the_api() {
    let bench = Bench::start();
    let client = bench.polling.borrow().api.clone();
    let hour = Duration::from_secs(3600);
    let refusal = RequestFailure::status(StatusCode::TOO_MANY_REQUESTS, Some(hour));
    let refused = client.pace().run(None, async { Err::<(), _>(refusal) });
    assert!(refused.await.is_err());
    let held_until = client.pace().held_until();
    assert!(held_until.is_some());
    assert_eq!(bench.reload().await, Ok(()));
    let active = bench.polling.borrow().api.pace().held_until();
    assert_eq!(active, held_until);
}

#[tokio::test(start_paused = true)]
async fn a_reload_that_takes_too_long_is_repeated_without_being_asked() {
    let bench = Bench::start();
    let path = bench.folder.path().join("config.yaml");
    let valid = fs::read_to_string(&path).unwrap();
    fs::remove_file(&path).unwrap();
    // A pipe without a writer; the clock stands still while a thread waits for it.
    assert!(
        Command::new("mkfifo")
            .arg(&path)
            .status()
            .unwrap()
            .success()
    );
    let ((), refused) = tokio::join!(
        async {
            tokio::task::yield_now().await;
            advance(LIMIT).await;
        },
        bench.reload()
    );
    // The thread must not wait for ever, so assertions come later.
    let late = format!("{valid}poll: {{interval: 7m}}\n");
    fs::write(&path, late).unwrap();
    fs::remove_file(&path).unwrap();
    fs::write(&path, valid).unwrap();
    assert!(refused.unwrap_err().contains("--config.file"));
    // The clock stands still until the thread has read the pipe.
    sleep(Duration::from_millis(1)).await;
    let interval = bench.polling.borrow().interval;
    assert_eq!(
        interval,
        Duration::from_secs(300),
        "the late read is dropped"
    );
    bench.settle().await;
    assert_eq!(bench.refused(), None);
}
