"""Times that can be compared: contestants take turns in one process and the best of several turns counts."""

import time
from collections.abc import Callable, Mapping


def race(contestants: Mapping[str, Callable[[], object]], turns: int = 5, budget: float = 20.0) -> dict[str, float]:
    """Best seconds of each contestant, after one untimed turn that compiles and warms up.

    The untimed turn counts only for what uses up the budget by itself, which no compiling does.
    """
    best = dict.fromkeys(contestants, float("inf"))
    slow = set()
    for turn in range(turns + 1):
        for name, run in contestants.items():
            if name in slow:
                continue
            start = time.perf_counter()
            run()
            seconds = time.perf_counter() - start
            if turn > 0 or seconds > budget:
                best[name] = min(best[name], seconds)
                if seconds * (turns + 1) > budget:
                    slow.add(name)
    return best
