/* Rows. */

int opauc_set(opauc_row *row, int column, const char *text)
{
    const opauc_column *of;
    const char *start = text, *end;
    double number = NAN;
    if (column < 0 || column >= OPAUC_N_COLUMNS)
        return OPAUC_NO_COLUMN;
    of = &columns[column];
    if (of->kind == CATEGORY || text == NULL) {
        set_value(row, column, NAN, text);
        return 0;
    }
    end = text + strlen(text);
    strip(&start, &end);
    if (of->kind == DATE) {
        number = marks_missing(of, start, end) ? NAN : date_in(of, start, end);
    } else {
        number = number_in(start, end, of->format);
        if (of->is_strict && isnan(number) && !marks_missing(of, start, end)
            && !marks_missing(of, text, text + strlen(text)) && !is_nan_text(start, end))
            return 1 + column;
    }
    set_value(row, column, number, NULL);
    return 0;
}

/* Write the inputs of a row; return 0, or one more than the position of a column whose value is not taken. */
static int find_inputs(const opauc_row *row, double inputs[])
{
    cell cells[OPAUC_N_COLUMNS];
    int i;
    get_values(row, cells);
    for (i = 0; i < OPAUC_N_COLUMNS; i++) {
        if (columns[i].kind == CATEGORY)
            cells[i].number = category(&columns[i], cells[i].text);
        if (isinf(cells[i].number) || (columns[i].is_required && isnan(cells[i].number)))
            return 1 + i;
    }
    for (i = 0; i < N_INPUTS; i++) {
        double value = cells[input_columns[i]].number;
        inputs[i] = isnan(value) ? NAN : date_part(value, input_parts[i]);
    }
    return 0;
}

/* Places on axes, and values of tables. */

/* A place and what its value is multiplied by; what is left to one belongs to the next place. */
typedef struct {
    int at;
    double share, rest;
} place;

/* The number of sorted values that are below `value`, or at most it where `or_equal`. */
static int count_below(const double *sorted, int n, double value, int or_equal)
{
    int low = 0, high = n;
    while (low < high) {
        int middle = low + (high - low) / 2;
        if (sorted[middle] < value || (or_equal && sorted[middle] == value))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static place locate(const axis *of, double value)
{
    const double *sorted = points + of->first;
    place out = {0, 1.0, 0.0};
    int right;
    if (isnan(value))
        return out;
    switch (of->kind) {
    case LINE:
        out.at = 1;
        out.share = value;
        return out;
    case STEPS: out.at = 1 + count_below(sorted, of->n, value, 0); return out;
    case LEVELS:
        right = count_below(sorted, of->n, value, 0);
        out.at = right < of->n && sorted[right] == value ? places_of_levels[of->first_place + right] : of->other;
        return out;
    default: break;
    }
    out.at = value <= *sorted ? 1 : of->n;
    if (value <= *sorted || value >= sorted[of->n - 1])
        return out;
    right = count_below(sorted, of->n, value, 1);
    out.at = right;
    out.share = (sorted[right] - value) / (sorted[right] - sorted[right - 1]);
    out.rest = 1.0 - out.share;
    return out;
}

static double along(const double *values, const place *at)
{
    double value = at->share * values[at->at];
    return at->rest != 0.0 ? value + at->rest * values[at->at + 1] : value;
}

static double table_value(const table *of, const place *places)
{
    const place *one = &places[of->axis], *other;
    const double *values = table_values + of->first;
    double value;
    if (of->second_axis < 0)
        return along(values, one);
    other = &places[of->second_axis];
    value = one->share * along(values + (size_t)one->at * (size_t)of->width, other);
    if (one->rest != 0.0)
        value += one->rest * along(values + (size_t)(one->at + 1) * (size_t)of->width, other);
    return value;
}

static double level_effect(const crossed *of, uint64_t level)
{
    int low = of->first, high = of->first + of->n;
    while (low < high) {
        int middle = low + (high - low) / 2;
        if (crossed_levels[middle] < level)
            low = middle + 1;
        else
            high = middle;
    }
    return low < of->first + of->n && crossed_levels[low] == level ? crossed_effects[low] : 0.0;
}

static double crossed_value(const crossed *of, const double *inputs)
{
    static const uint64_t mixers[] = {
        UINT64_C(0x9E3779B97F4A7C15), UINT64_C(0xC2B2AE3D27D4EB4F), UINT64_C(0x165667B19E3779F9)
    };
    uint64_t key = 0, bits;
    double one, other;
    int i;
    for (i = 0; i < of->n_members; i++) {
        const member *by = &members[of->first_member + i];
        double value = inputs[by->input];
        bits = 1;
        if (!isnan(value)) {
            value = by->n ? count_below(edges + by->first, by->n, value, 1) : floor(value) + 0.0;
            memcpy(&bits, &value, sizeof bits);
        }
        bits = (bits ^ (bits >> 32)) * mixers[i];
        key += (bits ^ (bits >> 29)) * mixers[i];
    }
    one = level_effect(of, (key * UINT64_C(0xD6E8FEB86659FD93)) >> of->shift);
    other = level_effect(of, (key * UINT64_C(0xA0761D6478BD642F)) >> of->shift);
    return fabs(one) <= fabs(other) ? one : other;
}

/* Write what each term adds to the score of a row. */
static int contribute(const opauc_row *row, double out[])
{
    double inputs[N_INPUTS + 1];
    place places[N_AXES + 1];
    int i, at, bad = find_inputs(row, inputs);
    if (bad)
        return bad;
    for (i = 0; i < N_AXES; i++)
        places[i] = locate(&axes[i], inputs[axes[i].input]);
    for (i = 0; i < N_TERMS; i++)
        out[i] = terms[i].constant;
    for (i = 0; i < N_TABLES; i++)
        out[tables[i].term] += table_value(&tables[i], places);
    for (i = 0; i < N_CROSSED; i++)
        out[crossed_tables[i].term] += crossed_value(&crossed_tables[i], inputs);
    for (i = 0; i < N_TREES; i++)
        for (at = roots[i]; at >= 0;) {
            int child = children[at][places[splits[at].axis].at > splits[at].place];
            out[splits[at].term] += node_values[child >= 0 ? child : N_SPLITS - 1 - child] - node_values[at];
            at = child;
        }
    return 0;
}
