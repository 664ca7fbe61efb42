/* The configuration: one row a key (section, key, type, default, unit, range, reloadable), read
 * from an INI file, the environment (IDMINT_<SECTION>_<KEY>) and options (--set SECTION.KEY=VALUE).
 * An option wins over the environment, the environment over the file. An unknown section or key, a
 * value out of range or with trailing garbage is an error that names file, line and key. */
#ifndef IDMINT_CONFIG_H
#define IDMINT_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct store_counter;

#define CONFIG_TEXT_BYTES 4097 /* any value as text, with its NUL */

enum config_returns { CONFIG_AFTER, CONFIG_BEFORE };
enum config_type { CONFIG_KEEP, CONFIG_INT64 };

/* Where a counter's value stands in MongoDB. */
struct config_place {
    char *database, *collection, *key, *field;
    int64_t returns; /* enum config_returns */
    int64_t type;    /* enum config_type */
};

/* [counter NAME]: how that one counter is created, and where it stands in MongoDB; what is not set
 * is as [counters] and [mongo] say. */
struct config_counter {
    struct config_counter *next;
    char *name;
    struct config_place place; /* NULL, -1: not set */
    char *match;               /* extended JSON that finds its document; NULL: key and name do */
    int64_t start, step, max, cache;
    bool has_start, has_step, has_max, has_cache;
};

struct config {
    struct {
        char *resp;      /* addresses by comma: host:port, [v6]:port, unix:PATH; port 0: any */
        char *http;      /* the same; NULL: HTTP is not served */
        char *advertise; /* NULL: the first of resp */
        int64_t threads; /* loop threads; 0: the cores less one, at least one */
        int64_t backlog;
        int64_t unix_mode; /* octal in the file */
    } listen;
    struct {
        char *uri;
        int64_t batch; /* operations in one commit */
    } store;
    struct {
        char *password_file; /* NULL: the URI has the password, if any */
        struct config_place place;
        bool create_index;
        char *state_database;
        char *issuer;
        int64_t connections;
        int64_t flights;
        int64_t lease_ms, window_ms;
    } mongo;
    struct {
        int64_t lead_ms, forward_step_ms, forward_settle_ms, window_ms;
    } oid;
    struct {
        bool auto_create;
        int64_t start, step, max, cache;
        int64_t in_memory; /* counters held in memory */
        int64_t block_ms;  /* how long a cached block is used where the store is shared */
    } counters;
    struct config_counter *counter; /* in the order of the file */
    struct {
        char *password_file; /* NULL: no credentials */
        bool allow_open;
    } auth;
    struct {
        char *hosts;   /* names by comma that Host may say, beside loopback's; NULL: none */
        char *origins; /* origins by comma whose pages may call; NULL: none but the daemon's own */
        char *open_paths;            /* paths by comma that ask for no credential; NULL: none */
        int64_t request_ms, idle_ms; /* for a whole request to come in; between two requests */
        int64_t body_bytes;
    } http;
    struct {
        int64_t connections;
        int64_t request_ms;   /* deadline of a request */
        int64_t idle_ms;      /* 0: never */
        int64_t open_ms;      /* time to authenticate; only where a password is set */
        int64_t write_ms;     /* a client that reads nothing for so long is dropped */
        int64_t output_bytes; /* replies waiting for one client, before reading from it pauses */
        int64_t buffer_bytes; /* buffers of all connections together */
    } limits;
    struct {
        int64_t level; /* enum log_level */
    } log;
};

/* One way in for all: source names where the value came from in errors. Adding to a config:
 * defaults, then file, then environment, then options; the last one wins. */
void config_init(struct config *config); /* all defaults; texts not set point at constants */
void config_finish(struct config *config);
/* `section` may be "counter NAME". Nothing is changed where it fails. */
int config_set(struct config *config, const char *section, const char *key, const char *value,
               const char *source, char *why, size_t why_bytes) __attribute__((warn_unused_result));
/* "SECTION.KEY=VALUE", or "counter NAME.KEY=VALUE": the last dot before the first "=" parts
 * section and key. */
int config_set_option(struct config *config, const char *option, char *why, size_t why_bytes)
    __attribute__((warn_unused_result));
int config_read_file(struct config *config, const char *path, char *why, size_t why_bytes)
    __attribute__((warn_unused_result));
/* The same for bytes in memory; `path` is for errors. For tests and fuzzing. */
int config_read_text(struct config *config, const char *text, size_t len, const char *path,
                     char *why, size_t why_bytes) __attribute__((warn_unused_result));
/* Every IDMINT_<SECTION>_<KEY>. One that begins like a section but names no key is an error; other
 * IDMINT_ variables are the client's. */
int config_read_environment(struct config *config, char *const *environment, char *why,
                            size_t why_bytes) __attribute__((warn_unused_result));
/* What no single key can tell: values that contradict each other. */
int config_check(const struct config *config, char *why, size_t why_bytes)
    __attribute__((warn_unused_result));

/* How a counter is created: value, start, step, max and cache. counter NULL: one that has no
 * section of its own. */
void config_counter_create(const struct config *config, const struct config_counter *counter,
                           struct store_counter *create);

/* Where that counter's value stands: its own settings, else those of [mongo]. The texts stay the
 * configuration's. */
void config_counter_place(const struct config *config, const struct config_counter *counter,
                          struct config_place *place);

/* Do the sections [counter NAME] of both say the same, in the same order? */
bool config_same_counters(const struct config *a, const struct config *b);

/* Each row in turn, for --help, CONFIG GET and the check of conf/idmintd.conf: false past the last.
 * The rows of [counter NAME] are those of [counters] and [mongo] that it may override, and `match`;
 * they are not listed. */
struct config_row_text {
    const char *section, *key, *unit, *summary;
    char range[72];       /* "10ms .. 1h"; "" where the unit says it all */
    const char *fallback; /* the default as text, as config_get gives it */
    bool reloadable;
    bool secret; /* not shown by CONFIG GET */
};
bool config_row(size_t index, struct config_row_text *row);
/* The value as text that config_set reads; -1 past the last row or where it does not fit. */
int config_get(const struct config *config, size_t index, char *value, size_t value_bytes)
    __attribute__((warn_unused_result));

#endif
