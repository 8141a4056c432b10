-- WirePlumber 0.4: no device of the machine is touched.
bluez_monitor.enabled = false
