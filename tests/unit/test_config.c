#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config.h"
#include "log.h"
#include "store.h"
#include "suite.h"

static struct config config;
static char why[512];

static void start(void)
{
    config_init(&config);
    why[0] = '\0';
}

static void finish(void)
{
    config_finish(&config);
}

static int read_text(const char *text)
{
    /* A copy of exactly the text's size, so that a read past it is seen. */
    size_t len = strlen(text);
    char *copy = malloc(len + (len == 0));
    memcpy(copy, text, len);
    int result = config_read_text(&config, copy, len, "test.conf", why, sizeof(why));
    free(copy);
    return result;
}

static void refused(const char *text, const char *expected)
{
    ck_assert_int_eq(read_text(text), -1);
    ck_assert_str_eq(why, expected);
}

static void accepted(int result)
{
    ck_assert_msg(result == 0, "%s", why);
}

static int set(const char *section, const char *key, const char *value)
{
    return config_set(&config, section, key, value, "here", why, sizeof(why));
}

START_TEST(defaults)
{
    ck_assert_str_eq(config.listen.resp, "127.0.0.1:7377");
    ck_assert_int_eq(config.listen.threads, 0);
    ck_assert_int_eq(config.listen.backlog, 511);
    ck_assert_int_eq(config.listen.unix_mode, 0700);
    ck_assert_str_eq(config.store.uri, "sqlite:/var/lib/idmint/idmint.db");
    ck_assert_int_eq(config.store.batch, 4096);
    ck_assert_int_eq(config.oid.lead_ms, 2000);
    ck_assert_int_eq(config.oid.forward_step_ms, 3600000);
    ck_assert_int_eq(config.oid.forward_settle_ms, 60000);
    ck_assert_int_eq(config.oid.window_ms, 3000);
    ck_assert(config.counters.auto_create);
    ck_assert_int_eq(config.counters.start, 1);
    ck_assert_int_eq(config.counters.step, 1);
    ck_assert_int_eq(config.counters.max, 9007199254740991);
    ck_assert_int_eq(config.counters.cache, 1);
    ck_assert_int_eq(config.counters.in_memory, 1000000);
    ck_assert_int_eq(config.counters.block_ms, 10000);
    ck_assert_ptr_null(config.counter);
    ck_assert_ptr_null(config.auth.password_file);
    ck_assert(!config.auth.allow_open);
    ck_assert_int_eq(config.limits.connections, 10000);
    ck_assert_int_eq(config.limits.request_ms, 1500);
    ck_assert_int_eq(config.limits.idle_ms, 0);
    ck_assert_int_eq(config.limits.open_ms, 10000);
    ck_assert_int_eq(config.limits.write_ms, 30000);
    ck_assert_int_eq(config.limits.output_bytes, 1048576);
    ck_assert_int_eq(config.limits.buffer_bytes, 268435456);
    ck_assert_int_eq(config.log.level, LOG_INFO);
    accepted(config_check(&config, why, sizeof(why)));
}
END_TEST

/* What config_get gives for a default is that default, and config_set reads it. */
START_TEST(rows_round_trip)
{
    struct config_row_text row;
    char value[256];
    size_t i = 0;
    for (; config_row(i, &row); i++) {
        ck_assert_int_eq(config_get(&config, i, value, sizeof(value)), 0);
        ck_assert_str_eq(value, row.fallback);
        accepted(set(row.section, row.key, value));
        ck_assert_int_eq(config_get(&config, i, value, sizeof(value)), 0);
        ck_assert_str_eq(value, row.fallback);
        ck_assert_int_gt(strlen(row.summary), 0);
        ck_assert_int_gt(strlen(row.unit), 0);
        ck_assert_int_eq(config_get(&config, i, value, strlen(row.fallback)), -1);
    }
    ck_assert_uint_gt(i, 0);
    ck_assert_int_eq(config_get(&config, i, value, sizeof(value)), -1);
}
END_TEST

