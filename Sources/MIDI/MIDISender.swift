import Glibc
import RealTime
import Server
import Synchronization
import System
import Timeline

/// Bytes to send, and the host time to send them at, in nanoseconds; a time that is past is now.
package struct MIDIToSend: Sendable {
  package let hostTime: UInt64
  package let bytes: [UInt8]

  package init(_ bytes: [UInt8], at hostTime: UInt64 = 0) {
    self.bytes = bytes
    self.hostTime = hostTime
  }
}

/// A JACK output port of a client. Any thread that is not real time.
///
/// The messages of one call become one heap, which is handed to the process thread as a whole.
final class MIDISender: Sendable {
  let name: String
  let memory: MIDIOutputMemory
  private let device: Device

  @safe private struct State {
    var stream = MIDIStream()
    var universal = UniversalMIDI()
    /// Number of the next message.
    var next: UInt64 = 0
    /// Functions to call once the message with a number is sent, or dropped.
    var completions: [UInt64: @Sendable (_ isSent: Bool) -> Void] = [:]
    /// Heaps pushed since a cycle took the last one.
    var untaken = 0
  }
  private let state = Mutex(State())

  /// Heaps that one cycle takes. Who sends more waits for the next cycle.
  private static let mostHeaps = 1024

  init(named name: String, on device: Device) {
    self.name = name
    self.device = device
    memory = MIDIOutputMemory(named: name)
  }

  /// Sends bytes, which may be parts of messages.
  func send(_ packets: [MIDIToSend]) throws(ServerError) {
    try send { state in
      packets.flatMap { packet in
        state.stream.messages(packet.bytes).map { (packet.hostTime, $0) }
      }
    }
  }

  /// Sends universal packets.
  func send(words packets: [(hostTime: UInt64, words: [UInt32])]) throws(ServerError) {
    try send { state in
      packets.flatMap { packet in
        let bytes = state.universal.messages(packet.words).joined()
        return state.stream.messages(bytes).map { (packet.hostTime, $0) }
      }
    }
  }

  /// Sends a message now.
  ///
  /// - Parameter completion: Called on the delivery thread once it is sent, or dropped.
  func send(_ message: [UInt8], completion: @escaping @Sendable (_ isSent: Bool) -> Void)
    throws(ServerError)
  {
    try send { state in
      state.completions[state.next] = completion
      return [(0, message)]
    }
  }

  private func send(_ read: (inout State) -> [(hostTime: UInt64, bytes: [UInt8])])
    throws(ServerError)
  {
    if device.isLost { throw .lost(server: device.client.serverName) }
    state.withLock { state in
      let messages = read(&state)
      let now = device.client.hostTime
      var heap: MIDIMessage.Pointer?
      for message in messages {
        let isPast = message.hostTime <= now
        unsafe heap = MIDIMessage.merge(
          heap,
          MIDIMessage.make(
            message.bytes, at: StartPoint(.hostTime(isPast ? now : message.hostTime)),
            number: state.next, isImmediate: isPast))
        state.next += 1
      }
      guard let heap = unsafe heap else { return }
      awaitRoom(&state)
      unsafe memory.output.pointee.push(heap)
      state.untaken += 1
    }
  }

  /// Waits for a cycle if the latest one has been given enough, for a second at most.
  private func awaitRoom(_ state: inout State) {
    if unsafe !memory.output.pointee.isUntaken { state.untaken = 0 }
    guard state.untaken >= Self.mostHeaps else { return }
    let deadline = HostTime.now + 1_000_000_000
    while unsafe memory.output.pointee.isUntaken, !device.isLost, HostTime.now < deadline {
      usleep(200)
    }
    state.untaken = 0
  }

  /// Waits until all that is due within two cycles is sent, until a host time at most. A message that a program has just
  /// heard, and passes on, has a time of its cycle, which may be yet to come.
  func drain(until deadline: UInt64) {
    let cycles = UInt64(held: 2e9 * Double(device.periodFrames) / device.client.sampleRate)
    let end = StartPoint(.hostTime(device.client.hostTime + cycles))
    while unsafe memory.output.pointee.isBehind(end), !device.isLost, HostTime.now < deadline {
      usleep(200)
    }
  }

  /// Unschedules what was sent before, except what is due.
  func flush() {
    state.withLock { state in unsafe memory.output.pointee.flush(before: state.next) }
  }

  /// Drops what was due before a host time.
  func drop(before time: StartPoint) { unsafe memory.output.pointee.drop(before: time) }

  /// Frees what is sent or dropped, and tells those who wait for it. Delivery thread.
  func takeBack() {
    guard unsafe memory.output.pointee.hasReturned else { return }
    var ended: [(UInt64, Bool)] = []
    unsafe MIDIMessage.free(memory.output.pointee.takeBack()) { message in
      unsafe ended.append((message.pointee.number, message.pointee.isSent))
    }
    let calls = state.withLock { state in
      state.completions.isEmpty
        ? []
        : ended.compactMap { number, isSent in
          state.completions.removeValue(forKey: number).map { ($0, isSent) }
        }
    }
    for (completion, isSent) in calls { completion(isSent) }
  }

  /// Tells all who wait that nothing more is sent. No cycle runs the output any more.
  func end() {
    let calls = state.withLock { state in
      defer { state.completions = [:] }
      return Array(state.completions.values)
    }
    for completion in calls { completion(false) }
  }
}
