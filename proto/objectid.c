#include "objectid.h"

#include <string.h>

/* "00" to "ff", two characters each without NULs. */
#define PAIRS(high)                                                                                \
    high "0" high "1" high "2" high "3" high "4" high "5" high "6" high "7" high "8" high "9" high \
         "a" high "b" high "c" high "d" high "e" high "f"
static const char HEX_PAIRS[] =
    PAIRS("0") PAIRS("1") PAIRS("2") PAIRS("3") PAIRS("4") PAIRS("5") PAIRS("6") PAIRS("7")
        PAIRS("8") PAIRS("9") PAIRS("a") PAIRS("b") PAIRS("c") PAIRS("d") PAIRS("e") PAIRS("f");

/* A hex digit's value with IS_DIGIT set; 0 for all other bytes. */
#define IS_DIGIT 0x10
static const uint8_t DIGITS[256] = {
    ['0'] = 0x10, ['1'] = 0x11, ['2'] = 0x12, ['3'] = 0x13, ['4'] = 0x14, ['5'] = 0x15,
    ['6'] = 0x16, ['7'] = 0x17, ['8'] = 0x18, ['9'] = 0x19, ['a'] = 0x1a, ['b'] = 0x1b,
    ['c'] = 0x1c, ['d'] = 0x1d, ['e'] = 0x1e, ['f'] = 0x1f, ['A'] = 0x1a, ['B'] = 0x1b,
    ['C'] = 0x1c, ['D'] = 0x1d, ['E'] = 0x1e, ['F'] = 0x1f,
};

void objectid_build(uint64_t tick, const uint8_t random[OBJECTID_RANDOM_BYTES],
                    uint8_t id[OBJECTID_BYTES])
{
    for (int i = 0; i < 4; i++) {
        id[i] = (uint8_t)(tick >> (48 - 8 * i));
    }
    memcpy(id + 4, random, OBJECTID_RANDOM_BYTES);
    for (int i = 0; i < 3; i++) {
        id[9 + i] = (uint8_t)(tick >> (16 - 8 * i));
    }
}

static uint32_t big_endian(const uint8_t *bytes, size_t count)
{
    uint32_t value = 0;
    for (size_t i = 0; i < count; i++) {
        value = value << 8 | bytes[i];
    }
    return value;
}

void objectid_split(const uint8_t id[OBJECTID_BYTES], struct objectid_parts *parts)
{
    parts->seconds = big_endian(id, 4);
    memcpy(parts->random, id + 4, OBJECTID_RANDOM_BYTES);
    parts->counter = big_endian(id + 9, 3);
    parts->legacy_machine = big_endian(id + 4, 3);
    parts->legacy_pid = (uint16_t)big_endian(id + 7, 2);
}

uint64_t objectid_tick(const uint8_t id[OBJECTID_BYTES])
{
    return (uint64_t)big_endian(id, 4) << 24 | big_endian(id + 9, 3);
}

void objectid_hex(const uint8_t id[OBJECTID_BYTES], char hex[OBJECTID_HEX])
{
    for (int i = 0; i < OBJECTID_BYTES; i++) {
        memcpy(hex + 2 * i, HEX_PAIRS + 2 * id[i], 2);
    }
}

/* Up to 256 ids in a row differ in their last byte alone, so the rest is spelled out once for all
 * of them. */
void objectid_hex_run(uint64_t tick, const uint8_t random[OBJECTID_RANDOM_BYTES], size_t count,
                      char *hex, size_t stride)
{
    for (size_t done = 0; done < count;) {
        uint8_t id[OBJECTID_BYTES];
        char first[OBJECTID_HEX];
        objectid_build(tick + done, random, id);
        objectid_hex(id, first);
        size_t last_byte = id[OBJECTID_BYTES - 1];
        size_t alike = 256 - last_byte < count - done ? 256 - last_byte : count - done;
        for (size_t i = 0; i < alike; i++) {
            char *text = hex + (done + i) * stride;
            memcpy(text, first, OBJECTID_HEX);
            memcpy(text + OBJECTID_HEX - 2, HEX_PAIRS + 2 * (last_byte + i), 2);
        }
        done += alike;
    }
}

bool objectid_parse(const char *hex, size_t len, uint8_t id[OBJECTID_BYTES])
{
    if (len != OBJECTID_HEX) {
        return false;
    }
    uint8_t bytes[OBJECTID_BYTES];
    unsigned all = IS_DIGIT;
    for (int i = 0; i < OBJECTID_BYTES; i++) {
        unsigned high = DIGITS[(unsigned char)hex[2 * i]];
        unsigned low = DIGITS[(unsigned char)hex[2 * i + 1]];
        all &= high & low;
        bytes[i] = (uint8_t)(high << 4 | (low & 0xf));
    }
    if (all == 0) {
        return false;
    }
    memcpy(id, bytes, OBJECTID_BYTES);
    return true;
}

/* Calendar: proleptic Gregorian, UTC, days counted from 0000-01-01. */
#define DAYS_TO_1970 719528
#define DAY_SECONDS 86400

static bool is_leap(int year)
{
    return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
}

static int32_t days_before_year(int year)
{
    return 365 * year + (year + 3) / 4 - (year + 99) / 100 + (year + 399) / 400;
}

