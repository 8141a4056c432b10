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
  /// Lines of the coding history.
  let codingHistory: [String]
  /// Frames per second.
  private let sampleRate: Double

  private enum CodingKeys: CodingKey {
    case description, originator, originatorReference, originationDate, originationTime
    case timeReference, codingHistory
  }

  init(_ info: BroadcastInfo, _ sampleRate: Double) {
    description = info.description
    originator = info.originator
    originatorReference = info.originatorReference
    originationDate = info.date
    originationTime = info.time
    timeReference = info.timeReference
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
    rows += codingHistory.map { ("history", $0) }
    return rows
  }
}
