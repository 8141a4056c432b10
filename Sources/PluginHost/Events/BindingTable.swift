import CLilv
import CPluginRunner
import CRealTime

/// Owns the table by which a cycle moves a plugin's controls. Once offered, only the cycle accesses
/// it.
@safe
final class BindingTable: @unchecked Sendable {
  /// One controller and the control or parameter that it moves.
  struct Entry {
    /// The controller; nil while it is being learned.
    var controller: MIDIController?
    var destination: Destination
    var scale: MIDIScale
  }

  /// A binding's target, resolved to a control or a parameter of the plugin.
  enum Destination {
    /// A control: its index among the controls, and the length in frames of its ramps.
    case control(Int, isTrigger: Bool, rampFrames: Int)
    /// A parameter: its index among the parameters, and the event input that takes patch messages
    /// for it.
    case parameter(Int, port: Int, uri: String, type: String)

    /// Returns whether both are the same control or the same parameter.
    func isSame(as other: Destination) -> Bool {
      switch (self, other) {
      case (.control(let a, _, _), .control(let b, _, _)): a == b
      case (.parameter(let a, _, _, _), .parameter(let b, _, _, _)): a == b
      default: false
      }
    }
  }

  let bindings: UnsafeMutablePointer<cue_bindings>
  private let entries: UnsafeMutablePointer<cue_binding>

  /// - Parameters:
  ///   - list: The entries. At most one of them has no controller and is to be learned; when it is
  ///     learned, it replaces the entry with the same destination.
  ///   - generation: The number of this learning request, counted from 1.
  ///   - passed: A controller of one channel that is not learned.
  init(
    _ list: [Entry], generation: UInt32, passing passed: MIDIController?, for memory: PluginMemory
  ) {
    let learning = list.firstIndex { $0.controller == nil }
    let replaced = learning.flatMap { learning in
      list.indices.first {
        $0 != learning && list[$0].destination.isSame(as: list[learning].destination)
      }
    }
    unsafe entries = .allocate(capacity: max(1, list.count))
    for (i, entry) in list.enumerated() {
      unsafe (entries + i).initialize(to: Self.binding(entry, memory))
    }
    unsafe bindings = .allocate(capacity: 1)
    unsafe bindings.initialize(
      to: cue_bindings(
        entries: entries, count: UInt32(list.count), learning: Int32(learning ?? -1),
        generation: generation,
        passed_channel: UInt8(passed?.channel.map { $0 - 1 } ?? Int(CUE_ANY_CHANNEL)),
        passed_number: UInt8(passed?.number ?? Int(CUE_NO_CONTROLLER)),
        replaced: Int32(replaced ?? -1)))
  }

  deinit {
    unsafe entries.deallocate()
    unsafe bindings.deallocate()
  }

  private static func binding(_ entry: Entry, _ memory: PluginMemory) -> cue_binding {
    var binding = unsafe cue_binding()
    unsafe binding.number = UInt8(entry.controller?.number ?? Int(CUE_NO_CONTROLLER))
    unsafe binding.channel = UInt8(entry.controller?.channel.map { $0 - 1 } ?? Int(CUE_ANY_CHANNEL))
    switch entry.destination {
    case .control(let index, let isTrigger, let rampFrames):
      unsafe binding.control = UInt32(index)
      unsafe binding.is_trigger = isTrigger
      unsafe binding.ramp = UInt32(rampFrames)
      unsafe binding.moved = unsafe memory.control(index).pointer(to: \.moved)!
    case .parameter(let index, let port, let uri, let type):
      unsafe binding.is_parameter = true
      unsafe binding.port = UInt32(port)
      unsafe binding.moved = unsafe memory.movedParameters + index
      unsafe cue_set_message_initialize(
        &binding.message, URIDs.shared.map.pointee.handle, uri, type)
    }
    let values = entry.scale.values
    unsafe withUnsafeMutableBytes(of: &binding.values) { memory in
      unsafe values.withUnsafeBytes { unsafe memory.copyMemory(from: $0) }
    }
    return unsafe binding
  }
}
