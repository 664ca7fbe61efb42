/* idmint: the command line of idmintd. Finds the command, reads the options, runs it. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "options.h"
#include "output.h"
#include "password.h"

static const struct command *const tables[] = {oid_commands,  counter_commands, transfer_commands,
                                               uuid_commands, server_commands,  bench_commands};
#define TABLE_COUNT (sizeof(tables) / sizeof(tables[0]))

enum { ADDR, USER, PASSWORD_FILE, TIMEOUT, JSON, HELP, VERSION, GLOBAL_COUNT };

static const struct command_option global_options[] = {
    [ADDR] = {"addr", "ADDRESS",
              "host:port, [v6]:port or unix:PATH, several by comma (IDMINT_ADDR; default "
              "127.0.0.1:7377)"},
    [USER] = {"user", "NAME", "the user of the password"},
    [PASSWORD_FILE] =
        {"password-file", "FILE",
         "lines PASSWORD or USER:PASSWORD; the first that fits (IDMINT_PASSWORD_FILE)"},
    [TIMEOUT] = {"timeout", "MS", "of each request, connecting included (default 2000)"},
    [JSON] = {"json", NULL, "print JSON, one object a line"},
    [HELP] = {"help", NULL, "this help, or a command's"},
    [VERSION] = {"version", NULL, "print the version"},
    [GLOBAL_COUNT] = {NULL, NULL, NULL},
};

static void print_options(const struct command_option *options)
{
    for (; options && options->name; options++) {
        char left[40];

        snprintf(left, sizeof(left), "--%s%s%s", options->name, options->value ? " " : "",
                 options->value ? options->value : "");
        printf("  %-23s %s\n", left, options->help);
    }
}

static void print_usage(void)
{
    puts("usage: idmint [OPTION...] COMMAND [ARGUMENT...]\n\ncommands:");
    for (size_t i = 0; i < TABLE_COUNT; i++) {
        for (const struct command *command = tables[i]; command->name; command++) {
            char left[60];

            snprintf(left, sizeof(left), "%s%s%s %s", command->name, *command->subname ? " " : "",
                     command->subname, command->syntax);
            printf("  %-28s %s\n", left, command->summary);
        }
    }
    puts("\noptions:");
    print_options(global_options);
    puts("\nexit status:\n"
         "  0  done\n"
         "  1  refused: the server said no; repeating will not help\n"
         "  2  the command line, or a line of input, is wrong\n"
         "  3  not done: nothing was taken; repeat\n"
         "  4  outcome unknown: a value, if one was taken, is lost and will not be issued again\n"
         "  5  not done: there is no connection; repeat\n"
         "  6  a local fault: the output, a file, memory\n"
         "\n'idmint COMMAND --help' tells more.");
}

static void print_help(const struct command *command)
{
    printf("usage: idmint %s%s%s%s %s\n\n%s.\n", command->name, *command->subname ? " " : "",
           command->subname, command->options ? " [OPTION...]" : "", command->syntax,
           command->summary);
    if (*command->help) {
        printf("%s\n", command->help);
    }
    if (command->options) {
        puts("\noptions:");
        print_options(command->options);
    }
    puts("\noptions of every command:");
    print_options(global_options);
}

/* By name, and by subname where the name has several commands; NULL: there is none. */
static const struct command *find(const char *name, const char *subname)
{
    for (size_t i = 0; i < TABLE_COUNT; i++) {
        for (const struct command *command = tables[i]; command->name; command++) {
            if (strcmp(command->name, name) == 0 &&
                (*command->subname == '\0' || strcmp(command->subname, subname) == 0)) {
                return command;
            }
        }
    }
    return NULL;
}

static bool is_group(const char *name)
{
    return strcmp(name, "counter") == 0;
}

/* A command line as read. */
struct line {
    const struct command *command;
    const char *globals[GLOBAL_COUNT];
    char **args; /* room for argc of them */
    size_t arg_count;
    const char *values[COMMAND_OPTIONS];
};

/* The words before the arguments. False: there is no such command, said on stderr. */
static bool take_command(struct line *line, int argc, char **argv, int *at)
{
    const char *name = argv[(*at)++];
    const char *subname = "";

    if (is_group(name) && *at < argc && argv[*at][0] != '-') {
        subname = argv[(*at)++];
    } else if (is_group(name) && *at < argc &&
               (strcmp(argv[*at], "--help") == 0 || strcmp(argv[*at], "-h") == 0)) {
        line->globals[HELP] = "";
        *at = argc;
        return true;
    }
    line->command = find(name, subname);
    if (!line->command && is_group(name) && *subname == '\0') {
        output_error("%s needs a word more; see idmint --help", name);
    } else if (!line->command) {
        output_error("there is no command '%s%s%s'; see idmint --help", name, *subname ? " " : "",
                     subname);
    }
    return line->command != NULL;
}

