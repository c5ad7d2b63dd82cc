"""Statistics that fade at several paces, and the pairs that tell which pace ranks best."""

from opauc.core.kernels.compile import kernel


@kernel
def fade_and_merge(factors, fresh_counts, fresh_means, fresh_scatters, counts, means, scatters, away):
    """Write over counts, means and scatters: the weight of what is there times the factor, and the fresh rows merged.

    Axis 0 of `factors` (p, 2), `counts` (p, 2), `means` (p, 2, d) and `scatters` (p, 2, d, d) is the
    pace, axis 1 the class; the fresh ones have the class first. `away` is room for d numbers.
    """
    for p in range(counts.shape[0]):
        for k in range(2):
            kept = factors[p, k] * counts[p, k]
            total = kept + fresh_counts[k]
            share = fresh_counts[k] / total if total > 0.0 else 0.0
            mean, fresh_mean = means[p, k], fresh_means[k]
            for j in range(away.size):
                away[j] = fresh_mean[j] - mean[j]
            for i in range(away.size):
                row, added, lift = scatters[p, k, i], fresh_scatters[k, i], kept * share * away[i]
                for j in range(away.size):
                    row[j] = factors[p, k] * row[j] + (added[j] + lift * away[j])
            for j in range(away.size):
                mean[j] += share * away[j]
            counts[p, k] = total


@kernel
def count_wins(scores, labels, weight, wins):
    """Add to `wins` the pairs that each column of scores ranks rightly, ties half; return how many pairs there are.

    A pair of a positive and a negative row counts with the product of their weights.
    """
    pairs = 0.0
    for i in range(labels.size):
        if labels[i] == 1:
            high = scores[i]
            for j in range(labels.size):
                if labels[j] == 0:
                    low, both = scores[j], weight[i] * weight[j]
                    pairs += both
                    for p in range(wins.size):
                        wins[p] += both * (0.5 * (high[p] > low[p]) + 0.5 * (high[p] >= low[p]))
    return pairs
