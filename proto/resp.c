#include "resp.h"

#include <string.h>

/* A length or count of more digits is out of every range. */
#define LENGTH_DIGITS 18
#define LENGTH_OUT_OF_RANGE INT64_MAX
/* Elements of an array or map in a reply, as Redis and its clients have it. */
#define VALUE_ELEMENTS UINT32_MAX

/* Beside enum resp_status: more digits than a line may have. */
#define LENGTH_LONG (-3)

#define INTEGER_DIGITS 19 /* of an int64 */

#define PROTOCOL "Protocol error: "

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* A length in digits without leading zeros, and its CRLF. `*at` moves past it. What is wrong is
 * told at the first byte that is wrong, so that a peer that waits for an answer gets one. */
static inline int read_length(const char **at, const char *end, size_t max_digits, uint64_t *length)
{
    const char *first = *at, *p = first;
    uint64_t value = 0;
    while (p < end && is_digit(*p)) {
        value = value * 10 + (uint64_t)(*p - '0');
        p++;
    }
    size_t digits = (size_t)(p - first);
    if (digits > 1 && *first == '0') {
        return RESP_BAD;
    }
    if (digits > max_digits) {
        return LENGTH_LONG;
    }
    if (p == end) {
        return RESP_MORE;
    }
    if (digits == 0 || *p != '\r') {
        return RESP_BAD;
    }
    if (p + 1 == end) {
        return RESP_MORE;
    }
    if (p[1] != '\n') {
        return RESP_BAD;
    }
    *length = digits <= LENGTH_DIGITS ? value : LENGTH_OUT_OF_RANGE;
    *at = p + 2;
    return RESP_OK;
}

/* The `len` bytes at p and their CRLF. RESP_MORE: *missing more bytes can decide. */
static inline int read_body(const char *p, const char *end, size_t len, size_t *missing)
{
    size_t left = (size_t)(end - p);
    if (left >= len + 2) {
        return p[len] == '\r' && p[len + 1] == '\n' ? RESP_OK : RESP_BAD;
    }
    if (left == len + 1) {
        *missing = 1;
        return p[len] == '\r' ? RESP_MORE : RESP_BAD;
    }
    *missing = len + 1 - left;
    return RESP_MORE;
}

/* Redis names the byte. */
static const char *expected_dollar(char got)
{
#define GOT(c) PROTOCOL "expected '$', got '" c "'"
    static const char *const PRINTABLE[] = {
        GOT(" "), GOT("!"), GOT("\""), GOT("#"), GOT("$"), GOT("%"), GOT("&"),  GOT("'"), GOT("("),
        GOT(")"), GOT("*"), GOT("+"),  GOT(","), GOT("-"), GOT("."), GOT("/"),  GOT("0"), GOT("1"),
        GOT("2"), GOT("3"), GOT("4"),  GOT("5"), GOT("6"), GOT("7"), GOT("8"),  GOT("9"), GOT(":"),
        GOT(";"), GOT("<"), GOT("="),  GOT(">"), GOT("?"), GOT("@"), GOT("A"),  GOT("B"), GOT("C"),
        GOT("D"), GOT("E"), GOT("F"),  GOT("G"), GOT("H"), GOT("I"), GOT("J"),  GOT("K"), GOT("L"),
        GOT("M"), GOT("N"), GOT("O"),  GOT("P"), GOT("Q"), GOT("R"), GOT("S"),  GOT("T"), GOT("U"),
        GOT("V"), GOT("W"), GOT("X"),  GOT("Y"), GOT("Z"), GOT("["), GOT("\\"), GOT("]"), GOT("^"),
        GOT("_"), GOT("`"), GOT("a"),  GOT("b"), GOT("c"), GOT("d"), GOT("e"),  GOT("f"), GOT("g"),
        GOT("h"), GOT("i"), GOT("j"),  GOT("k"), GOT("l"), GOT("m"), GOT("n"),  GOT("o"), GOT("p"),
        GOT("q"), GOT("r"), GOT("s"),  GOT("t"), GOT("u"), GOT("v"), GOT("w"),  GOT("x"), GOT("y"),
        GOT("z"), GOT("{"), GOT("|"),  GOT("}"), GOT("~"),
    };
#undef GOT
    return got >= ' ' && got <= '~' ? PRINTABLE[got - ' ']
                                    : PROTOCOL "expected '$', got an unprintable byte";
}

