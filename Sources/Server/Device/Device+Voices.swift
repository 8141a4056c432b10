import CRealTime
import Glibc
import RealTime
import Synchronization
import System
import Timeline

/// Attaching voices and recorders to a device, and detaching them. Control threads.
extension Device {
  /// Attaches a voice or a recorder: adds a port for each channel, and the cycles play or fill it.
  ///
  /// - Parameter places: Destinations of a voice's channels, one for each, instead of ports of its
  ///   own: the ports of a source of the graph. They must exist as long as the voice is attached.
  /// - Returns: The names of the ports: `out_1`, or `in_1`, and so on. The names of a later voice
  ///   or recorder begin with its number. If this fails and nothing else is attached, the device
  ///   closes.
  package func attach(
    _ memory: some CycleMemory, owner: any VoiceOwner, places: [ClientPort]? = nil
  ) throws(ServerError) -> [String] {
    if let places, places.count != memory.channels {
      throw .wrongPlaces(count: places.count, channels: memory.channels)
    }
    let arrival = losses.load(ordering: .acquiring)
    let direction = memory.direction
    let number: Int? = attachments.withLock { attachments in
      if attachments.isOver || isLost { return nil }
      attachments.users += 1
      if places == nil { attachments.attached[direction, default: 0] += 1 }
      return attachments.attached[direction, default: 0]
    }
    guard let number else {
      closeIfUnused()
      throw isLost ? .lost(server: client.serverName) : .closed(client: client.name)
    }
    let prefix = (number == 1 ? "" : "\(number)_") + (direction == .input ? "in_" : "out_")
    let portNames = places == nil ? (1...memory.channels).map { "\(prefix)\($0)" } : []
    var ports: [ClientPort] = []
    do {
      for name in portNames { ports.append(try client.addPort(named: name, direction)) }
    } catch {
      leave(ports, portNames)
      throw error
    }
    for channel in 0..<memory.channels {
      unsafe memory.ports[channel] = (places ?? ports)[memory.port(ofChannel: channel)].place
    }
    let attachment = Attachment(
      memory: memory, owner: owner, ports: ports, portNames: portNames, prefix: prefix)
    let isAttached = attachments.withLock { attachments in
      // A voice attached by then learns of a loss, and gets ports again afterwards.
      guard losses.load(ordering: .acquiring) == arrival else { return false }
      change(&attachments) { $0.append(attachment) }
      return true
    }
    if !isAttached {
      leave(ports, portNames)
      throw .lost(server: client.serverName)
    }
    return portNames
  }

  /// Detaches a voice or a recorder and removes its ports.
  ///
  /// When this returns, no cycle uses it or the memory of its entries. The device closes with the
  /// last one. Detaching a voice takes a cycle, which leaves silence in its ports.
  ///
  /// - Returns: False if a cycle that does not end may still use it: none of its memory may be
  ///   freed.
  @discardableResult
  package func detach(_ memory: some CycleMemory) -> Bool {
    guard attachments.withLock({ $0.entries.contains { $0.memory === memory } }) else {
      return true
    }
    memory.hold()
    // A port that no voice writes keeps the sound of its last cycle. JACK plays that again in every
    // cycle until the port is removed, so let one cycle write silence.
    if memory.direction == .output, !isLost { awaitCycles(1) }
    defer { memory.release() }
    let (attachment, isSettled) = attachments.withLock { attachments -> (Attachment?, Bool) in
      guard let attachment = attachments.entries.first(where: { $0.memory === memory }) else {
        return (nil, true)
      }
      return (
        attachment, change(&attachments) { entries in entries.removeAll { $0.memory === memory } }
      )
    }
    if let attachment { leave(attachment.ports, attachment.portNames) }
    return isSettled
  }

  /// Detaches a voice or a recorder for good.
  ///
  /// When this returns, no cycle uses the memory of its entries. While others use the device, the
  /// event thread removes the ports a little later. So many that end together wait for one cycle
  /// together. The device closes with the last one.
  ///
  /// - Returns: False if a cycle that does not end may still use it: none of its memory may be
  ///   freed.
  package func retire(_ memory: some CycleMemory) -> Bool {
    let isSeenTo = attachments.withLock { attachments in
      // A server that is driven by hand has no cycles unless the caller runs one.
      guard memory.direction == .output, unsafe client.handle != nil,
        attachments.users > attachments.retired + 1,
        let i = attachments.entries.firstIndex(where: { $0.memory === memory })
      else { return false }
      memory.hold()
      attachments.entries[i].owner = nil
      attachments.entries[i].retiredUntil = unsafe engine.pointee.cyclesBegun + 1
      return true
    }
    guard isSeenTo, settle() else { return detach(memory) }
    eventThread.post()
    return true
  }

  /// Advances the removal of some retired voices: isolates ports that are silent, and removes ports
  /// that are isolated. A few at a time, because other queues wait for the event thread.
  ///
  /// - Returns: The seconds after which to call again; nil if no voice is waiting.
  func dismissRetired() -> Double? {
    let (silent, isolated) = attachments.withLock { attachments -> ([Attachment], [Attachment]) in
      if attachments.isOver || attachments.retired == 0 { return ([], []) }
      let ready = attachments.entries.filter { attachment in
        attachment.retiredUntil.map { unsafe engine.pointee.areOver($0) } ?? false
      }
      let some = ready.prefix(16)
      let isolated = some.filter { $0.isIsolated }
      if !isolated.isEmpty {
        change(&attachments) { entries in
          entries.removeAll { attachment in isolated.contains { $0.memory === attachment.memory } }
        }
      }
      return (some.filter { !$0.isIsolated }, isolated)
    }
    for port in silent.flatMap(\.ports) { client.isolate(port) }
    let isolatedAfter = unsafe engine.pointee.cyclesBegun + Self.cyclesToIsolate
    attachments.withLock { attachments in
      for i in attachments.entries.indices
      where silent.contains(where: { $0.memory === attachments.entries[i].memory }) {
        attachments.entries[i].isIsolated = true
        attachments.entries[i].retiredUntil = isolatedAfter
      }
    }
    for attachment in isolated { leave(attachment.ports, attachment.portNames, areIsolated: true) }
    guard attachments.withLock({ $0.retired > 0 }) else { return nil }
    return silent.isEmpty && isolated.isEmpty ? 0.02 : 0.001
  }

