package import RealTime
import Timeline

/// The broadcast metadata of a WAVE or RF64 file: its 'bext' chunk, as EBU Tech 3285 defines it.
package struct BroadcastInfo: Equatable, Sendable {
  /// Description of the sound; at most 256 bytes.
  package var description = ""
  /// Name of the program or person that made the file, and its reference; at most 32 bytes each.
  package var originator = ""
  package var originatorReference = ""
  /// Date and time of day of the first frame, as in 2026-11-25 and 17:05:00.
  package var date = ""
  package var time = ""
  /// Frames from midnight to the first frame.
  package var timeReference: UInt64 = 0
  /// Unique material identifier (SMPTE 330M); empty if there is none. At most 64 bytes.
  package var materialID: [UInt8] = []
  /// Loudness of the sound; nil before version 2 of the chunk.
  package var loudness: Loudness?
  /// A line for each coding that the sound has had, as EBU R98 defines it.
  package var codingHistory = ""

  /// Loudness figures in hundredths; nil where a file gives none.
  package struct Loudness: Equatable, Sendable {
    /// Integrated loudness in LUFS, and loudness range in LU.
    package var integrated, range: Int16?
    /// Greatest true peak in dBTP, momentary and short-term loudness in LUFS.
    package var truePeak, momentary, shortTerm: Int16?

    package init() {}

    /// The figures in the order of the chunk.
    fileprivate static var fields: [WritableKeyPath<Loudness, Int16?>] {
      [\.integrated, \.range, \.truePeak, \.momentary, \.shortTerm]
    }
  }

  package init() {}

  /// Adds a line to the coding history.
  package mutating func addCoding(as format: PCMFormat, by program: String) {
    if !codingHistory.isEmpty, !codingHistory.hasSuffix("\n") { codingHistory += "\r\n" }
    let mode = ["mono", "stereo"].dropFirst(format.channels - 1).first ?? "multichannel"
    codingHistory +=
      "A=PCM,F=\(Int64(held: format.sampleRate.rounded())),W=\(format.bitsPerSample),M=\(mode),"
      + "T=\(program)\r\n"
  }

  /// Bytes of the fixed fields, and of those that every version of the chunk has.
  private static let fixedBytes = 602
  private static let leastBytes = 346
  private static let materialIDBytes = 64
  private static let noLoudness: UInt64 = 0x7FFF

  /// Parses a chunk; nil if it is too short.
  init?(_ chunk: [UInt8], isBigEndian: Bool) {
    guard chunk.count >= Self.leastBytes else { return nil }
    let bytes = Bytes(chunk)
    description = bytes.text(at: 0, count: 256)
    originator = bytes.text(at: 256, count: 32)
    originatorReference = bytes.text(at: 288, count: 32)
    date = bytes.text(at: 320, count: 10)
    time = bytes.text(at: 330, count: 8)
    let low = bytes.unsigned(at: 338, bytes: 4, bigEndian: isBigEndian)
    timeReference = bytes.unsigned(at: 342, bytes: 4, bigEndian: isBigEndian) << 32 | low
    let version = bytes.unsigned(at: 346, bytes: 2, bigEndian: isBigEndian)
    if version >= 1 {
      materialID = bytes.slice(at: 348, count: Self.materialIDBytes)
      if materialID.allSatisfy({ $0 == 0 }) { materialID = [] }
    }
    if version >= 2, chunk.count >= Self.fixedBytes {
      var figures = Loudness()
      for (index, field) in Loudness.fields.enumerated() {
        let bits = bytes.unsigned(at: 412 + 2 * index, bytes: 2, bigEndian: isBigEndian)
        if bits != Self.noLoudness {
          figures[keyPath: field] = Int16(truncatingIfNeeded: bits)
        }
      }
      loudness = figures
    }
    codingHistory = bytes.text(at: Self.fixedBytes)
  }

  /// Returns the chunk: of version 2 if the loudness is known, else of version 1.
  func chunk(isBigEndian: Bool) -> [UInt8] {
    func padded(_ bytes: [UInt8], _ count: Int) -> [UInt8] {
      bytes.prefix(count) + [UInt8](repeating: 0, count: max(0, count - bytes.count))
    }
    func text(_ words: String, _ count: Int) -> [UInt8] {
      padded(FileText.encoded(words, most: count), count)
    }
    func number(_ value: UInt64, _ count: Int) -> [UInt8] {
      [UInt8](value, count: count, bigEndian: isBigEndian)
    }
    var bytes = text(description, 256) + text(originator, 32) + text(originatorReference, 32)
    bytes += text(date, 10) + text(time, 8)
    bytes += number(timeReference & 0xFFFF_FFFF, 4) + number(timeReference >> 32, 4)
    bytes += number(loudness == nil ? 1 : 2, 2) + padded(materialID, Self.materialIDBytes)
    if let loudness {
      for field in Loudness.fields {
        let bits = loudness[keyPath: field].map { UInt64(UInt16(bitPattern: $0)) }
        bytes += number(bits ?? Self.noLoudness, 2)
      }
    }
    return padded(bytes, Self.fixedBytes) + Array(codingHistory.utf8)
  }
}

extension ChunkedFile {
  /// True if the container stores broadcast metadata.
  package var takesBroadcastInfo: Bool { container == .wave || container == .rf64 }

  /// Returns the file's broadcast metadata; nil if it has none. Blocks.
  package func broadcastInfo() throws(SoundFileError) -> BroadcastInfo? {
    guard takesBroadcastInfo, let bytes = try chunk("bext", index: 0, most: 1 << 20) else {
      return nil
    }
    return BroadcastInfo(bytes, isBigEndian: hasBigEndianChunks)
  }

  /// Sets the file's broadcast metadata: before the sound if no sound has been written yet. Blocks.
  package func setBroadcastInfo(_ info: BroadcastInfo) throws(SoundFileError) {
    guard takesBroadcastInfo else {
      throw SoundFileError(
        .notSupported("\(container) files have no broadcast metadata"), path: path)
    }
    try setChunk("bext", index: 0, info.chunk(isBigEndian: hasBigEndianChunks))
  }
}
