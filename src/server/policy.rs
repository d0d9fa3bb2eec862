//! Content-Security-Policy: detects policies of the web configuration file that would strip the
//! page's styles.

use axum::http::HeaderValue;

/// Returns true if a browser that obeys the policy `given` still applies all inline styles that
/// `own` lists by hash.
pub fn permits_styles(given: &HeaderValue, own: &HeaderValue) -> bool {
    let (Ok(given), Ok(own)) = (given.to_str(), own.to_str()) else {
        return false;
    };
    // A header may hold several policies. The browser applies all of them.
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

/// Returns the sources that a policy allows for styles, from its most specific directive.
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
    fn policies_that_strip_the_styles_are_detected() {
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
