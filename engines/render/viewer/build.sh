#!/bin/sh
# Builds the viewer's page from npm's packages into a folder: build.sh OUTDIR. Needs node, npm and their registry, and nothing
# of what the packages would run at their installation.
set -eu
[ $# -eq 1 ] || { echo "usage: build.sh OUTDIR" >&2; exit 2; }
source=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1"
out=$(cd "$1" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp -r "$source/page" "$source/package.json" "$source/package-lock.json" "$source/tsconfig.json" "$work/"
cd "$work"
npm ci --ignore-scripts --omit=dev --no-audit --no-fund --loglevel=error
node_modules/.bin/esbuild page/main.ts --bundle --minify --platform=browser --format=iife --target=es2022 \
    --define:process.env.NODE_ENV='"production"' --legal-comments=external --log-level=warning --outfile=viewer.js
# Mol*'s own check of scenes, for tests: validate.cjs --no-extra SCENE.mvsj …
node_modules/.bin/esbuild node_modules/molstar/lib/commonjs/cli/mvs/mvs-validate.js --bundle --minify --platform=node --target=node20 \
    --log-level=warning --outfile=validate.cjs
# Each file appears complete or not at all.
for file in viewer.js viewer.js.LEGAL.txt validate.cjs page/index.html; do
    name=$(basename "$file")
    cp "$file" "$out/$name.part"
    mv "$out/$name.part" "$out/$name"
done
