//! A strict reader of both exposition formats, written from their specifications and from nothing of the exporter's.
//!
//! It refuses what a lenient one lets pass: a family without HELP or TYPE, or in two places; a series twice; escapes
//! that are none; NaN; timestamps; `_created`; histograms that do not add up; bytes after `# EOF`.

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
    /// As in its TYPE line: without `_total` in OpenMetrics.
    pub name: String,
    pub kind: String,
    pub help: String,
    pub unit: Option<String>,
    pub samples: Vec<Sample>,
}

/// A scrape, read.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Exposition {
    pub families: Vec<Family>,
}

impl Exposition {
    /// The value of the one series with this name and exactly these labels.
    pub fn value(&self, name: &str, labels: &[(&str, &str)]) -> Option<f64> {
        let mut samples = self
            .samples(name)
            .filter(|sample| sample.labels.len() == labels.len() && labels.iter().all(|label| sample.has(*label)));
        samples.next().map(|sample| sample.value)
    }

    /// The samples of this name.
    pub fn samples<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Sample> {
        self.families.iter().flat_map(|family| &family.samples).filter(move |sample| sample.name == name)
    }

    /// The sum over the samples of this name that have these labels among theirs.
    pub fn sum(&self, name: &str, labels: &[(&str, &str)]) -> f64 {
        let samples = self.samples(name).filter(|sample| labels.iter().all(|label| sample.has(*label)));
        samples.map(|sample| sample.value).sum()
    }

    /// The values of one label of the samples of this name, in order.
    pub fn label_values(&self, name: &str, label: &str) -> Vec<String> {
        let mut values: Vec<_> = self.samples(name).filter_map(|sample| sample.labels.get(label).cloned()).collect();
        values.sort();
        values
    }

    /// How many repositories are in this state.
    pub fn repositories(&self, state: &str) -> f64 {
        self.value("translation_exporter_repositories", &[("state", state)]).unwrap_or(f64::NAN)
    }

    pub fn ratio(&self, repo: &str, language: &str) -> Option<f64> {
        self.value("translation_completion_ratio", &[("repo", repo), ("language", language)])
    }
}

impl Sample {
    fn has(&self, (name, value): (&str, &str)) -> bool {
        self.labels.get(name).is_some_and(|known| known == value)
    }
}

/// Reads a whole scrape; the error names the line.
pub fn parse(text: &str, format: Format) -> Result<Exposition, String> {
    let mut reader = Reader { format, known: BTreeSet::new(), families: Vec::new(), series: BTreeSet::new() };
    let body = match format {
        Format::OpenMetrics => text.strip_suffix("# EOF\n").ok_or("it does not end with # EOF")?,
        Format::Text => text,
    };
    if !body.is_empty() && !body.ends_with('\n') {
        return Err("the last line does not end".into());
    }
    for line in body.split_terminator('\n') {
        reader.line(line).map_err(|error| format!("{error}: {line}"))?;
    }
    reader.families.iter().try_for_each(|family| check(family).map_err(|error| format!("{error}: {}", family.name)))?;
    Ok(Exposition { families: reader.families })
}

struct Reader {
    format: Format,
    known: BTreeSet<String>,
    families: Vec<Family>,
    series: BTreeSet<(String, Labels)>,
}

impl Reader {
    fn line(&mut self, line: &str) -> Result<(), String> {
        let Some(comment) = line.strip_prefix("# ") else { return self.sample(line) };
        let (keyword, rest) = comment.split_once(' ').ok_or("a comment")?;
        let (name, text) = rest.split_once(' ').ok_or("metadata without text")?;
        if self.families.last().is_none_or(|family| family.name != name) {
            if !self.known.insert(name.into()) {
                return Err("a family in two places".into());
            }
            if !is_name(name, true) {
                return Err("no metric name".into());
            }
            self.families.push(Family { name: name.into(), ..Family::default() });
        }
        let family = self.families.last_mut().ok_or("metadata without family")?;
        if !family.samples.is_empty() {
            return Err("metadata after samples".into());
        }
        let slot = match keyword {
            "HELP" => &mut family.help,
            "TYPE" => &mut family.kind,
            // To 0.0.4 it is a comment like any other.
            "UNIT" => family.unit.get_or_insert_default(),
            _ => return Err("no known metadata".into()),
        };
        if !slot.is_empty() {
            return Err(format!("a second {keyword}"));
        }
        if keyword == "HELP" {
            *slot = unescape(text, self.format == Format::OpenMetrics)?;
        } else {
            text.clone_into(slot);
        }
        Ok(())
    }

    fn sample(&mut self, line: &str) -> Result<(), String> {
        let end = line.find(['{', ' ']).ok_or("no value")?;
        let (name, rest) = line.split_at(end);
        let (labels, rest) = match rest.strip_prefix('{') {
            Some(rest) => labels(rest)?,
            None => (Labels::new(), rest),
        };
        let value = number(rest.strip_prefix(' ').ok_or("no space before the value")?)?;
        let format = self.format;
        let family = self.families.last_mut().ok_or("a sample before any family")?;
        if !family.suffixes(format)?.iter().any(|suffix| name.strip_suffix(suffix) == Some(&family.name)) {
            return Err("a sample that does not belong to its family".into());
        }
        if !self.series.insert((name.into(), labels.clone())) {
            return Err("a series twice".into());
        }
        family.samples.push(Sample { name: name.into(), labels, value });
        Ok(())
    }
}

