/* The error words of the protocol, each stated once. A reply's word says what became of the
 * request: every word but UNCERTAIN means that nothing was taken.
 *
 * ERROR_ROW(identifier, word, what it means) */
#ifndef IDMINT_ERRORS_H
#define IDMINT_ERRORS_H

#define ERROR_ROWS                                                                                 \
    ERROR_ROW(NONE, "OK", "done")                                                                  \
    ERROR_ROW(ERR, "ERR", "the request is wrong; repeating it will not help")                      \
    ERROR_ROW(NOAUTH, "NOAUTH", "authenticate first")                                              \
    ERROR_ROW(WRONGPASS, "WRONGPASS", "the password is wrong")                                     \
    ERROR_ROW(NOPERM, "NOPERM", "the credential does not allow this")                              \
    ERROR_ROW(NOPROTO, "NOPROTO", "HELLO asked for a protocol version that is not spoken")         \
    ERROR_ROW(EXECABORT, "EXECABORT", "EXEC dropped the batch, since a command of it was wrong")   \
    ERROR_ROW(WRONGTYPE, "WRONGTYPE", "the stored value is no integer")                            \
    ERROR_ROW(BACKWARD, "BACKWARD",                                                                \
              "the stored counter went back; it is stopped until RAISE or RESET FORCE")            \
    ERROR_ROW(TRYAGAIN, "TRYAGAIN", "nothing was taken: repeat")                                   \
    ERROR_ROW(UNCERTAIN, "UNCERTAIN", "values may have been taken; they will not be issued again") \
    ERROR_ROW(NOTLEADER, "NOTLEADER", "another daemon issues these; its address follows")          \
    ERROR_ROW(EXHAUSTED, "EXHAUSTED", "the counter's MAX, or the end of the format, is reached")

enum error_word {
#define ERROR_ROW(id, word, meaning) ERROR_##id,
    ERROR_ROWS
#undef ERROR_ROW
        ERROR_WORDS
};

/* The word as it stands in a reply. */
const char *error_word_text(enum error_word word);

#endif
