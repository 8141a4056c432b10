import CTestSupport
import Foundation
import TestSupport
import Testing

/// Recordings that end on silence and repeat, commands for files, and a file for each channel.
@Suite(.tags(.server, .program), .serialized) struct TakeTests {
  @Test func everySoundHasAFileAndCommandsAreRunForIt() throws {
    try withTemporaryFolder { folder in
      let server = try JackDaemon(period: 1024)
      let sound = try WaveFile("sound.wav", in: folder, coding: .s24, frames: 24_000)
      let script = folder.appendingPathComponent("a script.sh")
      let log = folder.appendingPathComponent("log").path
      try Data("#!/bin/sh\necho \"$@\" >>'\(log)'\n".utf8).write(to: script)
      try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: script.path)
      let take = folder.appendingPathComponent("take.wav").path
      let recorder = try Playing(
        "record",
        [
          take, "--connect", "capture-nothing", "--server", server.name,
        ], in: folder)
      expectEqual(try recorder.result().status, 1)
      // The second sound comes a second after the first one.
      let player = try Playing(
        [
          "\(sound.path)@at=+3", "\(sound.path)@at=+5", "--no-connect", "--name", "p", "--server",
          server.name,
        ], in: folder)
      try player.wait(for: "p-2:out_2")
      let listening = try Playing(
        "record",
        [
          take, "--connect", "p,p-2", "--channels", "2", "--start-on-sound", "-50dB",
          "--stop-on-silence", "-50dB,250ms", "--again", "--on-open", "'\(script.path)' open",
          "--on-close", "\"\(script.path)\" close x={}", "--server", server.name,
        ], in: folder)
      try listening.wait(for: "take-002.wav: recorded")
      listening.send(signal: SIGTERM)
      let result = try listening.result()
      expectTrue(result.status == 0 && result.output.contains("2 files: recorded"), "\(result)")
      let names = (1...2).map { folder.appendingPathComponent("take-00\($0).wav").path }
      expectEqual(
        text(of: URL(fileURLWithPath: log)).split(separator: "\n").map { String($0) }.sorted(),
        (names.map { "close x=\($0)" } + names.map { "open \($0)" }).sorted())
      for name in names {
        let samples: [Int32] = try decoded(URL(fileURLWithPath: name))
        expectTrue(abs(samples.count / 2 - 36_000) < 600, "\(samples.count)")
      }
      _ = try player.result()
    }
  }

  @Test func eachChannelHasItsFile() throws {
    try withTemporaryFolder { folder in
      let server = try JackDaemon(period: 1024)
      let emitter = try Emitter(on: server)
      defer { withExtendedLifetime(emitter) {} }
      let result = try cuejack(
        "record",
        [
          folder.appendingPathComponent("take.wav").path, "--channels-apart", "--seconds", "1",
          "--format", "f32", "--connect", "emitter", "--split", "600ms", "--server", server.name,
        ])
      expectTrue(result.isRecorded, "\(result)")
      var first: UInt32?
      for channel in 0..<2 {
        var sound: [Float] = []
        for part in 1...2 {
          sound += try decoded(
            folder.appendingPathComponent("take-\(channel + 1)-00\(part).wav"), as: "f32le")
        }
        expectEqual(sound.count, 48_000)
        let begin = try first ?? UInt32(require(sound.first))
        first = begin
        if result.output.contains("overruns: 0") {
          let wrong = sound.indices.filter {
            sound[$0] != Emitter.sample(at: begin &+ UInt32($0), channel: channel)
          }
          expectEqual(wrong.count, 0)
        }
      }
    }
  }

  /// The file of any channel is missed, and what it had is written again.
  @Test func aDeletedFileOfAChannelIsKept() throws {
    try withTemporaryFolder { folder in
      let server = try JackDaemon(period: 1024)
      let recorder = try Playing(
        "record",
        [
          folder.appendingPathComponent("take.wav").path, "--channels-apart", "--no-connect",
          "--server", server.name,
        ], in: folder)
      let file = folder.appendingPathComponent("take-2.wav")
      try wait(for: "sound in the file") { (try? Data(contentsOf: file).count) ?? 0 > 5000 }
      try FileManager.default.removeItem(at: file)
      let result = try recorder.result()
      expectTrue(
        result.status == 1 && result.errors.contains("what was recorded is kept in \(file.path)"),
        "\(result)")
      let samples: [Int32] = try decoded(file)
      expectTrue(!samples.isEmpty)
    }
  }

  @Test(arguments: [
    (["take.wav", "--again"], "--again is for recordings that wait"),
    (["take.wav", "--stop-on-silence", "-60dB"], "--stop-on-silence"),
    (["take.wav", "--stop-on-silence", "6dB,2"], "--stop-on-silence"),
    (["take.wav", "--on-close", "rm 'x"], "--on-close"),
    (["take.wav", "--on-open", "nothing-here x"], "--on-open: there is no program “nothing-here”"),
    (["take.wav", "--on-close", "/nowhere {}"], "--on-close: there is no program “/nowhere”"),
    (["take.wav", "--remote-host", "any", "--no-remote"], "exclude each other"),
    (["-", "--channels-apart"], "a pipe takes one"),
    (["a.mid", "--gain", "2"], "not for MIDI files"),
  ])
  func wrongUsageIsRefused(words: [String], message: String) throws {
    let result = try cuejack("record", words)
    expectTrue(result.status == 64 && result.errors.contains(message), "\(result)")
  }

  /// Nobody hears a player on a server without ports that play sound.
  @Test func aServerWithoutOutputsIsToldAndCounts() throws {
    try withTemporaryFolder { folder in
      let server = try JackDaemon(period: 1024, playbackPorts: 0)
      let file = try WaveFile("a.wav", in: folder, frames: 4800)
      let alone = try play([file.path, "--server", server.name])
      expectTrue(
        alone.status == 3
          && alone.errors.contains("“\(server.name)” has no port that plays sound"), "\(alone)")
      let wanted = try play([file.path, "--server", server.name, "--no-connect"])
      expectTrue(wanted.status == 0 && wanted.errors == "", "\(wanted)")
    }
  }
}
