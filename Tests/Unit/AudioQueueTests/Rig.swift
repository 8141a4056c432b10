import Codecs
import Foundation
import RealTime
import Server
import TestSupport
import Testing

@testable import AudioQueue

/// A playback queue on a hand-driven server, and a log of its callbacks.
final class Rig: DrivenQueue, Sendable {
  enum Call: Equatable {
    case done(UInt32)
    case running(Bool)
  }
  let server: HandDrivenServer
  let queue: OutputQueue
  private let log: CallLog<OutputQueue, UInt32, Call>

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
    let log = CallLog<OutputQueue, UInt32, Call>()
    self.log = log
    queue = try OutputQueue(
      format, options: OutputQueue.Options(clientName: "rig", connections: connections),
      server: server, callingBackOn: executor,
      OutputQueue.Handlers(
        bufferDone: { queue, id in log.bufferDone(queue, id, .done(id)) },
        changed: { queue, change in
          if change == .isRunning {
            log.note(.running(queue.isRunning))
          } else {
            log.note(change)
          }
        }))
  }

  deinit { try? queue.dispose(afterPlaying: false) }

  /// All callbacks so far.
  var calls: [Call] { log.calls }
  var doneBuffers: [UInt32] {
    calls.compactMap { if case .done(let id) = $0 { id } else { nil } }
  }
  /// All reported property changes other than isRunning.
  var changes: [QueueChange] { log.changes }
  /// True if a callback began inside another one.
  var hasNested: Bool { log.hasNested }
  func onBuffer(_ action: @escaping (OutputQueue, UInt32) -> Void) { log.onBuffer(action) }

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

  func deliverEvents() { queue.deliverEvents() }

  /// Waits until all callbacks have run.
  func settle() {
    let isQuiet: Void? = queue.state.wait(seconds: 20) {
      $0.notices.isEmpty && $0.delivering == nil ? () : nil
    }
    expectTrue(isQuiet != nil, "callbacks do not come to an end")
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
