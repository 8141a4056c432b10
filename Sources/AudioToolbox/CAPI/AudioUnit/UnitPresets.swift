package import AudioUnits
import CAudioToolbox
import CoreFoundation
import Foundation
import Synchronization

// The properties by which a unit is saved and restored.

extension UnitProperty {
  /// The entry of a property by which a unit is saved and restored; nil if it is none.
  func settingsEntry() -> Entry? {
    switch id {
    case kAudioUnitProperty_ClassInfo: .object(try classInfo()).setting(try setClassInfo())
    case kAudioUnitProperty_FactoryPresets:
      unit.presets.isEmpty ? nil : .object(factoryPresets())
    case kAudioUnitProperty_PresentPreset:
      unsafe Entry.value(presentPreset()).setting(try setPresentPreset(input.value()))
    case kAudioUnitProperty_CurrentPreset:
      unsafe Entry.value(currentPreset()).setting(try setPresentPreset(input.value()))
    default: nil
    }
  }

  // MARK: Presets

  private func factoryPresets() -> CueMutableArray {
    let array = CFArrayCreateMutable(nil, 0, nil)!
    let presets = unsafe PresetMemory.shared.presets(of: handle)
    for i in unit.presets.indices { unsafe CFArrayAppendValue(array, presets + i) }
    return array
  }

  private func presentPreset() -> AUPreset {
    let preset = unit.preset
    return unsafe AUPreset(
      presetNumber: preset.number, presetName: Unmanaged.passRetained(preset.name.cfString))
  }

  /// The present preset; the unit keeps its name.
  private func currentPreset() -> AUPreset {
    let preset = unit.preset
    return unsafe AUPreset(
      presetNumber: preset.number, presetName: handle.lend(presetName: preset.name))
  }

  private func setPresentPreset(_ preset: AUPreset) throws(AudioUnitError) {
    let name = unsafe preset.presetName?.takeUnretainedValue().string ?? ""
    try onUnit(unit.setPreset(UnitPreset(number: unsafe preset.presetNumber, name: name)))
  }

  // MARK: Class info

  private func classInfo() throws(AudioUnitError) -> CFMutableDictionary {
    let settings = try onUnit(unit.settings())
    let description = handle.component.description
    let data = Self.data(settings.values)
    var entries: [(String, AnyObject)] = [
      (kAUPresetVersionKey, number(0)),
      (kAUPresetTypeKey, number(description.type)),
      (kAUPresetSubtypeKey, number(description.subtype)),
      (kAUPresetManufacturerKey, number(description.manufacturer)),
      (kAUPresetNameKey, settings.preset.name.cfString),
      (kAUPresetNumberKey, number(UInt32(bitPattern: settings.preset.number))),
      (kAUPresetDataKey, NSData(data: Data(data))),
    ]
    if let state = settings.pluginState { entries.append((kAUPresetLV2StateKey, state.cfString)) }
    return makeDictionary(entries)
  }

  private func number(_ value: UInt32) -> CFNumber { NSNumber(value: Int32(bitPattern: value)) }

  /// Returns the values bus for bus: scope, element and their number, then number and value of each; 32
  /// bits each, big endian.
  private static func data(_ values: [UnitSettings.Value]) -> [UInt8] {
    var words: [UInt32] = []
    var last: (scope: UInt32, element: UInt32)?
    for value in values {
      if last?.scope != value.scope || last?.element != value.element {
        let count = values.count { $0.scope == value.scope && $0.element == value.element }
        words += [value.scope, value.element, UInt32(count)]
        last = (value.scope, value.element)
      }
      words += [value.id, value.value.bitPattern]
    }
    return words.flatMap { word in unsafe withUnsafeBytes(of: word.bigEndian) { unsafe Array($0) } }
  }

  fileprivate static func values(_ data: [UInt8]) -> [UnitSettings.Value]? {
    var words = stride(from: 0, to: data.count - data.count % 4, by: 4).map { i in
      data[i..<i + 4].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
    }[...]
    var values: [UnitSettings.Value] = []
    while !words.isEmpty {
      guard words.count >= 3 else { return nil }
      let head = Array(words.prefix(3))
      words = words.dropFirst(3)
      guard words.count / 2 >= Int(head[2]) else { return nil }
      for _ in 0..<Int(head[2]) {
        let pair = Array(words.prefix(2))
        words = words.dropFirst(2)
        values.append(
          UnitSettings.Value(
            scope: head[0], element: head[1], id: pair[0], value: Float(bitPattern: pair[1])))
      }
    }
    return values
  }

  private func setClassInfo() throws(AudioUnitError) {
    guard let pointer = unsafe try input.value(UnsafeRawPointer?.self),
      unsafe CFGetTypeID(Unmanaged<AnyObject>.fromOpaque(pointer).takeUnretainedValue())
        == CFDictionaryGetTypeID()
    else { throw .unit(.invalidValue("a class info is a dictionary")) }
    try handle.restore(unsafe Unmanaged<CFDictionary>.fromOpaque(pointer).takeUnretainedValue())
  }
}

