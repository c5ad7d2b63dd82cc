/* The score, the probability and the label of two classes. */

int opauc_score(const opauc_row *row, double *score)
{
    double parts[N_TERMS + 1];
    int i, bad = contribute(row, parts);
    if (bad)
        return bad;
    *score = BASELINE;
    for (i = 0; i < N_TERMS; i++)
        *score += parts[i];
    return 0;
}

int opauc_probability(const opauc_row *row, double *probability)
{
    int bad = opauc_score(row, probability);
    if (!bad)
        *probability = 1.0 / (1.0 + exp(-(SLOPE * *probability + OFFSET)));
    return bad;
}

int opauc_label(const opauc_row *row, int *label)
{
    double score;
    int bad = opauc_score(row, &score);
    if (!bad)
        *label = score > THRESHOLD;
    return bad;
}

#if OPAUC_N_REASONS > 0
int opauc_reasons(const opauc_row *row, int direction, opauc_reason reasons[OPAUC_N_REASONS], int *n)
{
    double parts[N_TERMS + 1], sign = direction == OPAUC_RAISE ? -1.0 : 1.0;
    int i, at, bad = contribute(row, parts);
    *n = 0;
    for (i = 0; !bad && i < N_TERMS; i++) {
        double difference = parts[i] - terms[i].mean;
        if (sign * difference >= 0.0)
            continue;
        for (at = *n; at > 0 && sign * difference < sign * reasons[at - 1].difference; at--)
            if (at < OPAUC_N_REASONS)
                reasons[at] = reasons[at - 1];
        if (at < OPAUC_N_REASONS) {
            reasons[at].name = terms[i].name;
            reasons[at].difference = difference;
            *n += *n < OPAUC_N_REASONS;
        }
    }
    return bad;
}
#endif

#ifdef OPAUC_MAIN
/* Score, probability and label, then the name and the difference of each reason. */
static int print_line(const opauc_row *row)
{
    double score, probability;
    int label, bad;
    if ((bad = opauc_score(row, &score)) != 0 || (bad = opauc_probability(row, &probability)) != 0
        || (bad = opauc_label(row, &label)) != 0)
        return bad;
    printf("%.17g\t%.17g\t%d", score, probability, label);
#if OPAUC_N_REASONS > 0
    {
        opauc_reason reasons[OPAUC_N_REASONS];
        int i, n;
        if ((bad = opauc_reasons(row, OPAUC_LOWER, reasons, &n)) != 0)
            return bad;
        for (i = 0; i < n; i++)
            printf("\t%s\t%.17g", reasons[i].name, reasons[i].difference);
    }
#endif
    printf("\n");
    return 0;
}
#endif
