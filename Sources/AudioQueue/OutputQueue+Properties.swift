import Logging
import RealTime
import Server
import Synchronization

/// What an app may see of a device without playing.
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

  /// Has the app told, on its place and after this has returned, that a property has another value.
  package func announce(_ change: QueueChange) {
    state.change { $0.notices.append(.changed(change)) }
    context.wake()
  }

  /// Notes that the device is open, and that it is not quite the one the app has known.
  func noteDevice(_ facts: DeviceFacts, _ state: inout QueueState) {
    if case .server = target.withLock({ $0 }) { state.notices.append(.changed(.device)) }
    if let last = state.lastDevice {
      if last.sampleRate != facts.sampleRate { state.notices.append(.changed(.deviceSampleRate)) }
      if last.channels != facts.channels { state.notices.append(.changed(.deviceChannels)) }
    }
    state.lastDevice = facts
  }

  /// Throws if the queue runs, is told to or is paused.
  package func checkIdle() throws(QueueError) {
    guard state.read({ $0.phase == .idle && !$0.isRunning }) else { throw .invalidRunState }
  }

  /// Throws if the queue runs, is told to, is paused, or has readied something for a start.
  package func checkNotPrimed() throws(QueueError) {
    try checkIdle()
    if state.read({ $0.isPrimed }) { throw .invalidRunState }
  }

  // MARK: Assignments

  /// True if `uid` names the queue's device, or the server that it is or will be on.
  package func isDevice(_ uid: String) -> Bool {
    let own = deviceUID
    return uid == own || own.hasPrefix(uid + "/")
  }

  /// For each channel the output of the sound card that it goes to, 1 for the first; 0 if there is
  /// none. Opens the device.
  package func assignments() throws(QueueError) -> [Int] {
    try online { () throws(QueueError) in
      let outputs = try openDevice().client.physicalOutputs
      let (assignments, connections) = state.read { ($0.assignments, $0.connections) }
      return assignments
        ?? (0..<format.channels).map { channel in
          let connected = connections[memory.port(ofChannel: channel)]
          return connected.lazy.compactMap { outputs.firstIndex(of: $0) }.first.map { $0 + 1 } ?? 0
        }
    }
  }

  /// Connects each channel to the output that has the number given, and to no other; 0 leaves it free.
  /// Opens the device. Before a start; holds until another device is chosen.
  ///
  /// - Parameter assignments: One number for each channel, from 0 to the number of outputs.
  package func setAssignments(_ assignments: [Int]) throws(QueueError) {
    try online { () throws(QueueError) in
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
        guard state.assignments != assignments else { return }
        state.assignments = assignments
        state.notices.append(.changed(.channelAssignments))
      }
      context.wake()
    }
  }

  /// Connects the ports of the channels to numbered outputs of the sound card; an output that is not there
  /// any more is left out.
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

  /// What has broken the queue's time since it was made.
  package var discontinuities: Discontinuities {
    let voice = unsafe memory.voice
    let device = state.read { $0.device }
    return Discontinuities(
      interruptions: unsafe voice.pointee.interruptions.load(ordering: .relaxed),
      starvations: unsafe voice.pointee.starvations.load(ordering: .relaxed),
      restarts: device?.restarts.load(ordering: .relaxed) ?? 0,
      rateChanges: device?.rateChanges.load(ordering: .relaxed) ?? 0)
  }
}

/// How often each of the causes has broken a queue's time. One that was there before and one that
/// comes later differ in a count: whoever keeps the last value sees what is new.
package struct Discontinuities: Equatable, Sendable {
  /// Cycles did not come while a run was going.
  package var interruptions: UInt64 = 0
  /// The queue ran dry while a run was going.
  package var starvations: UInt64 = 0
  /// The server went away and came back.
  package var restarts: UInt64 = 0
  /// The device's rate changed.
  package var rateChanges: UInt64 = 0
}
