import AudioUnits
import CAudioToolbox
import CoreFoundation
import RealTime

// The properties that tell of a unit's parameters.

extension UnitProperty {
  /// The entry of a property that tells of parameters; nil if it is none, or the scope has none of what it
  /// tells of.
  func parameterEntry() throws(AudioUnitError) -> Entry? {
    switch id {
    case kAudioUnitProperty_ParameterList:
      return .copied(
        CopiedValue(array: unit.parameters(scope: scope, bus: Int(element)).map(\.id)))
    case kAudioUnitProperty_ParameterClumpName:
      // Groups are counted from 1.
      return unit.groupName(1) == nil ? nil : unsafe Entry.value(try nameGroup(input.value()))
    case kAudioUnitProperty_ParameterInfo, kAudioUnitProperty_ParameterValueStrings,
      kAudioUnitProperty_ParameterStringFromValue, kAudioUnitProperty_ParameterValueFromString:
      if unit.parameters(scope: scope, bus: 0).isEmpty { return nil }
    default: return nil
    }
    switch id {
    case kAudioUnitProperty_ParameterInfo:
      let parameter = try parameter(element)
      return unsafe Entry.value(info(of: parameter))
    case kAudioUnitProperty_ParameterValueStrings:
      let names = try parameter(element).valueNames
      return names.isEmpty ? nil : .object(makeArray(names.map(\.cfString)))
    case kAudioUnitProperty_ParameterStringFromValue:
      return unsafe Entry.value(try nameValue(input.value()))
    default: return unsafe Entry.value(try findValue(input.value()))
    }
  }

  private func parameter(_ id: AudioUnitParameterID) throws(AudioUnitError) -> UnitParameter {
    // Those of the first bus have the numbers of all, except for meters.
    var list = unit.parameters(scope: scope, bus: 0)
    if !list.contains(where: { $0.id == id }), let side = Unit.Side(rawValue: scope) {
      list = (0..<unit.busCount(side)).flatMap { unit.parameters(scope: scope, bus: $0) }
    }
    guard let parameter = list.first(where: { $0.id == id }) else {
      throw .unit(.invalidParameter(id))
    }
    return parameter
  }

  private func info(of parameter: UnitParameter) -> AudioUnitParameterInfo {
    var info = unsafe AudioUnitParameterInfo()
    unsafe withUnsafeMutableBytes(of: &info.name) { name in
      unsafe name.copyBytes(from: parameter.name.utf8.prefix(51))
    }
    unsafe info.cfNameString = Unmanaged.passRetained(parameter.name.cfString)
    unsafe info.unit = parameter.meaning.unit
    if case .custom(let name) = parameter.meaning {
      unsafe info.unitName = Unmanaged.passRetained(name.cfString)
    }
    unsafe info.clumpID = parameter.group ?? 0
    unsafe info.minValue = parameter.range.lowerBound
    unsafe info.maxValue = parameter.range.upperBound
    unsafe info.defaultValue = parameter.standard
    unsafe info.flags = [.flag_CFNameRelease, .flag_HasCFNameString, .flag_IsReadable]
    if parameter.isMeter {
      unsafe info.flags.insert(.flag_MeterReadOnly)
    } else {
      unsafe info.flags.formUnion([.flag_IsWritable, .flag_CanRamp])
    }
    if parameter.group != nil { unsafe info.flags.insert(.flag_HasClump) }
    if !parameter.valueNames.isEmpty { unsafe info.flags.insert(.flag_ValuesHaveStrings) }
    if parameter.isLogarithmic { unsafe info.flags.insert(.flag_DisplayLogarithmic) }
    if parameter.isHidden { unsafe info.flags.insert(.flag_ExpertMode) }
    return unsafe info
  }

  /// Answers what a value is in words.
  private func nameValue(_ question: CAudioToolbox.AudioUnitParameterStringFromValue)
    throws(AudioUnitError) -> CAudioToolbox.AudioUnitParameterStringFromValue
  {
    var question = unsafe question
    let parameter = unsafe try parameter(question.inParamID)
    var value: Float = 0
    if let given = unsafe question.inValue {
      unsafe value = given.pointee
    } else {
      _ = unsafe unit.render.pointee.parameter(
        parameter.id, scope: scope, element: 0, into: &value)
    }
    unsafe question.outString = Unmanaged.passRetained(parameter.words(for: value).cfString)
    return unsafe question
  }

  /// Answers which value words stand for.
  private func findValue(_ question: CAudioToolbox.AudioUnitParameterValueFromString)
    throws(AudioUnitError) -> CAudioToolbox.AudioUnitParameterValueFromString
  {
    var question = unsafe question
    let parameter = unsafe try parameter(question.inParamID)
    let words = unsafe question.inString?.takeUnretainedValue().string ?? ""
    guard let value = parameter.value(of: words) else {
      throw .unit(.invalidValue("“\(words)” is no value of \(parameter.name)"))
    }
    unsafe question.outValue = value
    return unsafe question
  }

  /// Answers what a group of parameters is called.
  private func nameGroup(_ question: AudioUnitParameterNameInfo)
    throws(AudioUnitError) -> AudioUnitParameterNameInfo
  {
    var question = unsafe question
    guard let name = unsafe unit.groupName(question.inID) else {
      throw .unit(.invalidValue("there is no group of parameters \(unsafe question.inID)"))
    }
    let most = unsafe question.inDesiredLength
    let cut = most >= 0 ? String(name.prefix(Int(most))) : name
    unsafe question.outName = Unmanaged.passRetained(cut.cfString)
    return unsafe question
  }
}

extension UnitParameter {
  /// The value in words: its name, or the number with its unit.
  fileprivate func words(for value: Float) -> String {
    let index = (value - range.lowerBound).rounded()
    if !valueNames.isEmpty, index >= 0, Int(index) < valueNames.count {
      return valueNames[Int(index)]
    }
    let unit = meaning.symbol
    return unit.isEmpty ? "\(value)" : "\(value) \(unit)"
  }

  /// The value that words stand for: a name, or a number with or without the unit.
  fileprivate func value(of words: String) -> Float? {
    if let index = valueNames.firstIndex(of: words) { return range.lowerBound + Float(index) }
    let number = words.split(separator: " ").first.flatMap { Float($0) }
    return number.flatMap { range.contains($0) ? $0 : nil }
  }
}

extension UnitParameter.Meaning {
  fileprivate var unit: AudioUnitParameterUnit {
    switch self {
    case .generic: .generic
    case .indexed: .indexed
    case .boolean: .boolean
    case .percent: .percent
    case .seconds: .seconds
    case .frames: .sampleFrames
    case .hertz: .hertz
    case .cents: .cents
    case .semitones: .relativeSemiTones
    case .midiNote: .midiNoteNumber
    case .decibels: .decibels
    case .linearGain: .linearGain
    case .degrees: .degrees
    case .pan: .pan
    case .metres: .meters
    case .octaves: .octaves
    case .beatsPerMinute: .BPM
    case .beats: .beats
    case .milliseconds: .milliseconds
    case .ratio: .ratio
    case .custom: .customUnit
    }
  }

  fileprivate var symbol: String {
    switch self {
    case .percent: "%"
    case .seconds: "s"
    case .milliseconds: "ms"
    case .hertz: "Hz"
    case .cents: "ct"
    case .semitones: "semitones"
    case .decibels: "dB"
    case .degrees: "°"
    case .metres: "m"
    case .octaves: "oct"
    case .beatsPerMinute: "BPM"
    case .custom(let name): name
    default: ""
    }
  }
}