/* Each row's bounds are values, and what lies beyond them is none. */
START_TEST(bounds_are_inclusive)
{
    accepted(set("listen", "threads", "256"));
    ck_assert_int_eq(set("listen", "threads", "257"), -1);
    ck_assert_int_eq(set("listen", "threads", "-1"), -1);
    ck_assert_int_eq(config.listen.threads, 256);
    ck_assert_int_eq(set("limits", "request", "9ms"), -1);
    ck_assert_str_eq(why, "here: [limits] request = 9ms: out of range (ms, s, m or h; 10ms .. 1h)");
    accepted(set("limits", "request", "10ms"));
    accepted(set("limits", "request", "1h"));
    ck_assert_int_eq(set("limits", "request", "61m"), -1);
    ck_assert_int_eq(config.limits.request_ms, 3600000);
    accepted(set("counters", "start", "-9223372036854775808"));
    ck_assert_int_eq(config.counters.start, INT64_MIN);
    accepted(set("counters", "max", "9223372036854775807"));
    ck_assert_int_eq(config.counters.max, INT64_MAX);
    ck_assert_int_eq(set("counters", "step", "0"), -1);
}
END_TEST

static const struct {
    const char *section, *key, *value, *why;
} wrong[] = {
    {"limit", "idle", "1s", "here: [limit] idle: unknown section"},
    {"", "idle", "1s", "here: [] idle: unknown section"},
    {"counter", "step", "1", "here: [counter] step: unknown section"},
    {"limits", "Idle", "1s", "here: [limits] Idle: unknown key"},
    {"limits", "level", "info", "here: [limits] level: unknown key"},
    {"limits", "idle", "5",
     "here: [limits] idle = 5: bad unit: there are ms, s, m and h "
     "(ms, s, m or h; 0: never; 0 .. 720h)"},
    {"limits", "output", "1MB",
     "here: [limits] output = 1MB: bad unit: there are B, KiB, MiB and GiB "
     "(B, KiB, MiB or GiB; 4KiB .. 1GiB)"},
    {"store", "batch", "10x",
     "here: [store] batch = 10x: not a whole number (operations; 1 .. 65536)"},
    {"store", "batch", "", "here: [store] batch = : not a whole number (operations; 1 .. 65536)"},
    {"listen", "unix_mode", "0780",
     "here: [listen] unix_mode = 0780: not an octal number (octal; 0 .. 0777)"},
    {"auth", "allow_open", "true",
     "here: [auth] allow_open = true: neither yes nor no (yes or no)"},
    {"log", "level", "loud",
     "here: [log] level = loud: no such level (error, warning, notice, info or debug)"},
    {"listen", "resp", "", "here: [listen] resp: must not be empty"},
    {"store", "uri", "sqlite:a\nb", "here: [store] uri: control character"},
    {"counter a b", "step", "1",
     "here: [counter a b] step: a name must not contain spaces or control characters"},
    {"counter a", "auto_create", "no",
     "here: [counter a] auto_create: unknown key: [counter NAME] does not have it"},
    {"counter a", "password_file", "x",
     "here: [counter a] password_file: unknown key: [counter NAME] does not have it"},
    {"counter a", "returns", "later",
     "here: [counter a] returns = later: neither after nor before (after or before)"},
    {"mongo", "type", "int32",
     "here: [mongo] type = int32: neither keep nor int64 (keep or int64)"},
    {"counter a", "steps", "1", "here: [counter a] steps: unknown key"},
    {"counter a", "cache", "1000001",
     "here: [counter a] cache = 1000001: out of range "
     "(values; 1: none; 1 .. 1000000)"},
};

START_TEST(each_wrong)
{
    ck_assert_int_eq(set(wrong[_i].section, wrong[_i].key, wrong[_i].value), -1);
    ck_assert_str_eq(why, wrong[_i].why);
    ck_assert_ptr_null(config.counter);
    struct config_row_text row;
    char value[256];
    for (size_t i = 0; config_row(i, &row); i++) {
        ck_assert_int_eq(config_get(&config, i, value, sizeof(value)), 0);
        ck_assert_str_eq(value, row.fallback);
    }
}
END_TEST

START_TEST(texts_replace_each_other)
{
    accepted(set("store", "uri", "memory:"));
    accepted(set("store", "uri", "sqlite:x"));
    ck_assert_str_eq(config.store.uri, "sqlite:x");
    accepted(set("auth", "password_file", "/p"));
    ck_assert_str_eq(config.auth.password_file, "/p");
    accepted(set("auth", "password_file", ""));
    ck_assert_ptr_null(config.auth.password_file);
    char longest[4098];
    memset(longest, 'x', sizeof(longest));
    longest[4097] = '\0';
    ck_assert_int_eq(set("store", "uri", longest), -1);
    longest[4096] = '\0';
    accepted(set("store", "uri", longest));
}
END_TEST

