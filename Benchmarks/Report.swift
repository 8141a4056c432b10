import Foundation

/// All results of a run.
struct Report: Codable {
  var machine: Machine
  var versions: Versions
  var cycles: [CycleCost]
  var players: [PlayerCost]
  var renders: [RenderCost]
  var codecs: [CodecCost]
  var latencies: [Latency]
  var graphs: [GraphCost]
  var chains: [ChainCost]
  var mixes: [MixCost]
  var queues: [QueueCost]

  func json() throws -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
    return String(decoding: try encoder.encode(self), as: UTF8.self)
  }

  func table() -> String {
    var lines = [
      "\(machine.processor), \(machine.cores) cores, Linux \(machine.kernel)",
      "jackd \(versions.jackd), sndfile-jackplay with \(versions.sndfileJackplay)"
        + (versions.isOptimised ? "" : "; a debug build: its numbers mean nothing"),
    ]
    if !cycles.isEmpty { lines += cycleLines }
    if !players.isEmpty { lines += playerLines }
    if !renders.isEmpty { lines += renderLines }
    if !codecs.isEmpty { lines += codecLines }
    if !latencies.isEmpty { lines += latencyLines }
    if !graphs.isEmpty { lines += graphLines }
    if !chains.isEmpty { lines += chainLines }
    if !mixes.isEmpty { lines += mixLines }
    if !queues.isEmpty { lines += queueLines }
    return lines.joined(separator: "\n")
  }

  private var cycleLines: [String] {
    let head = [
      "",
      "One cycle, against a copy of the bytes that it reads or, recording, writes (medians)",
      "",
      "                        one queue                   each of \(CycleCost.furtherQueues) more"
        + "             one that records",
      "format  ch  frames      cycle      copy  ratio      cycle      copy  ratio"
        + "      cycle      copy  ratio",
    ]
    return head
      + cycles.map { row in
        left(row.format, 6) + right("\(row.channels)", 4) + right("\(row.period)", 8)
          + slots(row.oneQueue) + slots(row.furtherQueue) + slots(row.recording)
      }
  }

  private var graphLines: [String] {
    let head = [
      "",
      "A graph's cycle, against plain loops that do the same (medians); what each node of a chain, or each"
        + " source of a mixer, adds beyond the loop",
      "",
      "shape  count  frames      cycle       loop      each",
    ]
    return head
      + graphs.map { row in
        left(row.shape, 6) + right("\(row.count)", 6) + right("\(row.period)", 8)
          + right("\(number(row.cycleNanoseconds, 1)) ns", 11)
          + right("\(number(row.loopNanoseconds, 1)) ns", 11)
          + right(row.slope.map { "\(number($0, 1)) ns" } ?? "-", 10)
      }
  }

  private var playerLines: [String] {
    var lines = [
      "",
      "A player, from start to end: 16 bits, stereo, 48 kHz, cycles of \(PlayerCost.period) frames"
        + " (medians of \(players.map(\.runs).min() ?? 0))",
      "",
      "program           sound   processor   resident",
    ]
    for row in players {
      lines.append(
        left(row.program, 16) + right("\(row.seconds) s", 7)
          + right("\(number(row.processorMilliseconds, 1)) ms", 12)
          + right("\(number(row.residentKilobytes / 1024, 1)) MB", 11))
    }
    for seconds in Set(players.map(\.seconds)).sorted(by: >) {
      let pair = players.filter { $0.seconds == seconds }
      guard pair.count == 2 else { continue }
      lines.append(
        left("ratio", 16) + right("\(seconds) s", 7)
          + right(number(pair[0].processorMilliseconds / pair[1].processorMilliseconds, 2), 9)
          + right(number(pair[0].residentKilobytes / pair[1].residentKilobytes, 2), 11))
    }
    return lines
  }

  private var renderLines: [String] {
    var lines = [
      "",
      "A stereo file converted: processor time, and frames of the result in a second of it"
        + " (medians of \(renders.map(\.runs).min() ?? 0))",
      "",
      "conversion                  program                    sound   processor   frames/s   ratio",
    ]
    for row in renders {
      // Processor time of the first program of this conversion, for the ratios.
      let ours = renders.first { $0.conversion == row.conversion }?.processorMilliseconds
      lines.append(
        left(row.conversion, 28) + left(row.program, 25) + right("\(row.seconds) s", 7)
          + right("\(number(row.processorMilliseconds, 1)) ms", 12)
          + right("\(number(row.framesPerSecond / 1e6, 2)) M", 11)
          + right(ours.map { number(row.processorMilliseconds / $0, 2) } ?? "-", 8))
    }
    return lines
  }

  private var codecLines: [String] {
    var lines = [
      "",
      "A stereo file of 16 bits encoded, and decoded to floats: processor time, and seconds of sound in a"
        + " second of it (medians of \(codecs.map(\.runs).min() ?? 0))",
      "",
      "work                      program    sound   processor   real time   ratio",
    ]
    for row in codecs {
      // Processor time of the first program of this work, for the ratios.
      let ours = codecs.first { $0.work == row.work }?.processorMilliseconds
      lines.append(
        left(row.work, 26) + left(row.program, 9) + right("\(row.seconds) s", 7)
          + right("\(number(row.processorMilliseconds, 1)) ms", 12)
          + right("\(number(row.timesRealTime, 0)) x", 12)
          + right(ours.map { number(row.processorMilliseconds / $0, 2) } ?? "-", 8))
    }
    return lines
  }

  func slots(_ comparison: CycleCost.Comparison) -> String {
    right("\(number(comparison.cycleNanoseconds, 1)) ns", 11)
      + right("\(number(comparison.copyNanoseconds, 1)) ns", 10)
      + right(comparison.ratio.map { number($0, 2) } ?? "-", 7)
  }

  func number(_ value: Double, _ decimals: Int) -> String {
    String(format: "%.\(decimals)f", value)
  }
  func left(_ text: String, _ width: Int) -> String {
    text + String(repeating: " ", count: max(0, width - text.count))
  }
  func right(_ text: String, _ width: Int) -> String {
    String(repeating: " ", count: max(0, width - text.count)) + text
  }
}
