/* Where configuration comes from: an INI file, the environment and options. All of it goes through
 * config_set.
 *
 * inih cuts long lines and section names short without a word, takes an indented line for the rest
 * of the one before, and goes on after an error. So it is fed from memory, line by line, by
 * next_line, which refuses what does not fit, strips indentation, keeps section and line number
 * itself, and ends the text at the first error. What is left to inih: comments, and telling key
 * from value. */
#include <errno.h>
#include <fcntl.h>
#include <ini.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config.h"
#include "limit.h"
#include "name.h"

#define FILE_BYTES 1048576
#define SECTION_BYTES (LIMIT_NAME_BYTES + 16) /* "counter NAME" */
#define LINE_BYTES 8192

struct reader {
    struct config *config;
    const char *path;
    const char *at, *end;
    size_t line; /* the one that inih has */
    char section[SECTION_BYTES];
    bool failed; /* why is filled */
    char *why;
    size_t why_bytes;
};

static bool is_blank(char byte)
{
    return byte == ' ' || byte == '\t' || byte == '\r' || byte == '\v' || byte == '\f';
}

static void fail(struct reader *reader, const char *reason)
{
    snprintf(reader->why, reader->why_bytes, "%s:%zu: %s", reader->path, reader->line, reason);
    reader->failed = true;
}

/* After a section's "]": nothing, or blanks and a comment. */
static bool is_tail(const char *text, size_t len)
{
    size_t i = 0;
    while (i < len && is_blank(text[i]))
        i++;
    return i == len || (i > 0 && (text[i] == ';' || text[i] == '#'));
}

static bool section_exists(const char *section)
{
    struct config_row_text row;
    if (strncmp(section, "counter ", 8) == 0)
        return true;
    for (size_t i = 0; config_row(i, &row); i++) {
        if (strcmp(row.section, section) == 0)
            return true;
    }
    return false;
}

/* line[0..len) begins with "[". */
static void take_section(struct reader *reader, const char *line, size_t len)
{
    size_t stop = 1;
    while (stop < len && (line[stop] != ']' || !is_tail(line + stop + 1, len - stop - 1)))
        stop++;
    if (stop == len) {
        fail(reader, "a section without an end: expected [SECTION]");
        return;
    }
    const char *name = line + 1;
    size_t name_len = stop - 1;
    for (; name_len > 0 && is_blank(*name); name_len--)
        name++;
    while (name_len > 0 && is_blank(name[name_len - 1]))
        name_len--;
    if (name_len >= SECTION_BYTES) {
        fail(reader, "unknown section");
        return;
    }
    memcpy(reader->section, name, name_len);
    reader->section[name_len] = '\0';
    const char *bad = NULL;
    if (!section_exists(reader->section))
        bad = "unknown section";
    else if (strncmp(reader->section, "counter ", 8) == 0) {
        name = reader->section + 8 + strspn(reader->section + 8, " \t");
        bad = name_check(name, strlen(name));
    }
    if (bad) {
        snprintf(reader->why, reader->why_bytes, "%s:%zu: [%s]: %s", reader->path, reader->line,
                 reader->section, bad);
        reader->failed = true;
    }
}

/* As fgets, for inih: one line into line[0..bytes), NULL at the end or after an error. */
static char *next_line(char *line, int bytes, void *context)
{
    struct reader *reader = context;
    if (reader->failed || reader->at == reader->end)
        return NULL;
    const char *text = reader->at;
    const char *newline = memchr(text, '\n', (size_t)(reader->end - text));
    const char *stop = newline ? newline : reader->end;
    reader->at = newline ? newline + 1 : stop;
    reader->line++;

    while (text < stop && is_blank(*text))
        text++;
    while (text < stop && is_blank(stop[-1]))
        stop--;
    size_t len = (size_t)(stop - text);
    if (memchr(text, '\0', len)) {
        fail(reader, "NUL byte");
        return NULL;
    }
    if (len > 0 && *text == '[')
        take_section(reader, text, len);
    if (reader->failed)
        return NULL;
    /* For inih sections and comments are empty lines, however long. */
    if (len > 0 && (*text == '[' || *text == ';' || *text == '#'))
        len = 0;
    if (len + 3 > (size_t)bytes) {
        fail(reader, "the line is too long; the environment and --set take longer values");
        return NULL;
    }
    memcpy(line, text, len);
    line[len] = '\n';
    line[len + 1] = '\0';
    return line;
}

static int take_value_cb(void *context, const char *section, const char *key, const char *value)
{
    struct reader *reader = context;
    (void)section; /* may be cut short */
    if (reader->failed)
        return 0;
    if (reader->section[0] == '\0') {
        fail(reader, "a key before any [SECTION]");
        return 0;
    }
    size_t room = strlen(reader->path) + 32;
    char *source = malloc(room);
    if (!source) {
        fail(reader, "out of memory");
        return 0;
    }
    snprintf(source, room, "%s:%zu", reader->path, reader->line);
    reader->failed = config_set(reader->config, reader->section, key, value ? value : "", source,
                                reader->why, reader->why_bytes) != 0;
    free(source);
    return !reader->failed;
}

