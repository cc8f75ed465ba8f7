# Sourced by `install` and `release`: a clean Debian 12 in $debian, and a gateway that runs in it. Needs root and debootstrap.
[ "$(id -u)" -eq 0 ] && command -v debootstrap > /dev/null || { echo "skipped: needs root and debootstrap"; exit 0; }
work=$(mktemp -d) server=
debian=$work/debian
clean() {
    [ -z "$server" ] || kill "$server" 2>/dev/null || true
    umount "$debian/proc" 2>/dev/null || true
    rm -rf --one-file-system "$work"
}
trap clean EXIT
fail() { echo "FAILED: $1" >&2; tail -n 40 "$work/log" >&2 2>/dev/null || true; exit 1; }
# inside COMMAND...: runs a command in the Debian.
enter=(env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8 chroot "$debian")
inside() { "${enter[@]}" "$@"; }
# get_base [ROOT]: sets $base to ROOT, or to a new root from debootstrap.
get_base() {
    base=${1:-}
    [ -z "$base" ] || return 0
    base=$work/base
    debootstrap --variant=minbase bookworm "$base" > "$work/log" || fail "debootstrap"
}
# enter_copy BASE: prepares $debian as a copy of BASE.
enter_copy() {
    cp -a "$1" "$debian"
    inside mount -t proc proc /proc
    cp /etc/resolv.conf "$debian/etc/" 2>/dev/null || true
    ! inside which swift > "$work/log" 2>&1 || fail "the root is not clean"
}
# get_live PROGRAM PORT: starts the demo of the program and waits for a live price. Sets $answer, and $milliseconds since the start. The program
# continues as $server.
get_live() {
    local started=${EPOCHREALTIME/./}
    # `inside` would add a shell, and killing that shell would not end the gateway.
    "${enter[@]}" "$1" serve --demo --port "$2" > "$work/log" 2>&1 &
    server=$! answer=
    until answer=$(inside curl -sf "http://127.0.0.1:$2/streams/btcusdt@markPrice") && [[ $answer == *'"state":"live"'* ]]; do
        kill -0 "$server" 2>/dev/null || fail "the gateway ended"
        (( ${EPOCHREALTIME/./} - started < 10000000 )) || fail "no live price within ten seconds: $answer"
        sleep 0.05
    done
    milliseconds=$(( (${EPOCHREALTIME/./} - started) / 1000 ))
}
