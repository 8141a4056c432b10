import Foundation
import TestSupport
import Testing

/// The example converter, compared with other converters.
@Suite(.tags(.server, .program)) struct ConvertTests {
  /// Runs another program.
  @discardableResult
  private func tool(_ name: String, _ arguments: String...) throws -> String {
    let result = try run("/usr/bin/env", [name] + arguments)
    try require(result.status == 0, "\(name): \(result.errors)")
    return result.output
  }

  /// Returns the samples of a file, decoded by ffmpeg.
  private func samples(of file: URL, in folder: URL) throws -> [Float] {
    let raw = folder.appendingPathComponent("\(UUID().uuidString).raw")
    try tool("ffmpeg", "-v", "error", "-i", file.path, "-f", "f32le", "-c:a", "pcm_f32le", raw.path)
    let data = try Data(contentsOf: raw)
    return data.withUnsafeBytes { Array($0.bindMemory(to: Float.self)) }
  }

  private func ratio(_ sound: [Float], _ noisy: [Float]) -> Double {
    var signal = 0.0
    var noise = 0.0
    for (a, b) in zip(sound, noisy) {
      signal += Double(a) * Double(a)
      noise += (Double(a) - Double(b)) * (Double(a) - Double(b))
    }
    return noise == 0 ? .infinity : 10 * log10(signal / noise)
  }

  @Test func filesAreWhatOthersMake() throws {
    try withExample("Convert", program: "convert") { convert in
      try withTemporaryFolder { folder in
        func file(_ name: String) -> URL { folder.appendingPathComponent(name) }
        func convertFile(_ arguments: String...) throws {
          let result = try run(convert, arguments)
          expectTrue(result.status == 0 && result.errors == "", "\(arguments): \(result.errors)")
        }
        let source = file("source.wav")
        try tool(
          "sox", "-D", "-n", "-r", "44100", "-b", "24", "-c", "2", source.path, "synth", "1.5",
          "sine", "300-9000", "pinknoise", "gain", "-12")
        let sound = try samples(of: source, in: folder)

        // At the same sample rate, the samples are equal bit for bit.
        for (name, format) in [
          ("a.aiff", "I24"), ("b.caf", "LEI32"), ("c.wav", "F32"), ("d.caf", "BEF64"),
        ] {
          try convertFile("-d", format, source.path, file(name).path)
          try expectEqual(samples(of: file(name), in: folder), sound, "\(name)")
          try convertFile("-d", "LEI24", file(name).path, file("back.wav").path)
          try expectEqual(
            Data(contentsOf: file("back.wav")).suffix(300_000),
            Data(contentsOf: source).suffix(300_000), "\(name)")
        }
        // Fewer bits, another sample rate or other channels: like sox.
        try convertFile("-d", "LEF32@48000", source.path, file("rate.wav").path)
        try tool(
          "sox", "-D", source.path, "-e", "floating-point", "-b", "32", file("sox.wav").path,
          "rate", "-v", "48000")
        let rate = try samples(of: file("rate.wav"), in: folder)
        let theirs = try samples(of: file("sox.wav"), in: folder)
        expectTrue(rate.count == 2 * 72000 && theirs.count == rate.count)
        expectTrue(ratio(theirs, rate) > 80, "\(ratio(theirs, rate)) dB")
        try convertFile("-c", "1", "-d", "F32", source.path, file("mono.wav").path)
        try tool(
          "sox", "-D", source.path, "-e", "floating-point", "-b", "32", file("one.wav").path,
          "remix", "-")
        let mono = try samples(of: file("mono.wav"), in: folder)
        expectTrue(ratio(try samples(of: file("one.wav"), in: folder), mono) > 120)
        expectEqual(mono.count, sound.count / 2)

        // Packets: lossless ones are equal bit for bit, others have the same length and alignment.
        for name in ["e.m4a", "f.flac"] {
          try convertFile(
            "-d", name.hasSuffix("flac") ? "flac" : "alac", source.path, file(name).path)
          try expectEqual(samples(of: file(name), in: folder), sound, "\(name)")
          try convertFile("-d", "F32", file(name).path, file("back.wav").path)
          try expectEqual(samples(of: file("back.wav"), in: folder), sound, "\(name)")
        }
        try convertFile("-d", "aac", "-b", "192000", source.path, file("g.m4a").path)
        try convertFile("-d", "F32", file("g.m4a").path, file("back.wav").path)
        let back = try samples(of: file("back.wav"), in: folder)
        expectTrue(back.count == sound.count && ratio(sound, back) > 12, "\(ratio(sound, back)) dB")
      }
    }
  }

  @Test func whatCannotBeConvertedIsSaid() throws {
    try withExample("Convert", program: "convert") { convert in
      try withTemporaryFolder { folder in
        let note = folder.appendingPathComponent("note.wav")
        try Data("This is not a sound file, though it is long enough to be one.\n".utf8).write(
          to: note)
        func expect(_ arguments: [String], status: Int32, errors: String) throws {
          let result = try run(convert, arguments)
          let told = result.errors.split(separator: "\n").last ?? ""
          expectTrue(result.status == status && told.hasPrefix(errors), "\(result)")
        }
        let out = folder.appendingPathComponent("out.wav").path
        try expect([note.path], status: 2, errors: "usage: convert ")
        try expect([note.path, folder.path + "/a.xyz"], status: 2, errors: "usage: convert ")
        try expect(
          ["-d", "I12", note.path, out], status: 1, errors: "convert: ExtAudioFileOpenURL")
        try expect(["-x", "1", note.path, out], status: 2, errors: "usage: convert ")
        try expect(
          [folder.path + "/missing", out], status: 1, errors: "convert: ExtAudioFileOpenURL: -43")
        try expect([note.path, out], status: 1, errors: "convert: ExtAudioFileOpenURL: 'typ?'")
        expectTrue(!FileManager.default.fileExists(atPath: out))
      }
    }
  }
}
