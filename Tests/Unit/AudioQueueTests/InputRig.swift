import Codecs
import Foundation
import RealTime
import Server
import TestSupport
import Testing

@testable import AudioQueue

/// A recording queue on a hand-driven server, and a log of its callbacks. The first input carries the
/// number of each frame, the second the negative number.
final class InputRig: @unchecked Sendable {
  enum Call: Equatable {
    /// A returned buffer with its frame count and start frame.
    case done(UInt32, frames: Int, at: Int64)
    case running(Bool)
    case underrun
  }
  let server: HandDrivenServer
  let queue: InputQueue
  private let lock = NSLock()
  private var _calls: [Call] = []
  /// All property changes reported to the app.
  var changes: [QueueChange] { lock.withLock { _changes } }
  private var _changes: [QueueChange] = []
  private var _bytes: [UInt8] = []
  private var _packets: [[UInt8]] = []
  private var _recordings: [Recording] = []
  private var _hostTimes: [UInt64] = []
  private var _onBuffer: ((InputQueue, Recording) -> Void)?
  private var _isInside = false
  private var _nested = false
  private var memory: [UInt32: QueueBuffer] = [:]

  convenience init(
    _ format: PCMFormat = .float(1), server: HandDrivenServer = HandDrivenServer(),
    executor: CallbackExecutor = .ownThread,
    connections: QueueOptions.Connections = .physical
  ) throws {
    try self.init(.pcm(format), server: server, executor: executor, connections: connections)
  }

  init(
    _ format: StreamFormat, server: HandDrivenServer = HandDrivenServer(),
    executor: CallbackExecutor = .ownThread,
    connections: QueueOptions.Connections = .physical
  ) throws {
    self.server = server
    server.hears = { frame, input in input == 1 ? Float(frame) : -Float(frame) }
    let box = Box()
    queue = try InputQueue(
      format, options: InputQueue.Options(clientName: "rig", connections: connections),
      server: server, callingBackOn: executor,
      InputQueue.Handlers(
        bufferDone: { queue, recording in box.rig?.bufferDone(queue, recording) },
        changed: { queue, change in
          box.rig?.note(change)
          switch change {
          case .isRunning: box.rig?.note(.running(queue.isRunning))
          case .converterError: box.rig?.note(.underrun)
          default: break
          }
        }))
    box.rig = self
  }

  deinit { try? queue.dispose(atOnce: true) }

  private final class Box: @unchecked Sendable { weak var rig: InputRig? }

  private func note(_ call: Call) { lock.withLock { _calls.append(call) } }
  private func note(_ change: QueueChange) { lock.withLock { _changes.append(change) } }

  private func bufferDone(_ queue: InputQueue, _ recording: Recording) {
    let action = lock.withLock {
      if _isInside { _nested = true }
      _isInside = true
      _calls.append(
        .done(recording.buffer, frames: recording.frames, at: recording.startFrame))
      _recordings.append(recording)
      _hostTimes.append(recording.hostTime)
      if let data = memory[recording.buffer]?.data {
        _bytes += data.prefix(recording.bytes)
        for packet in recording.packets {
          _packets.append(Array(data[packet.offset..<(packet.offset + packet.bytes)]))
        }
      }
      return _onBuffer
    }
    action?(queue, recording)
    lock.withLock { _isInside = false }
  }

  /// All callbacks so far.
  var calls: [Call] { lock.withLock { _calls } }
  /// All recorded bytes.
  var bytes: [UInt8] { lock.withLock { _bytes } }
  var samples: [Float] {
    bytes.withUnsafeBytes { Array($0.bindMemory(to: Float.self)) }
  }
  var recordings: [Recording] { lock.withLock { _recordings } }
  /// The recorded packets; a format with constant packet size gives a single one.
  var packets: [[UInt8]] {
    let (packets, bytes) = lock.withLock { (_packets, _bytes) }
    return packets.isEmpty ? [bytes] : packets
  }
  var hostTimes: [UInt64] { lock.withLock { _hostTimes } }
  var hasNested: Bool { lock.withLock { _nested } }

  func onBuffer(_ action: @escaping (InputQueue, Recording) -> Void) {
    lock.withLock { _onBuffer = action }
  }

  /// Enqueues a new buffer for `frames` frames.
  @discardableResult
  func enqueue(_ frames: Int) throws -> UInt32 {
    try enqueue(bytes: frames * queue.format.bytesPerFrame)
  }

  @discardableResult
  func enqueue(bytes: Int, packets: Int = 0) throws -> UInt32 {
    let buffer = try queue.allocateBuffer(capacity: bytes, packets: packets)
    lock.withLock { memory[buffer.id] = buffer }
    try queue.enqueue(buffer.id)
    return buffer.id
  }

  /// Runs cycles and waits after each until all its callbacks have run.
  func cycle(_ count: Int = 1, frames: Int = 64) {
    for _ in 0..<count {
      server.cycle(frames: frames)
      queue.deliverEvents()
      settle()
    }
  }

  /// Waits until all callbacks have run.
  func settle() {
    let isQuiet: Void? = queue.state.wait(seconds: 20) { state in
      let works =
        state.isConverting
        || (state.converter != nil && !state.part.stagingBuffers.isEmpty && !state.waiting.isEmpty)
      return state.notices.isEmpty && state.delivering == nil && !works ? () : nil
    }
    #expect(isQuiet != nil, "callbacks do not come to an end")
  }
}
