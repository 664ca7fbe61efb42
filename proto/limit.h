/* Sizes that a client controls, and the bounds that hold whatever the configuration says.
 * Settings that an operator may change stand in daemon/config.h; none may exceed these. */
#ifndef IDMINT_LIMIT_H
#define IDMINT_LIMIT_H

#define LIMIT_NAME_BYTES 255          /* a counter's name, UTF-8 */
#define LIMIT_INLINE_BYTES 4096       /* a command typed as a plain line, without its end of line */
#define LIMIT_BULK_BYTES 65536        /* one argument */
#define LIMIT_ARGS 1024               /* arguments of one command, its name included */
#define LIMIT_REQUEST_BYTES 262144    /* one whole command */
#define LIMIT_MULTI_BYTES 262144      /* the commands queued between MULTI and EXEC */
#define LIMIT_OPEN_ARGS 16            /* before authentication: arguments of one command */
#define LIMIT_OPEN_BULK_BYTES 1024    /* before authentication: one argument */
#define LIMIT_OPEN_REQUEST_BYTES 4096 /* before authentication: one whole command */
#define LIMIT_BATCH 100000            /* values spelled out in one reply */
#define LIMIT_RANGE 16777216 /* ObjectIds in one range: what the format holds in a second */
#define LIMIT_COUNTER_RANGE 1000000000 /* values of a counter in one range */
#define LIMIT_RUN 512                  /* identical commands in a row that are served as one */
#define LIMIT_PENDING 1024             /* commands of one connection that wait for the store */
#define LIMIT_LIST_PAGE 1000           /* rows of one page of COUNTER LIST */
#define LIMIT_WAITING_COUNTERS 262144  /* counters that wait, beyond those held in memory */
#define LIMIT_HTTP_HEAD_BYTES 16384    /* request line and headers */
#define LIMIT_HTTP_TARGET_BYTES 8192   /* path and query */
#define LIMIT_HTTP_HEADERS 100         /* how many */

#endif
