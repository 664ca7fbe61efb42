#include "outcome.h"

static const struct {
    enum error_word word;
    const char *text;
} outcomes[] = {
    [-STORE_NOT_DONE] = {ERROR_TRYAGAIN, "the store did not take it; nothing was done"},
    [-STORE_UNKNOWN] = {ERROR_UNCERTAIN, "the store's answer is not known; what was taken is lost"},
    [-STORE_ABSENT] = {ERROR_ERR, OUTCOME_ABSENT},
    [-STORE_EXISTS] = {ERROR_ERR, OUTCOME_EXISTS},
    [-STORE_EXHAUSTED] = {ERROR_EXHAUSTED, OUTCOME_MAX},
    [-STORE_WRONGTYPE] = {ERROR_WRONGTYPE, "the stored value is no integer"},
    [-STORE_REFUSED] = {ERROR_ERR, "the store refused this"},
};

enum error_word outcome_error(const struct store_op *op, const char **text)
{
    size_t at = (size_t)-op->result;
    if (at >= sizeof outcomes / sizeof outcomes[0] || outcomes[at].text == NULL)
        at = -STORE_UNKNOWN;
    *text = op->text[0] != '\0' ? op->text : outcomes[at].text;
    /* A read that may or may not have been done has taken nothing. */
    if (at == -STORE_UNKNOWN && (op->verb == STORE_READ || op->verb == STORE_LIST))
        return ERROR_TRYAGAIN;
    return outcomes[at].word;
}
