#include "document.h"

/* Made by embed.sh: the files' bytes as numbers. */
static const unsigned char openapi[] = {
#include "openapi.inc"
};
static const unsigned char page[] = {
#include "page.inc"
};

const struct http_text document_openapi = {(const char *)openapi, sizeof openapi};
const struct http_text document_page = {(const char *)page, sizeof page};
