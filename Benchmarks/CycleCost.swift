import Foundation
import RealTime
import Server
import System
import TestSupport

/// Cost of a cycle in nanoseconds, compared with a copy of the bytes that it reads or, when
/// recording, writes, and with a conversion of the samples in plain C loops, the floor.
struct CycleCost: Row {
  struct Comparison: Codable {
    var cycleNanoseconds: Spread
    var copyNanoseconds: Double
    /// Nil if the copy was too short to measure.
    var ratio: Double?
    /// Time of the same conversion in plain C loops; nil if it was not measured.
    var floorNanoseconds: Double?
    init(_ cycles: [Double], _ copies: [Double], floors: [Double]? = nil) {
      cycleNanoseconds = Spread(cycles)
      copyNanoseconds = median(copies)
      floorNanoseconds = floors.map(median)
      ratio = copyNanoseconds > 0 ? cycleNanoseconds.median / copyNanoseconds : nil
    }

    /// The three columns of a table, or four with the floor, for one of `count` queues.
    func columns(ofOneIn count: Double = 1) -> String {
      right("\(cycleNanoseconds.text(1, over: count)) ns", 25)
        + right("\(number(copyNanoseconds / count, 1)) ns", 10)
        + right(ratio.map { number($0, 2) } ?? "-", 7)
        + (floorNanoseconds.map { right("\(number($0 / count, 1)) ns", 11) } ?? "")
    }
  }
  var format: String
  var channels: Int
  /// Frames per cycle.
  var period: Int
  /// A cycle with one playback queue.
  var oneQueue: Comparison
  /// Cost that each additional queue adds.
  var furtherQueue: Comparison
  /// A cycle with one recording queue.
  var recording: Comparison

  static let furtherQueues = 15

  static func all(_ effort: Effort, found: (CycleCost) -> Void) throws {
    let formats: [(name: String, kind: PCMFormat.Kind, bits: Int, channels: Int)] = [
      ("s16", .signedInteger, 16, 2), ("f32", .float, 32, 2), ("s24", .signedInteger, 24, 2),
      ("s16", .signedInteger, 16, 1), ("f32", .float, 32, 1),
      ("s16", .signedInteger, 16, 8), ("f32", .float, 32, 8),
    ]
    for each in formats {
      for period in [64, 256] {
        let format = PCMFormat(
          sampleRate: 48000, channels: each.channels, kind: each.kind, bitsPerSample: each.bits)
        found(try CycleCost(each.name, format, period: period, effort))
      }
    }
  }

  static func head(_ effort: Effort) -> [String] {
    [
      "",
      "One cycle, against a copy of the bytes that it reads or, recording, writes (medians, and"
        + " quartiles of \(effort.rounds)); the floor converts the samples in plain C loops",
      "",
      left("", 18) + right("one queue", 25) + right("", 28)
        + right("each of \(furtherQueues) more", 25) + right("", 17)
        + right("one that records", 25),
      "format  ch  frames" + right("cycle", 25) + "      copy  ratio      floor"
        + right("cycle", 25)
        + "      copy  ratio" + right("cycle", 25) + "      copy  ratio      floor",
    ]
  }

  func lines(after rows: [CycleCost]) -> [String] {
    [
      left(format, 6) + right("\(channels)", 4) + right("\(period)", 8)
        + oneQueue.columns() + furtherQueue.columns() + recording.columns()
    ]
  }

  private init(_ name: String, _ format: PCMFormat, period: Int, _ effort: Effort) throws {
    let one = Queues(1, format, period: period)
    let many = Queues(1 + Self.furtherQueues, format, period: period)
    let recorder = RecordingQueues(format, period: period)
    let cyclesOfOne = effort.framesPerRound / period
    let cyclesOfMany = max(1024 / period, cyclesOfOne / 8)
    var times: (one: [Double], oneCopied: [Double], many: [Double], manyCopied: [Double])
    times = ([], [], [], [])
    var recorded: (cycles: [Double], copied: [Double]) = ([], [])
    var floors: (playing: [Double], recording: [Double]) = ([], [])
    for _ in 0..<effort.rounds {
      one.fill(cycles: cyclesOfOne)
      times.one.append(Self.nanoseconds(of: cyclesOfOne, one.play))
      times.oneCopied.append(Self.nanoseconds(of: cyclesOfOne, one.copy))
      many.fill(cycles: cyclesOfMany)
      times.many.append(Self.nanoseconds(of: cyclesOfMany, many.play))
      times.manyCopied.append(Self.nanoseconds(of: cyclesOfMany, many.copy))
      recorder.fill(cycles: cyclesOfOne)
      recorded.cycles.append(Self.nanoseconds(of: cyclesOfOne, recorder.record))
      recorded.copied.append(Self.nanoseconds(of: cyclesOfOne, recorder.copy))
      floors.playing.append(Self.nanoseconds(of: cyclesOfOne, one.convert))
      floors.recording.append(Self.nanoseconds(of: cyclesOfOne, recorder.convert))
    }
    guard one.haveAllPlayed, many.haveAllPlayed, recorder.hasRecorded else {
      throw SupportError("\(name), \(format.channels) channels: the queues did not play or record")
    }
    self.format = name
    channels = format.channels
    self.period = period
    oneQueue = Comparison(times.one, times.oneCopied, floors: floors.playing)
    recording = Comparison(recorded.cycles, recorded.copied, floors: floors.recording)
    // Computed round by round, so that a temporary slowdown affects both values.
    let further = Double(Self.furtherQueues)
    furtherQueue = Comparison(
      zip(times.many, times.one).map { ($0 - $1) / further },
      zip(times.manyCopied, times.oneCopied).map { ($0 - $1) / further })
  }

  /// Returns the nanoseconds per cycle of `count` cycles.
  static func nanoseconds(of count: Int, _ body: (Int) -> Void) -> Double {
    let start = HostTime.now
    body(count)
    return Double(HostTime.now - start) / Double(count)
  }
}
