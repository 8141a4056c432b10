import Glibc
import Logging
import RealTime
package import Server
import Synchronization
import System
package import Timeline

/// A client of MIDI: a JACK client with MIDI ports. Any thread that is not real time.
///
/// Its delivery thread calls the functions that take messages, one after another, and holds no lock meanwhile.
package final class MIDIClient: MIDIObject, VoiceOwner, @unchecked Sendable {
  package let device: Device
  private let ring = MIDIRingMemory()
  private let thread = EventThread(named: "cuejack-midi")
  private let onChange: @Sendable ([MIDIChange]) -> Void

  private struct State {
    var receivers: [UInt32: MIDIReceiver] = [:]
    var lastInput: UInt32 = 0
    var senders: [MIDISender] = []
    /// Short names of ports.
    var names: Set<String> = []
    var changes: [MIDIChange] = []
    /// Input whose function is being called; 0 for none.
    var called: UInt32 = 0
    var isOver = false
    var exclusive: MIDIOutputPort?
    var children: [MIDIObject] = []
  }
  private let state = Mutex(State())
  private let ending = Hook<@Sendable () -> Void>()
  private let lookedAt = Atomic<UInt64>(0)
  private let toldLosses = Atomic<UInt64>(0)

  /// Opens a client.
  ///
  /// - Parameters:
  ///   - name: The name of the JACK client; that of the program if it is empty. A number is added if it is taken.
  ///   - onChange: Called on the delivery thread with changes of the setup.
  package init(
    named name: String, on server: any Server = JackServer(),
    onChange: @escaping @Sendable ([MIDIChange]) -> Void = { _ in }
  ) throws(ServerError) {
    let plain = name.replacing(":", with: "_")
    device = try Device(server, clientName: plain.isEmpty ? System.clientName : plain)
    self.onChange = onChange
    super.init()
    try device.hold()
    device.afterEvents { [weak self] in self?.follow() }
    thread.start { [weak self] in
      self?.deliver()
      return nil
    }
    MIDISetup.shared.add(self)
    enter()
  }

  /// The name of the JACK client.
  package var jackName: String { device.client.name }

  /// Sets the function to call when the client is disposed of.
  package func whenDisposed(_ body: @escaping @Sendable () -> Void) { ending.set(body) }

  /// Closes the client with its ports and endpoints.
  package func dispose() {
    let isFirst = state.withLock { state in
      defer { state.isOver = true }
      return !state.isOver
    }
    guard isFirst else { return }
    leave()
    ending.function?()
    for child in state.withLock({ $0.children }) {
      switch child {
      case let port as MIDIInputPort: port.dispose()
      case let port as MIDIOutputPort: port.dispose()
      case let endpoint as MIDIVirtualSource: endpoint.dispose()
      case let endpoint as MIDIVirtualDestination: endpoint.dispose()
      case let thru as MIDIThru: thru.dispose()
      default: break
      }
    }
    MIDISetup.shared.remove(self)
    device.afterEvents {}
    device.letGo()
    thread.end()
  }

  // MARK: Ports

  /// The end of the names of the JACK ports of `MIDIInputPort` and `MIDIOutputPort`, which are no endpoints. Clients
  /// that list endpoints leave these ports out: a program that sends all that it hears would hear itself.
  static let privateSuffix = " (Core MIDI)"

  /// Whether a port is no endpoint, but a part of a port of Core MIDI.
  static func isPrivate(_ port: String) -> Bool { port.hasSuffix(privateSuffix) }

  /// Returns the short name of a new port: `name`, without what JACK does not take, behind a number if it is taken.
  private func reserve(_ name: String, isPrivate: Bool) -> String {
    let plain = name.replacing(":", with: "_")
    let stem = plain.isEmpty ? "port" : Self.start(of: plain, bytes: 160)
    let suffix = isPrivate ? Self.privateSuffix : ""
    return state.withLock { state in
      let names = (1...).lazy.map { ($0 == 1 ? stem : "\(stem) \($0)") + suffix }
      let free = names.first { !state.names.contains($0) } ?? stem
      state.names.insert(free)
      return free
    }
  }

  /// Returns as many characters as fit into `bytes` bytes.
  private static func start(of text: String, bytes: Int) -> String {
    var start = text
    while start.utf8.count > bytes { start.removeLast() }
    return start
  }

  func addReceiver(
    named name: String, isPrivate: Bool, _ handler: @escaping @Sendable ([MIDIReceived]) -> Void
  ) throws(ServerError) -> MIDIReceiver {
    let short = reserve(name, isPrivate: isPrivate)
    let receiver = state.withLock { state in
      state.lastInput += 1
      let receiver = MIDIReceiver(named: short, state.lastInput, into: ring, handler)
      state.receivers[receiver.number] = receiver
      return receiver
    }
    do throws(ServerError) {
      _ = try device.attach(receiver.memory, owner: self)
    } catch {
      forget(receiver)
      throw error
    }
    return receiver
  }

  /// Removes a port. No call of its function begins afterwards; waits for one on the delivery thread, for one second
  /// at most.
  func remove(_ receiver: MIDIReceiver) {
    forget(receiver)
    if !device.detach(receiver.memory) { keepForGood(receiver.memory) }
    if thread.isCurrent { return }
    let deadline = HostTime.now + 1_000_000_000
    while state.withLock({ $0.called == receiver.number }), HostTime.now < deadline { usleep(200) }
  }

  private func forget(_ receiver: MIDIReceiver) {
    state.withLock { state in
      state.receivers[receiver.number] = nil
      state.names.remove(receiver.name)
    }
  }

  func addSender(named name: String, isPrivate: Bool) throws(ServerError) -> MIDISender {
    let sender = MIDISender(named: reserve(name, isPrivate: isPrivate), on: device)
    state.withLock { $0.senders.append(sender) }
    do throws(ServerError) {
      _ = try device.attach(sender.memory, owner: self)
    } catch {
      forget(sender)
      throw error
    }
    return sender
  }

  /// Removes a port, once all that is due is sent.
  func remove(_ sender: MIDISender) {
    sender.drain(until: HostTime.now + 1_000_000_000)
    if !device.detach(sender.memory) { keepForGood(sender.memory) }
    forget(sender)
    sender.end()
  }

  /// Waits until all that is due is sent, until a host time at most.
  func drain(until deadline: UInt64) {
    for sender in state.withLock({ $0.senders }) { sender.drain(until: deadline) }
  }

  private func forget(_ sender: MIDISender) {
    state.withLock { state in
      state.senders.removeAll { $0 === sender }
      state.names.remove(sender.name)
    }
  }

  /// Keeps a port or an endpoint until it or the client is disposed of.
  func adopt(_ child: MIDIObject) {
    state.withLock { $0.children.append(child) }
    child.enter()
  }

  func disown(_ child: MIDIObject) {
    child.leave()
    state.withLock { state in state.children.removeAll { $0 === child } }
  }

  /// Unschedules what was sent to a destination or from a virtual source, or everything, and is not due yet.
  func flush(_ endpoint: MIDIEndpoint?) {
    for child in state.withLock({ $0.children }) {
      switch child {
      case let port as MIDIOutputPort: port.flush(endpoint)
      case let source as MIDIVirtualSource:
        if endpoint == nil || endpoint === source.endpoint { source.flush() }
      default: break
      }
    }
  }

  /// The port that sends system exclusive messages for which the program has named no port.
  package func exclusivePort() throws(ServerError) -> MIDIOutputPort {
    if let port = state.withLock({ $0.exclusive }) { return port }
    let port = try MIDIOutputPort(named: "SysEx", of: self)
    return state.withLock { state in
      let first = state.exclusive ?? port
      state.exclusive = first
      return first
    }
  }

  /// Waits until what is sent over connections that were made before arrives.
  func awaitConnections() throws(ServerError) { try device.awaitHeard(device.connectionMark) }

  /// Waits until the functions have taken what came in before, for a second at most.
  package func awaitDelivery() {
    let deadline = HostTime.now + 1_000_000_000
    while !(unsafe ring.ring.pointee.isEmpty) || state.withLock({ $0.called != 0 }),
      HostTime.now < deadline
    { usleep(200) }
  }

  // MARK: Delivery

  /// Hands changes to the delivery thread.
  func tell(_ changes: [MIDIChange]) {
    state.withLock { $0.changes += changes }
    thread.post()
  }

  /// Looks whether ports have come or gone. Event thread.
  private func follow() {
    let count = device.portChanges &+ device.restarts &+ (device.isLost ? 1 << 32 : 0)
    if lookedAt.exchange(count, ordering: .relaxed) != count { MIDISetup.shared.wake() }
  }

  /// Calls all functions that have something to take. Delivery thread.
  private func deliver() {
    for sender in state.withLock({ $0.senders }) { sender.takeBack() }
    var batch: [MIDIReceived] = []
    var input: UInt32 = 0
    while let (receipt, bytes) = ring.pop() {
      if receipt.input != input || batch.count == 256 {
        hand(batch, to: input)
        batch = []
        input = receipt.input
      }
      batch.append(
        MIDIReceived(frame: receipt.frame, hostTime: receipt.hostTime, bytes: bytes))
    }
    hand(batch, to: input)
    let changes = state.withLock { state in
      defer { state.changes = [] }
      return state.changes
    }
    if !changes.isEmpty { onChange(changes) }
    let lost = ring.lostCount
    let new = lost &- toldLosses.exchange(lost, ordering: .relaxed)
    if new > 0 {
      log.error(
        "the client “\(jackName)” has lost \(new) MIDI messages: its functions take too long")
    }
  }

  private func hand(_ batch: [MIDIReceived], to input: UInt32) {
    if batch.isEmpty { return }
    let receiver = state.withLock { state in
      let receiver = state.receivers[input]
      state.called = receiver == nil ? 0 : input
      return receiver
    }
    guard let receiver else { return }
    receiver.handler(batch)
    state.withLock { $0.called = 0 }
  }

  // MARK: VoiceOwner

  package func readEvents() -> Bool { true }
  package func wakeCallbacks() { thread.post() }
  package func deviceLost() {}
  package func deviceWillResume(
    at start: StartPoint, or hostTime: StartPoint, skipping skip: Int
  ) {
    // Messages that fell due while the server was away come too late. No call has sent others since it is back.
    let now = StartPoint(.hostTime(device.client.hostTime))
    for sender in state.withLock({ $0.senders }) { sender.drop(before: now) }
  }
}
