//! OpenMetrics to text 0.0.4, for what prometheus-client writes.
//!
//! Text 0.0.4 has no units, and a counter's HELP and TYPE have the name of its samples, including `_total`. See
//! <https://prometheus.io/docs/instrumenting/exposition_formats/#text-based-format>.

/// `open_metrics`, without its `# EOF`, as text 0.0.4.
///
/// Its HELP texts hold no escapes, and no family is of a type that 0.0.4 lacks.
pub fn from_open_metrics(open_metrics: &str) -> String {
    let mut out = String::with_capacity(open_metrics.len() + 1024);
    let mut help = "";
    for line in open_metrics.split_inclusive('\n') {
        if let Some(described) = line.strip_prefix("# HELP ") {
            // Written with the type, which determines how the name ends.
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
