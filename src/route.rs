//! The routes of the web side: where they lie and by which methods they are asked for.
//!
//! One table, from which the web side answers, the configuration knows which paths are taken, and the instruments have
//! the values of the label `path`.

/// What is served.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Route {
    Page,
    Metrics,
    Healthy,
    Ready,
    Reload,
    /// Everything else: nothing is there.
    Other,
}

/// The routes whose path is always the same.
const FIXED: [(&str, Route); 4] =
    [("/", Route::Page), ("/-/healthy", Route::Healthy), ("/-/ready", Route::Ready), ("/-/reload", Route::Reload)];

impl Route {
    /// The route at `path`, where the metrics are at `telemetry_path`.
    #[must_use]
    pub fn at(path: &str, telemetry_path: &str) -> Self {
        if path == telemetry_path { Self::Metrics } else { Self::fixed(path).unwrap_or(Self::Other) }
    }

    /// The route that is at `path` wherever the metrics are.
    #[must_use]
    pub fn fixed(path: &str) -> Option<Self> {
        FIXED.iter().find(|(fixed, _)| *fixed == path).map(|(_, route)| *route)
    }

    /// The value of the label `path`; `None` for the metrics, which are where the configuration says.
    #[must_use]
    pub fn label(self) -> Option<&'static str> {
        match self {
            Self::Metrics => None,
            Self::Other => Some("other"),
            route => FIXED.iter().find(|(_, fixed)| *fixed == route).map(|(path, _)| *path),
        }
    }

    /// The value of `Allow`; empty where there is nothing to allow anything for.
    #[must_use]
    pub fn methods(self) -> &'static str {
        match self {
            Self::Page | Self::Metrics | Self::Healthy | Self::Ready => "GET, HEAD",
            Self::Reload => "PUT, POST",
            Self::Other => "",
        }
    }
}