static int bad(const char **why, const char *text)
{
    *why = text;
    return RESP_BAD;
}

static int more(size_t *used, size_t wanted)
{
    *used = wanted;
    return RESP_MORE;
}

/* Split line[0..len) into arguments; a quoted one must stand alone. */
static int split_line(const char *line, size_t len, const struct resp_limits *limits,
                      struct resp_arg *args, size_t *argc, const char **why)
{
    const char *p = line, *end = line + len;
    size_t count = 0;
    for (;;) {
        while (p < end && (*p == ' ' || *p == '\t')) {
            p++;
        }
        if (p == end) {
            break;
        }
        char quote = *p == '"' || *p == '\'' ? *p : '\0';
        const char *first = quote != '\0' ? ++p : p;
        if (quote != '\0') {
            p = memchr(p, quote, (size_t)(end - p));
            if (p == NULL || (p + 1 < end && p[1] != ' ' && p[1] != '\t')) {
                return bad(why, PROTOCOL "unbalanced quotes in request");
            }
        }
        while (quote == '\0' && p < end && *p != ' ' && *p != '\t') {
            if (*p == '"' || *p == '\'') {
                return bad(why, PROTOCOL "unbalanced quotes in request");
            }
            p++;
        }
        size_t bytes = (size_t)(p - first);
        if (count == limits->args || bytes > limits->bulk_bytes) {
            return bad(why, PROTOCOL "too big inline request");
        }
        args[count++] = (struct resp_arg){first, bytes};
        p += quote != '\0';
    }
    *argc = count;
    return RESP_OK;
}

static int read_line(const char *buf, size_t len, const struct resp_limits *limits,
                     struct resp_arg *args, size_t *argc, size_t *used, const char **why)
{
    const size_t most = limits->inline_bytes;
    const char *lf = memchr(buf, '\n', len < most + 2 ? len : most + 2);
    if (lf == NULL && (len < most + 1 || (len == most + 1 && buf[most] == '\r'))) {
        return more(used, len + 1);
    }
    size_t bytes = lf != NULL ? (size_t)(lf - buf) : len;
    if (lf != NULL && bytes > 0 && buf[bytes - 1] == '\r') {
        bytes--;
    }
    if (bytes > most) {
        return bad(why, PROTOCOL "too big inline request");
    }
    int status = split_line(buf, bytes, limits, args, argc, why);
    if (status == RESP_OK) {
        *used = (size_t)(lf + 1 - buf);
    }
    return status;
}

/* The count after '*'. Any negative one means no command, as in Redis. */
static int read_count(const char **at, const char *end, const struct resp_limits *limits,
                      uint64_t *count, const char **why)
{
    bool negative = *at < end && **at == '-';
    *at += negative;
    int status = read_length(at, end, limits->inline_bytes, count);
    if (status == LENGTH_LONG) {
        return bad(why, PROTOCOL "too big mbulk count string");
    }
    if (status == RESP_OK && negative && *count != 0 && *count != LENGTH_OUT_OF_RANGE) {
        *count = 0;
    } else if (status == RESP_BAD || (status == RESP_OK && (negative || *count > limits->args))) {
        return bad(why, PROTOCOL "invalid multibulk length");
    }
    return status;
}

static inline int read_argument(const char *buf, const char **at, const char *end,
                                const struct resp_limits *limits, struct resp_arg *arg,
                                size_t *used, const char **why)
{
    const char *p = *at;
    if (p == end) {
        return more(used, (size_t)(end - buf) + 1);
    }
    if (*p != '$') {
        return bad(why, expected_dollar(*p));
    }
    p++;
    uint64_t bytes;
    int status = read_length(&p, end, limits->inline_bytes, &bytes);
    if (status == RESP_MORE) {
        return more(used, (size_t)(end - buf) + 1);
    }
    if (status == LENGTH_LONG) {
        return bad(why, PROTOCOL "too big bulk count string");
    }
    if (status == RESP_BAD || bytes > limits->bulk_bytes) {
        return bad(why, PROTOCOL "invalid bulk length");
    }
    if ((size_t)(p - buf) + bytes + 2 > limits->request_bytes) {
        return bad(why, PROTOCOL "too big request");
    }
    size_t missing;
    status = read_body(p, end, bytes, &missing);
    if (status == RESP_MORE) {
        return more(used, (size_t)(end - buf) + missing);
    }
    if (status == RESP_BAD) {
        return bad(why, PROTOCOL "expected CRLF at the end of a bulk string");
    }
    *arg = (struct resp_arg){p, bytes};
    *at = p + bytes + 2;
    return RESP_OK;
}

