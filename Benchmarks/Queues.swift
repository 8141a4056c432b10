import CBench
import Foundation
import RealTime
import Server
import Timeline

/// Queues that play endlessly through one engine, whose cycles are driven by hand.
final class Queues {
  /// Four buffers per queue, typical of an app that plays a file.
  private static let buffers = 4
  private static let framesPerBuffer = 1024

  private let layout: SampleLayout
  private let bytesPerFrame: Int
  private let period: Int
  private let voices: [VoiceMemory]
  private let engine: HandDrivenEngine
  /// The buffers of all queues, one queue after another, and the target of the copy.
  private let source: UnsafeMutableRawPointer
  private let target: UnsafeMutableRawPointer
  private var filled = 0
  private var copied = 0
  private let channels: Int
  private let floorFormat: cue_floor_format
  private let planes: UnsafeMutablePointer<Float>
  private var converted = 0

  /// Creates `count` queues of `format`, with cycles of `period` frames.
  init(_ count: Int, _ format: PCMFormat, period: Int) {
    layout = format.layout!
    channels = format.channels
    floorFormat = cue_floor_format(format)
    planes = .allocate(capacity: period * format.channels)
    planes.initialize(repeating: 0, count: period * format.channels)
    bytesPerFrame = format.bytesPerFrame
    self.period = period
    let bytes = count * Self.buffers * Self.framesPerBuffer * format.bytesPerFrame
    source = .allocate(byteCount: bytes, alignment: 64)
    for i in 0..<bytes / format.bytesPerSample {
      // A ramp from -0.5 to 0.5 in any format: no denormals, no clipping.
      let sample = Float(i % 1000) / 1000 - 0.5
      let at = source + i * format.bytesPerSample
      if format.kind == .float {
        at.storeBytes(of: sample, as: Float.self)
      } else {
        withUnsafeBytes(of: Int32(sample * 0x1p31)) {
          at.copyMemory(
            from: $0.baseAddress! + 4 - format.bytesPerSample, byteCount: format.bytesPerSample)
        }
      }
    }
    target = .allocate(byteCount: count * period * format.bytesPerFrame, alignment: 64)
    target.initializeMemory(as: UInt8.self, repeating: 0, count: count * period * bytesPerFrame)
    voices = (0..<count).map { _ in VoiceMemory(channels: format.channels) }
    engine = HandDrivenEngine(voices, [], period: period)
    for voice in voices { voice.voice.pointee.start(at: StartPoint(.frame(0))) }
  }

  deinit {
    planes.deallocate()
    target.deallocate()
    source.deallocate()
  }

  /// Enqueues the buffers for `cycles` cycles on every queue. This is the app's part, and is not
  /// measured.
  func fill(cycles: Int) {
    let bufferBytes = Self.framesPerBuffer * bytesPerFrame
    while filled < engine.frames + cycles * period {
      let buffer = filled / Self.framesPerBuffer % Self.buffers
      for (i, voice) in voices.enumerated() {
        while voice.voice.pointee.events.pop() != nil {}
        let isTaken = voice.voice.pointee.entries.push(
          Entry(
            source + (i * Self.buffers + buffer) * bufferBytes, frames: Self.framesPerBuffer,
            layout: layout, token: UInt32(buffer)))
        precondition(isTaken, "the ring has room for what a round plays")
      }
      filled += Self.framesPerBuffer
    }
  }

  /// Runs cycles of the engine.
  func play(cycles: Int) { engine.run(cycles: cycles) }

  /// Copies the bytes that the same number of cycles would play, to the same amount of memory.
  func copy(cycles: Int) {
    let periodBytes = period * bytesPerFrame
    let queueBytes = Self.buffers * Self.framesPerBuffer * bytesPerFrame
    for _ in 0..<cycles {
      for i in voices.indices {
        memcpy(target + i * periodBytes, source + i * queueBytes + copied, periodBytes)
      }
      copied += periodBytes
      if copied == queueBytes { copied = 0 }
    }
  }

  /// Converts the samples that the same number of cycles would play in plain C loops.
  func convert(cycles: Int) {
    let queueBytes = Self.buffers * Self.framesPerBuffer * bytesPerFrame
    for _ in 0..<cycles {
      for i in voices.indices {
        cue_floor_read(
          floorFormat, source + i * queueBytes + converted, UInt32(period), UInt32(channels), 1,
          planes)
      }
      converted += period * bytesPerFrame
      if converted == queueBytes { converted = 0 }
    }
  }

  /// True if no queue ever ran dry, and the ports and the copy contain sound.
  var haveAllPlayed: Bool {
    let ran = voices.allSatisfy {
      $0.voice.pointee.starvedFrames.load(ordering: .relaxed) == 0
        && $0.voice.pointee.clock.read().position > 0
    }
    let sound = engine.samples.contains { $0 != 0 && !$0.isNaN }
    let bytes = UnsafeRawBufferPointer(start: target, count: period * bytesPerFrame)
    return ran && sound && bytes.contains { $0 != 0 }
  }
}

extension cue_floor_format {
  /// The floor's format of a native PCM format that the bench measures.
  init(_ format: PCMFormat) {
    switch (format.kind, format.bitsPerSample) {
    case (.float, _): self = CUE_FLOOR_F32
    case (_, 24): self = CUE_FLOOR_S24
    default: self = CUE_FLOOR_S16
    }
  }
}
