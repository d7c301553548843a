#!/bin/sh
# usage: run.sh [KIT]
#
# Five real clients (Chromium, Firefox, GStreamer, aiortc, Pion) against ./dev up, by the drivers of
# an interop kit: a folder with run-all.sh and netns.sh. The echo of their tone must come back, and
# on their data channel an answer to their events.
# Exit 77 where there is no kit.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
kit=${1:-${EARSHOT_INTEROP_KIT:-}}
if [ ! -x "$kit/run-all.sh" ]; then
    echo "interop: SKIP: no kit at \"$kit\" (EARSHOT_INTEROP_KIT names its folder)"
    exit 77
fi
packages="python3-gi python3-gst-1.0 gir1.2-gst-plugins-base-1.0 gir1.2-gst-plugins-bad-1.0
gstreamer1.0-plugins-base gstreamer1.0-plugins-good gstreamer1.0-plugins-bad gstreamer1.0-nice
python3-aiortc python3-numpy golang-go golang-github-pion-webrtc.v3-dev chromium firefox-esr"
missing=
for package in $packages; do
    dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null | grep -qx installed ||
        missing="$missing $package"
done
if [ -n "$missing" ]; then
    [ "$(id -u)" = 0 ] || { echo "interop: SKIP: as root it would install:$missing"; exit 77; }
    echo "interop: installing:$missing"
    apt-get update -q >/dev/null
    # shellcheck disable=SC2086 # a list of package names
    DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends $missing >/dev/null
fi

EARSHOT_RUN=${EARSHOT_RUN:-$(mktemp -d)}
export EARSHOT_RUN INTEROP_MIN_LEVEL=0.05
exec "$kit/netns.sh" sh -c '
    "$0/dev" up --detach --mode echo --address 10.77.0.1 || exit 1
    export INTEROP_BEARER=$("$0/dev" key)
    status=0
    for variant in audio-dc audioonly; do
        "$1/run-all.sh" http://10.77.0.1:8080/whip --variant $variant --min-rtp 150 || status=1
    done
    "$0/dev" down
    exit $status' "$root" "$kit"
