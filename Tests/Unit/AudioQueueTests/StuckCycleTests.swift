import CRealTime
import Foundation
import Graph
import PluginHost
import RealTime
import TestSupport
import Testing

@testable import AudioQueue
@testable import Server

/// A node whose run blocks until the test releases it.
private final class Blocker: GraphNode, @unchecked Sendable {
  let isInside = DispatchSemaphore(value: 0)
  let mayGo = DispatchSemaphore(value: 0)
  let name = "blocker"
  let inputs = 0
  let outputs = 1
  let eventInputs = 0
  let eventOutputs = 0
  let latencyFrames = 0
  let takesControllers = false

  /// The test retains the node for as long as it may run.
  var processor: cue_node {
    cue_node(
      run: { context, _ in
        Unmanaged<Blocker>.fromOpaque(context)._withUnsafeGuaranteedRef {
          $0.isInside.signal()
          $0.mayGo.wait()
        }
      }, context: Unmanaged.passUnretained(self).toOpaque(), prefetched_bytes: 0)
  }

  func prepare(sampleRate: Double, maximumFrames: Int) throws(HostError) {}
}

/// Queues on a device with a cycle that does not end: memory that it may write is neither returned nor
/// freed.
@Suite(.tags(.slow), .serialized) struct StuckCycleTests {
  /// Runs a cycle that blocks before the recorders until `body` returns.
  private func stuck(_ server: HandDrivenServer, _ device: Device, _ body: () throws -> Void) throws
  {
    let node = Blocker()
    let graph = Graph(types: cue_event_types(), sampleRate: 48000, blockFrames: 64)
    let id = try graph.add(node)
    let output = try graph.addOutputs(named: "out", audio: ["main"])
    try graph.edit { wiring throws(HostError) in try wiring.connect(id, to: output) }
    try graph.run(on: device)
    let isOver = DispatchSemaphore(value: 0)
    Thread.detachNewThread {
      server.cycle(frames: 64)
      isOver.signal()
    }
    node.isInside.wait()
    defer {
      node.mayGo.signal()
      isOver.wait()
      graph.stop()
    }
    try body()
  }

  @Test("11: Stop keeps the buffers that a recorder may still write", arguments: [1, 2])
  func recordersKeepTheirBuffers(times rate: Int) throws {
    let rig = try InputRig(.float(1, rate: Double(48000 / rate)))
    let a = try rig.enqueue(1000)
    try rig.queue.start(at: .frame(0))
    rig.cycle()
    let device = try require(rig.queue.state.read { $0.device })
    try stuck(rig.server, device) {
      #expect(throws: QueueError.invalidated) { try rig.queue.stop(atOnce: true) }
      expectTrue(!rig.calls.contains { if case .done = $0 { true } else { false } })
      #expect(throws: QueueError.bufferInQueue) { try rig.queue.freeBuffer(a) }
    }
    // After the cycle has ended, the frames of both cycles are there.
    try rig.queue.stop(atOnce: true)
    let frames = rig.recordings.map(\.frames).reduce(0, +)
    expectTrue(rate == 1 ? frames == 128 : frames > 0)
  }

  @Test("11: what a cycle may still see outlives its queue", arguments: [true, false])
  func memoryIsKept(isRecording: Bool) throws {
    let server = HandDrivenServer()
    let device = try Device(server, clientName: "shared")
    weak var buffer: QueueBuffer?
    try {
      let queue = try makeQueue(isRecording, on: device, of: server)
      let made = try queue.allocateBuffer(capacity: 4000)
      buffer = made
      try queue.enqueue(made.id, bytes: 4000, packets: [])
      try queue.start(at: .frame(0))
      server.cycle(frames: 64)
      let isDisposed = DispatchSemaphore(value: 0)
      try stuck(server, device) {
        Thread.detachNewThread {
          try? queue.dispose(atOnce: true)
          isDisposed.signal()
        }
        // By then nothing waits for the cycle any more.
        waitUntil(seconds: 60) { device.attachments.withLock { $0.entries.isEmpty } }
      }
      isDisposed.wait()
    }()
    expectTrue(buffer != nil)
  }

  private func makeQueue(_ isRecording: Bool, on device: Device, of server: HandDrivenServer) throws
    -> any AudioQueue.Queue
  {
    let options = QueueOptions(clientName: "queue", connections: .none)
    if isRecording {
      let queue = try InputQueue(
        .float(1), options: options, server: server, callingBackOn: .ownThread,
        InputQueue.Handlers(bufferDone: { _, _ in }, changed: { _, _ in }))
      queue.core.target.withLock { $0 = .device(device) }
      return queue
    }
    let queue = try OutputQueue(
      .float(1), options: options, server: server, callingBackOn: .ownThread,
      OutputQueue.Handlers(bufferDone: { _, _ in }, changed: { _, _ in }))
    queue.core.target.withLock { $0 = .device(device) }
    return queue
  }
}
