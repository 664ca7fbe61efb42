/* Documents that are built into the binary. */
#ifndef IDMINT_DOCUMENT_H
#define IDMINT_DOCUMENT_H

#include "http_request.h"

extern const struct http_text document_openapi; /* proto/openapi.yaml */
extern const struct http_text document_page;    /* page.html */

#endif
