//! Content-Security-Policy: whether a policy of the web configuration file strips the styles of a
//! page.

use axum::http::HeaderValue;

/// Whether a browser that obeys the policy `given` still applies all inline styles that `own` names
/// by their hashes.
pub fn permits_styles(given: &HeaderValue, own: &HeaderValue) -> bool {
    let (Ok(given), Ok(own)) = (given.to_str(), own.to_str()) else {
        return false;
    };
    // A header may hold several policies, all of which are in force.
    given.split(',').all(|given| {
        let Some(permitted) = style_sources(given) else {
            return true;
        };
        let names = |source: &str| permitted.split_ascii_whitespace().any(|one| one == source);
        let is_strict = permitted.contains("'sha") || permitted.contains("'nonce-");
        let needed = style_sources(own).unwrap_or_default();
        let mut hashes = needed.split_ascii_whitespace();
        (names("'unsafe-inline'") && !is_strict) || hashes.all(names)
    })
}

/// Returns the sources of styles in a policy: those of the most specific directive that it has.
fn style_sources(policy: &str) -> Option<&str> {
    let find = |name: &str| {
        policy.split(';').find_map(|directive| {
            let directive = directive.trim();
            let (found, sources) = directive.split_once(' ').unwrap_or((directive, ""));
            found.eq_ignore_ascii_case(name).then_some(sources)
        })
    };
    find("style-src-elem")
        .or_else(|| find("style-src"))
        .or_else(|| find("default-src"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_policy_that_strips_the_styles_is_told_from_one_that_does_not() {
        let own = HeaderValue::from_static("default-src 'none'; style-src 'sha256-a' 'sha256-b'");
        for (given, permits) in [
            ("default-src 'self'", false),
            ("default-src 'none'; style-src 'self'", false),
            ("style-src 'sha256-a'", false),
            ("style-src 'unsafe-inline' 'nonce-x'", false),
            ("default-src 'none';", false),
            ("frame-ancestors 'none', default-src 'self'", false),
            ("frame-ancestors https://grafana.example", true),
            ("default-src 'self'; style-src 'unsafe-inline'", true),
            ("Style-Src 'sha256-b' 'sha256-a' 'self'", true),
            ("style-src-elem 'unsafe-inline'; style-src 'none'", true),
        ] {
            let given = HeaderValue::from_static(given);
            assert_eq!(permits_styles(&given, &own), permits, "{given:?}");
        }
    }
}
