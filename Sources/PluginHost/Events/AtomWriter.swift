import CLilv
import Glibc

/// A writer of atoms that uses LV2's atom forge.
@safe
struct AtomWriter: ~Copyable {
  private var forge = unsafe LV2_Atom_Forge()
  private let buffer: UnsafeMutableRawBufferPointer

  init(bytes: Int) {
    unsafe buffer = .allocate(byteCount: bytes, alignment: 8)
    unsafe lv2_atom_forge_init(&forge, URIDs.shared.map)
    unsafe lv2_atom_forge_set_buffer(
      &forge, buffer.baseAddress!.assumingMemoryBound(to: UInt8.self), bytes)
  }

  deinit { unsafe buffer.deallocate() }

  /// Calls `body` with the written atom including its header. Returns nil if it did not fit.
  func withAtom<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result? {
    let atom = unsafe buffer.baseAddress!.assumingMemoryBound(to: LV2_Atom.self).pointee
    let bytes = 8 + Int(atom.size)
    return unsafe forge.offset == 0 || bytes > Int(forge.offset)
      ? nil : body(UnsafeRawBufferPointer(rebasing: buffer[..<bytes]))
  }

  /// Writes an object with properties.
  mutating func object(_ type: String, _ properties: [(String, ParameterValue)]) {
    var frame = unsafe LV2_Atom_Forge_Frame()
    unsafe lv2_atom_forge_object(&forge, &frame, 0, URIDs.shared[type])
    for (key, value) in properties {
      unsafe lv2_atom_forge_key(&forge, URIDs.shared[key])
      write(value)
    }
    unsafe lv2_atom_forge_pop(&forge, &frame)
  }

  /// Writes a MIDI message.
  mutating func midi(_ bytes: [UInt8]) {
    unsafe lv2_atom_forge_atom(&forge, UInt32(bytes.count), URIDs.shared[LV2.midi("MidiEvent")])
    unsafe lv2_atom_forge_write(&forge, bytes, UInt32(bytes.count))
  }

  private mutating func write(_ value: ParameterValue) {
    switch value {
    case .int(let value): unsafe lv2_atom_forge_int(&forge, value)
    case .long(let value): unsafe lv2_atom_forge_long(&forge, value)
    case .float(let value): unsafe lv2_atom_forge_float(&forge, value)
    case .double(let value): unsafe lv2_atom_forge_double(&forge, value)
    case .bool(let value): unsafe lv2_atom_forge_bool(&forge, value)
    case .string(let value): unsafe lv2_atom_forge_string(&forge, value, UInt32(value.utf8.count))
    case .path(let value): unsafe lv2_atom_forge_path(&forge, value, UInt32(value.utf8.count))
    case .uri(let value): unsafe lv2_atom_forge_urid(&forge, URIDs.shared[value])
    }
  }
}
