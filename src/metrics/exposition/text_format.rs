//! Converts prometheus-client's OpenMetrics to the text format 0.0.4.
//!
//! Text 0.0.4 has no units, and its HELP and TYPE lines name a counter like its samples, with
//! `_total`. See
//! <https://prometheus.io/docs/instrumenting/exposition_formats/#text-based-format>.

/// Converts `open_metrics`, which comes without `# EOF`, to text 0.0.4.
///
/// HELP texts must not contain escapes, and all families must be of types that 0.0.4 has.
pub fn from_open_metrics(open_metrics: &str) -> String {
    let mut out = String::with_capacity(open_metrics.len() + 1024);
    let mut help = "";
    for line in open_metrics.split_inclusive('\n') {
        if let Some(described) = line.strip_prefix("# HELP ") {
            // The TYPE line decides on the suffix of the name, so HELP is written with it.
            help = described.split_once(' ').map_or("\n", |(_, help)| help);
        } else if let Some((name, kind)) = line
            .strip_prefix("# TYPE ")
            .and_then(|typed| typed.split_once(' '))
        {
            let suffix = if kind == "counter\n" { "_total" } else { "" };
            out.extend([
                "# HELP ", name, suffix, " ", help, "# TYPE ", name, suffix, " ", kind,
            ]);
        } else if !line.starts_with("# UNIT ") {
            out.push_str(line);
        }
    }
    out
}