static bool is_option(const char *text)
{
    return text[0] == '-' && text[1] == '-' && text[2] != '\0';
}

static bool take_option(struct line *line, int argc, char **argv, int *at)
{
    const char *text = argv[*at];
    int taken = options_take(argc, argv, at, global_options, line->globals);

    if (taken == 0 && line->command) {
        taken = options_take(argc, argv, at, line->command->options, line->values);
    }
    if (taken == 0) {
        output_error("there is no option '%s'%s", text, line->command ? " here" : "");
    }
    return taken > 0;
}

static bool read_line(struct line *line, int argc, char **argv)
{
    bool options = true;

    for (int at = 1; at < argc;) {
        if (options && strcmp(argv[at], "--") == 0) {
            options = false;
            at++;
        } else if (options && strcmp(argv[at], "-h") == 0) {
            line->globals[HELP] = "";
            at++;
        } else if (options && is_option(argv[at])) {
            if (!take_option(line, argc, argv, &at)) {
                return false;
            }
        } else if (!line->command) {
            if (!take_command(line, argc, argv, &at)) {
                return false;
            }
        } else {
            line->args[line->arg_count++] = argv[at++];
        }
    }
    return true;
}

static const char *setting(const struct line *line, int global, const char *variable)
{
    const char *value = line->globals[global] ? line->globals[global] : getenv(variable);

    return value && *value ? value : NULL;
}

static int open_and_run(const struct line *line, struct command_context *context,
                        const struct idmint_options *options)
{
    int outcome = idmint_create(options, &context->handle);
    int code;

    if (outcome != IDMINT_OK) {
        output_error("%s: the address, user or password can not be used",
                     idmint_outcome_text(outcome));
        return outcome == IDMINT_ARGUMENT ? EXIT_USAGE : EXIT_LOCAL;
    }
    code = line->command->run(context);
    idmint_destroy(context->handle);
    return code;
}

static int run(const struct line *line)
{
    const struct command *command = line->command;
    const char *password_file = setting(line, PASSWORD_FILE, "IDMINT_PASSWORD_FILE");
    struct password password = {0};
    struct idmint_options options = {.addresses = setting(line, ADDR, "IDMINT_ADDR")};
    struct command_context context = {.connect = &options,
                                      .json = line->globals[JSON] != NULL,
                                      .arg_count = line->arg_count,
                                      .args = line->args,
                                      .options = command->options};
    int64_t timeout_ms = IDMINT_DEFAULT_TIMEOUT_MS;
    int code;

    memcpy(context.values, line->values, sizeof(context.values));
    if (line->globals[TIMEOUT] &&
        !options_integer(line->globals[TIMEOUT], "--timeout", 1, 3600000, &timeout_ms)) {
        return EXIT_USAGE;
    }
    options.timeout_ms = (uint32_t)timeout_ms;
    if (command->offline) {
        return command->run(&context);
    }
    if (password_file) {
        code = password_read(password_file, line->globals[USER], &password);
        if (code != EXIT_DONE) {
            return code;
        }
        options.user = password.user;
        options.password = password.text;
    } else if (line->globals[USER]) {
        output_error("--user needs --password-file or IDMINT_PASSWORD_FILE");
        return EXIT_USAGE;
    }
    code = open_and_run(line, &context, &options);
    password_forget(&password);
    return code;
}

static int serve(const struct line *line, bool read)
{
    const struct command *command = line->command;

    if (!read) {
        return EXIT_USAGE;
    }
    if (line->globals[VERSION]) {
        printf("idmint %s\n", idmint_version());
        return EXIT_DONE;
    }
    if (line->globals[HELP] || !command) {
        if (command) {
            print_help(command);
        } else {
            print_usage();
        }
        return line->globals[HELP] ? EXIT_DONE : EXIT_USAGE;
    }
    if (line->arg_count < command->args_min || line->arg_count > command->args_max) {
        output_error("usage: idmint %s%s%s %s", command->name, *command->subname ? " " : "",
                     command->subname, command->syntax);
        return EXIT_USAGE;
    }
    return run(line);
}

/* A standard stream that was closed must not become the connection, to which the output would go.
 * The wrong way round: reading or writing it fails as before. */
static void keep_standard_streams(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        if (fcntl(fd, F_GETFD) < 0 &&
            open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) != fd) {
            exit(EXIT_LOCAL);
        }
    }
}

int main(int argc, char **argv)
{
    struct line line = {0};
    int code, output;

    keep_standard_streams();
    line.args = calloc((size_t)argc + 1, sizeof(*line.args));
    if (!line.args) {
        output_error("no memory");
        return EXIT_LOCAL;
    }
    code = serve(&line, read_line(&line, argc, argv));
    free(line.args);
    output = output_finish();
    return code == EXIT_DONE ? output : code;
}
