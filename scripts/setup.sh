#!/bin/sh
# Makes the npm scripts work on a fresh machine: installs the dependencies, Node 24 among them, unless they are there
# and as new as package-lock.json. Runs before Node 24 exists, so it is plain sh.
set -eu
cd "$(dirname "$0")/.."

node=node_modules/.bin/node
# npm ci would empty the folder behind the link, which is somebody else's.
if [ -L node_modules ]; then
  echo "setup: node_modules is a link to $(readlink node_modules), and installing would change what is there." >&2
  echo 'setup: Remove the link (rm node_modules, without a slash at the end) and run this again.' >&2
  exit 1
fi
# npm writes this file last, so a broken installation has none.
installed=node_modules/.package-lock.json
if [ -x "$node" ] && [ -f "$installed" ] && [ -z "$(find package-lock.json -newer "$installed")" ]; then
  exit 0
fi

echo 'setup: npm ci installs the dependencies and Node 24 into node_modules/ (about a minute, only this once)' >&2
# The error level leaves out warnings that the Node which runs npm is older than what packages want: it is not the
# Node that will run them. The others undo settings of the user with which the installation would lack parts. Of all
# packages only `node` runs its install script, which fetches Node.
quiet='--loglevel=error --no-audit --no-fund --no-engine-strict'
{ npm ci $quiet --include=dev --ignore-scripts && npm rebuild $quiet --no-ignore-scripts node; } >&2 || {
  echo 'setup: npm ci failed; the lines above say why. It needs npm 10 or newer and access to the npm registry.' >&2
  exit 1
}
sh scripts/vouch-node.sh
version=$("$node" --version 2>/dev/null || true)
case $version in
  v24.*) ;;
  *)
    echo "setup: $node is ${version:-missing} instead of Node 24; remove node_modules and run this again." >&2
    exit 1
    ;;
esac
