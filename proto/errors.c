#include "errors.h"

static const char *const WORDS[ERROR_WORDS] = {
#define ERROR_ROW(id, word, meaning) [ERROR_##id] = word,
    ERROR_ROWS
#undef ERROR_ROW
};

const char *error_word_text(enum error_word word)
{
    return WORDS[word];
}
