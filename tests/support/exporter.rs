//! The built program in an isolated environment, and other programs that it is tested with.

use super::{
    Api, Exposition,
    api::KEY,
    eventually,
    http::{self, Response},
};
use std::{
    fs::{self, File},
    net::SocketAddr,
    process::{Child, Command, Stdio},
    thread,
};
use tempfile::TempDir;

pub const OPENMETRICS: &str =
    "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5";

/// The file in the program's folder that collects its stdout and stderr.
const LOG: &str = "log";

/// A command that starts the program. The program sees nothing of the test's environment.
#[derive(Debug)]
pub struct Setup {
    program: &'static str,
    arguments: Vec<String>,
    environment: Vec<(String, String)>,
    /// Shell commands that run first, in the same process.
    prelude: Option<String>,
    /// The program's working directory, a new folder.
    pub folder: TempDir,
}

impl Setup {
    pub fn new(arguments: &[&str]) -> Self {
        Self::of(env!("CARGO_BIN_EXE_translation-exporter")).arguments(arguments)
    }

    /// Returns the command of another program that logs its address like the exporter.
    pub fn of(program: &'static str) -> Self {
        let folder = TempDir::new().unwrap();
        Self {
            program,
            arguments: Vec::new(),
            environment: Vec::new(),
            prelude: None,
            folder,
        }
    }

    /// Returns a command that polls this API every second, as fast as it responds.
    pub fn for_api(api: &Api) -> Self {
        let setup = Self::for_url(&api.base_url());
        match &api.authority {
            None => setup,
            Some(authority) => {
                let file = setup.file("authority.pem", authority);
                setup.set("api.ca_file", &file)
            }
        }
    }

    pub fn for_url(base_url: &str) -> Self {
        Self::new(&[])
            .set("api.base_url", base_url)
            .set("api.key", KEY)
            .set("api.requests_per_second", "0")
            .set("poll.interval", "1s")
            .set("web.listen_addresses", "127.0.0.1:0")
    }

    /// Sets a key of the configuration by its variable. An empty value counts as not set.
    pub fn set(self, key: &str, value: &str) -> Self {
        let name = format!(
            "TRANSLATION_EXPORTER_{}",
            key.to_ascii_uppercase().replacen('.', "__", 1)
        );
        self.variable(&name, value)
    }

    pub fn variable(mut self, name: &str, value: &str) -> Self {
        self.environment.retain(|(known, _)| known != name);
        self.environment.push((name.into(), value.into()));
        self
    }

    pub fn arguments(mut self, arguments: &[&str]) -> Self {
        self.arguments
            .extend(arguments.iter().map(ToString::to_string));
        self
    }

    /// Runs shell commands first, which may set limits; the program then takes the shell's place.
    pub fn after(mut self, prelude: &str) -> Self {
        self.prelude = Some(prelude.into());
        self
    }

    /// Writes a file into the folder and returns its path.
    pub fn file(&self, name: &str, content: &str) -> String {
        let path = self.folder.path().join(name);
        fs::write(&path, content).unwrap();
        path.to_str().unwrap().into()
    }

    /// Returns the program with its arguments, started by `wrapper` if there is one.
    fn command(&self, wrapper: &[&str]) -> Command {
        let prelude = self
            .prelude
            .as_ref()
            .map(|prelude| format!("{prelude}; exec \"$0\" \"$@\""));
        let shell = prelude.iter().flat_map(|script| ["sh", "-c", script]);
        let mut words = wrapper.iter().copied().chain(shell).chain([self.program]);
        let mut command = Command::new(words.next().expect("the program at least"));
        command
            .args(words)
            .args(&self.arguments)
            .env_clear()
            .envs(self.environment.iter().cloned());
        command.current_dir(self.folder.path()).stdin(Stdio::null());
        command
    }

    /// Runs the program to its end, and kills it if it does not end in time.
    pub fn run(&self) -> Finished {
        let patience = super::PATIENCE.as_secs().to_string();
        let output = self
            .command(&["timeout", "--foreground", "--signal=KILL", &patience])
            .output()
            .unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Finished {
            code: output.status.code(),
            stdout: text(output.stdout),
            stderr: text(output.stderr),
        }
    }

    /// Starts the program and waits until it listens.
    pub fn start(self) -> Exporter {
        let mut exporter = self.spawn();
        exporter.address = eventually("the exporter listens", || {
            assert!(
                exporter.child.try_wait().unwrap().is_none(),
                "the exporter ended"
            );
            exporter.log().lines().find_map(listening_address)
        });
        exporter
    }

    /// Starts the program without waiting for its address.
    pub fn spawn(self) -> Exporter {
        let log = File::create(self.folder.path().join(LOG)).unwrap();
        let child = self
            .command(&[])
            .stdout(log.try_clone().unwrap())
            .stderr(log)
            .spawn()
            .unwrap();
        Exporter {
            child,
            address: ([127, 0, 0, 1], 0).into(),
            folder: self.folder,
        }
    }
}

