/* The scores, the probabilities and the label of several classes: a term is the additive score of a class. */

static int find_logits(const opauc_row *row, double logits[])
{
    int i, bad = contribute(row, logits);
    if (bad)
        return bad;
    for (i = 0; i < N_TERMS; i++) {
        double rest = (logits[i] > 0.0 ? logits[i] : 0.0) + log1p(exp(-fabs(logits[i])));
        logits[i] = POWER * logits[i] - REST_POWER * rest;
    }
    return 0;
}

/* The logarithm of the sum of exponentials, of all values but the one at `left`. */
static double log_sum(const double values[], int left)
{
    double most = -INFINITY, sum = 0.0;
    int i;
    for (i = 0; i < N_TERMS; i++)
        if (i != left && values[i] > most)
            most = values[i];
    for (i = 0; i < N_TERMS; i++)
        if (i != left)
            sum += exp(values[i] - most);
    return most + log(sum);
}

int opauc_scores(const opauc_row *row, double scores[OPAUC_N_CLASSES])
{
    double logits[N_TERMS];
    int i, bad = find_logits(row, logits);
    if (bad)
        return bad;
    for (i = 0; i < N_TERMS; i++)
        scores[i] = logits[i] - log_sum(logits, SCORES_ARE_ODDS ? i : -1);
    return 0;
}

int opauc_probabilities(const opauc_row *row, double probabilities[OPAUC_N_CLASSES])
{
    double logits[N_TERMS], whole;
    int i, bad = find_logits(row, logits);
    if (bad)
        return bad;
    for (i = 0; i < N_TERMS; i++)
        logits[i] += log_shares[i];
    whole = log_sum(logits, -1);
    for (i = 0; i < N_TERMS; i++)
        probabilities[i] = exp(logits[i] - whole);
    return 0;
}

int opauc_label(const opauc_row *row, int *label)
{
    double logits[N_TERMS];
    int i, bad = find_logits(row, logits);
    if (bad)
        return bad;
    *label = 0;
    for (i = 1; i < N_TERMS; i++)
        if (logits[i] > logits[*label])
            *label = i;
    return 0;
}

#ifdef OPAUC_MAIN
/* The scores, then the probabilities, then the label. */
static int print_line(const opauc_row *row)
{
    double scores[OPAUC_N_CLASSES], probabilities[OPAUC_N_CLASSES];
    int i, label, bad;
    if ((bad = opauc_scores(row, scores)) != 0 || (bad = opauc_probabilities(row, probabilities)) != 0
        || (bad = opauc_label(row, &label)) != 0)
        return bad;
    for (i = 0; i < OPAUC_N_CLASSES; i++)
        printf("%.17g\t", scores[i]);
    for (i = 0; i < OPAUC_N_CLASSES; i++)
        printf("%.17g\t", probabilities[i]);
    printf("%d\n", label);
    return 0;
}
#endif
