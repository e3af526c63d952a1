#!/bin/sh
# Builds the web app into dist, which the Go program embeds. Needs Node of 20.19 or newer, npm and their registry, and nothing of
# what the packages would run at their installation. What is built of the same sources already is left alone.
#   build.sh --check        says by its exit status whether it is
#   build.sh --if-possible  builds where there is such a Node, and else says so and does nothing
set -eu
cd "$(dirname "$0")"
case ${1-} in
    '' | --check | --if-possible) ;;
    *) echo "usage: build.sh [--check | --if-possible]" >&2; exit 2 ;;
esac

digest() { sha256sum | cut -d ' ' -f 1; }
stamped() { [ "$(cat "$1" 2>/dev/null || true)" = "$2" ]; }

packages=$(digest <package-lock.json)
# The names too: a file that was moved is another source.
built=$({
    echo build.sh index.html package-lock.json tsconfig.json vite.config.ts openapi-ts.config.ts ../testdata/openapi.json | tr ' ' '\n'
    find src public -type f ! -path 'src/api/generated/*' | LC_ALL=C sort
} | tr '\n' '\0' | xargs -0 sha256sum | digest)

if [ "${1-}" = --check ]; then
    stamped dist/.stamp "$built"
    exit
fi
if [ "${1-}" = --if-possible ]; then
    stamped dist/.stamp "$built" && exit
    if ! { command -v npm >/dev/null && node -e 'const [a, b] = process.versions.node.split(".").map(Number);
        process.exit(a > 20 || (a === 20 && b >= 19) ? 0 : 1)' 2>/dev/null; }; then
        echo "web app: not built, as there is no Node of 20.19 or newer; make setup installs one" >&2
        exit
    fi
fi
# Two builds at once would write over each other; the second waits and finds nothing left to do.
exec 8>.lock
flock 8
stamped dist/.stamp "$built" && exit
if ! stamped node_modules/.stamp "$packages"; then
    npm ci --ignore-scripts --include=dev --no-audit --no-fund --loglevel=error
    echo "$packages" >node_modules/.stamp
fi
PATH=$PWD/node_modules/.bin:$PATH
openapi-ts --silent
tsc --noEmit
# It empties the folder first, so that half an app is never taken for a whole one.
vite build --logLevel warn
echo "$built" >dist/.stamp
