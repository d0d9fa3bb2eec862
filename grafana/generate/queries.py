"""The queries that the dashboards share.

Replicas show the same languages twice: a ratio is aggregated by max and a clock by min, `by` the labels named here, so that a
second replica, a moved pod or a label of the node changes no figure. A cluster, a namespace and a job make an account; a label
that is absent counts as empty.

Current figures are computed from what the exporter exposes, so that they follow the selected instances and need no rules.
Charts over time read the recorded series of deploy/prometheus/recording-rules.yaml: one for each language, however many
replicas and pods there have been.

An account without data must not look like progress: every total is blank while `gaps` finds a selected account whose data are
missing, in tiles as in charts.
"""

import re

ACCOUNT = "cluster, namespace, job"
INSTANCE = f"{ACCOUNT}, instance"
CHOSEN = 'cluster=~"$cluster", namespace=~"$namespace", job=~"$job"'
EXPORTER = f'{CHOSEN}, instance=~"$instance"'


def fold(by: str, metric: str, labels: str = ACCOUNT, selector: str = EXPORTER, *, over: str = "") -> str:
    """One series for each combination of these labels; `over` is what is taken of the last five minutes."""
    series = f"{metric}{{{selector}}}"
    return f"{by} by ({labels}) ({f'{over}({series}[5m])' if over else series})"


def own(metric: str, labels: str = INSTANCE) -> str:
    """A gauge of the exporter's own, of each instance if nothing else is asked for."""
    return fold("max", f"translation_exporter_{metric}", labels)


def in_state(states: str) -> str:
    """How many repositories of each account are in each of these states."""
    return fold("max", "translation_exporter_repositories", f"{ACCOUNT}, state", f'{EXPORTER}, state=~"{states}"')


KNOWN = f"last_over_time(translation_exporter_build_info{{{EXPORTER}}}[1d])"


def known(expr: str) -> str:
    """What `expr` has of the exporter's instances, and of those that were lost within a day, but not of other jobs."""
    return f"{expr} and on ({INSTANCE}) {KNOWN}"


def per_hour(metric: str, by: str = "") -> str:
    """Events in an hour, in all or by a label; a reason for which there were none is left out."""
    events = f"sum {f'by ({by}) ' if by else ''}(increase({metric}{{{EXPORTER}}}[1h]))"
    return f"{events} > 0" if by else events


INTERVAL = own("poll_interval_seconds", ACCOUNT)
SUSPECT = fold("max", "translation_exporter_completion_scale_suspect")
OUT_OF_SCALE = fold("max", "translation_exporter_completion_out_of_scale")
REACHABLE = fold("min", "translation_up")

# How many repositories an account lists, how many of these are served, and how many are not: too old, or not read yet.
REPOSITORIES = f'max by ({ACCOUNT}) (sum by ({INSTANCE}) (translation_exporter_repositories{{{EXPORTER}, state!="filtered"}}))'
SERVED = f"count by ({ACCOUNT}) ({fold('max', 'translation_repository_languages', f'{ACCOUNT}, repo')})"
WITHOUT_DATA = f"clamp_min({REPOSITORIES} - ({SERVED} or {REPOSITORIES} * 0), 0)"
LISTED = f"{fold('min', 'translation_up', over='min_over_time')} == 1"
POLLS_FAILING = f'{EXPORTER}, kind="polls_failing"'
POLLS_FAIL = fold("max", "translation_exporter_problem", selector=POLLS_FAILING, over="max_over_time") + " == 1"


def gaps(served: str) -> str:
    """The accounts that were seen within a day and whose data are missing: not all that they list is served.

    Where polls do not fail otherwise, the repositories that are not served are those that the key may not read.
    """
    complete = f"{REPOSITORIES} <= ({served} or {REPOSITORIES} * 0) and ({LISTED} or {served})"
    whole = f"({complete} or {served} and {LISTED} unless {POLLS_FAIL})"
    return f"(group by ({ACCOUNT}) ({KNOWN}) unless {whole})"


GAPS = gaps(SERVED)
RECORDED_GAPS = gaps(f"count by ({ACCOUNT}) (repo:translation_languages_ready:count{{{CHOSEN}}})")


def late(age: str, interval: str) -> str:
    """1 if it is more than three intervals, as the alert rules count, and more than five minutes, as scrapes take time too."""
    return f"({age} > bool 300) * ({age} / {interval} > bool 3)"


