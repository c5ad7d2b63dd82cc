/* Text. */

enum { LONGEST_NUMBER = 400 }; /* characters; a longer number is not read */
static const double MISSING_TEXT = -2.0;

/* The bytes of the blank character that text begins with, 0 where it begins with another. */
static size_t blank(const char *text, const char *end)
{
    static const char *const wide[] = {
        "\302\205", "\302\240", "\341\232\200", "\342\200\250", "\342\200\251", "\342\200\257", "\342\201\237",
        "\343\200\200"
    };
    const unsigned char *bytes = (const unsigned char *)text;
    size_t left = (size_t)(end - text), i;
    if (left == 0)
        return 0;
    if ((*bytes >= 9 && *bytes <= 13) || (*bytes >= 28 && *bytes <= 32))
        return 1;
    if (left >= 3 && bytes[0] == 0342 && bytes[1] == 0200 && bytes[2] >= 0200 && bytes[2] <= 0212)
        return 3;
    for (i = 0; i < sizeof wide / sizeof *wide; i++)
        if (left >= strlen(wide[i]) && memcmp(text, wide[i], strlen(wide[i])) == 0)
            return strlen(wide[i]);
    return 0;
}

static void strip(const char **text, const char **end)
{
    size_t width;
    while ((width = blank(*text, *end)) > 0)
        *text += width;
    for (width = 1; width <= 3 && (size_t)(*end - *text) >= width;) {
        if (blank(*end - width, *end) == width) {
            *end -= width;
            width = 1;
        } else {
            width++;
        }
    }
}

static int is_digit(char c) { return c >= '0' && c <= '9'; }

static int is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

static char lower(char c) { return (char)(c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c); }

/* Move past a text in small letters, in whatever case; tell whether it was there. */
static int skip(const char **at, const char *end, const char *small)
{
    const char *next = *at;
    for (; *small; small++, next++)
        if (next == end || lower(*next) != *small)
            return 0;
    *at = next;
    return 1;
}

static int equals(const char *text, const char *end, const char *small)
{
    return skip(&text, end, small) && text == end;
}

/* The number of from `least` to `most` digits, -1 where there are fewer. */
static int digits(const char **at, const char *end, int least, int most)
{
    int number = 0, n = 0;
    while (n < most && *at < end && is_digit(**at)) {
        number = 10 * number + (*(*at)++ - '0');
        n++;
    }
    return n < least ? -1 : number;
}

/* The number that plain text says; NAN for text that is too long. */
static double plain_number(const char *text, size_t length)
{
    char buffer[LONGEST_NUMBER + 1], *point;
    if (length > LONGEST_NUMBER)
        return NAN;
    memcpy(buffer, text, length);
    buffer[length] = '\0';
    if ((point = strchr(buffer, '.')) != NULL)
        *point = *localeconv()->decimal_point;
    return strtod(buffer, NULL);
}

/* Numbers: the grammar of CSV files. */

static int skip_money(const char **at, const char *end)
{
    return skip(at, end, "$") || skip(at, end, "\342\202\254") || skip(at, end, "\302\243") || skip(at, end, "\302\245")
        || skip(at, end, "\342\202\271");
}

static int skip_group_mark(const char **at, const char *end)
{
    return skip(at, end, "'") || skip(at, end, "\342\200\231") || skip(at, end, "\302\240")
        || skip(at, end, "\342\200\257");
}

typedef struct {
    char text[LONGEST_NUMBER];
    size_t length;
} cleaned;

static void keep(cleaned *out, const char *from, const char *to)
{
    for (; from < to; from++, out->length++)
        if (out->length < LONGEST_NUMBER)
            out->text[out->length] = *from;
}

static int skip_sign(const char **at, const char *end, cleaned *out)
{
    if (*at < end && (**at == '+' || **at == '-')) {
        keep(out, *at, *at + 1);
        (*at)++;
        return 1;
    }
    return 0;
}

/* Move past whole digits, in groups of three or not. */
static void skip_whole(const char **at, const char *end, char comma, cleaned *out)
{
    const char *begin = *at;
    int is_comma, n_digits;
    while (*at < end && is_digit(**at))
        (*at)++;
    keep(out, begin, *at);
    n_digits = (int)(*at - begin);
    if (n_digits < 1 || n_digits > 3 || *begin == '0')
        return;
    is_comma = *at < end && **at == comma;
    for (;;) {
        const char *next = *at;
        if (is_comma && next < end && *next == comma)
            next++;
        else if (is_comma || !skip_group_mark(&next, end))
            return;
        begin = next;
        if (digits(&next, end, 3, 3) < 0)
            return;
        keep(out, begin, next);
        *at = next;
    }
}

