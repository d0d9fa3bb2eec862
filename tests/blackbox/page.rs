//! The status page in a browser: it opens, searches, sorts and turns pages without a script, has its colours under
//! its strict policy in light and dark, and nothing of it is cut off on any screen.

use crate::support::{Api, Exporter, Repo, Setup, eventually};
use fantoccini::{
    Client, ClientBuilder, Locator,
    wd::{Capabilities, WebDriverCompatibleCommand},
};
use serde_json::{Value, json};
use std::{
    io::{BufRead, BufReader},
    path::Path,
    process::{Child, Command, Stdio},
};

/// A browser, its driver, and the folder that both live in.
struct Browser {
    client: Client,
    driver: Child,
    _profile: tempfile::TempDir,
}

impl Drop for Browser {
    fn drop(&mut self) {
        self.driver.kill().ok();
        self.driver.wait().ok();
    }
}

/// Starts chromedriver; it ends at once if another program already listens at the port that it chose, over IPv6.
fn start_driver() -> Option<(Child, u16)> {
    let mut driver =
        Command::new("chromedriver").arg("--port=0").stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut lines = BufReader::new(driver.stdout.take().unwrap()).lines().map_while(Result::ok);
    let port =
        lines.find_map(|line| line.split("started successfully on port ").nth(1)?.trim_end_matches('.').parse().ok());
    if port.is_none() {
        driver.wait().unwrap();
    }
    Some((driver, port?))
}

impl Browser {
    async fn open() -> Self {
        let profile = tempfile::tempdir().unwrap();
        let (driver, port) = eventually("chromedriver listens", start_driver);
        let folder = profile.path().to_str().unwrap();
        // A container has no sandbox, and little shared memory.
        let arguments =
            ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars"];
        let arguments: Vec<String> =
            arguments.into_iter().map(str::to_owned).chain([format!("--user-data-dir={folder}")]).collect();
        let capabilities: Capabilities =
            serde_json::from_value(json!({"goog:chromeOptions": {"args": arguments}})).unwrap();
        let connector = hyper_util::client::legacy::connect::HttpConnector::new();
        let client = ClientBuilder::new(connector)
            .capabilities(capabilities)
            .connect(&format!("http://127.0.0.1:{port}"))
            .await
            .unwrap();
        Self { client, driver, _profile: profile }
    }

    async fn goto(&self, exporter: &Exporter, path: &str) {
        self.client.goto(&format!("http://{}{path}", exporter.address)).await.unwrap();
    }

    /// The names in the rows, from top to bottom.
    async fn names(&self) -> Vec<String> {
        let names =
            self.script("return [...document.querySelectorAll('tbody bdi.name')].map(e => e.textContent)").await;
        serde_json::from_value(names).unwrap()
    }

    async fn click(&self, link: &str) {
        self.client.find(Locator::LinkText(link)).await.unwrap().click().await.unwrap();
    }

    async fn text(&self, selector: &str) -> String {
        self.client.find(Locator::Css(selector)).await.unwrap().text().await.unwrap()
    }

    /// Runs a script from outside; the page's own policy forbids scripts of its own.
    async fn script(&self, script: &str) -> Value {
        self.client.execute(script, Vec::new()).await.unwrap()
    }

    async fn emulate(&self, command: &'static str, parameters: Value) {
        self.client.issue_cmd(DevTools(command, parameters)).await.unwrap();
    }

    /// Saves a picture, for people, in the folder that cargo provides for tests.
    async fn picture(&self, name: &str) {
        let picture = self.client.screenshot().await.unwrap();
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("page");
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join(format!("{name}.png")), picture).unwrap();
    }

    async fn size(&self, width: u32, height: u32) {
        let metrics = json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false});
        self.emulate("Emulation.setDeviceMetricsOverride", metrics).await;
    }

    async fn background(&self) -> Value {
        self.script("return getComputedStyle(document.body).backgroundColor").await
    }
}