extension AudioUnits.Unit {
  /// Takes over a class info. The unit has a reference.
  package func restore(classInfo: [String: Any]) throws(UnitError) {
    do throws(AudioUnitError) {
      let handle = unsafe try UnitHandles.shared.unit(UnitHandles.shared.reference(of: self))
      try handle.restore(classInfo as CFDictionary)
    } catch {
      if case .unit(let error) = error { throw error }
      throw .invalidValue(error.reason)
    }
  }
}

extension UnitHandle {
  /// Takes over a class info.
  fileprivate func restore(_ info: CFDictionary) throws(AudioUnitError) {
    if let foreign {
      let address = unsafe Unmanaged.passUnretained(info).toOpaque()
      let status = unsafe withUnsafeBytes(of: address) { bytes in
        unsafe foreign.setProperty(
          kAudioUnitProperty_ClassInfo, kAudioUnitScope_Global, 0, bytes.baseAddress,
          UInt32(bytes.count))
      }
      if status != noErr { throw .unit(.status(status)) }
      return
    }
    let description = component.description
    for (key, wanted) in [
      (kAUPresetTypeKey, description.type), (kAUPresetSubtypeKey, description.subtype),
      (kAUPresetManufacturerKey, description.manufacturer),
    ] {
      guard let number = Self.number(key, in: info) else {
        throw .unit(.invalidValue("the class info has no “\(key)”"))
      }
      if UInt32(truncatingIfNeeded: number) != wanted {
        throw .unit(.invalidValue("the class info is that of another component"))
      }
    }
    guard let bytes = Self.bytes(kAUPresetDataKey, in: info),
      let values = UnitProperty.values(bytes)
    else {
      throw .unit(.invalidValue("the class info has no parameters that can be read"))
    }
    let preset = UnitPreset(
      number: Int32(truncatingIfNeeded: Self.number(kAUPresetNumberKey, in: info) ?? -1),
      name: Self.text(kAUPresetNameKey, in: info) ?? "")
    let settings = UnitSettings(
      values: values, pluginState: Self.text(kAUPresetLV2StateKey, in: info), preset: preset)
    try onUnit(unit.restore(settings))
  }

  /// Returns an entry of a dictionary if it is of a type.
  private static func object<Object: AnyObject>(
    _ key: String, in dictionary: CFDictionary, _ typeID: CFTypeID, as type: Object.Type
  ) -> Object? {
    let key = key.cfString
    guard
      let pointer = unsafe CFDictionaryGetValue(
        dictionary, Unmanaged.passUnretained(key).toOpaque()),
      unsafe CFGetTypeID(Unmanaged<AnyObject>.fromOpaque(pointer).takeUnretainedValue()) == typeID
    else { return nil }
    return unsafe Unmanaged<Object>.fromOpaque(pointer).takeUnretainedValue()
  }

  private static func number(_ key: String, in dictionary: CFDictionary) -> Int64? {
    guard let number = object(key, in: dictionary, CFNumberGetTypeID(), as: CFNumber.self) else {
      return nil
    }
    var value: Int64 = 0
    return unsafe CFNumberGetValue(number, .sInt64Type, &value) ? value : nil
  }

  private static func text(_ key: String, in dictionary: CFDictionary) -> String? {
    object(key, in: dictionary, CFStringGetTypeID(), as: CFString.self)?.string
  }

  private static func bytes(_ key: String, in dictionary: CFDictionary) -> [UInt8]? {
    guard let data = object(key, in: dictionary, CFDataGetTypeID(), as: CFData.self) else {
      return nil
    }
    let count = CFDataGetLength(data)
    var bytes = [UInt8](repeating: 0, count: count)
    unsafe CFDataGetBytes(data._core, CFRange(location: 0, length: count), &bytes)
    return bytes
  }
}

/// The presets of components as C structures. They stay as long as the process runs: programs keep the
/// pointers.
@safe
private final class PresetMemory: @unchecked Sendable {
  static let shared = PresetMemory()
  private let made = Mutex<[Int: UInt]>([:])

  func presets(of handle: UnitHandle) -> UnsafeMutablePointer<AUPreset> {
    let address = made.withLock { made in
      if let known = made[handle.component.number] { return known }
      let presets = handle.unit.presets
      let memory = UnsafeMutablePointer<AUPreset>.allocate(capacity: presets.count)
      for (i, preset) in presets.enumerated() {
        unsafe (memory + i).initialize(
          to: AUPreset(
            presetNumber: preset.number,
            presetName: Unmanaged.passRetained(preset.name.cfString)))
      }
      made[handle.component.number] = UInt(bitPattern: memory)
      return UInt(bitPattern: memory)
    }
    return unsafe UnsafeMutablePointer(bitPattern: address)!
  }
}
