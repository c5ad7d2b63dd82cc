"""Sums over groups of dense rows on a torch device, in float64; needs nothing but torch and numpy."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from opauc.core.extras import needed
from opauc.engines.torch.rows import PinnedStaging

with needed("torch", "gpu"):
    import torch
    from torch import Tensor

# Columns of a block of the Gram matrix: blocks above the diagonal are never computed.
BLOCK = 512
# Bytes of float64 rows worked on at a time.
PIECE_BYTES = 2**29
# Rows whose mean the rows of a group are shifted by, lest digits cancel.
SHIFT_ROWS = 1024
# A divisor for what has no rows.
TINY = 1e-300

Integers: TypeAlias = NDArray[np.integer]


class TorchSums(NamedTuple):
    """Weight, mean and scatter of each group of rows: tensors of float64 on one device."""

    counts: Tensor  # (groups,)
    means: Tensor  # (groups, d)
    scatters: Tensor  # (groups, d, d)


def sums_of(
    rows: Tensor,
    groups: Integers | Tensor,
    weight: Tensor | None,
    n_groups: int,
    device: str,
    piece_bytes: int = PIECE_BYTES,
) -> TorchSums:
    """Return the sums of rows (n, d), float32 or float64, each of the group its number in `groups` names.

    Rows that are not on the device are brought there piece by piece, the next
    one while the sums of the last are being taken. A piece takes `piece_bytes`
    in float64, or one row.

    Examples
    --------
    >>> import torch
    >>> from opauc.engines.torch.sums import sums_of
    >>> rows = torch.tensor([[0.0], [2.0], [5.0]])
    >>> sums = sums_of(rows, torch.tensor([0, 0, 1]), None, 2, "cpu")
    >>> sums.means.tolist(), sums.scatters.flatten().tolist()
    ([[1.0], [5.0]], [2.0, 0.0])
    """
    there = torch.empty(0, device=device).device  # "cuda" has a number from here on
    gram = _Grams(n_groups, rows.shape[1], there)
    weights = None if weight is None else weight.to(there, torch.float64)
    size = min(rows.shape[0], max(1, piece_bytes // (8 * max(1, rows.shape[1]))))
    for piece, order, sizes, first in _pieces(rows, groups, n_groups, size, there):
        begin = 0
        for group, size in enumerate(sizes):
            chosen = order[begin : begin + size]
            gram.add(group, piece.index_select(0, chosen), None if weights is None else weights[chosen + first])
            begin += size
    return gram.sums()


def merged_sums(one: TorchSums, other: TorchSums) -> TorchSums:
    """Return the sums of both sets of rows together (Chan, Golub and LeVeque).

    Examples
    --------
    >>> import torch
    >>> from opauc.engines.torch.sums import merged_sums, sums_of
    >>> rows, groups = torch.tensor([[0.0], [2.0], [7.0]]), torch.tensor([0, 0, 0])
    >>> parts = [sums_of(rows[part], groups[part], None, 1, "cpu") for part in (slice(2), slice(2, 3))]
    >>> merged_sums(*parts).means, merged_sums(*parts).scatters
    (tensor([[3.]], dtype=torch.float64), tensor([[[26.]]], dtype=torch.float64))
    """
    counts = one.counts + other.counts
    share = other.counts / counts.clamp(min=TINY)
    away = other.means - one.means
    scatters = one.scatters + other.scatters
    for scatter, between, vector in zip(scatters, one.counts * share, away, strict=True):
        scatter += between * torch.outer(vector, vector)
    return TorchSums(counts, one.means + share[:, None] * away, scatters)


class _Grams:
    """Sums of shifted rows and of their products, block by block of the lower triangle."""

    def __init__(self, n_groups: int, width: int, device: torch.device) -> None:
        def zeros(*shape: int) -> Tensor:
            return torch.zeros(shape, dtype=torch.float64, device=device)

        self.counts, self.shifts, self.totals = zeros(n_groups), zeros(n_groups, width), zeros(n_groups, width)
        self.products = zeros(n_groups, width, width)
        self.begun = [False] * n_groups

    def add(self, group: int, rows: Tensor, weight: Tensor | None) -> None:
        """Add rows of one group."""
        if not rows.shape[0]:
            return
        if not self.begun[group]:
            self.shifts[group] = rows[:SHIFT_ROWS].to(torch.float64).mean(0)
            self.begun[group] = True
        away = rows - self.shifts[group]
        if weight is None:
            self.counts[group] += rows.shape[0]
            self.totals[group] += away.sum(0)
        else:
            self.counts[group] += weight.sum()
            self.totals[group] += weight @ away
            away *= weight.sqrt()[:, None]
        for begin in range(0, away.shape[1], BLOCK):
            end = begin + BLOCK
            self.products[group, begin:end, :end].addmm_(away[:, begin:end].T, away[:, :end])

    def sums(self) -> TorchSums:
        """Return the sums about the mean of each group."""
        for products, total, count in zip(self.products, self.totals, self.counts, strict=True):
            lower = products.tril_()
            lower += lower.tril(-1).T
            lower -= torch.outer(total, total / count.clamp(min=TINY))
        means = self.shifts + self.totals / self.counts.clamp(min=TINY)[:, None]
        return TorchSums(self.counts, means, self.products)


def _pieces(
    rows: Tensor, groups: Integers | Tensor, n_groups: int, size: int, device: torch.device
) -> Iterator[tuple[Tensor, Tensor, list[int], int]]:
    """Yield rows on the device, the order that puts a group after the other, how many each has, and the first's number.

    Orders are worked out before the first piece: to ask the device in between would stop it.
    """
    if rows.device == device:
        yield from _resident(rows, torch.as_tensor(groups).to(device), n_groups, size)
        return
    labels = np.asarray(groups)
    if not labels.size:
        return
    starts = range(0, rows.shape[0], size)
    orders = [np.argsort(labels[start : start + size], kind="stable") for start in starts]
    sizes = [np.bincount(labels[start : start + size], minlength=n_groups).tolist() for start in starts]
    there = torch.from_numpy(np.concatenate(orders)).to(device)
    for start, piece, number in zip(starts, _sent(rows, size, device), sizes, strict=True):
        yield piece, there[start : start + size], number, start


def _resident(
    rows: Tensor, groups: Tensor, n_groups: int, size: int
) -> Iterator[tuple[Tensor, Tensor, list[int], int]]:
    """Yield the rows, already on the device, with the numbers of some rows of one group at a time."""
    order = torch.argsort(groups, stable=True)
    begin = 0
    for group, many in enumerate(torch.bincount(groups, minlength=n_groups).tolist()):
        for start in range(begin, begin + many, max(1, size)):
            numbers = order[start : min(start + size, begin + many)]
            yield rows, numbers, [0] * group + [numbers.shape[0]], 0
        begin += many


def _sent(rows: Tensor, size: int, device: torch.device) -> Iterator[Tensor]:
    """Yield pieces of the rows on the device; while one is worked on the next is on its way."""
    compute, copying = torch.cuda.current_stream(device), torch.cuda.Stream(device)
    there = [torch.empty((size, rows.shape[1]), dtype=rows.dtype, device=device) for _ in range(2)]
    sent, used = ([torch.cuda.Event(), torch.cuda.Event()] for _ in range(2))
    with nullcontext() if rows.is_pinned() else PinnedStaging(rows) as staging:

        def send(number: int) -> None:
            turn, part = number % 2, rows[number * size : (number + 1) * size]
            copying.wait_event(used[turn])
            if staging is None:
                with torch.cuda.stream(copying):
                    there[turn][: part.shape[0]].copy_(part, non_blocking=True)
            else:
                staging.send(part, there[turn], copying)
            sent[turn].record(copying)

        last = -(-rows.shape[0] // size) - 1
        if last >= 0:
            send(0)
        for number in range(last + 1):
            if number < last:
                send(number + 1)
            compute.wait_event(sent[number % 2])
            yield there[number % 2][: min(size, rows.shape[0] - number * size)]
            used[number % 2].record(compute)
