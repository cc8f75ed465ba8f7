# Sourced by `install` and `release`: a clean Debian 12 in $work/root, and a gateway that runs in it. Needs root and debootstrap.
[ "$(id -u)" -eq 0 ] && command -v debootstrap > /dev/null || { echo "skipped: needs root and debootstrap"; exit 0; }
work=$(mktemp -d) server=
clean() {
    [ -z "$server" ] || kill "$server" 2>/dev/null || true
    umount "$work/root/proc" 2>/dev/null || true
    rm -rf --one-file-system "$work"
}
trap clean EXIT
fail() { echo "FAILED: $1" >&2; tail -n 40 "$work/log" >&2 2>/dev/null || true; exit 1; }
# inside COMMAND...: runs it in the root.
enter=(env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8 chroot "$work/root")
inside() { "${enter[@]}" "$@"; }
# make_base FOLDER: a root that others copy.
make_base() { debootstrap --variant=minbase bookworm "$1" > "$work/log" || fail "debootstrap"; }
# enter_copy BASE: begins with a copy of it.
enter_copy() {
    cp -a "$1" "$work/root"
    mount -t proc proc "$work/root/proc"
    cp /etc/resolv.conf "$work/root/etc/" 2>/dev/null || true
    [ ! -x "$work/root/usr/bin/swift" ] || fail "the root is not clean"
}
# get_live PROGRAM PORT: starts the program's demo and waits for a live price: $answer, $milliseconds after the start. It goes on running as $server.
get_live() {
    local started=${EPOCHREALTIME/./}
    # Not by `inside`: a shell would be between, and what ends it would leave the gateway running.
    "${enter[@]}" "$1" serve --demo --port "$2" > "$work/log" 2>&1 &
    server=$! answer=
    until answer=$(inside curl -sf "http://127.0.0.1:$2/streams/btcusdt@markPrice") && [[ $answer == *'"state":"live"'* ]]; do
        kill -0 "$server" 2>/dev/null || fail "the gateway ended"
        (( ${EPOCHREALTIME/./} - started < 10000000 )) || fail "no live price within ten seconds: $answer"
        sleep 0.05
    done
    milliseconds=$(( (${EPOCHREALTIME/./} - started) / 1000 ))
}