static int read_array(const char *buf, size_t len, const struct resp_limits *limits,
                      struct resp_arg *args, size_t *argc, size_t *used, const char **why)
{
    const char *p = buf + 1, *end = buf + len;
    uint64_t count;
    int status = read_count(&p, end, limits, &count, why);
    if (status != RESP_OK) {
        return status == RESP_MORE ? more(used, len + 1) : status;
    }
    for (uint64_t i = 0; i < count; i++) {
        status = read_argument(buf, &p, end, limits, &args[i], used, why);
        if (status != RESP_OK) {
            return status;
        }
    }
    *argc = count;
    *used = (size_t)(p - buf);
    return RESP_OK;
}

int resp_read_command(const char *buf, size_t len, const struct resp_limits *limits,
                      struct resp_arg *args, size_t *argc, size_t *used, const char **why)
{
    if (len == 0) {
        return more(used, 1);
    }
    return buf[0] == '*' ? read_array(buf, len, limits, args, argc, used, why)
                         : read_line(buf, len, limits, args, argc, used, why);
}

/* A reply's length or count, -1 only where it can be a null. */
static inline int read_head(const char **at, const char *end, bool nullable, int64_t *length)
{
    bool negative = nullable && *at < end && **at == '-';
    *at += negative;
    if (negative && *at < end && **at != '1') {
        return RESP_BAD;
    }
    uint64_t number;
    int status = read_length(at, end, LENGTH_DIGITS, &number);
    if (status != RESP_OK) {
        return status == RESP_MORE ? RESP_MORE : RESP_BAD;
    }
    if (negative && number != 1) {
        return RESP_BAD;
    }
    *length = negative ? -1 : (int64_t)number;
    return RESP_OK;
}

static int read_text(enum resp_type type, const char *buf, size_t len, size_t max_bytes,
                     struct resp_value *value, size_t *used)
{
    const char *text = buf + 1;
    size_t left = len - 1;
    const char *lf = memchr(text, '\n', left < max_bytes + 2 ? left : max_bytes + 2);
    if (lf == NULL) {
        return left < max_bytes + 2 ? more(used, len + 1) : RESP_BAD;
    }
    if (memchr(text, '\r', (size_t)(lf - text)) != lf - 1) {
        return RESP_BAD;
    }
    *value = (struct resp_value){.type = type, .data = text, .len = (size_t)(lf - 1 - text)};
    *used = (size_t)(lf + 1 - buf);
    return RESP_OK;
}

static int read_integer(const char *buf, size_t len, struct resp_value *value, size_t *used)
{
    const char *p = buf + 1, *end = buf + len;
    bool negative = p < end && *p == '-';
    p += p < end && (*p == '-' || *p == '+');
    const uint64_t most = (uint64_t)INT64_MAX + negative;
    const char *first = p;
    uint64_t number = 0;
    while (p < end && is_digit(*p)) {
        uint64_t digit = (uint64_t)(*p - '0');
        if (number > (most - digit) / 10) {
            return RESP_BAD;
        }
        number = number * 10 + digit;
        p++;
    }
    if (p == end) {
        return p - first <= INTEGER_DIGITS ? more(used, len + 1) : RESP_BAD;
    }
    if (p == first || p - first > INTEGER_DIGITS || *p != '\r') {
        return RESP_BAD;
    }
    if (p + 1 == end) {
        return more(used, len + 1);
    }
    if (p[1] != '\n') {
        return RESP_BAD;
    }
    *value = (struct resp_value){.type = RESP_INTEGER,
                                 .integer = (int64_t)(negative ? -number : number)};
    *used = (size_t)(p + 2 - buf);
    return RESP_OK;
}

