//! A parser of both exposition formats, written from their specifications alone.
//!
//! It rejects faults that can appear in a single scrape: a truncated body, a family in two places,
//! a duplicate series, unknown escapes, NaN and infinity, timestamps. `exposition_roundtrip` runs
//! the official parsers for the rest.

use std::collections::{BTreeMap, BTreeSet};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    OpenMetrics,
    Text,
}

pub type Labels = BTreeMap<String, String>;

#[derive(Debug, Clone, PartialEq)]
pub struct Sample {
    pub name: String,
    pub labels: Labels,
    pub value: f64,
}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct Family {
    /// The name in its TYPE line: without `_total` in OpenMetrics.
    pub name: String,
    pub kind: String,
    pub samples: Vec<Sample>,
}

/// A parsed scrape.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Exposition {
    pub families: Vec<Family>,
}

impl Exposition {
    /// Returns the value of the only series with this name and exactly these labels.
    pub fn value(&self, name: &str, labels: &[(&str, &str)]) -> Option<f64> {
        let mut samples = self.samples(name).filter(|sample| {
            sample.labels.len() == labels.len() && labels.iter().all(|label| sample.has(*label))
        });
        samples.next().map(|sample| sample.value)
    }

    /// Returns the samples of this name.
    pub fn samples<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Sample> {
        self.families
            .iter()
            .flat_map(|family| &family.samples)
            .filter(move |sample| sample.name == name)
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

    /// Returns the values of one label of the samples of this name, in order.
    pub fn label_values(&self, name: &str, label: &str) -> Vec<String> {
        let mut values: Vec<_> = self
            .samples(name)
            .filter_map(|sample| sample.labels.get(label).cloned())
            .collect();
        values.sort();
        values
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

impl Sample {
    fn has(&self, (name, value): (&str, &str)) -> bool {
        self.labels.get(name).is_some_and(|known| known == value)
    }
}

/// Parses a whole scrape. The error names the line.
pub fn parse(text: &str, format: Format) -> Result<Exposition, String> {
    let (mut exposition, mut series) = (Exposition::default(), BTreeSet::new());
    let body = match format {
        Format::OpenMetrics => text
            .strip_suffix("# EOF\n")
            .ok_or("it does not end with # EOF")?,
        Format::Text => text,
    };
    if !body.is_empty() && !body.ends_with('\n') {
        return Err("the last line does not end".into());
    }
    for line in body.lines() {
        read_line(line, &mut exposition.families, &mut series)
            .map_err(|error| format!("{error}: {line}"))?;
    }
    Ok(exposition)
}

fn read_line(
    line: &str,
    families: &mut Vec<Family>,
    series: &mut BTreeSet<(String, Labels)>,
) -> Result<(), &'static str> {
    if let Some(comment) = line.strip_prefix("# ") {
        let Some((name, kind)) = comment
            .strip_prefix("TYPE ")
            .and_then(|text| text.split_once(' '))
        else {
            return Ok(());
        };
        if families.iter().any(|family| family.name == name) {
            return Err("a family in two places");
        }
        families.push(Family {
            name: name.into(),
            kind: kind.into(),
            samples: Vec::new(),
        });
        return Ok(());
    }
    let (name, rest) = line.split_at(line.find(['{', ' ']).ok_or("no value")?);
    let (labels, rest) = match rest.strip_prefix('{') {
        Some(rest) => labels(rest)?,
        None => (Labels::new(), rest),
    };
    let value = rest
        .trim_start()
        .parse::<f64>()
        .map_err(|_| "a value that is not a number, or a timestamp")?;
    if !value.is_finite() {
        return Err("a value that is not finite");
    }
    let family = families
        .last_mut()
        .filter(|family| name.starts_with(&family.name))
        .ok_or("a sample without a TYPE")?;
    if !series.insert((name.into(), labels.clone())) {
        return Err("a series twice");
    }
    family.samples.push(Sample {
        name: name.into(),
        labels,
        value,
    });
    Ok(())
}

/// Parses the labels up to the closing brace, and returns them with the rest.
fn labels(mut rest: &str) -> Result<(Labels, &str), &'static str> {
    let mut labels = Labels::new();
    loop {
        let (name, after) = rest.split_once("=\"").ok_or("labels that do not end")?;
        let (value, after) = label_value(after)?;
        if labels.insert(name.into(), value).is_some() {
            return Err("a label twice");
        }
        rest = match after.strip_prefix('}') {
            Some(after) => return Ok((labels, after)),
            None => after.strip_prefix(',').ok_or("no comma between labels")?,
        };
    }
}

/// Parses the text up to the closing quote, resolves its escapes, and returns it with the rest.
fn label_value(text: &str) -> Result<(String, &str), &'static str> {
    let (mut chars, mut value) = (text.chars(), String::new());
    loop {
        match chars.next().ok_or("a label value that does not end")? {
            '"' => return Ok((value, chars.as_str())),
            '\\' => value.push(match chars.next() {
                Some('n') => '\n',
                Some(escaped @ ('\\' | '"')) => escaped,
                _ => return Err("an escape that does not exist"),
            }),
            other => value.push(other),
        }
    }
}

#[test]
fn what_could_go_wrong_in_a_single_scrape_is_refused() {
    let whole = "# HELP a A.\n# TYPE a gauge\na{x=\"1\"} 1\n# EOF\n";
    assert!(parse(whole, Format::OpenMetrics).is_ok());
    for (from, to) in [
        ("# EOF\n", ""),
        ("# TYPE a gauge\n", ""),
        (" 1\n", " NaN\n"),
        (" 1\n", " 1 1700000000\n"),
        (" 1\n", " 1\na{x=\"1\"} 2\n"),
        (" 1\n", " 1\n# TYPE b gauge\nb 1\n# TYPE a gauge\n"),
        ("x=\"1\"", "x=\"\\t\""),
        ("x=\"1\"", "x=\"1\",x=\"2\""),
    ] {
        let broken = whole.replacen(from, to, 1);
        assert!(parse(&broken, Format::OpenMetrics).is_err(), "{broken}");
    }
}
