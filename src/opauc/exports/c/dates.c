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
