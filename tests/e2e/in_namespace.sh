#!/bin/sh
# usage: in_namespace.sh COMMAND [ARGUMENT...]
#
# Runs COMMAND in a network of its own: loopback, and one interface with 10.77.0.1 and fd77::1 and a
# default route that leads nowhere. Nothing can leave it; what COMMAND leaves behind ends with it.
# Needs root or unprivileged user namespaces; packages util-linux and iproute2.
set -eu
if [ "${IN_NAMESPACE-}" != yes ]; then
    [ $# -gt 0 ] || { echo "usage: in_namespace.sh COMMAND [ARGUMENT...]" >&2; exit 64; }
    map=
    [ "$(id -u)" = 0 ] || map=--map-root-user
    # shellcheck disable=SC2086 # one option or none
    exec env IN_NAMESPACE=yes unshare $map --net --pid --fork --kill-child --mount-proc "$0" "$@"
fi
unset IN_NAMESPACE
# An address that becomes valid a second later is a changed network to Chromium: it drops requests.
for wait in accept_dad dad_transmits; do
    echo 0 >"/proc/sys/net/ipv6/conf/default/$wait"
done
ip link set lo up
ip link add earshot0 type veth peer name earshot1
ip link set earshot0 up
ip link set earshot1 up
ip addr add 10.77.0.1/24 dev earshot0
ip -6 addr add fd77::1/64 dev earshot0 nodad
ip route add default via 10.77.0.2 dev earshot0
ip -6 route add default via fd77::2 dev earshot0
# Not exec: this shell is the namespace's first process and must outlive nothing but COMMAND.
"$@"
