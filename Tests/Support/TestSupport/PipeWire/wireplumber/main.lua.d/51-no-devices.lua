-- WirePlumber 0.4: no device of the machine is touched.
alsa_monitor.enabled = false
libcamera_monitor.enabled = false
v4l2_monitor.enabled = false
