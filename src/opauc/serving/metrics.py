"""Counts and latencies of a service, in the text format of Prometheus."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass, field
from threading import Lock
from typing import ClassVar

# Upper ends of the buckets of latencies, in seconds: from a row in the cache to a thousand rows on a busy core.
BUCKETS = (0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


@dataclass
class Latencies:
    """A histogram of seconds."""

    counts: list[int] = field(default_factory=lambda: [0] * (len(BUCKETS) + 1))
    total: float = 0.0

    def add(self, seconds: float) -> None:
        """Count one."""
        self.counts[bisect_left(BUCKETS, seconds)] += 1
        self.total += seconds


class Metrics:
    """What a process has answered so far; threads may share it.

    Examples
    --------
    >>> from opauc.serving.metrics import Metrics
    >>> metrics = Metrics()
    >>> metrics.answered("/score", 200, 0.0004)
    >>> metrics.add("rows_scored", 3)
    >>> lines = metrics.text({"progressive_auc": 0.9}).splitlines()
    >>> [line for line in lines if "scored" in line and "#" not in line], [line for line in lines if line[0] != "#"][0]
    (['opauc_rows_scored_total 3'], 'opauc_requests_total{path="/score",status="200"} 1')
    """

    COUNTERS: ClassVar = {
        "rows_scored": "Rows that were scored.",
        "rows_explained": "Rows that were explained.",
        "rows_learned": "Labeled rows that the model was trained on.",
        "model_swaps": "How often another model took the place of the one before.",
        "reload_failures": "How often a changed model file could not be loaded.",
    }
    GAUGES: ClassVar = {
        "progressive_auc": "AUC of the labeled rows by the scores they had before they were trained on.",
        "model_loaded_timestamp_seconds": "When the model that scores took its place.",
        "rows_waiting": "Labeled rows that wait to be trained on.",
    }

    def __init__(self) -> None:
        self._lock = Lock()
        self._requests: dict[tuple[str, int], int] = {}
        self._latencies: dict[str, Latencies] = {}
        self._counts = dict.fromkeys(self.COUNTERS, 0)

    def answered(self, path: str, status: int, seconds: float) -> None:
        """Count a request."""
        with self._lock:
            self._requests[path, status] = self._requests.get((path, status), 0) + 1
            self._latencies.setdefault(path, Latencies()).add(seconds)

    def add(self, counter: str, number: int = 1) -> None:
        """Add to a counter of `COUNTERS`."""
        with self._lock:
            self._counts[counter] += number

    def __getitem__(self, counter: str) -> int:
        """Return the value of a counter."""
        return self._counts[counter]

    def text(self, gauges: Mapping[str, float]) -> str:
        """Return all of it, with the present values of those of `GAUGES` that have one."""
        with self._lock:
            lines = [*_head("requests_total", "counter", "Requests by path and status.")]
            for (path, status), number in sorted(self._requests.items()):
                lines.append(f'opauc_requests_total{{path="{path}",status="{status}"}} {number}')
            lines += _head("request_seconds", "histogram", "Seconds from a request to its response.")
            for path, latencies in sorted(self._latencies.items()):
                lines += _histogram(path, latencies)
            for name, help_text in self.COUNTERS.items():
                lines += [*_head(f"{name}_total", "counter", help_text), f"opauc_{name}_total {self._counts[name]}"]
        for name, value in gauges.items():
            lines += [*_head(name, "gauge", self.GAUGES[name]), f"opauc_{name} {value:.10g}"]
        return "\n".join(lines) + "\n"


def _head(name: str, kind: str, help_text: str) -> list[str]:
    return [f"# HELP opauc_{name} {help_text}", f"# TYPE opauc_{name} {kind}"]


def _histogram(path: str, latencies: Latencies) -> list[str]:
    lines, total = [], 0
    for end, count in zip((*map(str, BUCKETS), "+Inf"), latencies.counts, strict=True):
        total += count
        lines.append(f'opauc_request_seconds_bucket{{path="{path}",le="{end}"}} {total}')
    lines.append(f'opauc_request_seconds_sum{{path="{path}"}} {latencies.total:.9g}')
    return [*lines, f'opauc_request_seconds_count{{path="{path}"}} {total}']
