import RealTime

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
}