  /// Cycles until no cycle of the server knows of a removed connection: one, or two if the server
  /// is just announcing another change.
  private static let cyclesToIsolate: UInt64 = 2

  /// Ends one use of the device, and removes `ports`, which no cycle uses.
  func leave(_ ports: [ClientPort], _ portNames: [String], areIsolated: Bool = false) {
    patchbay.withLock { $0.forget(portNames) }
    func isLast(_ attachments: inout Attachments) -> Bool {
      // Voices that wait for silence need not wait once the client closes.
      if attachments.users == 1 + attachments.retired { attachments.isOver = true }
      return attachments.isOver
    }
    var closes = attachments.withLock { isLast(&$0) }
    if !closes {
      // Still counted, so that no other thread closes the device meanwhile.
      remove(ports, areIsolated: areIsolated)
      closes = attachments.withLock { attachments in
        defer { attachments.users -= 1 }
        return isLast(&attachments)
      }
    }
    if closes { close() }
  }

  /// Removes ports that no cycle uses.
  func remove(_ ports: [ClientPort], areIsolated: Bool = false) {
    if ports.isEmpty { return }
    // Isolate them first. jackd follows an old connection in a circle and crashes, if that led
    // from an output whose number by now belongs to an input.
    if !areIsolated, !isLost {
      for port in ports { client.isolate(port) }
      awaitCycles(Self.cyclesToIsolate)
    }
    for port in ports { client.removePort(port) }
  }

  /// Closes a device that nothing is attached to.
  func closeIfUnused() {
    let isUnused = attachments.withLock { attachments in
      defer { if attachments.users == 0 { attachments.isOver = true } }
      return attachments.users == 0 && !attachments.isOver
    }
    if isUnused { close() }
  }

  /// Replaces the process list after `edit` has changed the attachments. The list is empty while
  /// the device is away.
  ///
  /// - Returns: False if a cycle that does not end may still read the old list.
  @discardableResult
  func change(_ attachments: inout Attachments, _ edit: (inout [Attachment]) -> Void) -> Bool {
    // Prepare.
    let removed = attachments.entries
    edit(&attachments.entries)
    let entries = attachments.isAway ? [] : attachments.entries
    let capacity = max(1, entries.count)
    let voices = UnsafeMutablePointer<UnsafeMutablePointer<Voice>>.allocate(capacity: capacity)
    let recorders = UnsafeMutablePointer<UnsafeMutablePointer<Recorder>>.allocate(
      capacity: capacity)
    var count = 0
    var recorderCount = 0
    for attachment in entries {
      if let memory = attachment.memory as? VoiceMemory {
        unsafe (voices + count).initialize(to: memory.voice)
        count += 1
      } else if let memory = attachment.memory as? RecorderMemory {
        unsafe (recorders + recorderCount).initialize(to: memory.recorder)
        recorderCount += 1
      }
    }
    let processList = UnsafeMutablePointer<ProcessList>.allocate(capacity: 1)
    unsafe processList.initialize(
      to: ProcessList(
        voices: voices, count: count, recorders: recorders, recorderCount: recorderCount,
        graph: attachments.isAway || !attachments.runsGraph ? nil : attachments.graph?.cycle))
    // Apply.
    unsafe engine.pointee.swap(processList)
    let old = unsafe (attachments.processList, attachments.voices, attachments.recorders)
    unsafe attachments.processList = processList
    unsafe attachments.voices = voices
    unsafe attachments.recorders = recorders
    // Retire.
    if settle() {
      unsafe old.0.deallocate()
      unsafe old.1.deallocate()
      unsafe old.2.deallocate()
      return true
    } else {
      // A cycle that never ends may still read it: never free it.
      if let graph = attachments.graph { _ = unsafe Unmanaged.passRetained(graph as AnyObject) }
      for attachment in removed {
        _ = unsafe Unmanaged.passRetained(attachment.memory as AnyObject)
      }
      return false
    }
  }

  /// Runs `body` while no cycle runs the voice or recorder. Meanwhile a voice is silent, and a
  /// recorder records nothing.
  package func holding<R>(_ memory: some CycleMemory, _ body: () -> R) throws(ServerError) -> R {
    memory.hold()
    defer { memory.release() }
    guard settle() else { throw .lost(server: client.serverName) }
    return body()
  }

  /// Waits until every cycle that has begun is over, which takes one cycle at most.
  ///
  /// - Returns: False if a cycle has not ended after five seconds: it never will.
  func settle() -> Bool {
    let count = unsafe engine.pointee.cyclesBegun
    let deadline = HostTime.now + 5_000_000_000
    while !(unsafe engine.pointee.areOver(count)) {
      if finished.load(ordering: .acquiring) { return true }
      if HostTime.now > deadline { return false }
      usleep(50)
    }
    return true
  }
}