/* month: 1 .. 13 (13: the whole year) */
static int days_before_month(int year, int month)
{
    static const int16_t DAYS[] = {0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334, 365};
    return DAYS[month - 1] + (month > 2 && is_leap(year));
}

static void put_digits(char *text, uint32_t value, int digits)
{
    for (int i = digits - 1; i >= 0; i--) {
        text[i] = (char)('0' + value % 10);
        value /= 10;
    }
}

void objectid_time_text(uint32_t seconds, char text[OBJECTID_TIME_TEXT])
{
    int32_t days = (int32_t)(seconds / DAY_SECONDS) + DAYS_TO_1970;
    uint32_t of_day = seconds % DAY_SECONDS;
    int year = 1970 + (int)(seconds / (366 * DAY_SECONDS)); /* never too late */
    while (days_before_year(year + 1) <= days) {
        year++;
    }
    days -= days_before_year(year);
    int month = 1;
    while (days_before_month(year, month + 1) <= days) {
        month++;
    }
    memcpy(text, "0000-00-00T00:00:00Z", OBJECTID_TIME_TEXT);
    put_digits(text, (uint32_t)year, 4);
    put_digits(text + 5, (uint32_t)month, 2);
    put_digits(text + 8, (uint32_t)(days - days_before_month(year, month) + 1), 2);
    put_digits(text + 11, of_day / 3600, 2);
    put_digits(text + 14, of_day / 60 % 60, 2);
    put_digits(text + 17, of_day % 60, 2);
}

struct scanner {
    const char *at, *end;
};

static bool scan_char(struct scanner *scanner, const char *any_of)
{
    if (scanner->at == scanner->end || *scanner->at == '\0' ||
        strchr(any_of, *scanner->at) == NULL) {
        return false;
    }
    scanner->at++;
    return true;
}

/* Exactly `digits` digits, min .. max. */
static bool scan_number(struct scanner *scanner, int digits, int min, int max, int *number)
{
    if (scanner->end - scanner->at < digits) {
        return false;
    }
    int value = 0;
    for (int i = 0; i < digits; i++, scanner->at++) {
        if (*scanner->at < '0' || *scanner->at > '9') {
            return false;
        }
        value = value * 10 + (*scanner->at - '0');
    }
    *number = value;
    return value >= min && value <= max;
}

/* Seconds since 1970 of YYYY-MM-DDThh:mm:ss, before its offset is counted. */
static bool scan_date_time(struct scanner *scanner, int64_t *seconds)
{
    int year, month, day, hour, minute, second;
    if (!scan_number(scanner, 4, 0, 9999, &year) || !scan_char(scanner, "-") ||
        !scan_number(scanner, 2, 1, 12, &month) || !scan_char(scanner, "-") ||
        !scan_number(scanner, 2, 1, 31, &day) || !scan_char(scanner, "Tt ") ||
        !scan_number(scanner, 2, 0, 23, &hour) || !scan_char(scanner, ":") ||
        !scan_number(scanner, 2, 0, 59, &minute) || !scan_char(scanner, ":") ||
        !scan_number(scanner, 2, 0, 60, &second)) {
        return false;
    }
    int before = days_before_month(year, month);
    if (day > days_before_month(year, month + 1) - before) {
        return false;
    }
    int64_t days = days_before_year(year) - DAYS_TO_1970 + before + day - 1;
    *seconds = days * DAY_SECONDS + hour * 3600 + minute * 60 + second;
    return true;
}

static bool scan_fraction(struct scanner *scanner)
{
    if (!scan_char(scanner, ".")) {
        return true;
    }
    const char *digits = scanner->at;
    while (scan_char(scanner, "0123456789")) {
    }
    return scanner->at > digits;
}

/* Z, or +hh:mm or -hh:mm: how far local time is ahead of UTC. */
static bool scan_offset(struct scanner *scanner, int64_t *ahead)
{
    *ahead = 0;
    if (scan_char(scanner, "Zz")) {
        return true;
    }
    bool behind = scan_char(scanner, "-");
    int hours, minutes;
    if ((!behind && !scan_char(scanner, "+")) || !scan_number(scanner, 2, 0, 23, &hours) ||
        !scan_char(scanner, ":") || !scan_number(scanner, 2, 0, 59, &minutes)) {
        return false;
    }
    *ahead = (hours * 3600 + minutes * 60) * (behind ? -1 : 1);
    return true;
}

static bool scan_unix_seconds(struct scanner *scanner, int64_t *seconds)
{
    const char *digits = scanner->at;
    *seconds = 0;
    while (scanner->at - digits <= 10 && scan_char(scanner, "0123456789")) {
        *seconds = *seconds * 10 + (scanner->at[-1] - '0');
    }
    return scanner->at > digits && (*digits != '0' || scanner->at - digits == 1);
}

bool objectid_parse_time(const char *text, size_t len, uint32_t *seconds)
{
    struct scanner scanner = {text, text + len};
    int64_t value, ahead = 0;
    if (len > 4 && text[4] == '-') {
        if (!scan_date_time(&scanner, &value) || !scan_fraction(&scanner) ||
            !scan_offset(&scanner, &ahead)) {
            return false;
        }
    } else if (!scan_unix_seconds(&scanner, &value)) {
        return false;
    }
    value -= ahead;
    if (scanner.at != scanner.end || value < 0 || value > UINT32_MAX) {
        return false;
    }
    *seconds = (uint32_t)value;
    return true;
}