/* '$', '=' (four bytes of format before the text) and '!'. */
static int read_bulk(const char *buf, size_t len, size_t max_bytes, struct resp_value *value,
                     size_t *used)
{
    const char *p = buf + 1, *end = buf + len;
    const size_t skip = buf[0] == '=' ? 4 : 0;
    int64_t bytes;
    int status = read_head(&p, end, buf[0] == '$', &bytes);
    if (status != RESP_OK) {
        return status == RESP_MORE ? more(used, len + 1) : status;
    }
    if (bytes == -1) {
        *value = (struct resp_value){.type = RESP_NULL};
        *used = (size_t)(p - buf);
        return RESP_OK;
    }
    if ((uint64_t)bytes > max_bytes || (uint64_t)bytes < skip) {
        return RESP_BAD;
    }
    size_t missing;
    status = read_body(p, end, (size_t)bytes, &missing);
    if (status != RESP_OK) {
        return status == RESP_MORE ? more(used, len + missing) : status;
    }
    if (skip > 0 && p[skip - 1] != ':') {
        return RESP_BAD;
    }
    *value = (struct resp_value){.type = buf[0] == '!' ? RESP_ERROR : RESP_BULK,
                                 .data = p + skip,
                                 .len = (size_t)bytes - skip};
    *used = (size_t)(p + bytes + 2 - buf);
    return RESP_OK;
}

static int read_aggregate(const char *buf, size_t len, struct resp_value *value, size_t *used)
{
    const char *p = buf + 1;
    int64_t count;
    int status = read_head(&p, buf + len, buf[0] == '*', &count);
    if (status != RESP_OK) {
        return status == RESP_MORE ? more(used, len + 1) : status;
    }
    if (count > VALUE_ELEMENTS) {
        return RESP_BAD;
    }
    *value = (struct resp_value){.type = buf[0] == '%' ? RESP_MAP : RESP_ARRAY, .integer = count};
    if (count == -1) {
        *value = (struct resp_value){.type = RESP_NULL};
    }
    *used = (size_t)(p - buf);
    return RESP_OK;
}

/* '_' and '#': a fixed text each. */
static int read_fixed(const char *buf, size_t len, struct resp_value *value, size_t *used)
{
    const bool yes = len > 1 && buf[1] == 't';
    const char *text = buf[0] == '_' ? "_\r\n" : yes ? "#t\r\n" : "#f\r\n";
    const size_t bytes = strlen(text);
    if (memcmp(buf, text, len < bytes ? len : bytes) != 0) {
        return RESP_BAD;
    }
    if (len < bytes) {
        return more(used, len + 1);
    }
    *value = (struct resp_value){.type = buf[0] == '_' ? RESP_NULL : RESP_BOOLEAN, .integer = yes};
    *used = bytes;
    return RESP_OK;
}

int resp_read_value(const char *buf, size_t len, size_t max_bytes, struct resp_value *value,
                    size_t *used)
{
    if (len == 0) {
        return more(used, 1);
    }
    switch (buf[0]) {
    case ':':
        return read_integer(buf, len, value, used);
    case '$':
    case '=':
    case '!':
        return read_bulk(buf, len, max_bytes, value, used);
    case '+':
        return read_text(RESP_SIMPLE, buf, len, max_bytes, value, used);
    case '-':
        return read_text(RESP_ERROR, buf, len, max_bytes, value, used);
    case ',':
        return read_text(RESP_DOUBLE, buf, len, max_bytes, value, used);
    case '*':
    case '~':
    case '>':
    case '%':
        return read_aggregate(buf, len, value, used);
    case '_':
    case '#':
        return read_fixed(buf, len, value, used);
    default:
        return RESP_BAD;
    }
}

bool resp_parse_integer(const char *data, size_t len, int64_t *value)
{
    const bool negative = len > 0 && data[0] == '-';
    const uint64_t most = (uint64_t)INT64_MAX + negative;
    const char *p = data + negative, *end = data + len;
    const size_t digits = (size_t)(end - p);
    if (digits == 0 || digits > INTEGER_DIGITS || (*p == '0' && (digits > 1 || negative))) {
        return false;
    }
    uint64_t number = 0;
    for (; p < end; p++) {
        if (!is_digit(*p)) {
            return false;
        }
        number = number * 10 + (uint64_t)(*p - '0'); /* INTEGER_DIGITS nines fit in 64 bits */
    }
    if (number > most) {
        return false;
    }
    *value = (int64_t)(negative ? -number : number);
    return true;
}
