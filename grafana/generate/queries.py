"""The queries that the dashboards share.

Replicas show the same languages twice: a ratio is aggregated by max and a clock by min, `by` the labels named here, so that a
second replica, a moved pod or a label of the node changes no figure. A cluster, a namespace and a job make an account; a label
that is absent counts as empty.

All figures are of the exporter's own series, so that they follow the selected instances and need no rules. The exporter judges what
has stalled or is at risk, and when it will be ready: no query compares a time with a threshold. Charts over weeks of many
repositories read the means of repositories and of languages, a hundredth of the series of all translations.

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


UP = known(fold("max", "up", INSTANCE))


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

# The accounts that were seen within a day and whose data are missing: not all that they list is served. Where polls do not fail
# otherwise, the repositories that are not served are those that the key may not read.
COMPLETE = f"{REPOSITORIES} <= ({SERVED} or {REPOSITORIES} * 0) and ({LISTED} or {SERVED})"
GAPS = f"(group by ({ACCOUNT}) ({KNOWN}) unless ({COMPLETE} or {SERVED} and {LISTED} unless {POLLS_FAIL}))"


class Scope:
    """The series of the repositories that a dashboard shows; `repo` is its matcher."""

    def __init__(self, repo: str, *, one: bool = False) -> None:
        repository, translation = f"{ACCOUNT}, repo", f"{ACCOUNT}, repo, language"
        of_repository = f"{EXPORTER}, {repo}"
        of_translation = f'{of_repository}, language=~"$language"'
        self.repository, self.translation = of_repository, of_translation
        self.by_repository = repository
        # Of one repository, only its own accounts matter; to ask it of all would cost more than the totals.
        listed = f" and on ({ACCOUNT}) last_over_time(translation_repository_info{{{of_repository}}}[1d])" if one else ""
        self.gaps = f"({GAPS}{listed})"
        self.ratio = fold("max", "translation_completion_ratio", translation, of_translation)
        self.clock = fold("min", "translation_last_progress_timestamp_seconds", translation, of_translation)
        self.target = fold("max", "translation_target_ratio", translation, of_translation)
        self.due = fold("max", "translation_target_due_timestamp_seconds", translation, of_translation)
        self.idle = f"(time() - {self.clock})"
        # Without a target, a translation is ready when it is complete.
        self.goal = f"({self.target} or {self.ratio} * 0 + 1)"
        self.behind = f"({self.ratio} < {self.goal})"
        self.ready = f"({self.ratio} >= bool {self.goal})"
        self.estimate = fold("max", "translation_estimated_ready_timestamp_seconds", translation, of_translation)
        # One without a completion is not ready either, unless its target is 0. What has a date has a target.
        self.open = f"({self.due} unless {self.ratio} >= {self.target} unless {self.target} == 0)"

        self.served = fold("max", "translation_repository_languages", repository, of_repository)
        self.read_at = fold("max", "translation_repository_last_success_timestamp_seconds", repository, of_repository)
        # A repository whose data are gone keeps its time of last success.
        self.age, self.gone_since = f"(time() - {self.read_at} and {self.served})", f"(time() - {self.read_at} unless {self.served})"
        self.languages_ready = fold("max", "translation_repository_languages_ready", repository, of_repository)
        # The mean of each, every ratio cut to 0 to 1. The one of a language is over all repositories of the account.
        self.mean_of_repository = fold("max", "translation_repository_completion_ratio", repository, of_repository)
        language = f'{EXPORTER}, language=~"$language"'
        self.mean_of_language = fold("max", "translation_language_completion_ratio", f"{ACCOUNT}, language", language)
        judged = (
            f"count by ({repository}) ({fold('max', 'translation_completion_ratio', translation, of_repository)}"
            f" or {fold('max', 'translation_target_ratio', translation, of_repository)} == 0)"
        )
        # How many languages of a repository have no completion.
        self.unknown = f"({self.served} - ({judged} or {self.served} * 0))"
        self.names = f"topk by (language) (1, group by (language, name) (translation_language_info{{{language}}}))"
        # Where a repository is worked on, as a label; replicas may have been configured differently.
        work = fold("group", "translation_repository_info", f"{repository}, url", of_repository)
        self.with_url = f"* on ({repository}) group_left (url) topk by ({repository}) (1, {work})"

    def problem(self, kind: str) -> str:
        """The translations that the exporter finds to be wrong in this way, with the time that it is about."""
        return self.problems(f', kind="{kind}"')

    def problems(self, matcher: str = "", more: str = "") -> str:
        """The translations with a problem; `more` is what to keep of its labels."""
        labels = f"{self.by_repository}, language{more}"
        return fold("max", "translation_problem_timestamp_seconds", labels, f'{self.translation}{matcher}')

    def counted(self, expr: str) -> str:
        """How many series there are; 0 if there is none, but repositories are shown."""
        return f"count({expr}) or 0 * count({self.served})"

    def whole(self, expr: str) -> str:
        """A total, while no account lacks its data."""
        return f"({expr}) unless on () {self.gaps}"


def at_the_end(expr: str) -> str:
    """The same at the end of the time range, whatever it was before."""
    return re.sub(r"\}(\[\w+\])?", r"}\1 @ end()", expr)
