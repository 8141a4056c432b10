package import AudioUnits
import CAudioToolbox
package import Files
import Foundation

// The functions by which an instrument loads SoundFonts and sound files. If loading fails, it keeps its sound.

extension LV2Unit {
  /// Loads a SoundFont, nil for the default. MIDI chooses the programs.
  package func load(bank path: String?) throws(SoundFontError) {
    if let path { _ = try SoundFontFile(path: path) }
    try take(path.map { SoundFontChoice($0) })
  }

  /// Loads one instrument of a SoundFont for all channels.
  ///
  /// - Parameters:
  ///   - msb: 0x79 for a bank of melodic instruments, whose number is `lsb`; 0x78 for drums; otherwise the upper
  ///     bits of the bank's number.
  ///   - lsb: 0 to 127.
  package func load(bank path: String, msb: UInt8, lsb: UInt8, program: UInt8)
    throws(SoundFontError)
  {
    let file = try SoundFontFile(path: path)
    let bank =
      switch Int(msb) {
      case kAUSampler_DefaultMelodicBankMSB: Int(lsb)
      case kAUSampler_DefaultPercussionBankMSB: SoundFontFile.drumBank
      default: Int(msb) << 7 | Int(lsb)
      }
    guard file.presets.contains(where: { $0.bank == bank && $0.program == program }) else {
      throw SoundFontError("\(path): there is no program \(program) in bank \(bank)")
    }
    try take(SoundFontChoice(path), ["bank": Float(bank), "program": Float(program)])
  }

  /// Loads the first program of a SoundFont for all channels, or a sound file.
  package func load(instrument path: String) throws(SoundFontError) {
    guard SoundFontFile.isOne(path) else { return try load(soundFiles: [path]) }
    guard let first = try SoundFontFile(path: path).presets.first else { return }
    try take(
      SoundFontChoice(path), ["bank": Float(first.bank), "program": Float(first.program)])
  }

  /// Loads sound files as one instrument: see `SampledInstrument`.
  package func load(soundFiles paths: [String]) throws(SoundFontError) {
    try load(temporary: SampledInstrument(paths).soundFont(), ["bank": 0, "program": 0])
  }

  /// Loads a SoundFont from memory.
  package func load(bank bytes: [UInt8]) throws(SoundFontError) { try load(temporary: bytes, [:]) }

  private func load(temporary bytes: [UInt8], _ controls: [String: Float]) throws(SoundFontError) {
    let url = FileManager.default.temporaryDirectory.appendingPathComponent(
      "cuejack-\(UUID().uuidString).sf2")
    do { try Data(bytes).write(to: url, options: .withoutOverwriting) } catch {
      throw SoundFontError("\(url.path): \((error as NSError).localizedDescription)")
    }
    let choice = SoundFontChoice(url.path, isTemporary: true)
    _ = try SoundFontFile(path: url.path)
    try take(choice, controls)
  }

  private func take(_ choice: SoundFontChoice?, _ controls: [String: Float] = [:])
    throws(SoundFontError)
  {
    do throws(UnitError) { try setSoundFont(choice, controls) } catch {
      throw SoundFontError(error.reason)
    }
  }
}
