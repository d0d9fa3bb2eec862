"""The queries that the dashboards share.

Replicas show the same languages twice. A ratio is aggregated by max and a clock by min, `without (instance, pod)`, so
that a second replica or a moved pod changes no figure, and every other label stays.

Current figures are computed from what the exporter exposes, so that they follow the selected instances and need no
rules. Charts over time read the recorded series of deploy/prometheus/recording-rules.yaml: one for each language,
however many replicas and pods there have been. These have no instance.
"""

EXPORTER = 'job=~"$job", instance=~"$instance"'
REPOSITORY = f'{EXPORTER}, repo=~"$repo"'
LANGUAGE = f'{REPOSITORY}, language=~"$language"'
RECORDED_REPOSITORY = 'job=~"$job", repo=~"$repo"'
RECORDED = f'{RECORDED_REPOSITORY}, language=~"$language"'


def fold(by: str, metric: str, selector: str, *, at_the_end: bool = False) -> str:
    """One series where replicas show several; at the end of the time range instead of at each step, if asked."""
    return f"{by} without (instance, pod) ({metric}{{{selector}}}{' @ end()' if at_the_end else ''})"


RATIO = fold("max", "translation_completion_ratio", LANGUAGE)
CLOCK = fold("min", "translation_last_progress_timestamp_seconds", LANGUAGE)
IDLE = f"(time() - {CLOCK})"
STALLED = f"({IDLE} > bool $stalled_after) * ({RATIO} < bool 1)"
READ_AT = fold("max", "translation_repository_last_success_timestamp_seconds", REPOSITORY)
SERVED = fold("max", "translation_repository_languages", REPOSITORY)
# A repository whose data are gone keeps its time of last success: only those still served have figures that can be old.
AGE_OF_DATA = f"(time() - {READ_AT} and {SERVED})"
INTERVAL = f"ignoring (repo) group_left () {fold('max', 'translation_exporter_poll_interval_seconds', EXPORTER)}"

RECORDED_RATIO = f"repo_language:translation_completion_ratio:max{{{RECORDED}}}"
RECORDED_CLOCK = f"repo_language:translation_last_progress_timestamp_seconds:min{{{RECORDED}}}"
ESTIMATE = f"repo_language:translation_completion_estimated_timestamp_seconds{{{RECORDED}}}"

# One mark at each change: the offset is as long as the step. The value is above 0, as Grafana drops what is not.
REACHED = f"{RECORDED_RATIO} >= 1 and {RECORDED_RATIO} offset $__interval < 1"
FELL = f"{RECORDED_RATIO} offset $__interval >= 1 and {RECORDED_RATIO} < 1"


def rate(metric: str, by: str, more: str = "") -> str:
    """Events per second, summed over what `by` does not name."""
    return f"sum by ({by}) (rate({metric}{{{EXPORTER}{more}}}[$__rate_interval]))"


def least_at_the_end(number: int, expr: str, expr_at_the_end: str) -> str:
    """The series that are lowest at the end of the time range, whatever they were before."""
    return f"{expr} and bottomk({number}, {expr_at_the_end})"
