import Codecs
import Foundation
import RealTime
import Server
import TestSupport
import Testing

@testable import AudioQueue

/// A playback queue on a hand-driven server, and a log of its callbacks.
final class Rig: @unchecked Sendable {
  enum Call: Equatable {
    case done(UInt32)
    case running(Bool)
  }
  /// All reported property changes other than isRunning.
  var changes: [QueueChange] { lock.withLock { _changes } }
  private var _changes: [QueueChange] = []
  let server: HandDrivenServer
  let queue: OutputQueue
  private let lock = NSLock()
  private var _calls: [Call] = []
  private var _onBuffer: ((OutputQueue, UInt32) -> Void)?
  private var _isInside = false
  private var _nested = false

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
    let box = Box()
    queue = try OutputQueue(
      format, options: OutputQueue.Options(clientName: "rig", connections: connections),
      server: server, callingBackOn: executor,
      OutputQueue.Handlers(
        bufferDone: { queue, id in box.rig?.bufferDone(queue, id) },
        changed: { queue, change in box.rig?.changed(queue, change) }))
    box.rig = self
  }

  deinit { try? queue.dispose(afterPlaying: false) }

  private final class Box: @unchecked Sendable { weak var rig: Rig? }

  private func changed(_ queue: OutputQueue, _ change: QueueChange) {
    let isRunning = queue.isRunning
    lock.withLock {
      if change == .isRunning {
        _calls.append(.running(isRunning))
      } else {
        _changes.append(change)
      }
    }
  }

  private func bufferDone(_ queue: OutputQueue, _ id: UInt32) {
    let action = lock.withLock {
      if _isInside { _nested = true }
      _isInside = true
      _calls.append(.done(id))
      return _onBuffer
    }
    action?(queue, id)
    lock.withLock { _isInside = false }
  }

  /// All callbacks so far.
  var calls: [Call] { lock.withLock { _calls } }
  var doneBuffers: [UInt32] {
    calls.compactMap { if case .done(let id) = $0 { id } else { nil } }
  }
  /// Whether a callback started inside another one.
  var hasNested: Bool { lock.withLock { _nested } }

  func onBuffer(_ action: @escaping (OutputQueue, UInt32) -> Void) {
    lock.withLock { _onBuffer = action }
  }

  /// Allocates a buffer with `samples` without enqueuing it.
  func buffer(_ samples: [Float]) throws -> UInt32 {
    let buffer = try queue.allocateBuffer(capacity: samples.count * 4)
    samples.withUnsafeBytes { buffer.data.copyMemory(from: $0) }
    return buffer.id
  }

  @discardableResult
  func enqueue(_ samples: [Float]) throws -> UInt32 {
    let id = try buffer(samples)
    try queue.enqueue(id, bytes: samples.count * 4)
    return id
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
  func settle(seconds: Double = 20) {
    let isQuiet: Void? = queue.state.wait(seconds: seconds) {
      $0.notices.isEmpty && $0.delivering == nil ? () : nil
    }
    #expect(isQuiet != nil, "callbacks do not come to an end")
  }

  /// The output of the queue's first port.
  var output: [Float] { server.clients.last?.samples.first ?? [] }
}

extension PCMFormat {
  static func float(_ channels: Int, rate: Double = 48000) -> PCMFormat {
    PCMFormat(sampleRate: rate, channels: channels, kind: .float, bitsPerSample: 32)
  }
}

func silence(_ frames: Int) -> [Float] { [Float](repeating: 0, count: frames) }
func ramp(_ frames: Int, from first: Float = 1) -> [Float] {
  (0..<frames).map { first + Float($0) }
}
