import CAudioToolbox
import CoreFoundation

/// The value of a property, which is copied to the app's memory.
struct CopiedValue {
  private enum Content {
    case bytes([UInt8])
    /// Bytes with references to Core Foundation objects, which the caller releases. They are made when they
    /// are copied.
    case made(byteCount: Int, () -> [UInt8])
  }
  private let content: Content
  /// Size in bytes of an item, for arrays: `write` copies as many whole items as fit. Nil for a value that
  /// is copied whole or not at all.
  private let itemBytes: Int?

  /// A number or a structure.
  init<Value: BitwiseCopyable>(_ value: Value) {
    self.init(bytes: unsafe withUnsafeBytes(of: value) { unsafe Array($0) })
  }

  /// An array. `write` cuts one that does not fit.
  init<Item: BitwiseCopyable>(array: [Item]) {
    content = .bytes(unsafe array.withUnsafeBytes { unsafe Array($0) })
    itemBytes = MemoryLayout<Item>.stride
  }

  /// An array that is copied whole or not at all.
  init<Item: BitwiseCopyable>(whole items: [Item]) {
    self.init(bytes: unsafe items.withUnsafeBytes { unsafe Array($0) })
  }

  /// A structure of variable length.
  init(bytes: [UInt8]) {
    content = .bytes(bytes)
    itemBytes = nil
  }

  /// Bytes with references to Core Foundation objects, which the caller releases.
  init(byteCount: Int, made: @escaping () -> [UInt8]) {
    content = .made(byteCount: byteCount, made)
    itemBytes = nil
  }

  /// A Core Foundation object, which the caller releases.
  init(object: AnyObject) {
    self.init(byteCount: MemoryLayout<UInt>.size) {
      let address = unsafe UInt(bitPattern: Unmanaged.passRetained(object).toOpaque())
      return unsafe withUnsafeBytes(of: address) { unsafe Array($0) }
    }
  }

  init(string: String) { self.init(object: string.cfString) }

  /// A C string. `write` cuts one that does not fit.
  init(cString: String) { self.init(array: Array(cString.utf8) + [0]) }

  var byteCount: Int {
    switch content {
    case .bytes(let bytes): bytes.count
    case .made(let byteCount, _): byteCount
    }
  }

  /// Copies the value.
  ///
  /// - Returns: The number of bytes written; nil if the memory is too small.
  func write(to memory: UnsafeMutableRawBufferPointer) -> Int? {
    let room = memory.count
    let count = itemBytes.map { min(byteCount, room / $0 * $0) } ?? byteCount
    guard count <= room else { return nil }
    switch content {
    case .bytes(let bytes): unsafe memory.copyBytes(from: bytes.prefix(count))
    case .made(_, let make): unsafe memory.copyBytes(from: make())
    }
    return count
  }

  /// Copies as much of the value as there is memory for; of an object all or nothing.
  ///
  /// - Returns: The number of bytes written.
  func writePart(to memory: UnsafeMutableRawBufferPointer) -> Int {
    guard case .bytes(let bytes) = content else { return unsafe write(to: memory) ?? 0 }
    unsafe memory.copyBytes(from: bytes.prefix(memory.count))
    return min(bytes.count, memory.count)
  }
}
