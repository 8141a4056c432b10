import Files

/// The report of `cuejack info` on broadcast metadata. The property names are JSON keys, so they must
/// not change.
struct BroadcastReport: Encodable {
  let description: String
  let originator: String
  let originatorReference: String
  /// Date and time of day of the first frame, as the file has them.
  let originationDate: String
  let originationTime: String
  /// Frames from midnight to the first frame.
  let timeReference: UInt64
  /// Loudness figures of version 2; absent where the file gives none.
  private let loudness: BroadcastLoudness?
  /// SMPTE's unique material identifier in hexadecimal digits; absent if there is none.
  private let materialID: String?
  /// Lines of the coding history.
  let codingHistory: [String]
  /// Frames per second.
  private let sampleRate: Double

  private enum CodingKeys: CodingKey {
    case description, originator, originatorReference, originationDate, originationTime
    case timeReference, loudness, materialID, codingHistory
  }

  init(_ info: BroadcastInfo, _ sampleRate: Double) {
    description = info.description
    originator = info.originator
    originatorReference = info.originatorReference
    originationDate = info.date
    originationTime = info.time
    timeReference = info.timeReference
    loudness = info.loudness.map(BroadcastLoudness.init)
    let digits = info.materialID.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }
    materialID = digits.isEmpty ? nil : digits.joined()
    codingHistory = info.codingHistory.split(whereSeparator: \.isNewline).map(String.init)
    self.sampleRate = sampleRate
  }

  /// The report as rows of a name and a value.
  var rows: [(String, String)] {
    var rows: [(String, String)] = []
    if !description.isEmpty { rows.append(("about", description)) }
    let reference = originatorReference.isEmpty ? "" : " (\(originatorReference))"
    rows.append(("origin", "\(originator)\(reference), \(originationDate) \(originationTime)"))
    // A damaged file may have a number that no clock shows.
    let seconds = Double(timeReference) / sampleRate
    let clock = seconds < 1e9 ? " (\(exactClock(seconds)))" : ""
    rows.append(("reference", "frame \(timeReference) since midnight\(clock)"))
    if let materialID { rows.append(("UMID", materialID)) }
    if let loudness { rows.append(("loudness", loudness.words)) }
    rows += codingHistory.map { ("history", $0) }
    return rows
  }
}

/// Loudness figures of broadcast metadata. The property names are JSON keys.
private struct BroadcastLoudness: Encodable {
  /// LUFS, LU, dBTP, LUFS and LUFS.
  var integrated, range, truePeak, momentary, shortTerm: Double?

  init(_ loudness: BroadcastInfo.Loudness) {
    func figure(_ hundredths: Int16?) -> Double? { hundredths.map { Double($0) / 100 } }
    integrated = figure(loudness.integrated)
    range = figure(loudness.range)
    truePeak = figure(loudness.truePeak)
    momentary = figure(loudness.momentary)
    shortTerm = figure(loudness.shortTerm)
  }

  /// The figures in a line.
  var words: String {
    let figures: [(String, Double?, String)] = [
      ("integrated", integrated, "LUFS"), ("range", range, "LU"), ("true peak", truePeak, "dBTP"),
      ("momentary", momentary, "LUFS"), ("short-term", shortTerm, "LUFS"),
    ]
    return figures.compactMap { name, value, unit in value.map { "\(name) \($0) \(unit)" } }
      .joined(separator: ", ")
  }
}