/* The number that text without blanks around it says, NAN where it says none. */
static double amount(const char *at, const char *end, char point, char comma)
{
    static const char dot[] = ".";
    cleaned out = {{0}, 0};
    const char *next, *begin;
    int has_sign, has_digits;
    has_sign = skip_sign(&at, end, &out);
    if (skip_money(&at, end)) {
        next = at;
        skip(&next, end, " ");
        if (!has_sign && skip_sign(&next, end, &out))
            at = next;
        else if (next > at)
            at = next;
    }
    begin = at;
    skip_whole(&at, end, comma, &out);
    has_digits = at > begin;
    if (at < end && *at == point && (has_digits || (end - at > 1 && is_digit(at[1])))) {
        keep(&out, dot, dot + 1);
        for (begin = ++at; at < end && is_digit(*at);)
            at++;
        keep(&out, begin, at);
        has_digits = 1;
    }
    if (!has_digits)
        return NAN;
    if (at < end && lower(*at) == 'e') {
        next = at + 1;
        if (next < end && (*next == '+' || *next == '-'))
            next++;
        if (next < end && is_digit(*next)) {
            while (next < end && is_digit(*next))
                next++;
            keep(&out, at, next);
            at = next;
        }
    }
    next = at;
    skip(&next, end, " ");
    if (skip(&next, end, "%") || skip_money(&next, end))
        at = next;
    return at == end ? plain_number(out.text, out.length) : NAN;
}

static int hour_of_half(int hour, char half) { return hour % 12 + (lower(half) == 'p' ? 12 : 0); }

/* Hours of a clock time, with days before it or not; NAN where text is none. */
static double hours(const char *at, const char *end)
{
    const char *next = at, *begin = at;
    double days = 0.0, seconds = 0.0;
    int hour, minute;
    if (next < end && (*next == '+' || *next == '-'))
        next++;
    while (next < end && is_digit(*next))
        next++;
    if (next > begin && is_digit(next[-1])) {
        const char *number_end = next;
        if (skip(&next, end, " day")) {
            skip(&next, end, "s");
            skip(&next, end, ",");
            if (!skip(&next, end, " "))
                return NAN;
            skip(&next, end, "+");
            days = plain_number(begin, (size_t)(number_end - begin));
            at = next;
        }
    }
    hour = digits(&at, end, 1, 2);
    if (hour < 0 || !skip(&at, end, ":") || (minute = digits(&at, end, 2, 2)) < 0 || minute > 59)
        return NAN;
    if (skip(&at, end, ":")) {
        begin = at;
        if (digits(&at, end, 2, 2) < 0 || *begin > '5')
            return NAN;
        if (at < end && *at == '.') {
            if (end - at < 2 || !is_digit(at[1]))
                return NAN;
            for (at++; at < end && is_digit(*at);)
                at++;
        }
        seconds = plain_number(begin, (size_t)(at - begin));
    }
    next = at;
    skip(&next, end, " ");
    if (next < end && (lower(*next) == 'a' || lower(*next) == 'p')) {
        hour = hour_of_half(hour, *next++);
        skip(&next, end, ".");
        if (!skip(&next, end, "m"))
            return NAN;
        skip(&next, end, ".");
        at = next;
    }
    return at == end ? 24.0 * days + hour + minute / 60.0 + seconds / 3600.0 : NAN;
}

/* The bytes of a letter of a unit that text ends with, 0 where it ends with another character. */
static int unit_letter(const char *text, const char *end)
{
    if (end > text && is_letter(end[-1]))
        return 1;
    if (end - text >= 2 && end[-2] == '\302' && (end[-1] == '\265' || end[-1] == '\260'))
        return 2;
    return 0;
}

