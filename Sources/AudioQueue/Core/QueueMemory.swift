import RealTime
import Server

/// A queue's voice or recorder on the process thread.
protocol QueueMemory: CycleMemory {
  /// Returns the position of the run in the latest cycle.
  func readClock() -> VoiceClock.Reading
  func setMetering(_ on: Bool)
  /// Returns the level of a channel in the latest cycle.
  func level(ofChannel channel: Int) -> Level
  /// Returns the highest sample of a channel since the last call.
  func takePeak(ofChannel channel: Int) -> Float
}

extension VoiceMemory: QueueMemory {
  func readClock() -> VoiceClock.Reading { unsafe voice.pointee.clock.read() }
  func setMetering(_ on: Bool) { unsafe voice.pointee.setMetering(on) }
  func level(ofChannel channel: Int) -> Level { unsafe voice.pointee.level(ofChannel: channel) }
  func takePeak(ofChannel channel: Int) -> Float {
    unsafe voice.pointee.takePeak(ofChannel: channel)
  }
}

extension RecorderMemory: QueueMemory {
  func readClock() -> VoiceClock.Reading { unsafe recorder.pointee.clock.read() }
  func setMetering(_ on: Bool) { unsafe recorder.pointee.setMetering(on) }
  func level(ofChannel channel: Int) -> Level { unsafe recorder.pointee.level(ofChannel: channel) }
  func takePeak(ofChannel channel: Int) -> Float {
    unsafe recorder.pointee.takePeak(ofChannel: channel)
  }
}
