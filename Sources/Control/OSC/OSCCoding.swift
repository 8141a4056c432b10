import CLiblo
import Glibc
import System

extension OSCMessage {
  /// Largest packet in bytes: the payload of a UDP datagram.
  package static let mostBytes = 65_507

  /// Returns the message as the bytes of a packet. Any thread.
  package func encoded() throws(OSCError) -> [UInt8] {
    guard address.utf8.first == UInt8(ascii: "/"), !address.utf8.contains(0) else {
      throw .unsendable("its address “\(address)” does not begin with a slash")
    }
    guard let message = unsafe lo_message_new() else { throw .unsendable("no memory is left") }
    defer { unsafe lo_message_free(message) }
    for value in arguments { try unsafe Self.add(value, to: message) }
    let count = unsafe lo_message_length(message, address)
    guard count <= Self.mostBytes else {
      throw .unsendable("it has \(count) bytes, and a packet holds \(Self.mostBytes)")
    }
    var bytes = [UInt8](repeating: 0, count: count)
    _ = unsafe bytes.withUnsafeMutableBytes { bytes in
      unsafe lo_message_serialise(message, address, bytes.baseAddress, nil)
    }
    return bytes
  }

  private static func add(_ value: OSCValue, to message: lo_message) throws(OSCError) {
    var result: CInt
    switch value {
    case .int(let value): result = unsafe lo_message_add_int32(message, value)
    case .float(let value): result = unsafe lo_message_add_float(message, value)
    case .string(let text):
      if text.utf8.contains(0) { throw .unsendable("a text in it has a null character") }
      result = unsafe lo_message_add_string(message, text.systemName)
    case .blob(let bytes):
      guard bytes.count <= mostBytes else {
        throw .unsendable("a blob in it has \(bytes.count) bytes")
      }
      // A blob of liblo is its size and its bytes. `lo_blob_new` makes no empty ones.
      var blob = unsafe withUnsafeBytes(of: Int32(bytes.count)) { unsafe Array($0) } + bytes
      result = unsafe blob.withUnsafeMutableBytes {
        unsafe cue_lo_message_add_blob(message, $0.baseAddress)
      }
    case .bool(true): result = unsafe lo_message_add_true(message)
    case .bool(false): result = unsafe lo_message_add_false(message)
    case .null: result = unsafe lo_message_add_nil(message)
    case .impulse: result = unsafe lo_message_add_infinitum(message)
    case .long(let value): result = unsafe lo_message_add_int64(message, value)
    case .double(let value): result = unsafe lo_message_add_double(message, value)
    }
    if result != 0 { throw .unsendable("no memory is left") }
  }

  /// Reads one message. `bytes` begin on a multiple of four bytes of the packet, as OSC demands.
  ///
  /// liblo checks sizes, terminators, padding and type tags.
  init(bytes: ArraySlice<UInt8>) throws(OSCError) {
    guard bytes.first == UInt8(ascii: "/") else {
      throw .malformed("it begins with neither an address nor a bundle")
    }
    guard bytes.count % 4 == 0 else {
      throw .malformed("its \(bytes.count) bytes are no multiple of four")
    }
    try Self.checkBlobs(of: bytes)
    var memory = Array(bytes)
    var result: CInt = 0
    let message = unsafe memory.withUnsafeMutableBytes { memory in
      unsafe lo_message_deserialise(memory.baseAddress, memory.count, &result)
    }
    guard let message = unsafe message else { throw .malformed(Self.reason(ofLiblo: result)) }
    defer { unsafe lo_message_free(message) }
    guard let address = String(validating: bytes.prefix { $0 != 0 }, as: UTF8.self) else {
      throw .malformed("its address is not UTF-8")
    }
    let count = unsafe Int(lo_message_get_argc(message))
    let types = unsafe lo_message_get_types(message)
    let values = unsafe lo_message_get_argv(message)
    var arguments: [OSCValue] = []
    arguments.reserveCapacity(count)
    for index in 0..<count {
      guard let types = unsafe types else { break }
      let tag = unsafe UInt8(bitPattern: types[index])
      let value = unsafe values?[index]
      arguments.append(try unsafe Self.argument(tag, value))
    }
    self.init(address, arguments)
  }

