import Logging
import RealTime
import Server
import Synchronization
import System

/// Device properties that an app can read without playing.
struct DeviceFacts {
  let sampleRate: Double
  let channels: Int

  init(_ device: Device) {
    sampleRate = device.client.sampleRate
    channels = device.client.physicalOutputs.count
  }
}

extension OutputQueue {
  // MARK: Changes

  /// Records an opened device and notifies the app of properties that differ from the previous
  /// device.
  func noteDevice(_ facts: DeviceFacts, _ state: inout PlaybackState) {
    if case .server = core.target.withLock({ $0 }) { state.notices.append(.changed(.device)) }
    if let last = state.part.lastDevice {
      if last.sampleRate != facts.sampleRate { state.notices.append(.changed(.deviceSampleRate)) }
      if last.channels != facts.channels { state.notices.append(.changed(.deviceChannels)) }
    }
    state.part.lastDevice = facts
  }

  /// Throws if the queue is running, has been told to start, is paused, or is primed for a start.
  package func checkNotPrimed() throws(QueueError) {
    guard state.read({ $0.phase == .idle && !$0.isRunning }) else { throw .invalidRunState }
  }

  // MARK: Assignments

  /// Returns true if `uid` names the queue's device or its server.
  package func isDevice(_ uid: String) -> Bool {
    let own = deviceUID
    return uid == own || own.hasPrefix(uid + "/")
  }

  /// Returns the sound card output of each channel, counted from 1; 0 if it has none. Opens the
  /// device.
  package func assignments() throws(QueueError) -> [Int] {
    try core.online { () throws(QueueError) in
      let outputs = try openDevice().client.physicalOutputs
      let (assignments, connections) = state.read { ($0.part.assignments, $0.connections) }
      return assignments
        ?? (0..<format.channels).map { channel in
          let connected = connections[memory.port(ofChannel: channel)]
          return connected.lazy.compactMap { outputs.firstIndex(of: $0) }.first.map { $0 + 1 } ?? 0
        }
    }
  }

  /// Connects each channel to the sound card output with the given number and to no other. 0 leaves
  /// it unconnected. Opens the device. Call only before a start; valid until another device is
  /// selected.
  ///
  /// - Parameter assignments: One number per channel, from 0 to the number of outputs.
  package func setAssignments(_ assignments: [Int]) throws(QueueError) {
    try core.online { () throws(QueueError) in
      try checkIdle()
      let device = try openDevice()
      let outputs = 0...device.client.physicalOutputs.count
      guard assignments.count == format.channels, assignments.allSatisfy({ outputs.contains($0) })
      else { throw .invalidPropertyValue }
      let (ports, connections) = state.read { ($0.portNames, $0.connections) }
      for (port, destinations) in zip(ports, connections) {
        for destination in destinations { device.disconnect(port, from: destination) }
      }
      let new: [[String]]
      do throws(ServerError) {
        new = try assign(ports, to: assignments, of: device)
      } catch {
        log.error("\(error)")
        throw .cannotStart(error)
      }
      state.change { state in
        state.connections = new
        guard state.part.assignments != assignments else { return }
        state.part.assignments = assignments
        state.notices.append(.changed(.channelAssignments))
      }
      context.wake()
    }
  }

  /// Connects the channels' ports to numbered outputs of the sound card. Skips outputs that no
  /// longer exist.
  func assign(_ ports: [String], to assignments: [Int], of device: Device)
    throws(ServerError) -> [[String]]
  {
    let outputs = device.client.physicalOutputs
    var connections: [[String]] = ports.map { _ in [] }
    for (channel, output) in assignments.enumerated()
    where output >= 1 && output <= outputs.count {
      let port = memory.port(ofChannel: channel)
      try device.connect(ports[port], to: outputs[output - 1])
      connections[port] = [outputs[output - 1]]
    }
    return connections
  }

  // MARK: Discontinuities

  /// Counts of the events that have interrupted the queue's time since its creation.
  package var discontinuities: Discontinuities {
    let voice = unsafe memory.voice
    let device = state.read { $0.device }
    return Discontinuities(
      interruptions: unsafe voice.pointee.interruptions.load(ordering: .relaxed),
      starvations: unsafe voice.pointee.starvations.load(ordering: .relaxed),
      restarts: device?.restarts ?? 0,
      rateChanges: device?.rateChanges ?? 0)
  }
}
