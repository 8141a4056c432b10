import AudioToolbox
import AudioUnits
import Files
import Foundation

/// An instrument of one sound: a program of a SoundFont or DLS file, or sound files. All channels play it.
///
/// Without one it plays the first program of the default SoundFont. Creating a sampler without the library's
/// plugins ends the program.
open class AVAudioUnitSampler: AVAudioUnitMIDIInstrument, @unchecked Sendable {
  /// Creates a sampler.
  public init() { super.init(MadeUnit(.sampler, for: "AVAudioUnitSampler")) }

  private var synth: LV2Unit {
    guard let synth = core as? LV2Unit else { preconditionFailure("a sampler is a plugin") }
    return synth
  }

  /// Loads a program of a SoundFont or DLS file.
  ///
  /// - Parameters:
  ///   - bankURL: The file.
  ///   - program: The number of the program, 0 to 127.
  ///   - bankMSB: `kAUSampler_DefaultMelodicBankMSB` for the bank with the number `bankLSB`,
  ///     `kAUSampler_DefaultPercussionBankMSB` for drums.
  ///   - bankLSB: The number of the bank, 0 to 127.
  /// - Throws: If the file cannot be used, or has no such program. The sampler keeps its sound.
  open func loadSoundBankInstrument(
    at bankURL: URL, program: UInt8, bankMSB: UInt8, bankLSB: UInt8
  ) throws {
    try load(bankURL) { path throws(SoundFontError) in
      try synth.load(bank: path, msb: bankMSB, lsb: bankLSB, program: program)
    }
  }

  /// Loads the first program of a SoundFont or DLS file, or a sound file.
  open func loadInstrument(at instrumentURL: URL) throws {
    try load(instrumentURL) { path throws(SoundFontError) in try synth.load(instrument: path) }
  }

  /// Loads sound files as one instrument. Chunks 'smpl' and 'inst' tell keys, velocities, tuning and loop, or the
  /// names: see `kAUSamplerProperty_LoadAudioFiles`.
  open func loadAudioFiles(at audioFiles: [URL]) throws {
    for url in audioFiles where !url.isFileURL { try load(url) { _ throws(SoundFontError) in } }
    try load(audioFiles.first ?? URL(fileURLWithPath: "/")) { _ throws(SoundFontError) in
      try synth.load(soundFiles: audioFiles.map(\.path))
    }
  }

  private func load(_ url: URL, _ body: (String) throws(SoundFontError) -> Void) throws {
    do throws(SoundFontError) {
      guard url.isFileURL else { throw SoundFontError("\(url) is not the URL of a file") }
      try body(url.path)
    } catch {
      throw NSError(
        domain: NSOSStatusErrorDomain, code: Int(kAudioUnitErr_InvalidFile),
        userInfo: [NSLocalizedDescriptionKey: error.description])
    }
  }

  /// The gain in dB, -90 to 12. 0 at first.
  open var overallGain: Float {
    get { parameter(kAUSamplerParam_Gain) }
    set { set(kAUSamplerParam_Gain, to: newValue) }
  }

  /// The gain, by its former name.
  @available(*, deprecated, renamed: "overallGain")
  open var masterGain: Float {
    get { overallGain }
    set { overallGain = newValue }
  }

  /// The balance in percent, -100 to 100. 0 at first.
  open var stereoPan: Float {
    get { parameter(kAUSamplerParam_Pan) * 100 }
    set { set(kAUSamplerParam_Pan, to: newValue / 100) }
  }

  /// The tuning of all notes in cents, -2,400 to 2,400. 0 at first.
  open var globalTuning: Float {
    get { parameter(kAUSamplerParam_CoarseTuning) * 100 + parameter(kAUSamplerParam_FineTuning) }
    set {
      let cents = min(max(newValue, -2400), 2400)
      let semitones = (cents / 100).rounded(.towardZero)
      set(kAUSamplerParam_CoarseTuning, to: semitones)
      set(kAUSamplerParam_FineTuning, to: cents - 100 * semitones)
    }
  }
}
