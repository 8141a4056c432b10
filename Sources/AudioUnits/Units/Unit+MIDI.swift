package import RealTime
import Synchronization
import System

extension Unit {
  /// Sends a MIDI message to the unit, for a frame of the next render.
  ///
  /// - Throws: `UnitError.unsupported` if the unit hears no MIDI.
  package func send(midi bytes: [UInt8], offset: Int) throws(UnitError) {
    guard !bytes.isEmpty else { return }
    let status = unsafe bytes.withUnsafeBufferPointer {
      unsafe render.pointee.send($0.baseAddress!, count: bytes.count, offset: offset)
    }
    switch status {
    case 0: break
    case RenderError.unsupported: throw .unsupported("\(name) hears no MIDI")
    case RenderError.uninitialized: throw .uninitialized
    default: throw .status(status)
    }
  }

  /// Renders a plugin before each render of this unit, which hears its MIDI; nil for none from now on, which ends the notes
  /// of this unit.
  ///
  /// - Returns: False if a render may still use the source that there was.
  @discardableResult
  package func setMIDISource(_ source: LV2Unit?) -> Bool {
    unsafe render.pointee.setMIDISource(source?.render)
    let isOver = settle()
    if source != nil { return isOver }
    for channel in 0..<16 as Range<UInt8> {
      for controller in [64, 123] as [UInt8] {
        try? send(midi: [0xB0 | channel, controller, 0], offset: 0)
      }
    }
    return isOver
  }
}

/// The memory of a `MessageTap`.
@safe
final class MessageTapMemory: @unchecked Sendable {
  let tap: UnsafeMutablePointer<MessageTap>
  private let owner: AnyObject

  init(_ tap: MessageTap, keeping owner: AnyObject) {
    self.owner = owner
    unsafe self.tap = .allocate(capacity: 1)
    unsafe self.tap.initialize(to: tap)
  }

  deinit { unsafe tap.deallocate() }
}

extension LV2Unit {
  /// Sets a function that hears what the plugin writes as MIDI, in the cycle; nil for none.
  ///
  /// - Parameter owner: Keeps what the function needs.
  package func setMessageTap(_ tap: MessageTap?, keeping owner: AnyObject) {
    let memory = tap.map { MessageTapMemory($0, keeping: owner) }
    let old = host.withLock { host in
      defer { host.messageTap = memory }
      return host.messageTap
    }
    unsafe switches.switches.pointee.setTap(memory?.tap)
    if let old, !settle() { keepForGood(old) }
  }
}
