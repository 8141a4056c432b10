import CBench
import Foundation
import RealTime
import Server
import Timeline

/// A queue that records endlessly through one engine, whose cycles are driven by hand.
final class RecordingQueues {
  /// Four buffers, typical of an app that records to a file.
  private static let buffers = 4
  private static let framesPerBuffer = 1024

  private let layout: SampleLayout
  private let bytesPerFrame: Int
  private let period: Int
  private let memory: RecorderMemory
  private let engine: HandDrivenEngine
  /// The buffers, the source and target of the copy, and the target of the plain conversion.
  private let target: UnsafeMutableRawPointer
  private let source: UnsafeMutableRawPointer
  private let copyTarget: UnsafeMutableRawPointer
  private let floorTarget: UnsafeMutableRawPointer
  private var filled = 0
  private var copied = 0
  private let channels: Int
  private let floorFormat: cue_floor_format
  private var converted = 0

  /// Creates a queue of `format`, with cycles of `period` frames.
  init(_ format: PCMFormat, period: Int) {
    layout = format.layout!
    channels = format.channels
    floorFormat = cue_floor_format(format)
    bytesPerFrame = format.bytesPerFrame
    self.period = period
    let bytes = Self.buffers * Self.framesPerBuffer * format.bytesPerFrame
    target = .allocate(byteCount: bytes, alignment: 64)
    target.initializeMemory(as: UInt8.self, repeating: 0, count: bytes)
    source = .allocate(byteCount: period * format.bytesPerFrame, alignment: 64)
    source.initializeMemory(as: UInt8.self, repeating: 77, count: period * format.bytesPerFrame)
    copyTarget = .allocate(byteCount: bytes, alignment: 64)
    copyTarget.initializeMemory(as: UInt8.self, repeating: 0, count: bytes)
    floorTarget = .allocate(byteCount: bytes, alignment: 64)
    floorTarget.initializeMemory(as: UInt8.self, repeating: 0, count: bytes)
    memory = RecorderMemory(channels: format.channels)
    engine = HandDrivenEngine([], [memory], period: period)
    for i in engine.samples.indices { engine.samples[i] = Float(i % 1000) / 1000 - 0.4995 }
    memory.recorder.pointee.start(at: StartPoint(.frame(0)))
  }

  deinit {
    target.deallocate()
    source.deallocate()
    copyTarget.deallocate()
    floorTarget.deallocate()
  }

  /// Enqueues the buffers for `cycles` cycles. This is the app's part, and is not measured.
  func fill(cycles: Int) {
    while memory.recorder.pointee.events.pop() != nil {}
    while filled < engine.frames + cycles * period {
      let buffer = filled / Self.framesPerBuffer % Self.buffers
      let isTaken = memory.recorder.pointee.spaces.push(
        Space(
          target + buffer * Self.framesPerBuffer * bytesPerFrame, frames: Self.framesPerBuffer,
          layout: layout, token: UInt32(buffer)))
      precondition(isTaken, "the ring has room for what a round records")
      filled += Self.framesPerBuffer
    }
  }

  /// Runs cycles of the engine.
  func record(cycles: Int) { engine.run(cycles: cycles) }

  /// Copies as many bytes as the same number of cycles would write, to the same amount of memory.
  func copy(cycles: Int) {
    let periodBytes = period * bytesPerFrame
    for _ in 0..<cycles {
      memcpy(copyTarget + copied, source, periodBytes)
      copied += periodBytes
      if copied == Self.buffers * Self.framesPerBuffer * bytesPerFrame { copied = 0 }
    }
  }

  /// Converts the samples that the same number of cycles would record in plain C loops.
  func convert(cycles: Int) {
    for _ in 0..<cycles {
      cue_floor_store(
        floorFormat, engine.samples.baseAddress!, UInt32(period), UInt32(channels),
        floorTarget + converted)
      converted += period * bytesPerFrame
      if converted == Self.buffers * Self.framesPerBuffer * bytesPerFrame { converted = 0 }
    }
  }

  /// True if no frames were lost, and the buffers and the copy contain sound.
  var hasRecorded: Bool {
    let bytes = Self.buffers * Self.framesPerBuffer * bytesPerFrame
    return memory.recorder.pointee.lostFrames.load(ordering: .relaxed) == 0
      && memory.recorder.pointee.clock.read().position > 0
      && UnsafeRawBufferPointer(start: target, count: bytes).contains { $0 != 0 }
      && UnsafeRawBufferPointer(start: copyTarget, count: bytes).contains { $0 == 77 }
  }
}