/// A command of the browser's developer tools.
#[derive(Debug)]
struct DevTools(&'static str, Value);

impl WebDriverCompatibleCommand for DevTools {
    fn endpoint(&self, base: &url::Url, session: Option<&str>) -> Result<url::Url, url::ParseError> {
        base.join(&format!("session/{}/goog/cdp/execute", session.unwrap_or_default()))
    }

    fn method_and_body(&self, _: &url::Url) -> (http::Method, Option<String>) {
        (http::Method::POST, Some(json!({"cmd": self.0, "params": self.1}).to_string()))
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
#[ignore = "needs chromium and chromedriver"]
async fn a_person_searches_sorts_turns_pages_and_switches_refreshing() {
    let repositories = (1..=450u32).map(|number| {
        let owner = if number % 3 == 0 { "acme" } else { "other" };
        Repo::new(number.into(), &format!("{owner}/{number:03}")).languages(&[("de", f64::from(number) / 5.0)])
    });
    let api = Api::start(repositories);
    let exporter = Setup::for_api(&api).set("poll.interval", "1h").start();
    exporter.wait_until_fresh(450);
    let browser = Browser::open().await;

    browser.goto(&exporter, "/").await;
    assert_eq!(browser.text("h2#state").await, "All is well: the last poll read every repository.");
    assert_eq!(browser.text(".found").await, "450 repositories, 1 to 200 shown");
    assert_eq!(browser.names().await[..2], ["other/001", "other/002"], "the least complete first");

    browser.click("Next").await;
    browser.click("Next").await;
    assert_eq!(browser.text("[aria-current=page]").await, "Page 3 of 3");
    assert_eq!(browser.names().await.len(), 50);

    browser.click("Repository").await;
    assert_eq!(browser.names().await[0], "acme/003");
    assert_eq!(browser.text("th[aria-sort=ascending]").await.split('\u{a0}').next(), Some("Repository"));
    browser.click("Repository").await;
    assert_eq!(browser.names().await[0], "other/449");

    let search = browser.client.find(Locator::Id("q")).await.unwrap();
    search.send_keys("ACME/00\u{e007}").await.unwrap();
    browser.client.wait().for_element(Locator::LinkText("Show all")).await.unwrap();
    assert_eq!(browser.names().await, ["acme/009", "acme/006", "acme/003"], "the order stays");
    browser.click("Show all").await;
    assert_eq!(browser.names().await[0], "other/449");

    browser.goto(&exporter, "/?sort=name").await;
    browser.click("Refresh every minute").await;
    assert_eq!(browser.client.current_url().await.unwrap().query(), Some("sort=name&refresh=60"));
    browser.click("stop").await;
    assert_eq!(browser.client.current_url().await.unwrap().query(), Some("sort=name"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
#[ignore = "needs chromium and chromedriver"]
async fn the_demo_has_its_colours_in_light_and_in_dark() {
    let exporter = Setup::new(&["demo"]).set("web.listen_addresses", "127.0.0.1:0").start();
    exporter.wait_for("a poll has ended", |metrics| metrics.polls() > 0.0);
    let browser = Browser::open().await;
    browser.size(1400, 1100).await;
    browser.goto(&exporter, "/").await;
    assert!(browser.names().await.len() >= 20);
    let light = browser.background().await;
    assert_eq!(light, "rgb(250, 248, 245)", "the stylesheet holds under the page's own policy");
    browser.picture("light").await;

    let dark = json!({"features": [{"name": "prefers-color-scheme", "value": "dark"}]});
    browser.emulate("Emulation.setEmulatedMedia", dark).await;
    assert_ne!(browser.background().await, light);
    browser.picture("dark").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
#[ignore = "needs chromium and chromedriver"]
async fn scrolling_down_the_page_alone_shows_all_of_25_languages_and_200_rows() {
    let codes: Vec<String> = (0..25u8).map(|number| format!("l{}", char::from(b'a' + number))).collect();
    let languages: Vec<_> =
        codes.iter().zip(0..).map(|(code, completion)| (code.as_str(), f64::from(completion) * 4.0)).collect();
    let long = |id| format!("some-organization/{}-{id:03}", "x".repeat(if id == 1 { 300 } else { 30 }));
    let repositories = (1..=200).map(|id| Repo::new(id, &long(id)).languages(&languages));
    let api = Api::start(repositories);
    let exporter = Setup::for_api(&api).set("poll.interval", "1h").start();
    exporter.wait_until_fresh(200);
    let browser = Browser::open().await;
    let scrollers = "return [...document.querySelectorAll('body *')].filter(element =>
        /auto|scroll/.test(getComputedStyle(element).overflow) && element.scrollHeight > element.clientHeight).length";
    let outside = "return [...document.querySelectorAll('td, tbody th')].filter(cell => {
        const box = cell.getBoundingClientRect();
        return box.left < 0 || box.right > document.documentElement.clientWidth;
    }).length";
    for width in [1280, 1000, 390] {
        browser.size(width, 844).await;
        browser.goto(&exporter, "/").await;
        assert_eq!(browser.names().await.len(), 200);
        assert_eq!(browser.script(scrollers).await, 0, "nothing scrolls within the page at {width}");
        assert_eq!(browser.script(outside).await, 0, "nothing is cut off at {width}");
    }
    let labels = browser
        .script(
            "return [...document.querySelectorAll('tbody tr:last-child td[data-code]')]
                .map(tile => getComputedStyle(tile, '::before').content.slice(1, -1))",
        )
        .await;
    assert_eq!(labels, json!([&["All".to_owned()], &codes[..]].concat()), "each tile says its language");
    let widths = "return document.querySelector('tbody th').clientWidth / document.documentElement.clientWidth > 0.8";
    assert_eq!(browser.script(widths).await, true, "a name has the width of the screen");
    browser.size(1280, 844).await;
    browser.script("scrollTo(0, document.body.scrollHeight / 2)").await;
    let heading = "return document.querySelector('thead th').getBoundingClientRect().top";
    assert_eq!(browser.script(heading).await, 0.0, "the heading stays in sight");
}
