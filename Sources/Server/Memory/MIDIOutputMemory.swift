package import CRealTime
package import RealTime
package import Synchronization
import Timeline

/// Owner of a MIDI output's memory, and of the messages that it has not handed back.
@safe
package final class MIDIOutputMemory: CycleMemory, @unchecked Sendable {
  package let output: UnsafeMutablePointer<MIDIOutput>
  package let ports: UnsafeMutablePointer<cue_port>
  package let followsEveryWake = Atomic<Bool>(false)
  private let state: UnsafeMutableRawPointer
  private let name: String
  private let playedMemory: PortMessageMemory?

  /// - Parameters:
  ///   - name: The short name of the port.
  ///   - isPlayed: True for a port whose messages come from renders of the same cycle: see `played`.
  package init(named name: String, isPlayed: Bool = false) {
    self.name = name
    playedMemory = isPlayed ? PortMessageMemory() : nil
    unsafe ports = .allocate(capacity: 1)
    unsafe ports.initialize(to: cue_port())
    unsafe state = .allocate(byteCount: MIDIOutput.stateBytes, alignment: 16)
    unsafe output = .allocate(capacity: 1)
    unsafe output.initialize(
      to: MIDIOutput(port: ports, state: state, played: playedMemory?.messages))
  }

  /// The messages that renders play to the port; nil for a port that threads push messages to.
  package var played: PortMessages? { playedMemory?.messages }
  /// True if a message of a render waits for a cycle.
  package var hasUnplayed: Bool {
    guard let playedMemory else { return false }
    return unsafe !playedMemory.queue.queue.pointee.isEmpty
      || output.pointee.isBehind(StartPoint(.atOnce))
  }

  deinit {
    unsafe output.pointee.takeAll { unsafe MIDIMessage.free($0) }
    unsafe output.deinitialize(count: 1)
    unsafe output.deallocate()
    unsafe state.deallocate()
    unsafe ports.deallocate()
  }

  package var channels: Int { 1 }
  package var member: CycleMember { unsafe .midiOutput(output) }
  package var portOrder: [Int] { [] }
  package var hasEvents: Bool { unsafe output.pointee.hasReturned }
  package func portNames(_ prefix: String) -> [String] { [name] }
  package func hold() { unsafe output.pointee.hold() }
  package func release() { unsafe output.pointee.release() }
}
