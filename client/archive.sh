#!/bin/sh
# archive.sh IN.a OUT.a DIR: all of IN.a as one object that exports only what is not hidden.
set -eu
mkdir -p "$3"
"${LD:-ld}" -r --whole-archive "$1" -o "$3/libidmint.o"
"${OBJCOPY:-objcopy}" --localize-hidden "$3/libidmint.o"
rm -f "$2"
"${AR:-ar}" rcs "$2" "$3/libidmint.o"
