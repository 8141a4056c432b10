/// A watch for periods whose time has passed, but which the server has not counted.
///
/// A server that another machine drives over the network runs no cycles, or late ones, while the link is
/// down. Its transport goes on where it was, and so is late from then on. The watch compares the transport's
/// frame with the host clock, second by second. The least lag of a second is that of a punctual cycle. The
/// difference to the second before is rounded to whole periods: clocks drift by far less. It counts once
/// two seconds agree, so not before cycles are regular again.
///
/// A server that has ended and returned counts from another frame. The network's cycles go on meanwhile, so that
/// the cycles before and after are whole periods apart on the other machine. A value.
package struct TransportSlip: Equatable, Sendable {
  /// Frames by which the transport is later than the host clock, and its frame at the beginning of a cycle.
  private struct Lag: Equatable, Sendable {
    var frames: Double
    var cycle: Int64
    init(_ moment: TransportMoment, sampleRate: Double) {
      frames = Double(moment.microseconds) * sampleRate / 1e6 - Double(moment.frame)
      cycle = moment.frame
    }

    /// Returns the frames by which the lag exceeds another one, if cycles of both are whole periods apart once
    /// these frames are added.
    func missed(since other: Lag, periodFrames: Int) -> Int64 {
      let period = Int64(max(1, periodFrames))
      let rest = ((other.cycle - cycle) % period + period) % period
      let periods = (frames - other.frames - Double(rest)) / Double(period)
      return Int64(held: periods.rounded()) * period + rest
    }
  }

  /// A second's first host time, the looks at it, and the least lag.
  private struct Second: Equatable, Sendable {
    let start: UInt64
    var looks = 1
    var lag: Lag
  }

  /// The second that is under way.
  private var second: Second?
  /// The lag of the latest regular second.
  private var regular: Lag?
  /// Frames by which the latest second was late, if that was new.
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
    let lag = Lag(moment, sampleRate: sampleRate)
    guard var second, moment.microseconds >= second.start else {
      second = Second(start: moment.microseconds, lag: lag)
      return 0
    }
    second.looks += 1
    if lag.frames < second.lag.frames { second.lag = lag }
    guard moment.microseconds - second.start >= 1_000_000, second.looks >= Self.leastLooks else {
      self.second = second
      return 0
    }
    self.second = nil
    let late = regular.map { second.lag.missed(since: $0, periodFrames: periodFrames) }
    if let late, late != 0, late != suspected {
      suspected = late
      return 0
    }
    suspected = 0
    regular = second.lag
    return late ?? 0
  }

  /// Notes the first moment at which the transport of a server that has returned rolls. `note` corrects what is
  /// missed by this one look.
  ///
  /// - Returns: The frames that the transport has missed since it was regular before; 0 if it never was.
  package mutating func resume(at moment: TransportMoment, sampleRate: Double, periodFrames: Int)
    -> Int64
  {
    second = nil
    suspected = 0
    guard let before = regular else { return 0 }
    var lag = Lag(moment, sampleRate: sampleRate)
    let late = lag.missed(since: before, periodFrames: periodFrames)
    lag.frames = before.frames + Double(late)
    regular = lag
    return late
  }
}
