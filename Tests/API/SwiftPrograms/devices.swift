// Lists the audio devices: name, UID, channels, sample rate.

import CoreAudio
import Foundation

struct AudioDevice {
  let id: AudioDeviceID

  private func address(
    _ selector: AudioObjectPropertySelector,
    scope: AudioObjectPropertyScope = kAudioObjectPropertyScopeGlobal
  ) -> AudioObjectPropertyAddress {
    AudioObjectPropertyAddress(
      mSelector: selector, mScope: scope, mElement: kAudioObjectPropertyElementMain)
  }

  private func string(_ selector: AudioObjectPropertySelector) -> String? {
    var address = address(selector)
    var name: Unmanaged<CFString>?
    var size = UInt32(MemoryLayout<CFString?>.size)
    let status = AudioObjectGetPropertyData(id, &address, 0, nil, &size, &name)
    guard status == noErr, let name = name?.takeRetainedValue() else { return nil }
    return name as String
  }

  var name: String? { string(kAudioObjectPropertyName) }
  var uid: String? { string(kAudioDevicePropertyDeviceUID) }

  var manufacturer: String {
    var address = address(kAudioObjectPropertyManufacturer)
    var manufacturer = "" as CFString
    var size = UInt32(MemoryLayout<CFString>.size)
    let status = withUnsafeMutablePointer(to: &manufacturer) {
      AudioObjectGetPropertyData(id, &address, 0, nil, &size, $0)
    }
    return status == noErr ? manufacturer as String : "unknown"
  }

  func channels(_ scope: AudioObjectPropertyScope) -> Int {
    var address = address(kAudioDevicePropertyStreamConfiguration, scope: scope)
    var size: UInt32 = 0
    guard AudioObjectGetPropertyDataSize(id, &address, 0, nil, &size) == noErr, size > 0 else {
      return 0
    }
    let list = UnsafeMutableRawPointer.allocate(
      byteCount: Int(size), alignment: MemoryLayout<AudioBufferList>.alignment)
    defer { list.deallocate() }
    guard AudioObjectGetPropertyData(id, &address, 0, nil, &size, list) == noErr else { return 0 }
    let buffers = UnsafeMutableAudioBufferListPointer(
      list.assumingMemoryBound(to: AudioBufferList.self))
    return buffers.reduce(0) { $0 + Int($1.mNumberChannels) }
  }

  var sampleRate: Float64 {
    var address = address(kAudioDevicePropertyNominalSampleRate)
    var rate: Float64 = 0
    var size = UInt32(MemoryLayout<Float64>.size)
    _ = AudioObjectGetPropertyData(id, &address, 0, nil, &size, &rate)
    return rate
  }

  static var all: [AudioDevice] {
    let system = AudioObjectID(kAudioObjectSystemObject)
    var address = AudioObjectPropertyAddress(
      mSelector: kAudioHardwarePropertyDevices,
      mScope: kAudioObjectPropertyScopeGlobal,
      mElement: kAudioObjectPropertyElementMain)
    var size: UInt32 = 0
    guard AudioObjectGetPropertyDataSize(system, &address, 0, nil, &size) == noErr else {
      return []
    }
    var ids = [AudioDeviceID](
      repeating: kAudioObjectUnknown, count: Int(size) / MemoryLayout<AudioDeviceID>.size)
    guard AudioObjectGetPropertyData(system, &address, 0, nil, &size, &ids) == noErr else {
      return []
    }
    return ids.map(AudioDevice.init(id:))
  }
}

for device in AudioDevice.all {
  let name = device.name ?? "<unknown>"
  let inputs = device.channels(kAudioDevicePropertyScopeInput)
  let outputs = device.channels(kAudioDevicePropertyScopeOutput)
  print("\(name) [\(device.uid ?? "")] \(inputs) in, \(outputs) out, \(Int(device.sampleRate)) Hz")
  if device.manufacturer.isEmpty { print("no manufacturer") }
}
