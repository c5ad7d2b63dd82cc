#ifdef OPAUC_MAIN
/* Lines of standard input, a field for each column between tabs, as COPY of PostgreSQL writes them (\N is missing), to
   lines of score, probability and label, then the name and the difference of each reason. */

/* Undo the escapes of a field in place. */
static void unescape(char *field)
{
    static const char letters[] = "tnrbfv\\", characters[] = "\t\n\r\b\f\v\\";
    char *out = field;
    for (; *field; field++) {
        const char *letter = *field == '\\' && field[1] ? strchr(letters, field[1]) : NULL;
        *out++ = letter ? characters[letter - letters] : *field;
        field += letter != NULL;
    }
    *out = '\0';
}

static int score_line(char *line)
{
    opauc_row row;
    double score, probability;
    int i, label, bad;
    opauc_clear(&row);
    for (i = 0; i < OPAUC_N_COLUMNS; i++) {
        char *next = strchr(line, '\t');
        if (next)
            *next = '\0';
        else if (i + 1 < OPAUC_N_COLUMNS)
            return 2 + i;
        if (strcmp(line, "\\N") != 0) {
            unescape(line);
            if ((bad = opauc_set(&row, i, line)) != 0)
                return bad;
        }
        if (next)
            line = next + 1;
    }
    if ((bad = opauc_score(&row, &score)) != 0 || (bad = opauc_probability(&row, &probability)) != 0
        || (bad = opauc_label(&row, &label)) != 0)
        return bad;
    printf("%.17g\t%.17g\t%d", score, probability, label);
#if OPAUC_N_REASONS > 0
    {
        opauc_reason reasons[OPAUC_N_REASONS];
        int n;
        if ((bad = opauc_reasons(&row, OPAUC_LOWER, reasons, &n)) != 0)
            return bad;
        for (i = 0; i < n; i++)
            printf("\t%s\t%.17g", reasons[i].name, reasons[i].difference);
    }
#endif
    printf("\n");
    return 0;
}

int main(void)
{
    static char line[1 << 20];
    while (fgets(line, sizeof line, stdin)) {
        size_t length = strcspn(line, "\n");
        int bad;
        if (line[length] == '\0' && !feof(stdin)) {
            fprintf(stderr, "a line is longer than %lu bytes\n", (unsigned long)sizeof line);
            return 2;
        }
        line[length] = '\0';
        if ((bad = score_line(line)) != 0)
            printf("column %s: not a value that the model takes\n", opauc_columns[bad - 1]);
    }
    return 0;
}
#endif
