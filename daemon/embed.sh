#!/bin/sh
# embed.sh FILE OUT: the bytes of FILE as numbers with commas between, for an array in C.
set -eu
od -An -v -tu1 "$1" | sed 's/[0-9][0-9]*/&,/g' >"$2"
