"""Mean and variance of the scores of each class as they come, later ones weighing more."""

from opauc.kernels.compile_kernel import kernel

# What stands where in the line of a class.
SHARES, MEAN, SCATTER = 0, 1, 2


@kernel
def note_score(k, score, share, spreads):
    """Add a score of class k, of weight `share`, to the weighted mean and scatter in `spreads` (2, 3)."""
    spread = spreads[k]
    spread[SHARES] += share
    away = score - spread[MEAN]
    spread[MEAN] += away * share / spread[SHARES]
    spread[SCATTER] += share * away * (score - spread[MEAN])