START_TEST(file_forms)
{
    accepted(read_text("\xEF\xBB\xBF# a comment\r\n"
                       "[limits] ; a comment\r\n"
                       "  idle = 5m ; five\r\n"
                       "write=250ms\n"
                       "\n"
                       "\t[ counters ]\n"
                       "cache = 7\n"
                       "cache = 8\n"
                       "[listen]\n"
                       "resp = unix:/run/x.sock, [::1]:0\n"
                       "[log]\n"
                       "level = debug"));
    ck_assert_int_eq(config.limits.idle_ms, 300000);
    ck_assert_int_eq(config.limits.write_ms, 250);
    ck_assert_int_eq(config.counters.cache, 8);
    ck_assert_str_eq(config.listen.resp, "unix:/run/x.sock, [::1]:0");
    ck_assert_int_eq(config.log.level, LOG_DEBUG);
    accepted(read_text(""));
    accepted(read_text("\n\n"));
}
END_TEST

static const struct {
    const char *text, *why;
} wrong_texts[] = {
    {"idle = 1s\n", "test.conf:1: a key before any [SECTION]"},
    {"[limits]\n# x\n\nidle = 1s\nidle\nwrite = 1s\n", "test.conf:5: expected KEY = VALUE"},
    {"[limits]\nidle\nwrite = 1x\n", "test.conf:2: expected KEY = VALUE"},
    {"[limits]\nidle\n[nothing]\n", "test.conf:2: expected KEY = VALUE"},
    {"[limits]\r\n\r\nthreads = 1\r\nidle\r\n", "test.conf:3: [limits] threads: unknown key"},
    {"[limits]\nidle = 1s\n  write\n", "test.conf:3: expected KEY = VALUE"},
    {"\n[nothing]\n", "test.conf:2: [nothing]: unknown section"},
    {"[limits\nidle = 1s\n", "test.conf:1: a section without an end: expected [SECTION]"},
    {"[limits] x\n", "test.conf:1: a section without an end: expected [SECTION]"},
    {"[]\n", "test.conf:1: []: unknown section"},
    {"[counter]\n", "test.conf:1: [counter]: unknown section"},
    {"[counter ..]\n", "test.conf:1: [counter ..]: a name must not be \".\" or \"..\""},
    {"[counter \xC0\xAF]\n", "test.conf:1: [counter \xC0\xAF]: a name must be valid UTF-8"},
    {"[log]\nlevel = info # not a comment\n",
     "test.conf:2: [log] level = info # not a comment: no such level "
     "(error, warning, notice, info or debug)"},
};

START_TEST(each_wrong_text)
{
    refused(wrong_texts[_i].text, wrong_texts[_i].why);
}
END_TEST

START_TEST(nul_in_text)
{
    static const char text[] = "[limits]\nidle = 1s\0\n";
    ck_assert_int_eq(
        config_read_text(&config, text, sizeof(text) - 1, "test.conf", why, sizeof(why)), -1);
    ck_assert_str_eq(why, "test.conf:2: NUL byte");
}
END_TEST

/* inih would cut each of these short. */
START_TEST(long_lines)
{
    char name[256], text[16384];
    memset(name, 'n', 255);
    name[255] = '\0';
    snprintf(text, sizeof(text), "# %0500d\n[counter %s] ; %0300d\nstep = 5\n", 0, name, 0);
    accepted(read_text(text));
    ck_assert_str_eq(config.counter->name, name);
    ck_assert_int_eq(config.counter->step, 5);
    snprintf(text, sizeof(text), "[counter %s]\nstep = 6\n[counter %.254sm]\nstep = 7\n", name,
             name);
    accepted(read_text(text));
    ck_assert_int_eq(config.counter->step, 6);
    ck_assert_int_eq(config.counter->next->step, 7);
    snprintf(text, sizeof(text), "[counter %sn]\n", name);
    ck_assert_int_eq(read_text(text), -1);
    ck_assert_ptr_nonnull(strstr(why, ": a name has at most 255 bytes"));

    char *line = text + snprintf(text, sizeof(text), "[store]\nuri = sqlite:");
    memset(line, 'x', 12000);
    line[12000] = '\0';
    refused(text, "test.conf:2: the line is too long; "
                  "the environment and --set take longer values");
}
END_TEST

