/* Prints the tables of the HTTP API, a row a line, for tests/http/test_openapi.py:
 * "path PATH METHOD ..." and "problem TYPE STATUS". */
#include <stdio.h>

#include "http_api.h"

int main(void)
{
    const char *path, *type, *allow;
    int status;
    for (size_t i = 0; (path = http_path_at(i, &allow)) != NULL; i++)
        printf("path %s %s\n", path, allow);
    for (size_t i = 0; (type = http_problem_at(i, &status)) != NULL; i++)
        printf("problem %s %d\n", type, status);
    return 0;
}
