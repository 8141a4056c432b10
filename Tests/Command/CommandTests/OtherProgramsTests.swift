import Foundation
import TestSupport
import Testing

/// The table in docs/command.md of what people do with other programs: both commands of a line are run,
/// and what they wrote or played is compared.
@Suite(.tags(.server, .program), .serialized) struct OtherProgramsTests {
  struct Line: Sendable, CustomTestStringConvertible {
    let task: String
    let other: String
    let ours: String
    var testDescription: String { task }
    /// Whether this Debian release has the other program.
    var isCompared: Bool {
      if other.hasPrefix("jack_capture") {
        return FileManager.default.isExecutableFile(atPath: "/usr/bin/jack_capture")
      }
      return !other.hasPrefix("af")
    }
    /// Whether the commands need a server.
    var isLive: Bool { ours.firstMatch(of: /--render|cuejack (convert|info)/) == nil }
  }

  static let lines: [Line] = {
    let page = text(of: repository.appendingPathComponent("docs/command.md"))
    let section = page.components(separatedBy: "\n## Coming from other programs\n")[1]
      .components(separatedBy: "\n## ")[0]
    return section.split(separator: "\n").compactMap { line in
      let cells = line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
      guard cells.count == 3, cells[1].hasPrefix("`") else { return nil }
      return Line(
        task: cells[0], other: cells[1].trimmingCharacters(in: ["`"]),
        ours: cells[2].trimmingCharacters(in: ["`"]))
    }
  }()

  /// What a command left.
  private struct Outcome {
    let result: CommandResult
    /// The names of new files, and the channels of each that has sound.
    var files: [String: [[Float]]?] = [:]
    /// What was played, without the silence around it.
    let heard: [[Float]]
  }

  /// A server with an emitter called `deck`. Programs connect to the capture client as if it were the
  /// sound card.
  private struct Stage {
    let server: JackDaemon
    let deck: Emitter
    let capture: CaptureClient

    init() throws {
      server = try JackDaemon(period: 1024, playbackPorts: 0, capturePorts: 0)
      deck = try Emitter(on: server, name: "deck")
      capture = try CaptureClient(on: server, capacity: 1 << 20, isSoundCard: true)
      capture.arm()
    }

    /// What was played, without the silence around it.
    var heard: [[Float]] {
      capture.disarm()
      let played = (0..<2).map { capture.samples(channel: $0) }
      guard let first = played.compactMap({ $0.firstIndex { $0 != 0 } }).min(),
        let last = played.compactMap({ $0.lastIndex { $0 != 0 } }).max()
      else { return [] }
      return played.map { Array($0[first...last]) }
    }
  }

  /// Runs a command in a folder with two files, with a server or where none may be started.
  private func outcome(of command: String, isLive: Bool) throws -> Outcome {
    try withTemporaryFolder { folder in
      _ = try WaveFile("one.wav", in: folder, frames: 96_000, seed: 1)
      _ = try WaveFile("two.wav", in: folder, frames: 96_000, seed: 2)
      let before = try FileManager.default.contentsOfDirectory(atPath: folder.path)
      let stage = try isLive ? Stage() : nil
      let words = command.replacing("jack,system", with: "jack,capture")
      let result = try run(
        "bash",
        ["-c", "cuejack() { \"$0\" \"$@\"; }; \(words)", builtProduct(named: "cuejack").path],
        environment: playEnvironment([
          "LV2_PATH": "/usr/lib/lv2",
          "XDG_CACHE_HOME": folder.appendingPathComponent(".cache").path,
        ]).merging(stage.map { ["JACK_DEFAULT_SERVER": $0.server.name] } ?? withoutServer) { $1 },
        folder: folder)
      var outcome = Outcome(result: result, heard: stage?.heard ?? [])
      for name in try FileManager.default.contentsOfDirectory(atPath: folder.path)
      where !before.contains(name) && !name.hasPrefix(".") {
        outcome.files[name] =
          name.hasSuffix(".png")
          ? .some(nil) : try converted(folder.appendingPathComponent(name).path, in: folder)
      }
      return outcome
    }
  }

  /// Returns the largest difference between two sounds of the same length; nil if the lengths differ.
  private func distance(_ one: [[Float]], _ other: [[Float]]) -> Float? {
    guard one.map(\.count) == other.map(\.count) else { return nil }
    var most: Float = 0
    for (one, other) in zip(one, other) {
      for (one, other) in zip(one, other) { most = max(most, abs(one - other)) }
    }
    return most
  }

  @Test func theTableHasItsLines() { expectEqual(Self.lines.count, 37) }

  /// The rows of the tables of options: the words in both cells that are set as code.
  private static let options: [(others: [String], ours: [String])] = {
    let page = text(of: repository.appendingPathComponent("docs/command.md"))
    return page.components(separatedBy: "\n| option of ").dropFirst().flatMap { table in
      table.components(separatedBy: "\n\n")[0].split(separator: "\n").dropFirst(2).map { row in
        let cells = row.split(separator: "|").map {
          $0.matches(of: #/`([^`]+)`/#).map { String($0.output.1) }
        }
        return (cells[0], cells[1])
      }
    }
  }()

  @Test func theOptionsOfOthersAndOursExist() throws {
    expectEqual(Self.options.count, 43)
    var manuals: [String: String] = [:]
    let help = try ["play", "record", "convert", "info"].map {
      try run(builtProduct(named: "cuejack").path, ["help", $0]).output
    }.joined()
    for row in Self.options {
      for words in row.others {
        let parts = words.split(separator: " ").map(String.init)
        let (program, option) = (parts[0], parts[1])
        if manuals[program] == nil {
          let commands = [
            "jack_capture": "jack_capture --help2", "ecasound": "man ecasound | col -b",
            "mpv": "mpv --list-options",
          ]
          manuals[program] = try run("bash", ["-c", commands[program] ?? "false"]).output
        }
        // Not every Debian release has jack_capture.
        guard let manual = manuals[program], !manual.isEmpty else { continue }
        expectTrue(manual.contains(option), "\(words)")
      }
      for word in row.ours where word.hasPrefix("--") {
        expectTrue(help.contains(word), "\(word)")
      }
    }
  }

  @Test(arguments: lines) func bothCommandsDoTheSame(line: Line) throws {
    var ours = try outcome(of: line.ours, isLive: line.isLive)
    // On a busy machine the command may not read a file in time, and says that it ran dry. It runs once more then.
    for _ in 0..<3 where ours.result.output.contains("ran dry") {
      ours = try outcome(of: line.ours, isLive: true)
    }
    expectEqual(ours.result.status, 0, "\(ours.result)")
    guard line.isCompared else { return }
    let other = try outcome(of: line.other, isLive: line.isLive)
    expectEqual(other.result.status, 0, "\(other.result)")
    // Two steps of 16 bits: others dither.
    let steps: Float = 2.5 / 32768
    switch line.task {
    case "describe a file":
      for words in ["48000", "16"] {
        expectTrue(
          ours.result.output.contains(words) && other.result.output.contains(words),
          "\(ours.result)")
      }
    case "draw a spectrum":
      expectTrue(Array(ours.files.keys) == ["one.png"] && Array(other.files.keys) == ["one.png"])
    case "record a client", "record inputs", "a file for each second":
      // The numbers that the emitter plays, one after another.
      expectTrue(ours.files.count >= 1 && (ours.files.count > 1) == (other.files.count > 1))
      for files in [ours.files, other.files] {
        for sound in files.values.compactMap({ $0 }) {
          expectTrue(sound.count == 2 && sound[0].count > 24_000)
          expectTrue(sound[0].contains { $0 != 0 })
        }
      }
    case "a live effect":
      expectTrue(ours.heard.count == 2 && other.heard.count == 2)
      expectEqual(ours.heard.first.map { $0.count > 48_000 }, true)
    case "change the speed", "shift the pitch", "resample":
      // Another algorithm gives other samples.
      let lengths = [ours, other].map { $0.files.values.compactMap { $0?.first?.count } }
      try require(lengths.allSatisfy { $0.count == 1 }, "\(lengths)")
      expectTrue(abs(lengths[0][0] - lengths[1][0]) < lengths[1][0] / 100, "\(lengths)")
    default:
      expectEqual(ours.files.keys, other.files.keys, "\(ours.files.keys) \(other.files.keys)")
      for (name, sound) in ours.files {
        let theirs = try require(other.files[name])
        let most = try require(distance(sound ?? [], theirs ?? []), "another length")
        expectTrue(most <= steps, "\(name): \(most)")
      }
      guard ours.files.isEmpty else { return }
      expectTrue(!ours.heard.isEmpty)
      // mpv rounds the times of a part down to the frame before, and ecasound clips what it plays.
      let shift = line.task == "play a part" ? 1 : 0
      let expected = ours.heard.map { $0.dropLast(shift).map { max(-1, min(1, $0)) } }
      // The others leave gaps where they get no processor in time: once more then.
      var heard = other.heard
      var most: Float?
      for _ in 0..<8 {
        most = distance(expected, heard.map { Array($0.dropFirst(shift)) })
        if most.map({ $0 <= steps }) == true { break }
        heard = try outcome(of: line.other, isLive: true).heard
      }
      let counts = [ours.heard, heard].map { $0.map(\.count) }
      expectEqual(
        most.map { $0 <= steps }, true, "\(counts), \(String(describing: most)), \(ours.result)")
    }
  }
}
