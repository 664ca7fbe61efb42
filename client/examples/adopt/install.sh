#!/bin/sh
# install.sh DIR: gets what the Node and Java programs need and builds them, in DIR; the registries'
# packages are kept there too. Does nothing where nothing is new.
set -eu
mkdir -p "$1"
target=$(readlink -f "$1")
cd "$(dirname "$(readlink -f "$0")")"
export npm_config_cache="$target/npm-cache" npm_config_update_notifier=false

# is_new LANGUAGE: whether its sources are others than those that were built.
is_new() { ! diff -qr "$1" "$target/$1.built" >/dev/null 2>&1; }

# fresh LANGUAGE: a copy to build in.
fresh() {
    rm -rf "${target:?}/$1" "$target/$1.built"
    cp -r "$1" "$target/$1"
}

if is_new node; then
    fresh node
    (cd "$target/node" && npm ci --silent --no-audit --no-fund)
    cp -r node "$target/node.built"
fi
if is_new java; then
    fresh java
    (cd "$target/java" && mvn -q -B -Dstyle.color=never -Dmaven.repo.local="$target/maven" \
        compile dependency:copy-dependencies -DincludeScope=runtime)
    cp -r java "$target/java.built"
fi
