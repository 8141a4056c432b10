/// The beginning of a server's latest cycle: the transport's frame, and the host time.
package struct TransportMoment: Equatable, Sendable {
  package var frame: Int64
  /// Host time in microseconds, as the server read its clock; not smoothed.
  package var microseconds: UInt64

  package init(frame: Int64, microseconds: UInt64) {
    self.frame = frame
    self.microseconds = microseconds
  }
}

/// A watch for periods whose time has passed, but which the server has not counted.
///
/// A server that another machine drives over the network runs no cycles, or late ones, while the link is
/// down. Its transport goes on where it was, and so is late from then on. The watch compares the transport's
/// frame with the host clock, second by second. The least lag of a second is that of a punctual cycle. The
/// difference to the second before is rounded to whole periods: clocks drift by far less. It counts once
/// two seconds agree, so not before cycles are regular again. A value.
package struct TransportSlip: Equatable, Sendable {
  /// A second's first host time, the looks at it, and the least lag in frames.
  private struct Second: Equatable, Sendable {
    let start: UInt64
    var looks = 1
    var lag: Double
  }

  /// The second that is under way.
  private var second: Second?
  /// The lag of the latest regular second.
  private var regular: Double?
  /// Periods by which the latest second was late, if that was new.
  private var suspected: Int64 = 0

  /// Fewer looks at a second, and none of them may be a punctual cycle.
  private static let leastLooks = 8

  package init() {}

  /// Notes a moment at which the transport rolls. Call it ten times per second or more.
  ///
  /// - Returns: The frames, in whole periods, that the transport has missed; negative if it has counted
  ///   too many. Each loss is returned once.
  package mutating func note(_ moment: TransportMoment, sampleRate: Double, periodFrames: Int)
    -> Int64
  {
    let lag = Double(moment.microseconds) * sampleRate / 1e6 - Double(moment.frame)
    guard var second, moment.microseconds >= second.start else {
      second = Second(start: moment.microseconds, lag: lag)
      return 0
    }
    second.looks += 1
    second.lag = min(second.lag, lag)
    guard moment.microseconds - second.start >= 1_000_000, second.looks >= Self.leastLooks else {
      self.second = second
      return 0
    }
    self.second = nil
    let late = regular.map {
      Int64(held: ((second.lag - $0) / Double(max(1, periodFrames))).rounded())
    }
    if let late, late != 0, late != suspected {
      suspected = late
      return 0
    }
    suspected = 0
    regular = second.lag
    return (late ?? 0) * Int64(periodFrames)
  }
}
