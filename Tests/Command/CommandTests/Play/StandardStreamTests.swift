import Foundation
import TestSupport
import Testing

/// Sound from standard input and to standard output.
@Suite(.serialized) struct StandardStreamTests {
  /// Runs a line of shell with `cuejack` as $0 and further words.
  private func shell(_ line: String, _ words: [String], in folder: URL) throws -> CommandResult {
    try run(
      "bash", ["-c", "set -o pipefail; \(line)", builtProduct(named: "cuejack").path] + words,
      environment: withoutServer, folder: folder)
  }

  @Test func everyKindOfFileComesThroughAPipe() throws {
    try withTemporaryFolder { folder in
      let wave = try WaveFile("a.wav", in: folder, frames: 24_100)
      let out = folder.appendingPathComponent("out.wav")
      for (name, arguments) in [
        ("b.au", []), ("b.flac", []), ("b.ogg", ["-c:a", "libvorbis"]), ("b.mp3", []),
        ("b.opus", []), ("b.aiff", []), ("b.wav", ["-c:a", "copy"]),
      ] {
        let file = folder.appendingPathComponent(name).path
        let made = try run("ffmpeg", ["-v", "error", "-i", wave.path] + arguments + [file])
        try #require(made.status == 0, "\(made.errors)")
        let expected = try converted(file, in: folder)
        let result = try shell(
          "cat $1 | $0 play - --render out.wav --format f32 --force", [file], in: folder)
        #expect(result.status == 0 && result.errors == "", "\(name): \(result)")
        #expect(difference(try channels(of: out), expected) == nil, "\(name)")
      }
      // Programs that write to a pipe do not know how long the sound will be.
      let piped = try shell(
        "ffmpeg -v error -i $1 -f wav - | $0 play - --render out.wav --format f32 --force",
        [wave.path], in: folder)
      #expect(piped.status == 0, "\(piped)")
      #expect(difference(try channels(of: out), wave.samples) == nil)
      let row = try shell(
        "sox $1 -t wav - | $0 play -q $1 - --render out.wav --format f32 --force", [wave.path],
        in: folder)
      #expect(row.status == 0, "\(row)")
      #expect(difference(try channels(of: out), joined([wave.samples, wave.samples])) == nil)
      let text = try shell("echo nothing but text and more | $0 play -", [], in: folder)
      #expect(text.status == 1, "\(text)")
      #expect(text.errors.hasPrefix("cuejack: standard input: this is not a sound file"), "\(text)")
      let nothing = try shell("$0 play - </dev/null", [], in: folder)
      #expect(nothing.status == 1 && nothing.errors.contains("standard input: "), "\(nothing)")
    }
  }

  @Test func samplesWithoutAHeaderHaveTheFormatOfRaw() throws {
    try withTemporaryFolder { folder in
      let wave = try WaveFile("a.wav", in: folder, coding: .s24, rate: 44_100, frames: 4801)
      let out = folder.appendingPathComponent("out.wav")
      for (coding, raw) in [
        ("s24le", "s24"), ("s24be", "s24be"), ("f32le", "f32"), ("f64be", "f64be"),
        ("s32be", "s32be"),
      ] {
        let result = try shell(
          "ffmpeg -v error -i $1 -f \(coding) - "
            + "| $0 play - --raw \(raw),44.1k,2 --render out.wav --format f32 --force",
          [wave.path], in: folder)
        #expect(result.status == 0 && result.errors == "", "\(raw): \(result)")
        #expect(difference(try channels(of: out), wave.samples) == nil, "\(raw)")
      }
      let bytes = try shell(
        "printf '\\200\\300\\000\\177' | $0 play - --raw u8,8000,1 --render out.wav --format f32 --force",
        [], in: folder)
      #expect(bytes.status == 0, "\(bytes)")
      #expect(try channels(of: out) == [[0, 0.5, -1, -1 / 128]])
    }
  }

  @Test func aRenderingGoesToStandardOutput() throws {
    try withTemporaryFolder { folder in
      let wave = try WaveFile("a.wav", in: folder, frames: 4800)
      let result = try shell("$0 play $1 --render - >out.wav", [wave.path], in: folder)
      #expect(result.status == 0 && result.output == "", "\(result)")
      #expect(result.errors == "standard output: wrote 4800 frames\n", "\(result)")
      let out = folder.appendingPathComponent("out.wav").path
      #expect(difference(try converted(out, in: folder), wave.samples) == nil)
      let chain = try shell(
        "$0 play $1 --render - --to flac 2>/dev/null | $0 play - --gain 0.5 --render - --format f32"
          + " 2>/dev/null >out.wav", [wave.path], in: folder)
      #expect(chain.status == 0, "\(chain)")
      #expect(
        difference(
          try channels(of: URL(fileURLWithPath: out)), wave.samples.map { $0.map { $0 * 0.5 } })
          == nil)
      // A reader that goes away.
      let long = try WaveFile("long.wav", in: folder, frames: 480_000)
      let cut = try shell("$0 play $1 --render - | head -c 100 >/dev/null", [long.path], in: folder)
      #expect(cut.status == 1 && cut.errors.contains("standard output: "), "\(cut)")
    }
  }

  @Test func standardInputIsHeardOnAServer() throws {
    try withTemporaryFolder { folder in
      let wave = try WaveFile("a.wav", in: folder, frames: 4800)
      let server = try JackDaemon(period: 1024)
      let result = try shell(
        "cat $1 | $0 play - --server $2", [wave.path, server.name], in: folder)
      #expect(result.status == 0 && result.errors == "", "\(result)")
      #expect(result.output.contains("standard input: played 4800 frames"), "\(result)")
    }
  }
}
