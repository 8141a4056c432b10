package import CRealTime
import RealTime
package import Synchronization

/// Memory of a voice, a recorder or a MIDI port that runs in a device's cycles.
package protocol CycleMemory: AnyObject, Sendable {
  /// Number of channels, with one port for each.
  var channels: Int { get }
  /// Port or memory of each channel. Set before a cycle can read it.
  var ports: UnsafeMutablePointer<cue_port> { get }
  var member: CycleMember { get }
  /// For each channel the index of its port; empty if ports and channels have the same order. Set
  /// only while no device uses the memory.
  var portOrder: [Int] { get }
  /// Returns the short names of the ports.
  ///
  /// - Parameter prefix: `in_` or `out_`, behind a number unless it is the first voice or recorder.
  func portNames(_ prefix: String) -> [String]
  /// True if cycles have pushed events that nobody has read. Any thread.
  var hasEvents: Bool { get }
  /// True if the owner wants `readEvents` whenever the event thread wakes, even without an event of its
  /// own.
  var followsEveryWake: Atomic<Bool> { get }
  /// Excludes the voice or recorder from cycles that begin from now on.
  func hold()
  /// Ends `hold()`: later cycles run it again.
  func release()
}

extension CycleMemory {
  /// Direction of the ports.
  package var direction: PortDirection {
    switch member {
    case .voice, .midiOutput: .output
    case .recorder, .midiInput: .input
    }
  }

  var isMIDI: Bool {
    switch member {
    case .voice, .recorder: false
    case .midiOutput, .midiInput: true
    }
  }

  package func portNames(_ prefix: String) -> [String] { (1...channels).map { "\(prefix)\($0)" } }

  /// True if the owner has something to do when the event thread wakes.
  var isBusy: Bool { hasEvents || followsEveryWake.load(ordering: .relaxed) }

  /// Returns the index of a channel's port.
  package func port(ofChannel channel: Int) -> Int {
    portOrder.isEmpty ? channel : portOrder[channel]
  }
}
