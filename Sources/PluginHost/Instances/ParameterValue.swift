import CLilv
import CRealTime
import Glibc

/// A value of a plugin parameter.
package enum ParameterValue: Hashable, Codable, Sendable {
  case int(Int32)
  case long(Int64)
  case float(Float)
  case double(Double)
  case bool(Bool)
  case string(String)
  /// A file's absolute path.
  case path(String)
  case uri(String)

  /// Parses `text` as a value of the type `range`. Returns nil if it is none.
  package init?(_ text: String, range: String?) {
    let value: ParameterValue? =
      switch range {
      case LV2.atom("Int"): Int32(text).map { .int($0) }
      case LV2.atom("Long"): Int64(text).map { .long($0) }
      case LV2.atom("Double"): Double(text).map { .double($0) }
      case LV2.atom("Bool"): ["true": .bool(true), "false": .bool(false)][text]
      case LV2.atom("String"): .string(text)
      case LV2.atom("Path"): .path(text)
      case LV2.atom("URI"), LV2.atom("URID"): .uri(text)
      default: Float(text).map { .float($0) }
      }
    guard let value else { return nil }
    self = value
  }

  /// Converts a number to a value of the type `range`. Returns nil if that type is not numeric, or cannot hold
  /// the number.
  package init?(_ number: Float, range: String?) {
    switch range {
    case LV2.atom("Int"):
      guard let whole = Int32(exactly: number.rounded(.towardZero)) else { return nil }
      self = .int(whole)
    case LV2.atom("Long"):
      guard let whole = Int64(exactly: number.rounded(.towardZero)) else { return nil }
      self = .long(whole)
    case LV2.atom("Float"): self = .float(number)
    case LV2.atom("Double"): self = .double(Double(number))
    case LV2.atom("Bool"): self = .bool(number != 0)
    default: return nil
    }
  }

  /// Reads the value of an atom. Returns nil for an atom of another type.
  @safe init?(_ atom: UnsafePointer<LV2_Atom>) {
    let urids = URIDs.shared
    let bytes = unsafe UnsafeRawBufferPointer(start: atom + 1, count: Int(atom.pointee.size))
    func number<Number: BitwiseCopyable>(_ type: Number.Type) -> Number? {
      unsafe bytes.count >= MemoryLayout<Number>.size ? bytes.loadUnaligned(as: type) : nil
    }
    func text() -> String { unsafe String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self) }
    let value: ParameterValue? =
      switch unsafe urids.uri(atom.pointee.type) {
      case LV2.atom("Int"): number(Int32.self).map { .int($0) }
      case LV2.atom("Long"): number(Int64.self).map { .long($0) }
      case LV2.atom("Float"): number(Float.self).map { .float($0) }
      case LV2.atom("Double"): number(Double.self).map { .double($0) }
      case LV2.atom("Bool"): number(Int32.self).map { .bool($0 != 0) }
      case LV2.atom("String"): .string(text())
      case LV2.atom("Path"): .path(text())
      case LV2.atom("URI"): .uri(text())
      case LV2.atom("URID"): number(UInt32.self).flatMap { urids.uri($0) }.map { .uri($0) }
      default: nil
      }
    guard let value else { return nil }
    self = value
  }

  /// The value as a number; nil for types that are not numeric.
  package var number: Float? {
    switch self {
    case .int(let value): Float(value)
    case .long(let value): Float(value)
    case .float(let value): value
    case .double(let value): Float(value)
    case .bool(let value): value ? 1 : 0
    case .string, .path, .uri: nil
    }
  }
}

/// Parameter values that a plugin reports in a patch:Set or patch:Put message.
struct ParameterMessage: Sendable {
  /// The values by parameter URI.
  private(set) var values: [String: ParameterValue] = [:]

  /// Reads a message from the memory of an atom. An atom of another type gives no values.
  @safe init(_ bytes: UnsafeRawBufferPointer) {
    guard bytes.count >= MemoryLayout<LV2_Atom_Object>.size else { return }
    let object = unsafe bytes.baseAddress!.assumingMemoryBound(to: LV2_Atom_Object.self)
    let urids = URIDs.shared
    var found: [String: UnsafePointer<LV2_Atom>] = unsafe [:]
    unsafe Self.each(of: object) { key, value in unsafe found[key] = unsafe value }
    switch unsafe urids.uri(object.pointee.body.otype) {
    case LV2.patch("Set"):
      if let property = unsafe found[LV2.patch("property")],
        let value = unsafe found[LV2.patch("value")],
        case .uri(let uri)? = ParameterValue(property), let value = ParameterValue(value)
      {
        values[uri] = value
      }
    case LV2.patch("Put"):
      guard let body = unsafe found[LV2.patch("body")], unsafe Int(body.pointee.size) >= 8 else {
        return
      }
      unsafe Self.each(
        of: UnsafeRawPointer(body).assumingMemoryBound(to: LV2_Atom_Object.self)
      ) { key, value in values[key] = ParameterValue(value) }
    default: break
    }
  }

  private static func each(
    of object: UnsafePointer<LV2_Atom_Object>,
    _ body: (String, UnsafePointer<LV2_Atom>) -> Void
  ) {
    let size = unsafe object.pointee.atom.size
    let start = unsafe UnsafeRawPointer(object) + MemoryLayout<LV2_Atom>.size
    let content = unsafe start.assumingMemoryBound(to: LV2_Atom_Object_Body.self)
    var next = unsafe lv2_atom_object_begin(content)
    while let property = unsafe next, unsafe !lv2_atom_object_is_end(content, size, property) {
      // A value that runs past the end must not be read.
      let value = unsafe UnsafeRawPointer(property) + 8
      guard
        unsafe value + 8 <= start + Int(size),
        unsafe value + 8 + Int(property.pointee.value.size) <= start + Int(size)
      else { return }
      if let key = unsafe URIDs.shared.uri(property.pointee.key) {
        unsafe body(key, value.assumingMemoryBound(to: LV2_Atom.self))
      }
      unsafe next = unsafe lv2_atom_object_next(property)
    }
  }
}

/// A position of the transport, in frames and in bars and beats.
package struct TransportPosition: Hashable, Codable, Sendable {
  /// Frames since the start of the piece.
  package var frame: Int64
  /// 1 while the transport rolls, 0 while it is stopped.
  package var speed: Float
  package var beatsPerMinute: Float
  package var beatsPerBar: Float
  /// 4 for a quarter note.
  package var beatUnit: Int32
  /// Bars since the start, and beats since the start of this bar, with fractions.
  package var bar: Int64
  package var barBeat: Float

  package init(
    frame: Int64, speed: Float, beatsPerMinute: Float, beatsPerBar: Float = 4, beatUnit: Int32 = 4,
    bar: Int64 = 0, barBeat: Float = 0
  ) {
    self.frame = frame
    self.speed = speed
    self.beatsPerMinute = beatsPerMinute
    self.beatsPerBar = beatsPerBar
    self.beatUnit = beatUnit
    self.bar = bar
    self.barBeat = barBeat
  }
}

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