/// The exit status and output of a program that has ended.
#[derive(Debug)]
pub struct Finished {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Finished {
    /// Asserts a failure with this code and a message that contains all parts.
    pub fn assert_failed(&self, code: i32, parts: &[&str]) {
        assert_eq!(self.code, Some(code), "{}", self.stderr);
        for part in parts {
            assert!(
                self.stderr.contains(part),
                "{:?} does not contain {part:?}",
                self.stderr
            );
        }
    }
}

/// Returns the address in a log line, in either format.
fn listening_address(line: &str) -> Option<SocketAddr> {
    let (_, after) = line
        .to_lowercase()
        .contains("listening")
        .then(|| line.split_once("address"))??;
    let address = after.trim_start_matches(['=', '"', ':']);
    address
        .split(['"', ' ', ','])
        .next()?
        .parse()
        .ok()
        .filter(|address: &SocketAddr| address.port() != 0)
}

/// Sends a signal with the shell's own `kill`, which every system has.
fn signal(pid: u32, name: &str) {
    let status = Command::new("sh")
        .args(["-c", &format!("kill -{name} {pid}")])
        .stderr(Stdio::null())
        .status();
    status.expect("a shell to send signals with");
}

/// The running program. Dropping it kills the program.
#[derive(Debug)]
pub struct Exporter {
    child: Child,
    pub address: SocketAddr,
    pub folder: TempDir,
}

impl Exporter {
    /// Returns all stdout and stderr so far.
    pub fn log(&self) -> String {
        fs::read_to_string(self.folder.path().join(LOG)).unwrap()
    }

    /// Waits for a log line that contains all parts, and returns it.
    pub fn wait_for_line(&self, parts: &[&str]) -> String {
        let is_it = |line: &&str| parts.iter().all(|part| line.contains(part));
        eventually(&format!("a line of the log contains {parts:?}"), || {
            self.log().lines().find(is_it).map(str::to_owned)
        })
    }

    pub fn get(&self, path: &str) -> Response {
        http::get(self.address, path, &[]).unwrap_or_else(|error| panic!("GET {path}: {error}"))
    }

    pub fn status(&self, path: &str) -> u16 {
        self.get(path).status
    }

    pub fn metrics(&self) -> Exposition {
        Exposition::parse(&self.scrape(OPENMETRICS))
    }

    /// Returns the text of a scrape.
    pub fn scrape(&self, accept: &str) -> String {
        let response =
            http::get(self.address, "/metrics", &[("accept", accept)]).expect("a scrape");
        assert_eq!(response.status, 200);
        response.text()
    }

    /// Waits until a scrape fulfils the condition, and returns the scrape.
    pub fn wait_for(&self, what: &str, condition: impl Fn(&Exposition) -> bool) -> Exposition {
        eventually(what, || Some(self.metrics()).filter(&condition))
    }

    /// Waits until this number of repositories is fresh, and returns the scrape that shows it.
    pub fn wait_until_fresh(&self, count: u32) -> Exposition {
        self.wait_for("the repositories are read", |metrics| {
            metrics.repositories("fresh") >= f64::from(count)
        })
    }

    /// Waits until `translation_up` has this value, and returns the scrape that shows it.
    pub fn wait_until_up_is(&self, up: f64) -> Exposition {
        self.wait_for("translation_up changes", |metrics| metrics.up() == Some(up))
    }

    /// Waits until this number of further polls has ended, and returns the scrape that shows it.
    pub fn wait_for_polls(&self, more: f64) -> Exposition {
        let before = self.metrics();
        // A poll is counted at its end, and its data are published just after.
        let published = |metrics: &Exposition| {
            metrics.value("translation_exporter_last_poll_timestamp_seconds", &[])
        };
        self.wait_for("polls go on", |metrics| {
            metrics.polls() >= before.polls() + more && published(metrics) != published(&before)
        })
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    pub fn signal(&self, name: &str) {
        signal(self.id(), name);
    }

    /// Sends a signal that must end the program with code 0.
    pub fn end(&mut self, signal: &str) {
        self.end_with(signal, 0);
    }

    /// Sends a signal that must end the program with this code.
    pub fn end_with(&mut self, signal: &str, code: i32) {
        self.signal(signal);
        let status = eventually("the exporter ends", || self.child.try_wait().unwrap());
        assert_eq!(status.code(), Some(code), "SIG{signal}");
    }
}

impl Drop for Exporter {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        if thread::panicking() {
            let log = self.log();
            let tail = log.len().saturating_sub(6000);
            eprintln!(
                "--- the exporter's log\n{}",
                String::from_utf8_lossy(&log.as_bytes()[tail..])
            );
        }
    }
}
