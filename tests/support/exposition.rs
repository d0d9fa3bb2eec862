//! The samples of a scrape. `test_exposition.py` runs the official parsers on both formats.

use std::collections::BTreeMap;

#[derive(Debug, Clone, PartialEq)]
pub struct Sample {
    pub name: String,
    pub labels: BTreeMap<String, String>,
    pub value: f64,
}

impl Sample {
    fn has(&self, (name, value): (&str, &str)) -> bool {
        self.labels.get(name).is_some_and(|known| known == value)
    }
}

/// A parsed scrape.
#[derive(Debug, Clone, PartialEq)]
pub struct Exposition(Vec<Sample>);

impl Exposition {
    /// Parses a whole scrape in either format.
    pub fn parse(text: &str) -> Self {
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        Self(lines.map(sample).collect())
    }

    /// Returns the value of the only series with this name and exactly these labels.
    pub fn value(&self, name: &str, labels: &[(&str, &str)]) -> Option<f64> {
        let mut samples = self.samples(name).filter(|sample| {
            sample.labels.len() == labels.len() && labels.iter().all(|label| sample.has(*label))
        });
        samples.next().map(|sample| sample.value)
    }

    /// Returns the samples of this name.
    pub fn samples<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Sample> {
        self.0.iter().filter(move |sample| sample.name == name)
    }

    /// Returns the number of samples of this name.
    pub fn count(&self, name: &str) -> usize {
        self.samples(name).count()
    }

    /// Sums up the samples of this name whose labels include these.
    pub fn sum(&self, name: &str, labels: &[(&str, &str)]) -> f64 {
        let samples = self
            .samples(name)
            .filter(|sample| labels.iter().all(|label| sample.has(*label)));
        samples.map(|sample| sample.value).sum()
    }

    /// Returns the number of repositories in this state.
    pub fn repositories(&self, state: &str) -> f64 {
        self.value("translation_exporter_repositories", &[("state", state)])
            .unwrap_or(f64::NAN)
    }

    pub fn ratio(&self, repo: &str, language: &str) -> Option<f64> {
        self.value(RATIO, &[("repo", repo), ("language", language)])
    }

    /// Returns the time of the last progress.
    pub fn clock(&self, repo: &str, language: &str) -> Option<f64> {
        self.value(CLOCK, &[("repo", repo), ("language", language)])
    }

    /// Returns `translation_up` as a boolean; `None` before the first poll has ended.
    pub fn up(&self) -> Option<f64> {
        self.value("translation_up", &[])
    }

    /// Returns the number of polls that have ended.
    pub fn polls(&self) -> f64 {
        self.value("translation_exporter_polls_total", &[])
            .expect("it starts at 0")
    }

    /// Returns the number of requests that failed for this reason.
    pub fn failures(&self, operation: &str, reason: &str) -> f64 {
        let labels = [("operation", operation), ("reason", reason)];
        self.value("translation_exporter_api_request_failures_total", &labels)
            .unwrap_or(0.0)
    }
}

pub const RATIO: &str = "translation_completion_ratio";
pub const CLOCK: &str = "translation_last_progress_timestamp_seconds";
pub const INFO: &str = "translation_repository_info";

fn sample(line: &str) -> Sample {
    let (series, value) = line.rsplit_once(' ').unwrap();
    let (name, mut rest) = series.split_once('{').unwrap_or((series, ""));
    let mut labels = BTreeMap::new();
    while let Some((label, quoted)) = rest.split_once("=\"") {
        let (mut chars, mut value) = (quoted.chars(), String::new());
        loop {
            match chars.next().unwrap() {
                '"' => break,
                '\\' => value.push(
                    chars
                        .next()
                        .map(|c| if c == 'n' { '\n' } else { c })
                        .unwrap(),
                ),
                other => value.push(other),
            }
        }
        labels.insert(label.into(), value);
        rest = chars.as_str().trim_start_matches(',');
    }
    Sample {
        name: name.into(),
        labels,
        value: value.parse().unwrap(),
    }
}
