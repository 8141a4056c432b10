import Codecs
import Foundation
import RealTime
import Server
import TestSupport
import Testing

@testable import AudioQueue

/// A recording queue on a hand-driven server, and a log of its callbacks. The first input carries the
/// number of each frame, the second the negative number.
final class InputRig: DrivenQueue, Sendable {
  enum Call: Equatable {
    /// A returned buffer with its frame count and start frame.
    case done(UInt32, frames: Int, at: Int64)
    case running(Bool)
    case underrun
  }
  let server: HandDrivenServer
  let queue: InputQueue
  private let log: CallLog<InputQueue, Recording, Call>
  private let tape = Tape()

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
    let (log, tape) = (CallLog<InputQueue, Recording, Call>(), tape)
    self.log = log
    queue = try InputQueue(
      format, options: InputQueue.Options(clientName: "rig", connections: connections),
      server: server, callingBackOn: executor,
      InputQueue.Handlers(
        bufferDone: { queue, recording in
          tape.take(recording)
          log.bufferDone(
            queue, recording,
            .done(recording.buffer, frames: recording.frames, at: recording.startFrame))
        },
        changed: { queue, change in
          log.note(change)
          switch change {
          case .isRunning: log.note(.running(queue.isRunning))
          case .converterError: log.note(.underrun)
          default: break
          }
        }))
  }

  deinit { try? queue.dispose(atOnce: true) }

  /// All callbacks so far.
  var calls: [Call] { log.calls }
  /// All property changes reported to the app.
  var changes: [QueueChange] { log.changes }
  /// True if a callback began inside another one.
  var hasNested: Bool { log.hasNested }
  func onBuffer(_ action: @escaping (InputQueue, Recording) -> Void) { log.onBuffer(action) }

  /// All recorded bytes.
  var bytes: [UInt8] { tape.bytes }
  var samples: [Float] {
    bytes.withUnsafeBytes { Array($0.bindMemory(to: Float.self)) }
  }
  var recordings: [Recording] { tape.recordings }
  var hostTimes: [UInt64] { recordings.map(\.hostTime) }
  /// The recorded packets; a format with constant packet size gives a single one.
  var packets: [[UInt8]] { tape.packets.isEmpty ? [bytes] : tape.packets }

  /// Enqueues a new buffer for `frames` frames.
  @discardableResult
  func enqueue(_ frames: Int) throws -> UInt32 {
    try enqueue(bytes: frames * queue.format.bytesPerFrame)
  }

  @discardableResult
  func enqueue(bytes: Int, packets: Int = 0) throws -> UInt32 {
    let buffer = try queue.allocateBuffer(capacity: bytes, packets: packets)
    tape.add(buffer)
    try queue.enqueue(buffer.id)
    return buffer.id
  }

  func deliverEvents() { queue.deliverEvents() }

  /// Waits until all callbacks have run.
  func settle() {
    let isQuiet: Void? = queue.state.wait(seconds: 20) { state in
      let works =
        state.isConverting
        || (state.converter != nil && !state.part.stagingBuffers.isEmpty && !state.waiting.isEmpty)
      return state.notices.isEmpty && state.delivering == nil && !works ? () : nil
    }
    expectTrue(isQuiet != nil, "callbacks do not come to an end")
  }
}

/// The contents of the buffers that a recording queue returned, in order. Any thread.
private final class Tape: @unchecked Sendable {
  private let lock = NSLock()
  private var memory: [UInt32: QueueBuffer] = [:]
  private var _bytes: [UInt8] = []
  private var _packets: [[UInt8]] = []
  private var _recordings: [Recording] = []

  var bytes: [UInt8] { lock.withLock { _bytes } }
  var packets: [[UInt8]] { lock.withLock { _packets } }
  var recordings: [Recording] { lock.withLock { _recordings } }

  func add(_ buffer: QueueBuffer) { lock.withLock { memory[buffer.id] = buffer } }

  func take(_ recording: Recording) {
    lock.withLock {
      _recordings.append(recording)
      guard let data = memory[recording.buffer]?.data else { return }
      _bytes += data.prefix(recording.bytes)
      for packet in recording.packets {
        _packets.append(Array(data[packet.offset..<(packet.offset + packet.bytes)]))
      }
    }
  }
}
