import CAudioToolbox
import CoreFoundation

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
