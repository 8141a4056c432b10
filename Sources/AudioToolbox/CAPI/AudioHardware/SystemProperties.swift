import CAudioToolbox
import CoreFoundation
import Synchronization

/// Properties of the system object.
enum SystemProperties {
  private static let defaults = [
    kAudioHardwarePropertyDefaultInputDevice, kAudioHardwarePropertyDefaultOutputDevice,
    kAudioHardwarePropertyDefaultSystemOutputDevice,
  ]

  /// Returns the value of a property.
  static func value(_ request: HardwareRequest) throws(HardwareError) -> CopiedValue {
    let objects = HardwareObjects.shared
    switch request.selector {
    case kAudioObjectPropertyBaseClass: return CopiedValue(kAudioObjectClassID)
    case kAudioObjectPropertyClass: return CopiedValue(kAudioSystemObjectClassID)
    case kAudioObjectPropertyOwner: return CopiedValue(AudioObjectID(kAudioObjectUnknown))
    case kAudioObjectPropertyName, kAudioObjectPropertyManufacturer:
      return CopiedValue(string: "Cuejack")
    case kAudioHardwarePropertyDevices: return CopiedValue(array: objects.reachable.map(\.id))
    case kAudioObjectPropertyOwnedObjects:
      return CopiedValue(
        array: request.keeps(kAudioDeviceClassID) ? objects.reachable.map(\.id) : [])
    case let selector where defaults.contains(selector):
      return CopiedValue(objects.standard?.id ?? AudioObjectID(kAudioObjectUnknown))
    case kAudioHardwarePropertyTranslateUIDToDevice:
      let device = request.qualifierString.flatMap { objects.device(named: $0) }
      return CopiedValue(device?.id ?? AudioObjectID(kAudioObjectUnknown))
    case kAudioHardwarePropertyDeviceForUID, kAudioHardwarePropertyPlugInForBundleID:
      return try translation(request)
    case kAudioHardwarePropertyTranslateBundleIDToPlugIn:
      return CopiedValue(AudioObjectID(kAudioObjectUnknown))
    case kAudioHardwarePropertyPlugInList: return CopiedValue(array: [AudioObjectID]())
    case kAudioHardwarePropertyRunLoop:
      return CopiedValue(HardwareListeners.shared.runLoopAddress)
    case kAudioHardwarePropertyHogModeIsAllowed: return CopiedValue(UInt32(1))
    case kAudioHardwarePropertyServiceRestarted: return CopiedValue(UInt32(0))
    default: throw .unknownProperty(request.selector, AudioObjectID(kAudioObjectSystemObject))
    }
  }

  /// Translates a UID to a device.
  private static func translation(_ request: HardwareRequest) throws(HardwareError)
    -> CopiedValue
  {
    if unsafe request.data.isEmpty {
      return CopiedValue(bytes: [UInt8](repeating: 0, count: MemoryLayout<Translation>.size))
    }
    let translation = try request.input(Translation.self)
    guard let output = unsafe translation.output,
      translation.outputBytes >= MemoryLayout<AudioObjectID>.size,
      translation.inputBytes >= MemoryLayout<UInt>.size,
      let input = unsafe translation.input
    else { throw .badArgument("the translation has no input or no room for its output") }
    var id = AudioObjectID(kAudioObjectUnknown)
    if request.selector == kAudioHardwarePropertyDeviceForUID,
      let uid = unsafe HardwareRequest.string(input.loadUnaligned(as: UnsafeRawPointer?.self))
    {
      id = HardwareObjects.shared.device(named: uid)?.id ?? id
    }
    unsafe output.storeBytes(of: id, as: AudioObjectID.self)
    return CopiedValue(translation)
  }

  static func isSettable(_ selector: AudioObjectPropertySelector) -> Bool {
    selector == kAudioHardwarePropertyRunLoop || defaults.contains(selector)
  }

  static func set(_ request: HardwareRequest) throws(HardwareError) {
    if request.selector == kAudioHardwarePropertyRunLoop {
      let address = unsafe request.data.isEmpty ? 0 : try request.input(UInt.self)
      HardwareListeners.shared.setRunLoop(address)
      return
    }
    let id = try request.input(AudioObjectID.self)
    guard id == HardwareObjects.shared.standard?.id else {
      throw .refused("the default device is the default JACK server, and cannot be another one")
    }
  }
}

/// An AudioValueTranslation, whose pointers may be NULL.
@safe
struct Translation: BitwiseCopyable {
  var input: UnsafeRawPointer?
  var inputBytes: UInt32
  var output: UnsafeMutableRawPointer?
  var outputBytes: UInt32
}

extension HardwareRequest {
  /// Returns true unless the qualifier is a list of classes without this one.
  func keeps(_ classID: AudioClassID) -> Bool {
    let stride = MemoryLayout<AudioClassID>.stride
    let count = unsafe qualifier.count / stride
    let rest = unsafe qualifier.count % stride
    if count == 0 || rest != 0 { return true }
    return (0..<count).contains {
      let wanted = unsafe qualifier.loadUnaligned(
        fromByteOffset: $0 * stride, as: AudioClassID.self)
      return wanted == classID || wanted == kAudioObjectClassID
        || wanted == kAudioObjectClassIDWildcard
    }
  }
}
