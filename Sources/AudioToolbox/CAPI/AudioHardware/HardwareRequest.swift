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

/// A question for a property of an audio object, or a new value for it.
@safe
struct HardwareRequest {
  typealias Entry = PropertyEntry<HardwareError>

  let id: AudioObjectID
  let selector: AudioObjectPropertySelector
  let scope: HardwareScope
  let element: AudioObjectPropertyElement
  /// The qualifier. Only the few properties that need one read it.
  private let qualifier: PropertyInput<HardwareError>
  /// The caller's memory, which some properties read before they are copied to it.
  private(set) var input: PropertyInput<HardwareError>

  init(
    _ id: AudioObjectID, _ address: AudioObjectPropertyAddress, data: UnsafeRawPointer? = nil,
    dataBytes: UInt32 = 0, qualifier: UnsafeRawPointer? = nil, qualifierBytes: UInt32 = 0
  ) {
    self.id = id
    selector = address.mSelector
    scope = HardwareScope(address.mScope)
    element = address.mElement
    self.qualifier = unsafe PropertyInput(selector, qualifier, qualifierBytes)
    input = unsafe PropertyInput(selector, data, dataBytes)
  }

  /// Returns the property's entry; nil if the object does not have the property.
  private func entry() throws(HardwareError) -> Entry? {
    switch HardwareObjects.shared.object(id) {
    case .system: systemEntry()
    case .device(let device): device.entry(self)
    case .stream(let device, let isInput): device.streamEntry(self, isInput: isInput)
    case nil: throw .noSuchObject(id)
    }
  }

  /// Returns the property's value.
  func value() throws(HardwareError) -> CopiedValue {
    guard let value = try entry()?.read?() else { throw .unknownProperty(selector, id) }
    return value
  }

  /// Copies the property's value to the caller's memory, and stores the number of bytes.
  func copy(_ size: UnsafeMutablePointer<UInt32>) throws(HardwareError) {
    try unsafe input.copy(entry(), size, missing: .unknownProperty(selector, id))
  }

  /// True if the property can be set. The request has no data.
  var isSettable: Bool {
    get throws(HardwareError) {
      _ = try value()
      return try entry()?.write != nil
    }
  }

  func set() throws(HardwareError) {
    if let write = try entry()?.write { return try write() }
    var question = self
    question.input = PropertyInput(selector)
    _ = try question.value()
    throw .notSettable(selector, id)
  }

  /// The string of the qualifier.
  var qualifierString: String? {
    guard qualifier.byteCount == MemoryLayout<UInt>.size else { return nil }
    return unsafe Self.string(qualifier.bytes.loadUnaligned(as: UnsafeRawPointer?.self))
  }

  /// Returns the text of a CFString that the caller passes as a pointer.
  static func string(_ pointer: UnsafeRawPointer?) -> String? {
    guard let pointer = unsafe pointer else { return nil }
    return unsafe Unmanaged<CFString>.fromOpaque(pointer).takeUnretainedValue().string
  }

  /// Returns true unless the qualifier is a list of classes without this one.
  func keeps(_ classID: AudioClassID) -> Bool {
    let stride = MemoryLayout<AudioClassID>.stride
    if qualifier.isEmpty || qualifier.byteCount % stride != 0 { return true }
    return [classID, kAudioObjectClassID, kAudioObjectClassIDWildcard].contains {
      qualifier.array().contains($0)
    }
  }
}
