"""Which random codes the rows of a stream have."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from opauc.kernels.sums.codes import write_codes
from opauc.rows import Floats


@dataclass(frozen=True)
class CodeStream:
    """A source of codes: row number t always has the same one, and no other stream has it.

    A code is `rank` signs over sqrt(rank), or as many normal numbers, then
    zeros up to a multiple of eight, then a one. The key stands for the stream:
    it comes from the random state, or, without one, from the system.

    Examples
    --------
    >>> from opauc.statistics.code_stream import CodeStream
    >>> CodeStream.seeded(4, random_state=0).codes([7]).shape
    (1, 8)
    """

    rank: int
    key: int
    gaussian: bool = False

    @classmethod
    def seeded(
        cls, rank: int, random_state: int | np.random.RandomState | None = None, gaussian: bool = False
    ) -> CodeStream:
        """Return the stream of a random state: None, an integer or a numpy RandomState."""
        if isinstance(random_state, np.random.RandomState):
            random_state = int(random_state.randint(2**32, dtype=np.uint64))
        words = np.random.SeedSequence(random_state).generate_state(1, np.uint64)
        return cls(rank, int(words[0]), gaussian)

    @property
    def width(self) -> int:
        """Length of a code: rank + 1, rounded up to a multiple of eight, which the kernels like."""
        return -(-(self.rank + 1) // 8) * 8

    def codes(self, row_numbers: ArrayLike) -> Floats:
        """Codes of the given rows, one a row of the result."""
        numbers = np.asarray(row_numbers, np.int64)
        out = np.zeros((numbers.size, self.width))
        write_codes(np.uint64(self.key), numbers, self.rank, self.gaussian, out)
        return out
