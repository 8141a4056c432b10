import Glibc
import System

/// The presets of a SoundFont (SF2 or SF3) or of a DLS file, from its headers. A value.
package struct SoundFontFile: Hashable, Sendable {
  package struct Preset: Hashable, Sendable {
    package let name: String
    /// The bank as FluidSynth counts: 128 is that of drums.
    package let bank: Int
    package let program: Int
  }

  package let path: String
  /// The name in the file; nil if it has none.
  package private(set) var name: String?
  /// The presets in the order of banks and programs.
  package private(set) var presets: [Preset] = []

  /// The bank of drums.
  package static let drumBank = 128

  /// Path of the SoundFont that is used unless the user names one; nil if there is none.
  package static var defaultPath: String? {
    unsafe findSoundFont().map { unsafe String(systemName: $0) }
  }

  /// Returns whether the file begins as a SoundFont or a DLS file. Blocks.
  package static func isOne(_ path: String) -> Bool {
    let kind = try? RIFFReader(FileStore(path: path)).kind()
    return kind == "sfbk" || kind == "DLS "
  }

  /// Reads the headers of a file. Blocks.
  package init(path: String) throws(SoundFontError) {
    self.path = path
    do throws(SoundFileError) {
      let reader = RIFFReader(try FileStore(path: path))
      switch try reader.kind() {
      case "sfbk": try readSoundFont(reader)
      case "DLS ": try readDLS(reader)
      default:
        throw SoundFileError(.notSupported("it is neither a SoundFont nor a DLS file"), path: path)
      }
      if presets.isEmpty {
        throw SoundFileError(.notSupported("it has no instruments"), path: path)
      }
    } catch {
      if case .notSupported(let reason) = error.kind {
        throw SoundFontError(path: path, reason)
      }
      throw SoundFontError("\(error)")
    }
    presets.sort { ($0.bank, $0.program) < ($1.bank, $1.program) }
  }

  private mutating func readSoundFont(_ reader: RIFFReader) throws(SoundFileError) {
    let top = try reader.chunks()
    name = try reader.text("INAM", of: reader.list("INFO", of: top))
    guard let headers = try reader.content("phdr", of: reader.list("pdta", of: top)) else {
      throw SoundFileError(.notSupported("it has no list of instruments (phdr)"), path: path)
    }
    let bytes = Bytes(headers)
    // The last of them marks the end.
    for i in 0..<max(0, headers.count / 38 - 1) {
      presets.append(
        Preset(
          name: bytes.text(at: 38 * i, count: 20),
          bank: Int(bytes.unsigned(at: 38 * i + 22, bytes: 2, bigEndian: false)),
          program: Int(bytes.unsigned(at: 38 * i + 20, bytes: 2, bigEndian: false))))
    }
  }

  private mutating func readDLS(_ reader: RIFFReader) throws(SoundFileError) {
    let top = try reader.chunks()
    name = try reader.text("INAM", of: reader.list("INFO", of: top))
    for instrument in try reader.list("lins", of: top) where instrument.name == "ins " {
      let parts = try reader.parts(of: instrument)
      guard let header = try reader.content("insh", of: parts), header.count >= 12 else { continue }
      let bytes = Bytes(header)
      let bank = Int(bytes.unsigned(at: 4, bytes: 4, bigEndian: false))
      let program = Int(bytes.unsigned(at: 8, bytes: 4, bigEndian: false)) & 0x7F
      let isDrums = bank & 0x8000_0000 != 0
      presets.append(
        Preset(
          name: try reader.text("INAM", of: reader.list("INFO", of: parts)) ?? "\(program)",
          bank: isDrums ? Self.drumBank : bank >> 1 & 0x3F80 | bank & 0x7F, program: program))
    }
  }
}
