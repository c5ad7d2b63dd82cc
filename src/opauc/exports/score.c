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

/* Dates. */

/* Days since 1970 of a date of the Gregorian calendar; a year of the calculation begins in March. */
static double days_of(int year, int month, int day)
{
    int y = month <= 2 ? year - 1 : year, m = (month + 9) % 12;
    return 365.0 * y + floor(y / 4.0) - floor(y / 100.0) + floor(y / 400.0) + (153 * m + 2) / 5 + day - 719469.0;
}

static int month_of(double days)
{
    int day = (int)(fmod(fmod(floor(days) + 719468.0, 146097.0) + 146097.0, 146097.0)), m;
    int year = (day - day / 1460 + day / 36524 - day / 146096) / 365;
    m = (5 * (day - 365 * year - year / 4 + year / 100) + 2) / 153;
    return m < 10 ? m + 3 : m - 9;
}

static double days_at(double days, int hour, int minute, int second, double micros)
{
    return (((days * 24 + hour) * 60 + minute) * 6e7 + second * 1e6 + micros) / 864e8;
}

double opauc_days(int year, int month, int day, int hour, int minute, double second)
{
    return days_at(days_of(year, month, day), hour, minute, 0, second * 1e6);
}

/* A time zone is passed over: hours are local. */
static int is_zone(const char *at, const char *end)
{
    if (at == end)
        return 1;
    skip(&at, end, " ");
    if (at < end && *at == 'Z')
        return at + 1 == end;
    if (at == end || (*at != '+' && *at != '-'))
        return 0;
    at++;
    if (digits(&at, end, 2, 2) < 0)
        return 0;
    if (at == end)
        return 1;
    skip(&at, end, ":");
    return digits(&at, end, 2, 2) >= 0 && at == end;
}

static double iso_days(const char *at, const char *end)
{
    static const int lengths[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    int year, month, day, hour = 0, minute = 0, second = 0, is_leap;
    double micros = 0.0, unit = 1e5;
    if ((year = digits(&at, end, 4, 4)) < 1 || !skip(&at, end, "-") || (month = digits(&at, end, 2, 2)) < 1
        || month > 12 || !skip(&at, end, "-") || (day = digits(&at, end, 2, 2)) < 1)
        return NAN;
    is_leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    if (day > lengths[month - 1] + (month == 2 && is_leap))
        return NAN;
    if (end - at >= 6 && (*at == ' ' || *at == 'T') && is_digit(at[1])) {
        at++;
        if ((hour = digits(&at, end, 2, 2)) < 0 || hour > 23 || !skip(&at, end, ":")
            || (minute = digits(&at, end, 2, 2)) < 0 || minute > 59)
            return NAN;
        if (skip(&at, end, ":")) {
            if ((second = digits(&at, end, 2, 2)) < 0 || second > 59)
                return NAN;
            if (skip(&at, end, ".")) {
                if (at == end || !is_digit(*at))
                    return NAN;
                for (; at < end && is_digit(*at); at++, unit /= 10.0)
                    micros += unit >= 0.5 ? (*at - '0') * unit : 0.0;
            }
        }
    }
    return is_zone(at, end) ? days_at(days_of(year, month, day), hour, minute, second, floor(micros + 0.5)) : NAN;
}

/* Move past one of the names; their number from 1, 0 where none is there. Longer names come first. */
static int skip_name(const char **at, const char *end, const char *const *names, int n)
{
    int i;
    for (i = 0; i < n; i++)
        if (skip(at, end, names[i]))
            return i + 1;
    return 0;
}

/* Days of text in a layout of strftime, NAN where it is not in that layout. */
static double layout_days(const char *at, const char *end, const char *layout)
{
    static const char *const months[] = {
        "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
        "december", "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"
    };
    static const char *const weekdays[] = {
        "monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday", "mon", "tue", "wed", "thu", "fri",
        "sat", "sun"
    };
    int year = 1900, month = 0, day = 0, hour = 0, minute = 0, second = 0, half = 0, number, width;
    for (; *layout; layout++) {
        if (*layout == ' ') {
            while (blank(at, end))
                at += blank(at, end);
            continue;
        }
        if (*layout != '%') {
            if (at == end || lower(*at) != lower(*layout))
                return NAN;
            at++;
            continue;
        }
        layout++;
        if (*layout == 'b' || *layout == 'B') {
            if ((number = skip_name(&at, end, months, 24)) == 0)
                return NAN;
            month = 1 + (number - 1) % 12;
        } else if (*layout == 'A') {
            if (!skip_name(&at, end, weekdays, 14))
                return NAN;
        } else if (*layout == 'p') {
            half = skip(&at, end, "am") ? 'a' : skip(&at, end, "pm") ? 'p' : 0;
            if (!half)
                return NAN;
        } else {
            while (blank(at, end))
                at += blank(at, end);
            width = *layout == 'Y' ? 4 : 2;
            if ((number = digits(&at, end, 1, width)) < 0)
                return NAN;
            switch (*layout) {
            case 'Y': year = number; break;
            case 'y': year = number + (number >= 69 ? 1900 : 2000); break;
            case 'm': month = number; break;
            case 'd': day = number; break;
            case 'M': minute = number; break;
            case 'S': second = number; break;
            case 'I':
                if (number < 1 || number > 12)
                    return NAN;
                hour = number;
                break;
            default: hour = number;
            }
        }
    }
    if (half)
        hour = hour_of_half(hour, (char)half);
    if (at < end || day < 1 || day > 31 || month < 1 || month > 12 || hour > 23 || minute > 59 || second > 60
        || year < 1000)
        return NAN;
    /* The thirtieth of February is the second of March, or the first. */
    return days_at(days_of(year, month, 1) + day - 1, hour, minute, second, 0.0);
}

static double date_in(const opauc_column *column, const char *text, const char *end)
{
    int i;
    for (i = 0; i < column->n_layouts; i++) {
        const char *layout = column->layouts[i];
        double days = *layout == '%' ? layout_days(text, end, layout) : iso_days(text, end);
        if (!isnan(days))
            return days;
    }
    return NAN;
}

static double date_part(double days, int part)
{
    double whole = floor(days);
    switch (part) {
    case MONTH: return month_of(days);
    case WEEKDAY: return fmod(fmod(whole + 3.0, 7.0) + 7.0, 7.0);
    case HOUR: return (days - whole) * 24.0;
    default: return days;
    }
}

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
