#!/bin/sh
# Compares the package with Node's binary, which the install script of the package `node` has fetched and which no
# lockfile names, with `node-binaries` beside this file. Runs before Node 24 exists, so it is plain sh.
# Usage: vouch-node.sh, in the folder that has node_modules
set -eu
list=$(dirname "$0")/node-binaries
inner=node_modules/node/node_modules
# npm notes there what the content of each package was.
notes=$inner/.package-lock.json

found=
while read -r package integrity; do
  [ -d "$inner/${package%@*}" ] || continue
  found=1
  grep -qF "\"$integrity\"" "$notes" && continue
  echo "setup: the package that brings Node is not the $package that scripts/node-binaries names; it was removed." >&2
  echo "setup: after an update of Node, write there what 'npm view $package dist.integrity' says." >&2
  rm -rf node_modules/node
  exit 1
done <"$list"
[ -n "$found" ] || echo 'setup: scripts/node-binaries does not know the package that brings Node to this system' >&2