int config_read_text(struct config *config, const char *text, size_t len, const char *path,
                     char *why, size_t why_bytes)
{
    struct reader reader = {
        .config = config,
        .path = path,
        .at = text,
        .end = text + len,
        .why = why,
        .why_bytes = why_bytes,
    };
    if (len >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0)
        reader.at += 3;
#ifdef HAVE_INI_MAX_LINE
    ini_max_line = LINE_BYTES;
#endif
    int result = ini_parse_stream(next_line, &reader, take_value_cb, &reader);
    if (result == 0)
        return reader.failed ? -1 : 0;
    /* inih met a line that is none, maybe before the error that ended the text. */
    if (!reader.failed || (result > 0 && (size_t)result < reader.line)) {
        reader.line = result > 0 ? (size_t)result : reader.line;
        fail(&reader, result > 0 ? "expected KEY = VALUE" : "out of memory");
    }
    return -1;
}

/* A descriptor's whole text, from malloc; NULL and errno. */
static char *read_all(int fd, size_t *len)
{
    char *text = malloc(FILE_BYTES + 1);
    size_t used = 0;
    while (text && used <= FILE_BYTES) {
        ssize_t got = read(fd, text + used, FILE_BYTES + 1 - used);
        if (got == 0) {
            *len = used;
            return text;
        }
        if (got < 0 && errno != EINTR)
            break;
        used += got > 0 ? (size_t)got : 0;
    }
    if (used > FILE_BYTES)
        errno = EFBIG;
    free(text);
    return NULL;
}

int config_read_file(struct config *config, const char *path, char *why, size_t why_bytes)
{
    size_t len = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    char *text = fd >= 0 ? read_all(fd, &len) : NULL;
    int error = errno;
    if (fd >= 0)
        close(fd);
    if (!text) {
        snprintf(why, why_bytes, "%s: %s", path, strerror(error));
        return -1;
    }
    int result = config_read_text(config, text, len, path, why, why_bytes);
    free(text);
    return result;
}

int config_set_option(struct config *config, const char *option, char *why, size_t why_bytes)
{
    const char *equals = strchr(option, '=');
    const char *dot = equals ? memrchr(option, '.', (size_t)(equals - option)) : NULL;
    char section[SECTION_BYTES], key[64];
    size_t section_len = dot ? (size_t)(dot - option) : 0;
    size_t key_len = dot ? (size_t)(equals - dot) - 1 : 0;
    if (section_len == 0 || section_len >= sizeof(section) || key_len == 0 ||
        key_len >= sizeof(key)) {
        snprintf(why, why_bytes, "--set %.*s: expected SECTION.KEY=VALUE",
                 (int)strcspn(option, "="), option);
        return -1;
    }
    memcpy(section, option, section_len);
    section[section_len] = '\0';
    memcpy(key, dot + 1, key_len);
    key[key_len] = '\0';
    return config_set(config, section, key, equals + 1, "--set", why, why_bytes);
}

/* Does text begin with word in upper case and "_", or "=" for a key? Returns what follows it. */
static const char *skip_upper(const char *text, const char *word, char after)
{
    for (; *word; word++, text++) {
        char upper = *word >= 'a' && *word <= 'z' ? (char)(*word - 'a' + 'A') : *word;
        if (*text != upper)
            return NULL;
    }
    return *text == after ? text + 1 : NULL;
}

static int read_variable(struct config *config, const char *variable, char *why, size_t why_bytes)
{
    const char *name = variable + sizeof("IDMINT_") - 1;
    size_t variable_len = strcspn(variable, "=");
    bool like_section = strncmp(name, "COUNTER_", 8) == 0;
    struct config_row_text row;
    for (size_t i = 0; config_row(i, &row); i++) {
        const char *key = skip_upper(name, row.section, '_');
        const char *value = key ? skip_upper(key, row.key, '=') : NULL;
        like_section = like_section || key;
        if (value) {
            char source[64];
            snprintf(source, sizeof(source), "%.*s", (int)variable_len, variable);
            return config_set(config, row.section, row.key, value, source, why, why_bytes);
        }
    }
    if (!like_section)
        return 0;
    snprintf(why, why_bytes, "%.*s: no such key", (int)variable_len, variable);
    return -1;
}

int config_read_environment(struct config *config, char *const *environment, char *why,
                            size_t why_bytes)
{
    for (; *environment; environment++) {
        if (strncmp(*environment, "IDMINT_", 7) == 0 &&
            read_variable(config, *environment, why, why_bytes) != 0)
            return -1;
    }
    return 0;
}
