import AVFoundation
import Synchronization
import TestSupport
import Testing

/// An engine in manual rendering, and what it has rendered.
final class OfflineEngine {
  let engine = AVAudioEngine()
  private let buffer: AVAudioPCMBuffer

  init(
    _ format: AVAudioFormat = .standard(), maximum: AVAudioFrameCount = 512,
    mode: AVAudioEngineManualRenderingMode = .offline
  ) throws {
    try findPlugins()
    try engine.enableManualRenderingMode(mode, format: format, maximumFrameCount: maximum)
    buffer = AVAudioPCMBuffer(pcmFormat: format, frameCapacity: maximum)!
  }

  /// Attaches a player and connects it to the main mixer.
  func player(_ format: AVAudioFormat = .standard()) -> AVAudioPlayerNode {
    let player = AVAudioPlayerNode()
    engine.attach(player)
    engine.connect(player, to: engine.mainMixerNode, format: format)
    return player
  }

  /// Renders frames, in parts as long as they may be. Each channel is one array.
  func render(_ frames: Int) throws -> [[Float]] {
    if !engine.isRunning { try engine.start() }
    var found = Array(repeating: [Float](), count: Int(buffer.format.channelCount))
    var left = frames
    while left > 0 {
      let count = min(left, Int(buffer.frameCapacity))
      let status = try engine.renderOffline(AVAudioFrameCount(count), to: buffer)
      try require(status == .success && Int(buffer.frameLength) == count)
      for (channel, samples) in buffer.channels.enumerated() { found[channel] += samples }
      left -= count
    }
    return found
  }
}

/// What handlers and taps have told.
final class Told<Value: Sendable>: Sendable {
  private let values = Mutex<[Value]>([])
  var all: [Value] { values.withLock { $0 } }
  func add(_ value: Value) { values.withLock { $0.append(value) } }
}

/// Numbers that count up.
func ramp(_ first: Int, _ count: Int) -> [Float] { (0..<count).map { Float(first + $0) } }
func silence(_ count: Int) -> [Float] { Array(repeating: 0, count: count) }
