/// A property of a queue whose value has changed.
package enum QueueChange: Sendable {
  case isRunning
  case device, deviceSampleRate, deviceChannels
  case channelLayout, channelAssignments
  case magicCookie, metering, codecPolicy
  case converterError
  case isTimePitchEnabled, timePitchAlgorithm, isTimePitchBypassed
  case decodeFrames
}
