import Foundation
import TestSupport
import Testing

/// The programs of `Tests/API/Clients` that record: what is played to them is in their file, or heard,
/// sample by sample.
@Suite(.tags(.server, .program), .serialized) struct ClientRecordingTests {
  /// A program, and the file that it records to.
  struct Case: Sendable, CustomStringConvertible {
    let program: ClientProgram
    let file: String
    var rate = 48000
    var description: String { "\(program), \(rate) Hz, \(file)" }
  }

  /// Plays a file to a program, from before its first frame to after its last, and ends the program.
  static func feed(
    _ program: ClientProgram, _ arguments: [String], _ sound: String, on lane: Lane,
    in folder: URL
  ) throws -> CommandResult {
    let name = "\(program.name)-\(lane.number)"
    let output = folder.appendingPathComponent("\(UUID().uuidString).output")
    let errors = folder.appendingPathComponent("\(UUID().uuidString).errors")
    let child = try Child(
      program.built(as: name).path, arguments,
      environment: playEnvironment(lane.server.environment).merging(["LD_LIBRARY_PATH": ""]) { $1 },
      output: output, errors: errors)
    try wait(for: "\(program) to record") {
      text(of: output).contains("recording\n") || child.wait(seconds: 0) != nil
    }
    let played = try play(
      [sound, "--name", "source-\(lane.number)"] + ["--server", lane.server.name]
        + ["--connect", "\(name):in_1,\(name):in_2"],
      environment: lane.server.environment)
    guard played.status == 0 else { throw SupportError("\(played)\(text(of: errors))") }
    child.send(signal: SIGINT)
    guard let status = child.wait(seconds: 60) else { throw SupportError("it does not end") }
    return CommandResult(status: status, output: text(of: output), errors: text(of: errors))
  }

  /// WAVE of 16 bits, AIFF of 24 and Apple Lossless hold the very samples. AAC, IMA4 and files at
  /// another rate hold the sound, at one place from its first frame to its last, with the noise of the
  /// conversion.
  @Test func theTypeByTheExtensionHoldsTheSound() throws {
    try withTemporaryFolder { folder in
      let sound = Sounds.samples(rate: 48000)
      let source = folder.appendingPathComponent("source.wav").path
      try writeWave(sound, to: source)
      var cases = ["a.wav", "a.aif", "a.caf", "a.m4a", "a.aifc"].map {
        Case(program: ClientProgram("recorder"), file: $0)
      }
      cases += ["b.aif", "b.m4a"].map { Case(program: ClientProgram("recorder", .cxx), file: $0) }
      cases += ["c.wav", "c.caf", "c.m4a", "c.aifc"].map {
        Case(program: ClientProgram("recorder"), file: $0, rate: 44100)
      }
      let wrong = try onServers(cases) { item, lane in
        let path = folder.appendingPathComponent(item.file).path
        let result = try Self.feed(
          item.program, [path, "\(item.rate)"], source, on: lane, in: folder)
        guard result.status == 0, result.errors == "" else { return "\(result)" }
        // Frames of a packet, and how many of all packets may be priming and remainder.
        let (packet, rest) =
          ["m4a": (1024, 3072), "aifc": (64, 63), "caf": (4096, 4095)][
            URL(fileURLWithPath: path).pathExtension] ?? (1, 0)
        let told =
          result.output.firstMatch(of: #/(\d+) packets/#).flatMap { Int($0.output.1) } ?? -1
        let frames = try Sounds.sound(of: path)[0].count
        guard (told * packet - rest...told * packet).contains(frames) else {
          return "it says \(told) packets, the file has \(frames) frames"
        }
        let recorded = try Sounds.sound(of: path, rate: 48000)
        if item.rate == 48000, [1, 4096].contains(packet) {
          return difference(surrounded: recorded, sound)
        }
        guard let start = Self.start(of: sound, in: recorded) else { return "no such sound" }
        let part = recorded.map { Array($0.dropFirst(start).prefix(sound[0].count)) }
        guard part[0].count == sound[0].count else {
          return "the sound begins at \(start) of \(recorded[0].count) frames: its end is missing"
        }
        // Both codecs are better than that for two tones; a frame too early or too late is worse.
        let ratio = signalToNoise(part, sound)
        return ratio > 20 ? nil : "from frame \(start) on, only \(ratio) dB above the noise"
      }
      expectTrue(wrong.isEmpty, "\(wrong.joined(separator: "\n"))")
    }
  }

  /// Returns the frame at which a sound begins that a codec has changed: where it is most like the
  /// original. Only on both channels together is one place the likeliest, because tones repeat.
  private static func start(of sound: [[Float]], in recorded: [[Float]]) -> Int? {
    guard let loud = recorded[0].firstIndex(where: { abs($0) > 0.1 }) else { return nil }
    let frames = 4000
    func likeness(_ start: Int) -> Double {
      zip(recorded, sound).reduce(0) { sum, pair in
        (0..<frames).reduce(sum) { $0 + Double(pair.0[start + $1] * pair.1[$1]) }
      }
    }
    let candidates = max(0, loud - 200)..<min(loud + 200, recorded[0].count - frames)
    return candidates.map { ($0, likeness($0)) }.max { $0.1 < $1.1 }?.0
  }

  @Test func whatIsRecordedIsHeardThroughASecondQueue() throws {
    try withTemporaryFolder { folder in
      let sound = Sounds.samples(rate: 48000)
      let source = folder.appendingPathComponent("source.wav").path
      try writeWave(sound, to: source)
      let cases = ClientProgram.Language.allCases.map {
        Case(program: ClientProgram("thru", $0), file: "")
      }
      let wrong = try onServers(cases) { item, lane in
        let card = try lane.card()
        let result = try Self.feed(item.program, [], source, on: lane, in: folder)
        let recording = try card.end()
        guard result.status == 0, result.errors == "",
          result.output.hasSuffix("dropped 0 buffers\n")
        else { return "\(result)" }
        return difference(heard: recording, sound)
      }
      expectTrue(wrong.isEmpty, "\(wrong.joined(separator: "\n"))")
    }
  }
}