impl Family {
    /// What follows the family's name in the names of its samples.
    fn suffixes(&self, format: Format) -> Result<&'static [&'static str], String> {
        match (&*self.kind, format) {
            ("gauge", _) | ("counter", Format::Text) => Ok(&[""]),
            ("counter", Format::OpenMetrics) => Ok(&["_total"]),
            ("histogram", _) => Ok(&["_bucket", "_sum", "_count"]),
            ("info", Format::OpenMetrics) => Ok(&["_info"]),
            (kind, _) => Err(format!("type {kind:?}")),
        }
    }
}

fn check(family: &Family) -> Result<(), String> {
    if family.kind.is_empty() || family.help.is_empty() {
        return Err("no TYPE or no HELP".into());
    }
    if let Some(unit) = &family.unit
        && !family.name.ends_with(&format!("_{unit}"))
    {
        return Err(format!("a name without its unit {unit}"));
    }
    if family.kind == "counter" && family.samples.iter().any(|sample| sample.value < 0.0) {
        return Err("a counter below 0".into());
    }
    if family.kind == "histogram" { check_histogram(family) } else { Ok(()) }
}

fn check_histogram(family: &Family) -> Result<(), String> {
    let of = |suffix: &str| {
        let name = format!("{}{suffix}", family.name);
        family.samples.iter().filter(move |sample| sample.name == name)
    };
    for count in of("_count") {
        let mut bound = f64::NEG_INFINITY;
        let mut below = 0.0;
        for bucket in of("_bucket") {
            let mut labels = bucket.labels.clone();
            let le = labels.remove("le").ok_or("a bucket without le")?;
            if labels != count.labels {
                continue;
            }
            let le: f64 = le.parse().map_err(|_| format!("le {le:?}"))?;
            if le <= bound || bucket.value < below {
                return Err("buckets that do not rise".into());
            }
            (bound, below) = (le, bucket.value);
        }
        if bound < f64::INFINITY || (below - count.value).abs() > 0.0 {
            return Err("a last bucket that is not the count".into());
        }
        if !of("_sum").any(|sum| sum.labels == count.labels) {
            return Err("a histogram without its sum".into());
        }
    }
    Ok(())
}

fn is_name(name: &str, colon: bool) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || colon && c == ':';
    name.chars().all(fits) && name.starts_with(|c: char| !c.is_ascii_digit())
}

/// The labels up to the closing brace, and what follows it.
fn labels(mut rest: &str) -> Result<(Labels, &str), String> {
    let mut labels = Labels::new();
    loop {
        let (name, after) = rest.split_once("=\"").ok_or("labels that do not end")?;
        let end = closing_quote(after).ok_or("a label value that does not end")?;
        if !is_name(name, false) || name.starts_with("__") {
            return Err(format!("label name {name:?}"));
        }
        if labels.insert(name.into(), unescape(&after[..end], true)?).is_some() {
            return Err(format!("label {name} twice"));
        }
        rest = &after[end + 1..];
        if let Some(after) = rest.strip_prefix('}') {
            return Ok((labels, after));
        }
        rest = rest.strip_prefix(',').ok_or("no comma between labels")?;
    }
}

fn closing_quote(text: &str) -> Option<usize> {
    let mut escaped = false;
    text.char_indices().find_map(|(at, c)| {
        let found = c == '"' && !escaped;
        escaped = c == '\\' && !escaped;
        found.then_some(at)
    })
}

fn unescape(text: &str, quotes: bool) -> Result<String, String> {
    let mut chars = text.chars();
    let mut out = String::new();
    while let Some(c) = chars.next() {
        match (c, c == '\\') {
            (_, false) => out.push(c),
            _ => match chars.next() {
                Some('\\') => out.push('\\'),
                Some('n') => out.push('\n'),
                Some('"') if quotes => out.push('"'),
                other => return Err(format!("the escape \\{other:?}")),
            },
        }
    }
    Ok(out)
}

fn number(text: &str) -> Result<f64, String> {
    let value: f64 = text.parse().map_err(|_| "a value that is no number, or a timestamp")?;
    if value.is_finite() { Ok(value) } else { Err("a value that is not finite".into()) }
}

#[test]
fn refuses_what_a_lenient_reader_lets_pass() {
    let whole = "# HELP a A.\n# TYPE a gauge\na{x=\"1\"} 1\n# EOF\n";
    assert!(parse(whole, Format::OpenMetrics).is_ok());
    for (from, to) in [
        ("# EOF\n", ""),
        ("# HELP a A.\n", ""),
        ("# TYPE a gauge\n", ""),
        (" 1\n", " NaN\n"),
        (" 1\n", " 1 1700000000\n"),
        (" 1\n", " 1\na{x=\"1\"} 2\n"),
        (" 1\n", " 1\n# HELP b B.\n# TYPE b gauge\nb 1\n# HELP a A.\n"),
        ("x=\"1\"", "x=\"\\t\""),
        ("x=\"1\"", "x=\"1\",x=\"2\""),
        ("x=\"1\"", "1x=\"1\""),
        ("gauge", "counter"),
    ] {
        let broken = whole.replacen(from, to, 1);
        assert!(parse(&broken, Format::OpenMetrics).is_err(), "{broken}");
    }
}
