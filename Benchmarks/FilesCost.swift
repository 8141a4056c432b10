import Foundation
import TestSupport

/// How long it takes until a number of files play together.
struct FilesCost: Row {
  var files: Int
  var runs: Int
  /// Time from the start of the process to the first sample that is not 0, in frames of the server.
  var firstSoundMilliseconds: Spread
  /// Processor time of the process for files of one second, in user and kernel mode.
  var processorMilliseconds: Spread

  /// Period of the server in frames, at 48 kHz.
  static let period = 1024
  private static let rate = 48000

  static func all(_ effort: Effort, found: (FilesCost) -> Void) throws {
    // The only ports to play on are those of a client that stands for the sound card.
    let server = try JackDaemon(
      rate: rate, period: period, playbackPorts: 0, maximumPorts: 1024)
    defer { server.stop() }
    try withTemporaryFolder { folder in
      let file = folder.appendingPathComponent("a.wav")
      try PlayerCost.waveFile(seconds: 1).write(to: file)
      let card = try CaptureClient(
        on: server, name: "card", capacity: 30 * rate, isSoundCard: true)
      for count in effort.files {
        var first: [Double] = []
        var processor: [Double] = []
        for run in 1...effort.fileRuns {
          progress("files: \(count) play, run \(run) of \(effort.fileRuns)")
          card.arm()
          guard card.wait(untilFrames: 1) else { throw SupportError("the server runs no cycles") }
          let begin = card.capturedFrames
          let output = folder.appendingPathComponent("output")
          let child = try Child(
            builtProduct(named: "cuejack").path,
            ["play"] + Array(repeating: file.path, count: count),
            environment: ProcessInfo.processInfo.environment.merging(
              ["JACK_DEFAULT_SERVER": server.name]) { $1 }, output: output)
          let status = child.wait(seconds: 120)
          card.disarm()
          guard status != nil,
            let sound = card.samples(channel: 0).dropFirst(begin).firstIndex(where: { $0 != 0 })
          else {
            throw SupportError("\(count) files did not play: \(text(of: output).suffix(1000))")
          }
          first.append(1000 * Double(sound - begin) / Double(rate))
          processor.append(1000 * child.processorSeconds)
        }
        found(
          FilesCost(
            files: count, runs: effort.fileRuns, firstSoundMilliseconds: Spread(first),
            processorMilliseconds: Spread(processor)))
      }
    }
  }

  static func head(_ effort: Effort) -> [String] {
    [
      "",
      "cuejack play with a number of stereo files of one second, all on one frame, on a server with cycles of"
        + " \(period) frames (medians of \(effort.fileRuns), least and greatest)",
      "",
      "files         first sound, ms         processor, ms",
    ]
  }

  func lines(after rows: [FilesCost]) -> [String] {
    [
      left("\(files)", 6) + right(firstSoundMilliseconds.text(0), 23)
        + right(processorMilliseconds.text(0), 22)
    ]
  }

  static func plots(_ rows: [FilesCost]) -> [Plot] {
    [
      Plot(
        name: "files", title: "cuejack play: files that start together", x: "files",
        y: "milliseconds",
        [
          Plot.Curve("first sound", rows) {
            (Double($0.files), $0.firstSoundMilliseconds.median)
          },
          Plot.Curve("processor time", rows) {
            (Double($0.files), $0.processorMilliseconds.median)
          },
        ])
    ]
  }
}
