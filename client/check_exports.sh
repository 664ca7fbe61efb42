#!/bin/sh
# check_exports.sh LIB.so LIB.a: both export idmint_* and nothing else (but what sanitizers add).
set -eu
for library in "$@"; do
    case $library in
    *.a) names=$(nm -g --defined-only "$library") ;;
    *) names=$(nm -D --defined-only "$library") ;;
    esac
    names=$(printf '%s\n' "$names" | awk 'NF == 3 && $3 !~ /^(__|_init$|_fini$)/ { print $3 }')
    printf '%s\n' "$names" | grep -qx idmint_create ||
        { echo "$library does not export idmint_create"; exit 1; }
    if printf '%s\n' "$names" | grep -v '^idmint_'; then
        echo "$library exports the names above"
        exit 1
    fi
done
