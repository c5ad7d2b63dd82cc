"""What a service is asked for, and its limits."""

from __future__ import annotations

from dataclasses import dataclass, field

from opauc.core.parameters import Count, check_param
from opauc.errors import Parameter, ParameterError


@dataclass(frozen=True)
class Limits:
    """How much one request may ask for; what is beyond is refused before it is read, or before it is scored."""

    max_bytes: int = 2**20  # of a body: a thousand rows of fifty columns
    max_rows: int = 1000  # of a request: about a tenth of a second of one core
    max_waiting_rows: int = 10_000  # labeled rows that wait to be trained on, of all requests
    inline_rows: int = 8  # scored at once, in less time than it takes to hand them to a thread
    reload_seconds: float = 1.0  # between looks at the model file


@dataclass(frozen=True)
class ServeSettings:
    """The model file, whether labeled rows train it, and the limits of requests.

    Examples
    --------
    >>> from opauc.serving.settings import ServeSettings
    >>> ServeSettings("churn.opauc", learn=True).check(workers=2)
    Traceback (most recent call last):
        ...
    opauc.errors.ParameterError: learn=True needs one process, which trains the model; leave out workers=2
    """

    model: str
    learn: bool = False
    save_every: int | None = None  # rows trained on between saves; None saves when the service stops
    limits: Limits = field(default_factory=Limits)

    def check(self, workers: int = 1) -> None:
        """Raise unless the settings go together."""
        for name, value in (("workers", workers), ("max_rows", self.limits.max_rows)):
            check_param("serve", name, value, Count())
        if self.save_every is not None:
            check_param("serve", "save_every", self.save_every, Count())
            if not self.learn:
                raise ParameterError(Parameter("save_every", self.save_every), " needs ", Parameter("learn", True))
        if self.learn and workers > 1:
            raise ParameterError(
                Parameter("learn", True), " needs one process, which trains the model; leave out ",
                Parameter("workers", workers),
            )  # fmt: skip
