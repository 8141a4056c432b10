import Foundation
import TestSupport
import Testing

/// The programs of `Tests/API/Clients` that need no server: the offline renderer, the describer and the
/// converters.
@Suite(.tags(.program), .serialized) struct ClientFileTests {
  /// A program that reads a kind of file at a rate. As C++ it reads the first kind only: the calls are the same.
  private func forEach(
    _ kinds: [Kind], _ name: String,
    _ body: (ClientProgram, SoundFile, Kind, URL) throws -> String?
  ) throws {
    try withTemporaryFolder { folder in
      for kind in kinds {
        for language in ClientProgram.Language.allCases where language == .c || kind == kinds[0] {
          let program = ClientProgram(name, language)
          for rate in rates {
            let wrong = try body(program, Sounds.file(kind, rate), kind, folder)
            expectNil(wrong, "\(program), \(rate) Hz, \(kind.rawValue): \(wrong ?? "")")
          }
        }
      }
    }
  }

  /// Every packet is rendered, at the file's rate and at the device's.
  @Test func anOfflineRendererWritesWhatThePacketsDecodeTo() throws {
    try forEach(Kind.files, "render") { program, file, _, folder in
      let path = folder.appendingPathComponent("rendered.caf").path
      for (rate, volume) in [(file.rate, "1"), (48000, "0.5")] {
        let result = try program.run([file.path, path, "\(rate)", volume])
        let found = try Sounds.sound(of: path)
        guard result.status == 0, result.errors == "",
          result.output == "rendered \(found[0].count) frames\n"
        else { return "\(result)" }
        let expected = file.decoded.scaled(by: Float(volume)!)
        if let wrong = difference(
          found, rate == file.rate ? expected : try atDeviceRate(expected, from: file.rate))
        {
          return "at \(rate) Hz and volume \(volume): \(wrong)"
        }
      }
      return nil
    }
  }

  @Test func aDescriberTellsFormatsAndLengths() throws {
    let formats: [Kind: (type: String, format: String, packet: Int)] = [
      .wave: ("WAVE", "'lpcm', 2 channels, R Hz, flags 0xc, 16 bits, 4 bytes a frame", 1),
      .aiff: ("AIFF", "'lpcm', 2 channels, R Hz, flags 0xe, 16 bits, 4 bytes a frame", 1),
      .caf: ("caff", "'lpcm', 2 channels, R Hz, flags 0x9, 32 bits, 8 bytes a frame", 1),
      .aac: (
        "m4af", "'aac ', 2 channels, R Hz, flags 0x0, 1024 frames a packet, 0 bytes a packet", 1024
      ),
      .mp3: (
        "MPG3", "'.mp3', 2 channels, R Hz, flags 0x0, 1152 frames a packet, 0 bytes a packet", 1152
      ),
      .lossless: (
        "m4af", "'alac', 2 channels, R Hz, flags 0x3, 4096 frames a packet, 0 bytes a packet", 4096
      ),
      .ima4: (
        "caff", "'ima4', 2 channels, R Hz, flags 0x0, 64 frames a packet, 68 bytes a packet", 64
      ),
    ]
    try forEach(Kind.files, "describe") { program, file, kind, _ in
      let result = try program.run([file.path])
      guard result.status == 0, result.errors == "" else { return "\(result)" }
      var lines: [String: String] = [:]
      for line in result.output.split(separator: "\n") {
        let parts = line.split(separator: ":", maxSplits: 1)
        lines[String(parts[0])] = parts[1].trimmingCharacters(in: .whitespaces)
      }
      func number(_ key: String) -> Double { lines[key].flatMap(Double.init) ?? -1 }
      let expected = formats[kind]!
      let sound = file.sound[0].count
      let packets = Int(number("packets"))
      guard lines["type"] == "'\(expected.type)'",
        lines["format"] == expected.format.replacing("R", with: "\(file.rate)"),
        abs(number("seconds") * Double(file.rate) - Double(sound)) < 0.1
      else { return result.output }
      if kind.isPCM {
        let bytes = kind == .caf ? 8 : 4
        return packets == sound && Int(number("bytes")) == sound * bytes ? nil : result.output
      }
      // The table counts the frames that the packets have.
      guard
        let table = lines["frames"]?.wholeMatch(
          of: #/(\d+) valid \+ (\d+) priming \+ (\d+) remainder/#),
        let valid = Int(table.output.1), let priming = Int(table.output.2),
        let remainder = Int(table.output.3), valid == sound,
        packets * expected.packet == valid + priming + remainder
      else { return result.output }
      guard (lines["cookie"] != nil) == [.aac, .lossless].contains(kind) else {
        return result.output
      }
      let part = file.decoded.map { Array($0.dropFirst(priming).prefix(valid)) }
      return difference(part, file.sound)
    }
  }

  /// A WAVE file of floats has the sound of each kind of file, bit for bit, at its rate and at the
  /// device's.
  @Test(arguments: ["convert", "extconvert"])
  func aConverterDecodesTheSound(name: String) throws {
    try forEach(Kind.files, name) { program, file, _, folder in
      let path = folder.appendingPathComponent("converted.wav").path
      for rate in Set([file.rate, 48000]).sorted() {
        let arguments = [file.path, path] + (rate == file.rate ? [] : ["\(rate)"])
        let result = try program.run(arguments)
        guard result.status == 0, result.errors == "" else { return "\(result)" }
        let found = try readWave(path)
        let unit = name == "convert" ? "packets" : "frames"
        guard result.output == "\(found[0].count) \(unit)\n" else { return result.output }
        let expected =
          rate == file.rate ? file.sound : try atDeviceRate(file.sound, from: file.rate)
        if let wrong = difference(found, expected) { return "at \(rate) Hz: \(wrong)" }
      }
      return nil
    }
  }

  /// Linear PCM and Apple Lossless of 16 bits hold the very samples of a file of 16 bits; AAC and IMA4
  /// its sound, frame for frame, with the noise of their codec.
  @Test(arguments: ["convert", "extconvert"])
  func aConverterEncodesTheSound(name: String) throws {
    try forEach([.wave], name) { program, file, _, folder in
      for (ending, decibels) in [("aif", nil), ("caf", nil), ("m4a", 20.0), ("aifc", 20)] {
        let path = folder.appendingPathComponent("encoded.\(ending)").path
        let result = try program.run([file.path, path])
        guard result.status == 0, result.errors == "" else { return "\(result)" }
        var found = try Sounds.sound(of: path)
        // AIFC has no packet table: the last packet is whole.
        let rest = found[0].count - file.sound[0].count
        if ending == "aifc", (0..<64).contains(rest) {
          found = found.prefix(frames: file.sound[0].count)
        }
        guard let decibels else {
          if let wrong = difference(found, file.sound) { return "\(ending): \(wrong)" }
          continue
        }
        let ratio = signalToNoise(found, file.sound)
        if found[0].count != file.sound[0].count || ratio < decibels {
          return "\(ending): \(found[0].count) frames of \(file.sound[0].count), \(ratio) dB"
        }
      }
      return nil
    }
  }

  @Test func everyProgramCompilesInBothLanguages() throws {
    let programs = ClientProgram.all
    expectTrue(Set(programs.map(\.name)).count >= 12 && programs.count >= 23)
    for program in programs {
      let binary = try ProgramBuilds.shared.get().build(program)
      expectTrue(FileManager.default.isExecutableFile(atPath: binary.path), "\(program)")
    }
  }

  /// Errors of the library reach the programs as they name them.
  @Test func whatCannotBeDoneIsSaid() throws {
    try withTemporaryFolder { folder in
      let note = folder.appendingPathComponent("note.txt").path
      try Data("This is not a sound file, though it is long enough to be one.\n".utf8).write(
        to: URL(fileURLWithPath: note))
      func expect(_ name: String, _ arguments: [String], _ errors: String) throws {
        for language in ClientProgram.Language.allCases {
          let result = try ClientProgram(name, language).run(arguments)
          expectTrue(result.status == 1 && result.errors == errors, "\(name): \(result)")
        }
      }
      try expect("player", [note], "player: opening the file failed ('typ?')\n")
      try expect("player", [note + "."], "player: opening the file failed (-43)\n")
      try expect("describe", [note], "describe: \(note) cannot be opened: 1954115647 'typ?'\n")
      try expect("render", [note, "a.caf"], "render: AudioFileOpenURL: 1954115647 'typ?'\n")
      try expect("mixer", [note, "0"], "mixer: \(note): error 1954115647\n")
      try expect("push", [note], "push: ExtAudioFileOpenURL(url, &file): 1954115647\n")
      try expect("engine", [note], "engine: AudioFileOpenURL returned 1954115647\n")
    }
  }
}
