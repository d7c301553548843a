"""F2: kill -9 of the relay, the same address comes back at once, and there is no flow cache.

Target: a gap of 300 ms where the agent speaks, both ways, and of 700 ms where it is silent and only
the transceiver's announcement each 500 ms teaches the new relay its flow. Median of 5, no one twice
as long; no call is lost.
"""

from relay_faults import a_relay_restart

a_relay_restart("F2")
