import CAudioToolbox
import CoreFoundation

extension HardwareRequest {
  /// The entry of a property of the system object; nil if it has none.
  func systemEntry() -> Entry? {
    let objects = HardwareObjects.shared
    let unknown = AudioObjectID(kAudioObjectUnknown)
    return switch selector {
    case kAudioObjectPropertyBaseClass: .value(kAudioObjectClassID)
    case kAudioObjectPropertyClass: .value(kAudioSystemObjectClassID)
    case kAudioObjectPropertyOwner, kAudioHardwarePropertyTranslateBundleIDToPlugIn:
      .value(unknown)
    case kAudioObjectPropertyName, kAudioObjectPropertyManufacturer: .string("Cuejack")
    case kAudioHardwarePropertyDevices: .copied(CopiedValue(array: objects.reachable.map(\.id)))
    case kAudioObjectPropertyOwnedObjects:
      .copied(CopiedValue(array: keeps(kAudioDeviceClassID) ? objects.reachable.map(\.id) : []))
    case kAudioHardwarePropertyDefaultInputDevice, kAudioHardwarePropertyDefaultOutputDevice,
      kAudioHardwarePropertyDefaultSystemOutputDevice:
      .value(objects.standard?.id ?? unknown).setting(try checkDefault())
    case kAudioHardwarePropertyTranslateUIDToDevice:
      .value(qualifierString.flatMap { objects.device(named: $0)?.id } ?? unknown)
    case kAudioHardwarePropertyDeviceForUID, kAudioHardwarePropertyPlugInForBundleID:
      .answer(input, translate)
    case kAudioHardwarePropertyPlugInList: .copied(CopiedValue(array: [AudioObjectID]()))
    case kAudioHardwarePropertyRunLoop:
      .value(HardwareListeners.shared.runLoopAddress).setting(
        HardwareListeners.shared.setRunLoop(input.isEmpty ? 0 : try input.value()))
    case kAudioHardwarePropertyHogModeIsAllowed: .flag(true)
    case kAudioHardwarePropertyServiceRestarted: .flag(false)
    default: nil
    }
  }

  /// Throws unless the new default device is the one that there is.
  private func checkDefault() throws(HardwareError) {
    guard try input.value(AudioObjectID.self) == HardwareObjects.shared.standard?.id else {
      throw .refused("the default device is the default JACK server, and cannot be another one")
    }
  }

  /// Translates a UID to a device.
  private func translate(_ translation: Translation) throws(HardwareError) -> Translation? {
    guard let output = unsafe translation.output,
      translation.outputBytes >= MemoryLayout<AudioObjectID>.size,
      translation.inputBytes >= MemoryLayout<UInt>.size,
      let input = unsafe translation.input
    else { throw .badArgument("the translation has no input or no room for its output") }
    var id = AudioObjectID(kAudioObjectUnknown)
    if selector == kAudioHardwarePropertyDeviceForUID,
      let uid = unsafe Self.string(input.loadUnaligned(as: UnsafeRawPointer?.self))
    {
      id = HardwareObjects.shared.device(named: uid)?.id ?? id
    }
    unsafe output.storeBytes(of: id, as: AudioObjectID.self)
    return translation
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
