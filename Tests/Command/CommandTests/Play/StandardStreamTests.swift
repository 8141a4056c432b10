import Foundation
import TestSupport
import Testing

/// Sound from standard input and to standard output.
@Suite(.tags(.server, .program), .serialized) struct StandardStreamTests {
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
        try require(made.status == 0, "\(made.errors)")
        let expected = try converted(file, in: folder)
        let result = try shell(
          "cat $1 | $0 play - --render out.wav --format f32 --force", [file], in: folder)
        expectTrue(result.status == 0 && result.errors == "", "\(name): \(result)")
        expectNil(difference(try channels(of: out), expected), "\(name)")
      }
      // Programs that write to a pipe do not know how long the sound will be.
      let piped = try shell(
        "ffmpeg -v error -i $1 -f wav - | $0 play - --render out.wav --format f32 --force",
        [wave.path], in: folder)
      expectEqual(piped.status, 0, "\(piped)")
      expectNil(difference(try channels(of: out), wave.samples))
      let row = try shell(
        "sox $1 -t wav - | $0 play -q $1 - --render out.wav --format f32 --force", [wave.path],
        in: folder)
      expectEqual(row.status, 0, "\(row)")
      expectNil(difference(try channels(of: out), joined([wave.samples, wave.samples])))
      let text = try shell("echo nothing but text and more | $0 play -", [], in: folder)
      expectEqual(text.status, 1, "\(text)")
      expectTrue(
        text.errors.hasPrefix("cuejack: standard input: this is not a sound file"), "\(text)")
      let nothing = try shell("$0 play - </dev/null", [], in: folder)
      expectTrue(nothing.status == 1 && nothing.errors.contains("standard input: "), "\(nothing)")
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
        expectTrue(result.status == 0 && result.errors == "", "\(raw): \(result)")
        expectNil(difference(try channels(of: out), wave.samples), "\(raw)")
      }
      let bytes = try shell(
        "printf '\\200\\300\\000\\177' | $0 play - --raw u8,8000,1 --render out.wav --format f32 --force",
        [], in: folder)
      expectEqual(bytes.status, 0, "\(bytes)")
      try expectEqual(channels(of: out), [[0, 0.5, -1, -1 / 128]])
    }
  }

  @Test func aRenderingGoesToStandardOutput() throws {
    try withTemporaryFolder { folder in
      let wave = try WaveFile("a.wav", in: folder, frames: 4800)
      let result = try shell("$0 play $1 --render - >out.wav", [wave.path], in: folder)
      expectTrue(result.status == 0 && result.output == "", "\(result)")
      expectEqual(result.errors, "standard output: wrote 4800 frames\n", "\(result)")
      let out = folder.appendingPathComponent("out.wav").path
      expectNil(difference(try converted(out, in: folder), wave.samples))
      let chain = try shell(
        "$0 play $1 --render - --to flac 2>/dev/null | $0 play - --gain 0.5 --render - --format f32"
          + " 2>/dev/null >out.wav", [wave.path], in: folder)
      expectEqual(chain.status, 0, "\(chain)")
      expectNil(
        difference(
          try channels(of: URL(fileURLWithPath: out)), wave.samples.map { $0.map { $0 * 0.5 } }))
      // A reader that goes away.
      let long = try WaveFile("long.wav", in: folder, frames: 480_000)
      let cut = try shell("$0 play $1 --render - | head -c 100 >/dev/null", [long.path], in: folder)
      expectTrue(cut.status == 1 && cut.errors.contains("standard output: "), "\(cut)")
    }
  }

  @Test func standardInputIsHeardOnAServer() throws {
    try withTemporaryFolder { folder in
      let wave = try WaveFile("a.wav", in: folder, frames: 4800)
      let server = try JackDaemon(period: 1024)
      let result = try shell(
        "cat $1 | $0 play - --server $2", [wave.path, server.name], in: folder)
      expectTrue(result.status == 0 && result.errors == "", "\(result)")
      expectTrue(result.output.contains("standard input: played 4800 frames"), "\(result)")
    }
  }

  /// The command starts to play before the pipe ends: the shell writes the rest only after the command has said
  /// that it plays.
  @Test(arguments: ["wav", "flac", "mp3", "aac", "ogg", "opus", "caf", "raw"])
  func aPipePlaysWhileItArrives(kind: String) throws {
    try withTemporaryFolder { folder in
      let wave = try WaveFile("a.wav", in: folder, rate: 44_100, frames: 44_100 * 4)
      let file = folder.path + "/b.\(kind)"
      let arguments =
        switch kind {
        case "raw": ["-f", "s16le"]
        case "ogg": ["-c:a", "libvorbis"]
        default: [String]()
        }
      let made = try run("ffmpeg", ["-v", "error", "-i", wave.path] + arguments + [file])
      try require(made.status == 0, "\(made)")
      let server = try JackDaemon(period: 1024)
      let raw = kind == "raw" ? "--raw s16,44100,2" : ""
      // `grep` ends with the first event, which says that the players are ready.
      let result = try shell(
        """
        half=$(($(stat -c %s $1) / 2)); mkfifo ready
        { head -c $half $1; cat ready >/dev/null; tail -c +$((half + 1)) $1; } \
          | $0 play - \(raw) --json --server $2 | tee events | { grep -m1 started >ready; cat >/dev/null; }
        """, [file, server.name], in: folder)
      expectEqual(result.status, 0, "\(result)")
      let events = text(of: folder.appendingPathComponent("events"))
      let frames = events.firstMatch(of: #/"frames":(\d+)/#).flatMap { Double($0.output.1) } ?? 0
      expectTrue(abs(frames / Double(server.rate) - 4) < 0.1, "\(events)")
    }
  }

  /// Pipes by any name are files, for input and output.
  @Test func pipesThatHaveNamesAreFiles() throws {
    try withTemporaryFolder { folder in
      let wave = try WaveFile("a.wav", in: folder, frames: 24_100)
      let out = folder.appendingPathComponent("out.wav")
      for line in [
        "mkfifo in; cat $1 >in & $0 convert --force in out.wav",
        "cat $1 | $0 convert --force /dev/stdin out.wav", "cat $1 | $0 convert --force - out.wav",
        "$0 convert --force <(cat $1) out.wav", "$0 convert --force /dev/stdin out.wav <$1",
        "$0 play <(cat $1) --render out.wav --force", "$0 convert $1 - >out.wav",
        "mkfifo o; cat o >out.wav & $0 convert $1 o && wait",
        "$0 convert $1 - --to flac | $0 convert - - --to au --format s24 | $0 convert - - >out.wav",
      ] {
        try? FileManager.default.removeItem(at: out)
        let result = try shell(line, [wave.path], in: folder)
        expectEqual(result.status, 0, "\(line): \(result)")
        let decoded = try run(
          "sox", ["out.wav", "-t", "wav", "-e", "float", "-b", "32", "whole.wav"], folder: folder)
        expectEqual(decoded.status, 0, "\(line): \(decoded)")
        let whole = folder.appendingPathComponent("whole.wav")
        expectNil(difference(try channels(of: whole), wave.samples), "\(line)")
      }
      // The command refuses text after one reading of the pipe. A second opening of it would never return.
      let text = try shell(
        "mkfifo t; echo text >t & timeout 60 $0 convert --force t out.wav", [], in: folder)
      expectTrue(text.status == 1 && text.errors.contains("cuejack: t: "), "\(text)")
      let stopped = try shell(
        "mkfifo w; timeout --preserve-status -s INT 0.7 $0 convert $1 w", [wave.path], in: folder)
      expectTrue(stopped.status == 130 && stopped.errors.isEmpty, "\(stopped)")
      let several = try shell("$0 convert $1 $1 - --to flac", [wave.path], in: folder)
      expectEqual(several.status, 64, "\(several)")
    }
  }

  @Test func aRecordingGoesIntoAPipe() throws {
    try withTemporaryFolder { folder in
      let server = try JackDaemon(period: 1024)
      let emitter = try Emitter(on: server)
      func record(_ line: String) throws -> CommandResult {
        try shell(
          line, ["--server", server.name, "--connect", "emitter:out_1,emitter:out_2"], in: folder)
      }
      for end in ["wav", "caf", "flac", "ogg", "aac", "aiff"] {
        let result = try record(
          "$0 record - --to \(end) --seconds 12000f $* | cat >out.\(end); "
            + "ffmpeg -v error -i out.\(end) -f s16le -ac 2 - | wc -c")
        let errors = result.errors
        expectTrue(
          result.status == 0 && errors.contains("standard output: recorded 12000 frames"),
          "\(result)")
        let frames = (Int(result.output.trimmingCharacters(in: .whitespacesAndNewlines)) ?? 0) / 4
        expectTrue(
          (12_000...(end == "aac" ? 15_000 : 12_200)).contains(frames), "\(end): \(frames)")
      }
      let head = try Data(contentsOf: folder.appendingPathComponent("out.wav"))
      expectEqual(Array(head[4..<8]), [0xFF, 0xFF, 0xFF, 0xFF])
      expectTrue(head.range(of: Data("bext".utf8)) != nil)
      let named = try record(
        "mkfifo o.m4a; cat o.m4a >whole.m4a & $0 record o.m4a --seconds 12000f $* && wait")
      expectEqual(named.status, 0, "\(named)")
      try expectEqual(shownFrames(folder.appendingPathComponent("whole.m4a").path), 12_000)
      // The reader goes away.
      let short = try record(
        "set +o pipefail; ($0 record - $*; echo status $? >&2) | head -c 100000 | wc -c")
      expectTrue(
        short.output.contains("100000") && short.errors.contains("status 1")
          && short.errors.contains("standard output: the file cannot be written"), "\(short)")
      for usage in ["--split 1h", "--json"] {
        try expectEqual(record("$0 record - \(usage) $*").status, 64, "\(usage)")
      }
      try expectEqual(record("$0 record a.wav --to flac $*").status, 64)
      withExtendedLifetime(emitter) {}
    }
  }

  /// A terminal gets no sound, and a format that WAV has not is chosen with another kind of file.
  @Test func aTerminalGetsNoSound() throws {
    try withTemporaryFolder { folder in
      let wave = try WaveFile("a.wav", in: folder, frames: 480)
      for words in [
        ["convert", wave.path, "-"], ["record", "-", "--to", "flac"],
        ["play", wave.path, "--render", "-"],
      ] {
        let terminal = try PseudoTerminal(builtProduct(named: "cuejack").path, words)
        expectEqual(terminal.wait(seconds: 60), 64, "\(words)")
        expectTrue(terminal.text.contains("sound is not for a terminal"), "\(terminal.text)")
        expectTrue(!terminal.text.contains("RIFF"))
      }
      for words in ["convert $1 -", "play $1 --render -"] {
        let result = try shell("$0 \(words) --format opus | wc -c", [wave.path], in: folder)
        expectTrue(result.status == 1 && result.output == "0\n", "\(result)")
        expectTrue(result.errors.contains("cannot be written\ncuejack: --to chooses"), "\(result)")
      }
    }
  }

  /// The headers of files in a pipe leave sizes open, and ffmpeg decodes these files to their ends.
  @Test func everyKindOfFileGoesIntoAPipe() throws {
    try withTemporaryFolder { folder in
      let wave = try WaveFile("a.wav", in: folder, frames: 24_100)
      for (end, extra) in [
        ("wav", 0), ("caf", 0), ("au", 0), ("flac", 0), ("ogg", 200), ("opus", 0), ("aac", 3000),
        ("mp3", 3000), ("aiff", 0), ("w64", 0), ("m4a", 2000),
      ] {
        let result = try shell(
          "$0 convert $1 - --to \(end) | cat >out.\(end); ffmpeg -v error -i out.\(end) -f s16le -ac 2 - | wc -c",
          [wave.path], in: folder)
        expectEqual(result.status, 0, "\(end): \(result)")
        let frames = (Int(result.output.trimmingCharacters(in: .whitespacesAndNewlines)) ?? 0) / 4
        expectTrue((24_100...24_100 + extra).contains(frames), "\(end): \(frames)")
      }
      let head = try Data(contentsOf: folder.appendingPathComponent("out.wav")).prefix(8)
      expectEqual(Array(head.suffix(4)), [0xFF, 0xFF, 0xFF, 0xFF])
    }
  }
}
