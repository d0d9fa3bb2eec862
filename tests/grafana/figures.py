"""An account with known translations, and what each stat panel has to show of it."""

ALL, FRENCH = (None, None), (None, "fr")
APP, APP_IN_FRENCH, DOCS = ("acme/app", None), ("acme/app", "fr"), ("acme/docs", None)
# Repository and language that are selected; None is all.
SELECTED = {
    "translation-progress": [ALL, FRENCH, APP, APP_IN_FRENCH, DOCS],
    "translation-repository": [APP, APP_IN_FRENCH, DOCS],
    "translation-exporter": [ALL],
}

INTERVAL = 2  # seconds between polls
SETTINGS = {
    "api__key": "key-of-the-black-box-tests",
    # Each poll makes six requests, and so takes a second or a little more.
    "api__requests_per_second": "5",
    "poll__interval": f"{INTERVAL}s",
    "filter__exclude": "acme/internal",
}
APP_BEFORE = (1, "acme/app", {"de": 100, "fr": 40, "es": 110, "ja": None})
APP_NOW = (1, "acme/app", {"de": 100, "fr": 50, "es": 110, "ja": None})
REPOSITORIES = [
    APP_BEFORE,
    (2, "acme/site", {"de": 100, "fr": 100}),
    (3, "acme/docs", {"de": 20}),
    (4, "acme/lost", {"de": 5}),
    (5, "acme/internal", {"de": 5}),
]
LOST = 4  # cannot be read after the first poll
# Seconds; when French rises, the other languages have not risen for longer.
STALLED_AFTER = 10


def expected(window, since_lost):
    """By title and legend: a value or its bounds, for all selections or for each. French rose by 0.1 within `window` seconds."""
    just_polled, lost = (0, INTERVAL + 3), (since_lost - 1, since_lost + INTERVAL + 2)
    remaining = 0.5 * window / 0.1
    age = {ALL: lost, FRENCH: lost, APP: just_polled, APP_IN_FRENCH: just_polled, DOCS: just_polled}
    estimate = (remaining - 3, remaining + 1)
    return {
        "Mean completion": {ALL: 4.85 / 7, FRENCH: 0.75, APP: 2.6 / 3, APP_IN_FRENCH: 0.5, DOCS: 0.2},
        "Minimum completion": {ALL: 0.05, FRENCH: 0.5, APP: 0.5, APP_IN_FRENCH: 0.5, DOCS: 0.2},
        "Languages complete, complete": {ALL: 4, FRENCH: 1, APP: 2, APP_IN_FRENCH: 0, DOCS: 0},
        "Languages complete, in total": {ALL: 7, FRENCH: 2, APP: 3, APP_IN_FRENCH: 1, DOCS: 1},
        "Languages complete, measured": {APP: 3, APP_IN_FRENCH: 1, DOCS: 1},
        "Languages complete, configured": {APP: 4, APP_IN_FRENCH: 4, DOCS: 1},
        "Repositories ready, ready": {ALL: 1, FRENCH: 1, APP: 0, APP_IN_FRENCH: 0, DOCS: 0},
        "Repositories ready, in total": {ALL: 4, FRENCH: 2, APP: 1, APP_IN_FRENCH: 1, DOCS: 1},
        "Languages stalled": {ALL: 2, FRENCH: 0, APP: 0, APP_IN_FRENCH: 0, DOCS: 1},
        "Estimated completion": {APP: estimate, APP_IN_FRENCH: estimate, DOCS: None},
        "Age of the data, ago": age,
        "Age of the data, poll intervals": {of: (low / INTERVAL, high / INTERVAL) for of, (low, high) in age.items()},
        "API": 1,
        "Scale": 0,
        "Out of scale": 1,
        "Repositories by state, filtered": 1,
        "Repositories by state, pending": 0,
        "Repositories by state, fresh": 3,
        "Repositories by state, failing": 1,
        "Repositories by state, stale": 0,
        "Instances up, up": 2,
        "Instances up, in total": 2,
        "Listing": 1,
        "Last poll, ago": just_polled,
        "Last poll, poll intervals": (0, just_polled[1] / INTERVAL),
        "Last full poll, ago": lost,
        "Last full poll, poll intervals": (lost[0] / INTERVAL, lost[1] / INTERVAL),
        "Interval used": (0.4, 0.95),
    }