  private static func argument(_ tag: UInt8, _ value: UnsafeMutablePointer<lo_arg>?)
    throws(OSCError) -> OSCValue
  {
    switch tag {
    case UInt8(ascii: "T"): return .bool(true)
    case UInt8(ascii: "F"): return .bool(false)
    case UInt8(ascii: "N"): return .null
    case UInt8(ascii: "I"): return .impulse
    default: break
    }
    guard let value = unsafe value else { throw .malformed("an argument has no value") }
    // OSC aligns values of eight bytes on four.
    let raw = UnsafeRawPointer(value)
    switch tag {
    case UInt8(ascii: "i"): return unsafe .int(raw.loadUnaligned(as: Int32.self))
    case UInt8(ascii: "f"): return unsafe .float(raw.loadUnaligned(as: Float.self))
    case UInt8(ascii: "h"): return unsafe .long(raw.loadUnaligned(as: Int64.self))
    case UInt8(ascii: "d"): return unsafe .double(raw.loadUnaligned(as: Double.self))
    case UInt8(ascii: "s"):
      // It may be a path.
      return unsafe .string(String(systemName: raw.assumingMemoryBound(to: CChar.self)))
    case UInt8(ascii: "b"):
      let count = unsafe Int(raw.loadUnaligned(as: Int32.self))
      return unsafe .blob(Array(UnsafeRawBufferPointer(start: raw + 4, count: count)))
    default:
      throw .malformed("its type tag “\(Character(UnicodeScalar(tag)))” is none of ifsbTFNIhd")
    }
  }

  /// Checks that the size of each blob lies in the message, because liblo 0.31 reads a size past its end.
  private static func checkBlobs(of bytes: ArraySlice<UInt8>) throws(OSCError) {
    /// Removes a string with its padding from `rest`; nil if it does not end.
    func takeString(_ rest: inout ArraySlice<UInt8>) -> ArraySlice<UInt8>? {
      guard let end = rest.firstIndex(of: 0) else { return nil }
      let text = rest[..<end]
      rest = rest.dropFirst(text.count / 4 * 4 + 4)
      return text
    }
    var rest = bytes
    guard takeString(&rest) != nil, let tags = takeString(&rest), tags.contains(UInt8(ascii: "b"))
    else { return }
    for tag in tags.dropFirst() {
      switch tag {
      case UInt8(ascii: "T"), UInt8(ascii: "F"), UInt8(ascii: "N"), UInt8(ascii: "I"): break
      case UInt8(ascii: "h"), UInt8(ascii: "d"), UInt8(ascii: "t"): rest = rest.dropFirst(8)
      case UInt8(ascii: "s"), UInt8(ascii: "S"):
        guard takeString(&rest) != nil else { throw .malformed("a text in it does not end") }
      case UInt8(ascii: "b"):
        let size = rest.prefix(4).reduce(0) { $0 << 8 | Int($1) }
        guard rest.count >= 4, size <= rest.count - 4 else {
          throw .malformed("a blob of \(size) bytes does not fit into it")
        }
        rest = rest.dropFirst(4 + (size + 3) / 4 * 4)
      default: rest = rest.dropFirst(4)
      }
    }
  }

  /// Returns what an error number of liblo means.
  private static func reason(ofLiblo number: CInt) -> String {
    switch abs(number) {
    case LO_EINVALIDPATH: "its address does not end, or is not padded with zeros"
    case LO_ENOTYPE: "it has no type tags"
    case LO_EINVALIDTYPE: "its type tags do not end, or are not padded with zeros"
    case LO_EBADTYPE: "its type tags do not begin with a comma"
    case LO_EINVALIDARG: "an argument does not fit into it, or has an unknown type tag"
    case LO_ESIZE: "its size and its arguments differ"
    case LO_EALLOC: "no memory is left"
    default: "error \(number) of liblo"
    }
  }
}
