import AudioUnits
import CAudioToolbox
import CoreFoundation
import Files
import System

// The properties of instruments that play SoundFonts.

extension UnitProperty {
  /// The entry of a property of instruments; nil if it is none, or the unit plays no SoundFonts.
  func instrumentEntry() throws(AudioUnitError) -> Entry? {
    guard let synth = unit as? LV2Unit, synth.playsSoundFonts else { return nil }
    switch id {
    case kMusicDeviceProperty_SoundBankURL:
      return .object(try Self.url(of: bank(of: synth))).setting(try setURL(synth))
    case kMusicDeviceProperty_SoundBankFSRef:
      return .unreadable(bytes: MemoryLayout<FSRef>.size).setting(try setReference(synth))
    case kMusicDeviceProperty_SoundBankData:
      return .unreadable(bytes: 0).setting(
        try onBank(synth.load(bank: input.array(of: UInt8.self))))
    case kMusicDeviceProperty_UsesInternalReverb:
      return .flag(synth.controls["reverb"] == 1).setting(try setReverb(input.flag(), synth))
    case kMusicDeviceProperty_InstrumentCount:
      return .value(UInt32(try instruments(of: synth).count))
    case kMusicDeviceProperty_InstrumentNumber:
      let all = try instruments(of: synth)
      guard all.indices.contains(Int(element)) else { throw .unit(.invalidElement(element)) }
      return .value(all[Int(element)].number)
    case kMusicDeviceProperty_InstrumentName:
      let wanted = element
      guard let one = try instruments(of: synth).first(where: { $0.number == wanted }) else {
        throw .unit(.invalidElement(element))
      }
      return .copied(CopiedValue(cString: one.name))
    case kAUMIDISynthProperty_EnablePreload:
      guard handle.component.kind == .midiSynth else { return nil }
      return .flag(false).setting(_ = try input.flag())
    default: return try samplerEntry(synth)
    }
  }

  /// The entry of a property of AUSampler; nil if it is none.
  private func samplerEntry(_ synth: LV2Unit) throws(AudioUnitError) -> Entry? {
    guard handle.component.kind == .sampler else { return nil }
    switch id {
    case kAUSamplerProperty_LoadInstrument:
      return .unreadable(bytes: unsafe MemoryLayout<AUSamplerInstrumentData>.size).setting(
        try setInstrument(synth))
    case kAUSamplerProperty_LoadPresetFromBank:
      return .unreadable(bytes: unsafe MemoryLayout<AUSamplerBankPresetData>.size).setting(
        try setPreset(synth))
    case kAUSamplerProperty_LoadAudioFiles:
      return .unreadable(bytes: MemoryLayout<UInt>.size).setting(try setAudioFiles(synth))
    default: return nil
    }
  }

  // MARK: Banks

  private func bank(of synth: LV2Unit) throws(AudioUnitError) -> String {
    guard let path = synth.soundFont ?? SoundFontFile.defaultPath else {
      throw .unit(.notInUse("there is no SoundFont"))
    }
    return path
  }

  private func instruments(of synth: LV2Unit) throws(AudioUnitError) -> [SoundFontFile.Preset] {
    let path = try bank(of: synth)
    return try onBank(SoundFontFile(path: path)).presets
  }

  private static func url(of path: String) throws(AudioUnitError) -> AnyObject {
    let bytes = path.systemName.dropLast().map { UInt8(bitPattern: $0) }
    guard
      let url: CueURL = unsafe CFURLCreateFromFileSystemRepresentation(
        nil, bytes, bytes.count, false)
    else { throw .unit(.notInUse("\(path) has no URL")) }
    return url
  }

  private func filePath(_ url: UnsafeRawPointer?) throws(AudioUnitError) -> String {
    do throws(AudioFileFailure) { return try unsafe path(of: url) } catch {
      throw .status(kAudioUnitErr_InvalidFile, error.reason)
    }
  }

  private func setURL(_ synth: LV2Unit) throws(AudioUnitError) {
    let url = unsafe try input.value(UnsafeRawPointer?.self)
    let path = unsafe url == nil ? nil : try filePath(url)
    try onBank(synth.load(bank: path))
  }

  private func setReference(_ synth: LV2Unit) throws(AudioUnitError) {
    guard let reference = unsafe FileReference(try input.pointer(to: FSRef.self)) else {
      throw .status(kAudioUnitErr_InvalidFile, "the FSRef is that of no file")
    }
    try onBank(synth.load(bank: String(systemName: reference.path.dropLast())))
  }

  private func setReverb(_ isOn: Bool, _ synth: LV2Unit) throws(AudioUnitError) {
    let value: Float = isOn ? 1 : 0
    try onUnit(synth.setControls(["reverb": value, "chorus": value]))
  }

  // MARK: Samplers

  private func setInstrument(_ synth: LV2Unit) throws(AudioUnitError) {
    let data = unsafe try input.value(AUSamplerInstrumentData.self)
    let path = unsafe try filePath(input.value())
    switch unsafe Int(data.instrumentType) {
    case kInstrumentType_SF2Preset:
      try unsafe onBank(
        synth.load(bank: path, msb: data.bankMSB, lsb: data.bankLSB, program: data.presetID))
    case kInstrumentType_Audiofile: try onBank(synth.load(soundFiles: [path]))
    case let type:
      throw .status(
        kAudioUnitErr_UnknownFileType,
        "\(path): instruments of type \(type) cannot be loaded, only SoundFonts, DLS and sound files"
      )
    }
  }

  private func setPreset(_ synth: LV2Unit) throws(AudioUnitError) {
    let data = unsafe try input.value(AUSamplerBankPresetData.self)
    let path = unsafe try filePath(input.value())
    try unsafe onBank(
      synth.load(bank: path, msb: data.bankMSB, lsb: data.bankLSB, program: data.presetID))
  }

  private func setAudioFiles(_ synth: LV2Unit) throws(AudioUnitError) {
    guard let pointer = unsafe try input.value(UnsafeRawPointer?.self) else {
      throw .unit(.invalidValue("the list of files is NULL"))
    }
    let list = unsafe Unmanaged<CFArray>.fromOpaque(pointer).takeUnretainedValue()
    guard CFGetTypeID(list) == CFArrayGetTypeID() else {
      throw .unit(.invalidValue("the files are no CFArray"))
    }
    var paths: [String] = []
    for i in 0..<CFArrayGetCount(list) {
      paths.append(try unsafe filePath(CFArrayGetValueAtIndex(list, i)))
    }
    let files = paths
    try onBank(synth.load(soundFiles: files))
  }
}

/// Runs a call that loads a SoundFont.
private func onBank<Result>(_ call: @autoclosure () throws(SoundFontError) -> Result)
  throws(AudioUnitError) -> Result
{
  do throws(SoundFontError) { return try call() } catch {
    throw .status(kAudioUnitErr_InvalidFile, error.description)
  }
}

extension SoundFontFile.Preset {
  /// The number as music devices have it.
  fileprivate var number: UInt32 {
    let msb =
      bank == SoundFontFile.drumBank ? kAUSampler_DefaultPercussionBankMSB : bank >> 7
    return UInt32(msb << 16 | bank & 0x7F << 8 | program)
  }
}