START_TEST(counter_sections)
{
    accepted(read_text("[counters]\nstep = 2\nmax = 900\n"
                       "[counter orders]\nstart = 100\ncache = 50\n"
                       "[counter a]b]\nmax = 9223372036854775807\n"
                       "[counter orders]\nstart = 200\n"
                       "[counter  x.y=z]\nstep = 3\n"
                       "[counter unused]\n"));
    accepted(config_check(&config, why, sizeof(why)));
    const struct config_counter *orders = config.counter;
    ck_assert_str_eq(orders->name, "orders");
    ck_assert_str_eq(orders->next->name, "a]b");
    ck_assert_str_eq(orders->next->next->name, "x.y=z");
    ck_assert_ptr_null(orders->next->next->next);

    struct store_counter create;
    config_counter_create(&config, orders, &create);
    ck_assert_int_eq(create.start, 200);
    ck_assert_int_eq(create.value, 198);
    ck_assert_int_eq(create.step, 2);
    ck_assert_int_eq(create.max, 900);
    ck_assert_int_eq(create.cache, 50);
    config_counter_create(&config, NULL, &create);
    ck_assert_int_eq(create.value, -1);
    ck_assert_int_eq(create.cache, 1);
    config_counter_create(&config, orders->next, &create);
    ck_assert_int_eq(create.max, INT64_MAX);
}
END_TEST

/* Where a counter stands in MongoDB: what its section leaves out is as [mongo] says. */
START_TEST(counter_places)
{
    struct config_place place;
    accepted(set("mongo", "database", "shop"));
    accepted(set("mongo", "returns", "before"));
    accepted(set("counter a", "collection", "sequence"));
    accepted(set("counter a", "collection", "sequences"));
    accepted(set("counter a", "type", "int64"));
    accepted(set("counter a", "match", "{\"model\": \"a\"}"));
    accepted(set("counter b", "returns", "after"));
    config_counter_place(&config, config.counter, &place);
    ck_assert_str_eq(place.database, "shop");
    ck_assert_str_eq(place.collection, "sequences");
    ck_assert_str_eq(place.key, "_id");
    ck_assert_str_eq(place.field, "seq");
    ck_assert_int_eq(place.returns, CONFIG_BEFORE);
    ck_assert_int_eq(place.type, CONFIG_INT64);
    ck_assert_str_eq(config.counter->match, "{\"model\": \"a\"}");
    config_counter_place(&config, config.counter->next, &place);
    ck_assert_str_eq(place.collection, "counters");
    ck_assert_int_eq(place.returns, CONFIG_AFTER);
    ck_assert_int_eq(place.type, CONFIG_KEEP);
    ck_assert_ptr_null(config.counter->next->match);
}
END_TEST

START_TEST(options)
{
    accepted(config_set_option(&config, "limits.idle=1h", why, sizeof(why)));
    ck_assert_int_eq(config.limits.idle_ms, 3600000);
    accepted(config_set_option(&config, "store.uri=mongodb://u:p@h/?a=b.c", why, sizeof(why)));
    ck_assert_str_eq(config.store.uri, "mongodb://u:p@h/?a=b.c");
    accepted(config_set_option(&config, "counter a.b.step=4", why, sizeof(why)));
    ck_assert_str_eq(config.counter->name, "a.b");
    ck_assert_int_eq(config.counter->step, 4);
    static const struct {
        const char *option, *why;
    } bad[] = {
        {"limits.idle", "--set limits.idle: expected SECTION.KEY=VALUE"},
        {"idle=1.5", "--set idle: expected SECTION.KEY=VALUE"},
        {".idle=1s", "--set .idle: expected SECTION.KEY=VALUE"},
        {"limits.=1s", "--set limits.: expected SECTION.KEY=VALUE"},
        {"", "--set : expected SECTION.KEY=VALUE"},
        {"limits.idel=1s", "--set: [limits] idel: unknown key"},
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        ck_assert_int_eq(config_set_option(&config, bad[i].option, why, sizeof(why)), -1);
        ck_assert_str_eq(why, bad[i].why);
    }
}
END_TEST

static int read_variable(const char *variable)
{
    char path[] = "PATH=/bin", address[] = "IDMINT_ADDR=h:1", other[] = "XIDMINT_LOG_NONE=1";
    char password[] = "IDMINT_PASSWORD_FILE=/x", last[64];
    snprintf(last, sizeof(last), "%s", variable);
    char *environment[] = {path, address, other, password, last, NULL};
    return config_read_environment(&config, environment, why, sizeof(why));
}

