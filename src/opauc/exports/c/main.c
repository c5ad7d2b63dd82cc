#ifdef OPAUC_MAIN
/* Lines of standard input, a field for each column between tabs, as COPY of PostgreSQL writes them (\N is missing), to
   lines of what print_line writes. */

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
    int i, bad;
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
    return print_line(&row);
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
