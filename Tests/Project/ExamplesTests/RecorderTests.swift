import Foundation
import TestSupport
import Testing

/// The example recorders, built like their users build them, must write their input.
@Suite(.tags(.server, .program), .serialized) struct RecorderTests {
  enum Language: String, CaseIterable, Sendable {
    case c = "recorder"
    case swift = "recorder-swift"
  }

  private func withRecorder(_ language: Language, _ body: (String) throws -> Void) throws {
    if language == .swift { return try body(builtProduct(named: language.rawValue).path) }
    try withExample("Recorder", program: "recorder", body)
  }

  /// 16-bit AIFF, and CAF with AAC and its cookie: both have the recorded length.
  @Test(arguments: Language.allCases)
  func whatIsHeardIsInTheFile(language: Language) throws {
    try withTemporaryFolder { folder in
      try withRecorder(language) { recorder in
        let server = try JackDaemon(period: 1024)
        for name in ["a.aiff", "a.caf"] {
          let file = folder.appendingPathComponent(name).path
          let result = try run(
            recorder, [file, "0.7"],
            environment: ["JACK_DEFAULT_SERVER": server.name, "LD_LIBRARY_PATH": ""])
          expectTrue(result.status == 0 && !result.errors.contains("recorder"), "\(result)")
          let packets = try require(
            result.output.firstMatch(of: #/recorded (\d+) packets/#).flatMap { Int($0.output.1) })
          let probe = try run(
            "ffprobe",
            ["-v", "error", "-count_packets", "-show_entries"]
              + [
                "stream=codec_name,sample_rate,channels,nb_read_packets,duration_ts", "-of", "json",
              ]
              + [file])
          expectEqual(probe.errors, "")
          if name == "a.aiff" {
            expectTrue(result.output.hasPrefix("\(file): 'lpcm', 2 channels, 48000 Hz\n"))
            expectTrue(packets >= 33_600)
            for words in ["\"pcm_s16be\"", "\"48000\"", "\"duration_ts\": \(packets)"] {
              expectTrue(probe.output.contains(words), "\(words) in \(probe.output)")
            }
          } else {
            expectTrue(result.output.hasPrefix("\(file): 'aac ', 2 channels, 48000 Hz\n"))
            expectTrue(packets >= 33_600 / 1024)
            for words in ["\"aac\"", "\"48000\"", "\"nb_read_packets\": \"\(packets)\""] {
              expectTrue(probe.output.contains(words), "\(words) in \(probe.output)")
            }
            // The file contains the cookie, so it can be decoded.
            let decoded = try run("ffmpeg", ["-v", "error", "-i", file, "-f", "null", "-"])
            expectTrue(decoded.status == 0 && decoded.errors == "", "\(decoded)")
          }
        }
      }
    }
  }

  /// Control-C ends the recording with a complete file.
  @Test(arguments: Language.allCases) func controlCEndsIt(language: Language) throws {
    try withTemporaryFolder { folder in
      try withRecorder(language) { recorder in
        let server = try JackDaemon(period: 1024)
        let file = folder.appendingPathComponent("a.aiff").path
        let output = folder.appendingPathComponent("output")
        let child = try Child(
          recorder, [file],
          environment: ProcessInfo.processInfo.environment.merging(
            ["JACK_DEFAULT_SERVER": server.name, "LD_LIBRARY_PATH": ""]) { $1 }, output: output)
        let end = Date(timeIntervalSinceNow: 60)
        func size() -> Int {
          (try? FileManager.default.attributesOfItem(atPath: file)[.size] as? Int) ?? 0
        }
        while size() < 90_000, Date() < end { usleep(10_000) }
        child.send(signal: SIGINT)
        expectEqual(child.wait(seconds: 60), 0, "\(text(of: output))")
        let packets = try require(
          text(of: output).firstMatch(of: #/recorded (\d+) packets/#).flatMap { Int($0.output.1) })
        let probe = try run(
          "ffprobe",
          ["-v", "error", "-show_entries", "stream=duration_ts", "-of", "csv=p=0", file])
        expectTrue(probe.output == "\(packets)\n" && probe.errors == "", "\(probe)")
      }
    }
  }

  @Test(arguments: Language.allCases) func whatCannotBeRecordedIsSaid(language: Language) throws {
    try withRecorder(language) { recorder in
      let none = try run(recorder, [])
      expectTrue(
        none.status == 2 && none.errors.hasPrefix("usage: \(language.rawValue) FILE"), "\(none)")
      let text = try run(recorder, ["a.txt"])
      expectTrue(text.status == 1 && text.errors.contains("has to end in .aiff or .caf"), "\(text)")
    }
  }
}
