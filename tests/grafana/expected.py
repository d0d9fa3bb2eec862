"""What each stat panel has to show, computed from the answers of the demo API, without the exporter and without PromQL.

A figure is a function of the answers, the repositories and languages that are chosen, and the time. It gives the value
of each legend; a panel with one value has the empty legend. Two figures have a constant instead, with the reason.
"""

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from statistics import fmean

from api import Account, Repository

PROGRESS, REPOSITORY, EXPORTER = "translation-progress", "translation-repository", "translation-exporter"

# Seconds from the start of a poll to that of the next, as in the demo itself.
INTERVAL = 5
# How far a time that the exporter noted may be from that at which it was given the answer, in seconds.
LATE = 1.0


@dataclass
class View:
    """What the API has said, as far as it is chosen; `earlier` is what it had said when the forecast's window began."""

    account: Account
    earlier: Account
    window: float
    stalled_after: float
    now: float
    repo: str | None = None
    language: str | None = None

    def repositories(self, account: Account | None = None) -> list[Repository]:
        """Those that were read, and so are served: none is out for as long as poll.stale_after."""
        of = (account or self.account).repositories.values()
        return [each for each in of if each.read_at is not None and self.repo in (None, each.name)]

    def chosen(self, account: Account | None = None) -> dict[tuple[str, str], float]:
        """The ratio of each chosen language that reports a completion."""
        return {
            (repository.name, code): language.completion / self.account.scale
            for repository in self.repositories(account)
            for code, language in repository.languages.items()
            if language.completion is not None and self.language in (None, code)
        }

    def least_by_repository(self) -> list[float]:
        least: dict[str, float] = defaultdict(lambda: float("inf"))
        for (repo, _), ratio in self.chosen().items():
            least[repo] = min(least[repo], ratio)
        return list(least.values())

    def complete(self) -> int:
        return len([ratio for ratio in self.chosen().values() if ratio >= 1])

    def idle(self) -> list[float]:
        """For how long each incomplete language has not risen, the longest last."""
        ratios = self.chosen()
        return sorted(
            self.now - language.clock
            for repository in self.repositories()
            for code, language in repository.languages.items()
            if ratios.get((repository.name, code), 1) < 1
        )

    def stalled(self) -> int:
        return len([idle for idle in self.idle() if idle > self.stalled_after])

    def age(self) -> float:
        return max(self.now - repository.read_at for repository in self.repositories())

    def remaining(self) -> dict[tuple[str, str], float]:
        """How long each incomplete language that rises will take if it goes on like that."""
        now, before = self.chosen(), self.chosen(self.earlier)
        return {
            key: (1 - ratio) * self.window / (ratio - before[key])
            for key, ratio in now.items()
            if key in before and before[key] < ratio < 1
        }

    def latest_estimate(self) -> dict[str, float]:
        """In milliseconds. Nothing where nothing chosen rises."""
        remaining = self.remaining().values()
        return {"": (self.now + max(remaining)) * 1000} if remaining else {}

    def by_state(self) -> dict[str, int]:
        """An attempt that failed for good leaves what was read before; nothing is out for as long as to grow stale."""
        states = {"filtered": len(self.account.filtered), "pending": 0, "fresh": 0, "failing": 0, "stale": 0}
        for repository in self.account.repositories.values():
            if repository.read_at is None:
                states["pending"] += 1
            else:
                states["fresh" if repository.last_status == 200 else "failing"] += 1
        return states

    def out_of_scale(self) -> int:
        """Whatever is chosen: the exporter counts them as a whole."""
        return len(self.everything(lambda completion: not 0 <= completion <= self.account.scale))

    def is_suspect(self) -> bool:
        return bool(self.everything(lambda completion: completion > 0)) and not self.everything(lambda c: c > 1)

    def everything(self, holds: Callable[[float], bool]) -> list[float]:
        return [
            language.completion
            for repository in self.account.repositories.values()
            for language in repository.languages.values()
            if language.completion is not None and holds(language.completion)
        ]

    def since_full_poll(self) -> float:
        return self.now - max(poll.ended_at for poll in self.account.polls if self.account.is_full(poll))

    def since_poll(self) -> float:
        return self.now - self.account.polls[-1].ended_at

    def interval_used(self) -> float:
        poll = self.account.polls[-1]
        return (poll.ended_at - poll.began_at) / INTERVAL

    def is_listed(self) -> bool:
        return self.account.polls[-1].is_listed


@dataclass
class Figure:
    """What a panel has to show, and how far it may be from it."""

    values: Callable[[View], dict[str, float]]
    tolerance: float = 1e-6


def one(figure: Callable[[View], float], **more) -> Figure:
    return Figure(lambda view: {"": figure(view)}, **more)


def since(figure: Callable[[View], float]) -> Figure:
    """In seconds, and in poll intervals."""
    return Figure(lambda view: {"ago": figure(view), "poll intervals": figure(view) / INTERVAL}, tolerance=LATE)


# The recorded time is a float of some 1e9 seconds, shown in milliseconds.
MILLISECOND = 1.0

SHARED = {
    "Mean completion": one(lambda view: fmean(view.chosen().values())),
    "Minimum completion": one(lambda view: min(view.chosen().values())),
    "Languages stalled": one(View.stalled),
    "Age of the data": since(View.age),
}
OF_THE_EXPORTER = {
    "API": one(View.is_listed),
    "Scale": one(View.is_suspect),
    "Out of scale": one(View.out_of_scale),
}

STATS: dict[str, dict[str, Figure]] = {
    PROGRESS: SHARED
    | OF_THE_EXPORTER
    | {
        "Languages complete": Figure(lambda view: {"complete": view.complete(), "in total": len(view.chosen())}),
        "Repositories ready": Figure(
            lambda view: {
                "ready": len([least for least in view.least_by_repository() if least >= 1]),
                "in total": len(view.least_by_repository()),
            }
        ),
        "Repositories by state": Figure(View.by_state),
    },
    REPOSITORY: SHARED
    | {
        "Languages complete": Figure(
            lambda view: {
                "complete": view.complete(),
                "measured": len(view.chosen()),
                "configured": sum(len(repository.languages) for repository in view.repositories()),
            }
        ),
        "Estimated completion": Figure(View.latest_estimate, tolerance=MILLISECOND),
    },
    EXPORTER: OF_THE_EXPORTER
    | {
        # No matter of the API: the test itself has Prometheus scrape two.
        "Instances up": Figure(lambda _: {"up": 2, "in total": 2}),
        "Listing": one(View.is_listed),
        "Last poll": since(View.since_poll),
        "Last full poll": since(View.since_full_poll),
        "Interval used": one(View.interval_used, tolerance=LATE / 2 / INTERVAL),
    },
}
