"""What each stat panel has to show, computed from the exporter's exposition without PromQL.

A figure is a function of the samples of one exporter, the repositories and languages that are chosen, and the time. It
gives the value of each legend; a panel with one value has the empty legend.
"""

from collections import defaultdict
from dataclasses import dataclass
from statistics import fmean

Samples = dict[str, list[tuple[dict[str, str], float]]]

STALLED_AFTER = 60
PROGRESS, REPOSITORY, EXPORTER = "translation-progress", "translation-repository", "translation-exporter"


@dataclass
class View:
    """What one exporter exposes, as far as it is chosen."""

    samples: Samples
    repos: set[str] | None
    now: float

    def of(self, name: str) -> dict[tuple[str, ...], float]:
        """The values of a metric by repository and language, or by repository."""
        return {
            (labels["repo"], labels["language"]) if "language" in labels else (labels["repo"],): value
            for labels, value in self.samples[name]
            if self.repos is None or labels["repo"] in self.repos
        }

    def own(self, name: str) -> float:
        [(_, value)] = self.samples[name]
        return value

    @property
    def ratios(self) -> dict[tuple[str, ...], float]:
        return self.of("translation_completion_ratio")

    def least_by_repository(self) -> list[float]:
        least: dict[str, float] = defaultdict(lambda: float("inf"))
        for (repo, _), ratio in self.ratios.items():
            least[repo] = min(least[repo], ratio)
        return list(least.values())

    def complete(self) -> float:
        return len([ratio for ratio in self.ratios.values() if ratio >= 1])

    def stalled(self) -> float:
        clocks = self.of("translation_last_progress_timestamp_seconds")
        return len([key for key, ratio in self.ratios.items() if ratio < 1 and self.now - clocks[key] > STALLED_AFTER])

    def age(self) -> float:
        served = self.of("translation_repository_languages")
        read = self.of("translation_repository_last_success_timestamp_seconds")
        return max(self.now - read[key] for key in served)


def one(figure):
    return lambda view: {"": figure(view)}


SHARED = {
    "Mean completion": one(lambda view: fmean(view.ratios.values())),
    "Minimum completion": one(lambda view: min(view.ratios.values())),
    "Languages stalled": one(View.stalled),
    "Age of the data": one(View.age),
}

STATS = {
    PROGRESS: SHARED
    | {
        "Languages complete": lambda view: {"complete": view.complete(), "in total": len(view.ratios)},
        "Repositories ready": lambda view: {
            "ready": len([least for least in view.least_by_repository() if least >= 1]),
            "in total": len(view.least_by_repository()),
        },
        "API": one(lambda view: view.own("translation_up")),
        "Scale": one(lambda view: view.own("translation_exporter_completion_scale_suspect")),
        "Out of scale": one(lambda view: view.own("translation_exporter_completion_out_of_scale")),
        "Repositories by state": lambda view: {
            labels["state"]: value for labels, value in view.samples["translation_exporter_repositories"]
        },
    },
    REPOSITORY: SHARED
    | {
        "Languages complete": lambda view: {
            "complete": view.complete(),
            "measured": len(view.ratios),
            "configured": sum(view.of("translation_repository_languages").values()),
        },
        # What is recorded is tested with the rules; that the panel shows the latest of it, in the test itself.
        "Estimated completion": None,
    },
    EXPORTER: {
        "Instances up": lambda view: {"up": 2, "in total": 2},
        "API": one(lambda view: view.own("translation_up")),
        "Listing": one(lambda view: view.own("translation_exporter_listing_complete")),
        "Last poll": one(lambda view: view.now - view.own("translation_exporter_last_poll_timestamp_seconds")),
        "Last full poll": one(lambda view: view.now - view.own("translation_exporter_last_success_timestamp_seconds")),
        "Interval used": one(
            lambda view: (
                view.own("translation_exporter_last_poll_duration_seconds")
                / view.own("translation_exporter_poll_interval_seconds")
            )
        ),
        "Scale": one(lambda view: view.own("translation_exporter_completion_scale_suspect")),
        "Out of scale": one(lambda view: view.own("translation_exporter_completion_out_of_scale")),
    },
}