/* Move the end of text before the unit of the column, where it ends with it. */
static void strip_unit(const char *text, const char **end, const char *unit)
{
    const char *stop = *end, *begin, *number, *at;
    int width;
    if (stop > text && stop[-1] == '.')
        stop--;
    for (begin = stop; (width = unit_letter(text, begin)) > 0;)
        begin -= width;
    if (stop - begin > 1 && lower(stop[-1]) == 's')
        stop--;
    if (!equals(begin, stop, unit))
        return;
    number = begin;
    if (number > text && number[-1] == ' ')
        number--;
    if (number > text && (number[-1] == '.' || number[-1] == ','))
        number--;
    if (number == text || !is_digit(number[-1]))
        return;
    for (at = number; at > text; at--)
        if (unit_letter(text, at))
            return;
    *end = begin;
    at = text;
    strip(&at, end);
}

static double number_with(const char *text, const char *end, char point, const char *unit)
{
    char comma = (char)(point == '.' ? ',' : '.');
    const char *at;
    double number;
    if (*unit)
        strip_unit(text, &end, unit);
    if (equals(text, end, "true") || equals(text, end, "false"))
        return lower(*text) == 't' ? 1.0 : 0.0;
    if (!isnan(number = hours(text, end)))
        return number;
    if (end - text >= 2 && *text == '(' && end[-1] == ')') {
        for (at = text + 1; at < end - 1 && !strchr("()+-", *at);)
            at++;
        return at == end - 1 ? -amount(text + 1, end - 1, point, comma) : NAN;
    }
    at = text;
    if (at < end && (*at == '+' || *at == '-'))
        at++;
    if (equals(at, end, "inf") || equals(at, end, "infinity"))
        return *text == '-' ? -HUGE_VAL : HUGE_VAL;
    return amount(text, end, point, comma);
}

static double number_in(const char *text, const char *end, const char *format)
{
    double number = number_with(text, end, *format, format + 1);
    /* With decimal commas, 0.25 can only have a decimal point. */
    return *format == ',' && isnan(number) ? number_with(text, end, '.', format + 1) : number;
}

static int is_nan_text(const char *at, const char *end)
{
    if (at < end && (*at == '+' || *at == '-'))
        at++;
    if (!skip(&at, end, "nan"))
        return 0;
    if (skip(&at, end, "(")) {
        while (at < end && (is_digit(*at) || is_letter(*at) || *at == '_'))
            at++;
        if (!skip(&at, end, ")"))
            return 0;
    }
    return at == end;
}

/* The number of a text of a column, `other` where the column does not list it. */
static double listed_number(const opauc_column *column, const char *text, size_t length, double other)
{
    int low = 0, high = column->n_texts;
    while (low < high) {
        int middle = low + (high - low) / 2;
        const char *listed = column->texts[middle].text;
        int order = strncmp(listed, text, length);
        if (order == 0 && listed[length] == '\0')
            return column->texts[middle].number;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return other;
}

static int marks_missing(const opauc_column *column, const char *text, const char *end)
{
    return listed_number(column, text, (size_t)(end - text), 0.0) == MISSING_TEXT;
}

/* Whole numbers that are categories, written as 7.0 or 7e+00, without decimals: the length, 0 for other text. */
static int whole_text(const char *text, char out[32])
{
    const char *at = text + (*text == '-'), *end = text + strlen(text), *begin = at;
    double number;
    while (is_digit(*at))
        at++;
    if (at == begin)
        return 0;
    if (*at == '.' && at[1 + strspn(at + 1, "0")] == '\0' && at[1] != '\0') {
        number = plain_number(text, (size_t)(end - text));
    } else {
        if (at - begin != 1)
            return 0;
        if (*at == '.') {
            for (begin = ++at; is_digit(*at);)
                at++;
            if (at == begin)
                return 0;
        }
        if (*at != 'e' || at[1] != '+' || !is_digit(at[2]) || at[2 + strspn(at + 2, "0123456789")] != '\0')
            return 0;
        number = plain_number(text, (size_t)(end - text));
    }
    if (!(fabs(number) <= 9007199254740992.0) || floor(number) != number)
        return 0;
    return sprintf(out, "%.0f", number + 0.0 == 0.0 ? 0.0 : number);
}

static double category(const opauc_column *column, const char *text)
{
    char whole[32];
    double number;
    if (text == NULL || strcmp(text, "nan") == 0)
        return NAN;
    number = whole_text(text, whole) ? listed_number(column, whole, strlen(whole), -1.0)
                                     : listed_number(column, text, strlen(text), -1.0);
    return number == MISSING_TEXT ? NAN : number;
}