START_TEST(environment)
{
    accepted(read_variable("IDMINT_LIMITS_IDLE=3s"));
    ck_assert_int_eq(config.limits.idle_ms, 3000);
    accepted(read_variable("IDMINT_AUTH_PASSWORD_FILE=/run/secrets/p"));
    ck_assert_str_eq(config.auth.password_file, "/run/secrets/p");
    accepted(read_variable("IDMINT_OID_FORWARD_STEP=2h"));
    ck_assert_int_eq(config.oid.forward_step_ms, 7200000);
    accepted(read_variable("IDMINT_SERVICE_HOST=10.0.0.1"));
    ck_assert_int_eq(read_variable("IDMINT_LIMITS_IDLES=3s"), -1);
    ck_assert_str_eq(why, "IDMINT_LIMITS_IDLES: no such key");
    ck_assert_int_eq(read_variable("IDMINT_LIMITS_idle=3s"), -1);
    ck_assert_int_eq(read_variable("IDMINT_COUNTER_ORDERS_STEP=3"), -1);
    ck_assert_str_eq(why, "IDMINT_COUNTER_ORDERS_STEP: no such key");
    ck_assert_int_eq(read_variable("IDMINT_LOG_LEVEL=loud"), -1);
    ck_assert_str_eq(why, "IDMINT_LOG_LEVEL: [log] level = loud: no such level "
                          "(error, warning, notice, info or debug)");
    ck_assert_int_eq(config.log.level, LOG_INFO);
}
END_TEST

static const struct {
    const char *text;
    const char *why; /* NULL: good */
} checks[] = {
    {"[listen]\nresp = localhost:0, 127.8.9.1:1,[::1]:65535 , unix:/run/idmint.sock", NULL},
    {"[listen]\nresp = 10.0.0.1:7377\n[auth]\nallow_open = yes", NULL},
    {"[listen]\nresp = 10.0.0.1:7377\n[auth]\npassword_file = /etc/p", NULL},
    {"[listen]\nresp = 127.0.0.1:1, 0.0.0.0:7377",
     "[listen] resp: 0.0.0.0:7377 is open to the network: set [auth] password_file, or "
     "[auth] allow_open = yes to do without"},
    {"[listen]\nresp = [::]:7377",
     "[listen] resp: [::]:7377 is open to the network: set [auth] password_file, or "
     "[auth] allow_open = yes to do without"},
    {"[listen]\nresp = a.example:1, [::ffff:127.0.0.1]:1", NULL},
    {"[listen]\nresp = [::ffff:10.0.0.1]:1",
     "[listen] resp: [::ffff:10.0.0.1]:1 is open to the network: set [auth] password_file, or "
     "[auth] allow_open = yes to do without"},
    {"[listen]\nresp = 127.0.0.1", NULL},
    {"[listen]\nresp = ::1:7377",
     "[listen] resp: \"::1:7377\": not an address: give host:port, [v6]:port or unix:PATH"},
    {"[listen]\nresp = []:7377",
     "[listen] resp: \"[]:7377\": not an address: give host:port, [v6]:port or unix:PATH"},
    {"[listen]\nresp = 127.0.0.1:1,,127.0.0.1:2",
     "[listen] resp: \"\": not an address: give host:port, [v6]:port or unix:PATH"},
    {"[listen]\nresp = 127.0.0.1:1,",
     "[listen] resp: \"\": not an address: give host:port, [v6]:port or unix:PATH"},
    {"[listen]\nresp = localhost:65536",
     "[listen] resp: \"localhost:65536\": not an address: give host:port, [v6]:port or unix:PATH"},
    {"[listen]\nresp = localhost:",
     "[listen] resp: \"localhost:\": not an address: give host:port, [v6]:port or unix:PATH"},
    {"[listen]\nresp = unix:",
     "[listen] resp: \"unix:\": not an address: give host:port, [v6]:port or unix:PATH"},
    {"[oid]\nwindow = 1500ms", "[oid] window: must be whole seconds, since ids hold no less"},
    {"[mongo]\nwindow = 1500ms", "[mongo] window: must be whole seconds, since ids hold no less"},
    {"[limits]\noutput = 2MiB\nbuffers = 1MiB",
     "[limits] output: must not be greater than buffers"},
    {"[limits]\noutput = 1MiB\nbuffers = 1MiB", NULL},
    {"[counters]\nstart = 5\nmax = 4", "[counters]: MAX must not be less than START"},
    {"[counter a]\nmax = 9\n[counter b]\nmax = 0", "[counter b]: MAX must not be less than START"},
    {"[counter low]\nstart = -9223372036854775808",
     "[counter low]: START less STEP must be at least -9223372036854775808"},
};

START_TEST(each_check)
{
    accepted(read_text(checks[_i].text));
    int result = config_check(&config, why, sizeof(why));
    ck_assert_int_eq(result, checks[_i].why ? -1 : 0);
    ck_assert_str_eq(why, checks[_i].why ? checks[_i].why : "");
}
END_TEST

