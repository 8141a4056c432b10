import Codecs
import Logging
import RealTime
import Server
import Synchronization
import System
import Timeline

extension InputQueue {
  /// Statistics of a run.
  package struct Statistics: Sendable {
    package var serverName: String
    package var clientName: String
    package var portNames: [String]
    /// For each port, the full names of the ports that it was connected to when it was created.
    package var connections: [[String]]
    /// The device frame at which the latest run began.
    package var beganAt: Int64?
    /// The length of the latest run in device frames, pauses excluded.
    package var lastedFrames: Int64
    /// The number of times that no buffer was available, and the device frames lost by that.
    package var underruns: Int
    package var lostFrames: UInt64
    /// Device frames missed because the client's cycles did not run.
    package var missedFrames: Int64
    /// Those of the missed frames that are silence in a buffer, at the queue's rate; the others are missing between
    /// two buffers.
    package var silencedFrames: Int64
  }

  func openDevice() throws(QueueError) -> Device {
    if let device = state.read({ $0.device }) { return device }
    let (device, portNames, connections) = try core.open(
      attach: { device throws(ServerError) in try device.attach(memory, owner: self) },
      connect: { (device, ports) throws(ServerError) in try core.connect(ports, of: device) })
    let deviceRate = device.client.sampleRate
    let converter: RecordConverter?
    do throws(QueueError) {
      converter = try makeConverter(deviceRate)
    } catch {
      device.detach(memory)
      throw error
    }
    state.change { state in
      state.device = device
      state.portNames = portNames
      state.connections = connections
      state.connectionMark = device.connectionMark
      state.converter = converter
      memory.followsEveryWake.store(true, ordering: .relaxed)
      if let converter { pushStagingBuffers(of: converter) }
      pump(&state)
    }
    if let converter { startConverting(with: converter) }
    return device
  }

  // MARK: Properties

  /// The latest conversion or buffer failure since the queue was created; nil if there was none.
  package var converterError: QueueError? { state.read { $0.part.converterError } }

  /// Counts of the events that have interrupted the queue's time since its creation. A starvation
  /// is a lack of buffers.
  package var discontinuities: Discontinuities {
    state.read { state in
      Discontinuities(
        interruptions: UInt64(state.part.interruptions), starvations: UInt64(state.part.underruns),
        restarts: state.device?.restarts ?? 0,
        rateChanges: state.device?.rateChanges ?? 0)
    }
  }

  package func setPortOrder(_ order: [Int]) throws(QueueError) {
    try core.controlled { () throws(QueueError) in
      if memory.portOrder == order { return }
      try checkIdle()
      closeDevice()
      memory.portOrder = order
    }
  }

  func closeDevice() {
    // Without a device no thread fills the ring, and without a converter its worker thread ends.
    let (device, converter) = state.change { state in
      defer {
        state.device = nil
        state.converter = nil
      }
      return (state.device, state.converter)
    }
    state.wait { $0.isConverting ? nil : () }
    // The process thread could write to the converter's staging buffers until now.
    if let device, !device.detach(memory) { core.keepMemory(converter) }
    withExtendedLifetime(converter) {}
    state.change { state in
      _ = unsafe memory.recorder.pointee.stop()
      state.waiting = state.inRing + state.waiting
      state.inRing = []
    }
  }

  /// Returns the frame of the run, at the queue's rate, at a device frame since the latest pause or
  /// return of the server; negative before the run. Nil if no run has begun.
  package func runFrame(atDeviceFrame frame: Int64) -> Int64? {
    guard let device = state.read({ $0.isRunning ? $0.device : nil }) else { return nil }
    let reading = unsafe memory.recorder.pointee.clock.read()
    let position = DeviceTime.frames(
      reading.position + frame - reading.frame, atDeviceRate: device.client.sampleRate,
      toRate: format.sampleRate)
    return Int64(held: position.rounded())
  }

  package var statistics: Statistics {
    state.read { state in
      Statistics(
        serverName: state.device?.client.serverName ?? "",
        clientName: state.device?.client.name ?? "",
        portNames: state.portNames,
        connections: state.connections,
        beganAt: state.beganAt,
        lastedFrames: state.isRunning ? core.ranFrames : state.lastedFrames,
        underruns: state.part.underruns,
        lostFrames: unsafe memory.recorder.pointee.lostFrames.load(ordering: .relaxed),
        missedFrames: state.part.missedFrames, silencedFrames: state.part.silencedFrames)
    }
  }
}