class Scope:
    """The series of the repositories that a dashboard shows; `repo` is its matcher."""

    def __init__(self, repo: str, *, one: bool = False) -> None:
        repository, translation = f"{ACCOUNT}, repo", f"{ACCOUNT}, repo, language"
        of_repository = f"{EXPORTER}, {repo}"
        of_translation = f'{of_repository}, language=~"$language"'
        self.repository = of_repository
        self.by_repository = repository
        # Of one repository, only its own accounts matter; to ask it of all would cost more than the totals.
        listed = f" and on ({ACCOUNT}) last_over_time(translation_repository_info{{{of_repository}}}[1d])" if one else ""
        self.gaps, self.recorded_gaps = f"({GAPS}{listed})", f"({RECORDED_GAPS}{listed})"
        self.ratio = fold("max", "translation_completion_ratio", translation, of_translation)
        self.clock = fold("min", "translation_last_progress_timestamp_seconds", translation, of_translation)
        self.target = fold("max", "translation_target_ratio", translation, of_translation)
        self.due = fold("max", "translation_target_due_timestamp_seconds", translation, of_translation)
        self.idle = f"(time() - {self.clock})"
        # Without a target, a translation is ready when it is complete.
        self.goal = f"({self.target} or {self.ratio} * 0 + 1)"
        self.behind = f"({self.ratio} < {self.goal})"
        self.ready = f"({self.ratio} >= bool {self.goal})"
        self.stalled = f"({self.idle} > bool $stalled_after) * ({self.ratio} < bool {self.goal})"
        # One without a completion is not ready either, unless its target is 0. What has a date has a target.
        self.open = f"({self.due} unless {self.ratio} >= {self.target} unless {self.target} == 0)"

        self.served = fold("max", "translation_repository_languages", repository, of_repository)
        self.read_at = fold("max", "translation_repository_last_success_timestamp_seconds", repository, of_repository)
        # A repository whose data are gone keeps its time of last success: only those still served have figures that can be old.
        self.age = f"(time() - {self.read_at} and {self.served})"
        judged = (
            f"count by ({repository}) ({fold('max', 'translation_completion_ratio', translation, of_repository)}"
            f" or {fold('max', 'translation_target_ratio', translation, of_repository)} == 0)"
        )
        # How many languages of a repository have no completion.
        self.unknown = f"({self.served} - ({judged} or {self.served} * 0))"
        info = f'translation_language_info{{{EXPORTER}, language=~"$language"}}'
        self.names = f"topk by (language) (1, group by (language, name) ({info}))"
        # Where a repository is worked on, as a label; replicas may have been configured differently.
        work = fold("group", "translation_repository_info", f"{repository}, url", of_repository)
        self.with_url = f"* on ({repository}) group_left (url) topk by ({repository}) (1, {work})"

        recorded_repository = f"{CHOSEN}, {repo}"
        recorded = f'{recorded_repository}, language=~"$language"'
        self.recorded_ratio = f"repo_language:translation_completion_ratio:max{{{recorded}}}"
        # A tenth of the samples: they are what a chart over a week of all languages costs.
        self.recorded_ratio_10m = f"last_over_time(repo_language:translation_completion_ratio:max10m{{{recorded}}}[15m])"
        self.recorded_missing = f"repo_language:translation_completion_ratio:missing{{{recorded}}}"
        self.recorded_target = f"repo_language:translation_target_ratio:max{{{recorded}}}"
        self.recorded_goal = f"({self.recorded_target} or {self.recorded_ratio} * 0 + 1)"
        self.recorded_due = f"repo_language:translation_target_due_timestamp_seconds:max{{{recorded}}}"
        self.recorded_missed = f"repo_language:translation_target_due_timestamp_seconds:missed{{{recorded}}}"
        self.recorded_at_risk = f"repo_language:translation_target_due_timestamp_seconds:at_risk{{{recorded}}}"
        self.recorded_clock = f"repo_language:translation_last_progress_timestamp_seconds:min{{{recorded}}}"
        self.recorded_ready = f"repo:translation_languages_ready:count{{{recorded_repository}}}"
        self.recorded_stalled = f"repo:translation_languages_stalled:count{{{recorded_repository}}}"
        self.estimate = f"repo_language:translation_completion_estimated_timestamp_seconds{{{recorded}}}"

    def whole(self, expr: str) -> str:
        """A total, while no account lacks its data."""
        return f"({expr}) unless on () {self.gaps}"

    def whole_recorded(self, expr: str) -> str:
        """A total of recorded series."""
        return f"({expr}) unless on () {self.recorded_gaps}"


def at_the_end(expr: str) -> str:
    """The same at the end of the time range, whatever it was before."""
    return re.sub(r"\}(\[\w+\])?", r"}\1 @ end()", expr)