static const struct {
    const char *text;
    bool same;
} others[] = {
    {"[counter a]\nstart = 5\ncollection = x\n[counter b]\ncache = 9", true},
    {"[counter a]\nstart = 5\nstep = 1\ncollection = x\n[counter b]\ncache = 9", true},
    {"[counter a]\nstart = 6\ncollection = x\n[counter b]\ncache = 9", false},
    {"[counter a]\nstart = 5\ncollection = y\n[counter b]\ncache = 9", false},
    {"[counter a]\nstart = 5\n[counter b]\ncache = 9", false},
    {"[counter a]\nstart = 5\ncollection = x\nreturns = before\n[counter b]\ncache = 9", false},
    {"[counter a]\nstart = 5\ncollection = x\nmatch = {}\n[counter b]\ncache = 9", false},
    {"[counter a]\nstart = 5\ncollection = x\n[counter c]\ncache = 9", false},
    {"[counter a]\nstart = 5\ncollection = x", false},
    {"[counter a]\nstart = 5\ncollection = x\n[counter b]\ncache = 9\n[counter c]\nstep = 2",
     false},
    {"", false},
};

START_TEST(same_counters)
{
    struct config other;
    accepted(read_text(others[0].text));
    config_init(&other);
    accepted(config_read_text(&other, others[_i].text, strlen(others[_i].text), "other.conf", why,
                              sizeof(why)));
    ck_assert(config_same_counters(&config, &other) == others[_i].same);
    ck_assert(config_same_counters(&other, &config) == others[_i].same);
    config_finish(&other);
}
END_TEST

START_TEST(files)
{
    char path[] = "/tmp/idmint-test-config-XXXXXX";
    int fd = mkstemp(path);
    ck_assert_int_ge(fd, 0);
    static const char text[] = "[log]\nlevel = error\n";
    ck_assert_int_eq(write(fd, text, sizeof(text) - 1), sizeof(text) - 1);
    int result = config_read_file(&config, path, why, sizeof(why));
    /* 1 MiB and a byte of empty lines. */
    static char lines[1048577];
    memset(lines, '\n', sizeof(lines));
    ck_assert_int_eq(pwrite(fd, lines, sizeof(lines), 0), sizeof(lines));
    int too_long = config_read_file(&config, path, why, sizeof(why));
    close(fd);
    unlink(path);
    ck_assert_int_eq(result, 0);
    ck_assert_int_eq(config.log.level, LOG_ERROR);
    ck_assert_int_eq(too_long, -1);
    ck_assert_ptr_nonnull(strstr(why, ": File too large"));
    ck_assert_int_eq(config_read_file(&config, "/nonexistent", why, sizeof(why)), -1);
    ck_assert_str_eq(why, "/nonexistent: No such file or directory");
    ck_assert_int_eq(config_read_file(&config, "/", why, sizeof(why)), -1);
    ck_assert_str_eq(why, "/: Is a directory");
}
END_TEST

/* A short buffer for the reason is filled as far as it goes. */
START_TEST(short_why)
{
    char little[9];
    ck_assert_int_eq(config_set(&config, "nothing", "x", "1", "here", little, sizeof(little)), -1);
    ck_assert_str_eq(little, "here: [n");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("config");
    TCase *tcase = tcase_create("config");
    tcase_add_checked_fixture(tcase, start, finish);
    tcase_add_test(tcase, defaults);
    tcase_add_test(tcase, rows_round_trip);
    tcase_add_test(tcase, bounds_are_inclusive);
    tcase_add_loop_test(tcase, each_wrong, 0, sizeof(wrong) / sizeof(wrong[0]));
    tcase_add_test(tcase, texts_replace_each_other);
    tcase_add_test(tcase, file_forms);
    tcase_add_loop_test(tcase, each_wrong_text, 0, sizeof(wrong_texts) / sizeof(wrong_texts[0]));
    tcase_add_test(tcase, nul_in_text);
    tcase_add_test(tcase, long_lines);
    tcase_add_test(tcase, counter_sections);
    tcase_add_test(tcase, counter_places);
    tcase_add_test(tcase, options);
    tcase_add_test(tcase, environment);
    tcase_add_loop_test(tcase, each_check, 0, sizeof(checks) / sizeof(checks[0]));
    tcase_add_loop_test(tcase, same_counters, 0, sizeof(others) / sizeof(others[0]));
    tcase_add_test(tcase, files);
    tcase_add_test(tcase, short_why);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
