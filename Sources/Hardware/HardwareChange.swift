/// A property of a device that has changed, or an event.
package enum HardwareChange: Sendable {
  case presence, sampleRate, bufferFrames, channels, latency, overload, running, volume, mute, hog
}
