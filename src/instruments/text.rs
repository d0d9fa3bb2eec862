//! OpenMetrics to text 0.0.4, for what prometheus-client writes.
//!
//! Text 0.0.4 knows no units, and names a counter by its samples, `_total` included, in HELP and TYPE too. See
//! <https://prometheus.io/docs/instrumenting/exposition_formats/#text-based-format>.

/// Appends `open_metrics`, without its `# EOF`, as text 0.0.4.
///
/// Its HELP texts hold no escapes, and no family is of a type that 0.0.4 lacks.
pub(super) fn from_open_metrics(open_metrics: &str, out: &mut String) {
    out.reserve(open_metrics.len());
    let mut help = None;
    for line in open_metrics.split_inclusive('\n') {
        if let Some(described) = line.strip_prefix("# HELP ") {
            help = described.split_once(' ').map(|(_, text)| text);
        } else if let Some((name, kind)) = line.strip_prefix("# TYPE ").and_then(|typed| typed.split_once(' ')) {
            let suffix = if kind == "counter\n" { "_total" } else { "" };
            if let Some(text) = help.take() {
                out.extend(["# HELP ", name, suffix, " ", text]);
            }
            out.extend(["# TYPE ", name, suffix, " ", kind]);
        } else if !line.starts_with("# UNIT ") {
            out.push_str(line);
        }
    }
}
