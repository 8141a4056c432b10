import CAudioToolbox
import CoreFoundation

/// The value of a property of an audio object or of an audio unit.
struct CopiedValue {
  private enum Content {
    case bytes([UInt8])
    /// A Core Foundation object, which the caller releases.
    case object(AnyObject)
  }
  private let content: Content
  /// Size in bytes of an item, for arrays: `write` copies as many whole items as fit. Nil for a value that
  /// is copied whole or not at all.
  private let itemBytes: Int?

  /// A number or a structure.
  init<Value: BitwiseCopyable>(_ value: Value) {
    content = .bytes(unsafe withUnsafeBytes(of: value) { unsafe Array($0) })
    itemBytes = nil
  }

  init<Item: BitwiseCopyable>(array: [Item]) {
    content = .bytes(unsafe array.withUnsafeBytes { unsafe Array($0) })
    itemBytes = MemoryLayout<Item>.stride
  }

  /// A structure of variable length.
  init(bytes: [UInt8]) {
    content = .bytes(bytes)
    itemBytes = nil
  }

  init(string: String) { self.init(object: string.cfString) }

  /// A Core Foundation object, which the caller releases.
  init(object: AnyObject) {
    content = .object(object)
    itemBytes = nil
  }

  /// A C string. `write` cuts one that does not fit.
  init(cString: String) {
    content = .bytes(Array(cString.utf8) + [0])
    itemBytes = 1
  }

  var byteCount: Int {
    switch content {
    case .bytes(let bytes): bytes.count
    case .object: MemoryLayout<UInt>.size
    }
  }

  /// Copies the value.
  ///
  /// - Returns: The number of bytes written; nil if the memory is too small.
  func write(to memory: UnsafeMutableRawBufferPointer) -> Int? {
    switch content {
    case .bytes(let bytes):
      let room = memory.count
      let count = itemBytes.map { min(bytes.count, room / $0 * $0) } ?? bytes.count
      guard count <= room else { return nil }
      unsafe memory.copyBytes(from: bytes.prefix(count))
      return count
    case .object(let object):
      guard memory.count >= byteCount else { return nil }
      let address = unsafe UInt(bitPattern: Unmanaged.passRetained(object).toOpaque())
      unsafe memory.storeBytes(of: address, as: UInt.self)
      return byteCount
    }
  }

  /// Copies as much of the value as there is memory for; of an object all or nothing.
  ///
  /// - Returns: The number of bytes written.
  func writePart(to memory: UnsafeMutableRawBufferPointer) -> Int {
    switch content {
    case .bytes(let bytes):
      unsafe memory.copyBytes(from: bytes.prefix(memory.count))
      return min(bytes.count, memory.count)
    case .object: return unsafe write(to: memory) ?? 0
    }
  }
}
