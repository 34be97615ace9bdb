#!/usr/bin/env bash
# soak_openapi.sh: the API document of the daemon TIFFANY_DAEMON through a validator of npm, and
# every path called by a client that is made of the document.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
place=$here/../build/openapi
mkdir -p "$place"
[[ -d $place/node_modules/openapi-client-axios ]] ||
  npm install --prefix "$place" --silent --no-audit --no-fund \
    @seriousme/openapi-schema-validator@2 openapi-client-axios@7 axios@1
cp "$here/openapi_client.mjs" "$place/client.mjs"
node "$place/client.mjs"
