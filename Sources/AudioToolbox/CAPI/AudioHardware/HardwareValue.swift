import CAudioToolbox
import CoreFoundation

/// The value of a property of an audio object.
struct HardwareValue {
  private enum Content {
    case bytes([UInt8])
    /// A CFString, made when the value is copied: the caller releases it.
    case string(String)
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

  init(string: String) {
    content = .string(string)
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
    case .string: MemoryLayout<UInt>.size
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
    case .string(let text):
      guard memory.count >= byteCount else { return nil }
      let address = unsafe UInt(bitPattern: Unmanaged.passRetained(text.cfString).toOpaque())
      unsafe memory.storeBytes(of: address, as: UInt.self)
      return byteCount
    }
  }
}

/// The direction of a property's scope: input, or output for all others.
enum HardwareScope {
  case global, input, output

  init(_ scope: AudioObjectPropertyScope) {
    switch scope {
    case kAudioObjectPropertyScopeInput: self = .input
    case kAudioObjectPropertyScopeOutput: self = .output
    default: self = .global
    }
  }
}

/// A question for a property, or a new value for it.
@safe
struct HardwareRequest {
  let selector: AudioObjectPropertySelector
  let scope: HardwareScope
  let element: AudioObjectPropertyElement
  /// The qualifier. Only the few properties that need one read it.
  let qualifier: UnsafeRawBufferPointer
  /// The caller's memory, which some properties read before they are copied to it; empty if there is
  /// none.
  let data: UnsafeMutableRawBufferPointer

  /// Returns a value that the caller has put into its memory.
  func input<Value: BitwiseCopyable>(_ type: Value.Type) throws(HardwareError) -> Value {
    guard unsafe data.count >= MemoryLayout<Value>.size else {
      throw .wrongSize(selector, needed: MemoryLayout<Value>.size, size: unsafe data.count)
    }
    return unsafe data.loadUnaligned(as: type)
  }

  /// The string of a qualifier.
  var qualifierString: String? {
    guard unsafe qualifier.count == MemoryLayout<UInt>.size else { return nil }
    return unsafe Self.string(qualifier.loadUnaligned(as: UnsafeRawPointer?.self))
  }

  /// Returns the text of a CFString that the caller passes as a pointer.
  static func string(_ pointer: UnsafeRawPointer?) -> String? {
    guard let pointer = unsafe pointer else { return nil }
    return unsafe Unmanaged<CFString>.fromOpaque(pointer).takeUnretainedValue().string
  }
}
